"""What plug-ins work out of all objects of a kind, such as which class is the default, anew when one has changed."""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from apiserver.registry.storage import map_store_errors
from etcd.store import Compacted, KeyValue, Page, Watcher

T = TypeVar("T")


class Follows(Protocol):
    """What that needs of a store."""

    def range(self, prefix: str) -> Page:
        """Return the newest state of all keys under a prefix."""
        ...

    def watch(self, prefix: str, *, after: int) -> Watcher:
        """Return the events under a prefix strictly after a revision."""
        ...


class Reader(Protocol):
    """What reads single keys of a store."""

    def get(self, key: str) -> KeyValue | None:
        """Return the newest state of a key that is known here."""
        ...

    async def sync_read(self) -> None:
        """Make the reads that follow see what anybody has written before."""
        ...


async def find(store: Reader, key: str) -> KeyValue | None:
    """The newest state of a key, which another server may have written a moment ago: absent is only what still is."""
    found = store.get(key)
    if found is None:
        with map_store_errors():
            await store.sync_read()
        found = store.get(key)
    return found


class Latest(Generic[T]):
    """What is worked out of everything under a prefix; asking costs next to nothing while nothing changes there."""

    def __init__(self, store: Follows, prefix: str, work_out: Callable[[Iterable[KeyValue]], T]) -> None:
        self._store = store
        self._prefix = prefix
        self._work_out = work_out
        self._changes: Watcher | None = None
        self._found: T

    def get(self) -> T:
        """Return the outcome for what is stored now."""
        try:
            if self._changes is not None and not self._changes.take():
                return self._found
        except Compacted:
            pass  # too much has changed since anybody asked
        if self._changes is not None:
            self._changes.close()
        page = self._store.range(self._prefix)
        self._changes = self._store.watch(self._prefix, after=page.revision)
        self._found = self._work_out(page.items)
        return self._found
