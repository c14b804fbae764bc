"""Values that plug-ins compute from all objects of a kind, such as the default class; recomputed on changes."""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from apiserver.registry.storage import map_store_errors
from etcd.store import Compacted, KeyValue, Page, Watcher

T = TypeVar("T")


class RangeWatcher(Protocol):
    """The part of a store that `ComputedValue` uses."""

    def range(self, prefix: str) -> Page:
        """Return the newest state of all keys under a prefix."""
        ...

    def watch(self, prefix: str, *, after: int) -> Watcher:
        """Return the events under a prefix strictly after a revision."""
        ...


class Reader(Protocol):
    """The part of a store that reads single keys."""

    def get(self, key: str) -> KeyValue | None:
        """Return the newest state of a key that this server knows."""
        ...

    async def sync_read(self) -> None:
        """Make later reads return at least what any server has written before this call."""
        ...


async def get_synced(store: Reader, key: str) -> KeyValue | None:
    """Return the state of a key, None if it is absent even after a sync: another server may just have written it."""
    kv = store.get(key)
    if kv is None:
        with map_store_errors():
            await store.sync_read()
        kv = store.get(key)
    return kv


class ComputedValue(Generic[T]):
    """A value computed from everything under a prefix, and cached until something changes there."""

    def __init__(self, store: RangeWatcher, prefix: str, compute: Callable[[Iterable[KeyValue]], T]) -> None:
        self._store = store
        self._prefix = prefix
        self._compute = compute
        self._changes: Watcher | None = None
        self._value: T

    def get(self) -> T:
        """Return the value for the objects that are stored now."""
        try:
            if self._changes is not None and not self._changes.next_nowait():
                return self._value
        except Compacted:
            pass  # too much has changed since the last call
        if self._changes is not None:
            self._changes.close()
        page = self._store.range(self._prefix)
        self._changes = self._store.watch(self._prefix, after=page.revision)
        self._value = self._compute(page.items)
        return self._value
