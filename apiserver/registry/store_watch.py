"""How the server's own chores follow the store: what lies under a prefix, then what comes, and anew when overtaken."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from etcd.store import Compacted, Event, KeyValue, Store, Unavailable, Watcher

Work = Callable[[Watcher, Sequence[KeyValue]], Awaitable[None]]


async def follow(store: Store, prefix: str, work: Work) -> None:
    """Work on what lies under a prefix and on every later event, until cancelled or the store is closed.

    Args:
        store: what is followed.
        prefix: of the keys.
        work: gets a watcher and what lay under the prefix when it began; it goes on until the watcher raises, and is
            started anew when compaction has overtaken it.
    """
    while True:
        watcher = store.watch(prefix, after=store.revision)
        try:
            await work(watcher, store.range(prefix).items)
        except Compacted:
            continue  # overtaken: look at everything anew
        except Unavailable:
            return
        finally:
            watcher.close()


async def next_within(watcher: Watcher, seconds: float | None) -> Sequence[Event]:
    """Return the next events, none if none come in time; without a time they are waited for."""
    try:
        async with asyncio.timeout(seconds):
            return await watcher.next()
    except TimeoutError:
        return ()
