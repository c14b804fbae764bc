"""Follows a prefix of the store for the server's background tasks: its objects first, then every event."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from etcd.store import Compacted, Event, KeyValue, Store, Unavailable, Watcher

Process = Callable[[Watcher, Sequence[KeyValue]], Awaitable[None]]


async def follow(store: Store, prefix: str, process: Process) -> None:
    """Process the objects under a prefix and every later event, until cancelled or the store is closed.

    Args:
        store: the store to watch.
        prefix: the prefix of the keys.
        process: gets a watcher and the objects under the prefix when it began; it runs until the watcher raises, and
            is called again when compaction has overtaken the watcher.
    """
    while True:
        watcher = store.watch(prefix, after=store.revision)
        try:
            await process(watcher, store.range(prefix).items)
        except Compacted:
            continue  # overtaken: read all objects again
        except Unavailable:
            return
        finally:
            watcher.close()


async def next_within(watcher: Watcher, seconds: float | None) -> Sequence[Event]:
    """Return the next events, () if none come in time; None waits without limit."""
    try:
        async with asyncio.timeout(seconds):
            return await watcher.next()
    except TimeoutError:
        return ()
