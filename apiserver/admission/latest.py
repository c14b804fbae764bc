"""Views of stored objects for plug-ins: single ones, all of a namespace, and values computed from all of a kind."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from apiserver.registry.storage import map_store_errors
from etcd.store import Compacted, Event, KeyValue, Page, Watcher

T = TypeVar("T")

MAX_PARSED = 10_000
"""The number of objects that ParsedObjects keeps something for."""


class RangeWatcher(Protocol):
    """The part of a store that reads and watches all keys under a prefix."""

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
    """A value computed from everything under a prefix, and cached until something changes there.

    While nothing does, asking for it costs next to nothing: the store says when it may have.
    """

    def __init__(self, store: RangeWatcher, prefix: str, compute: Callable[[Iterable[KeyValue]], T]) -> None:
        self._store = store
        self._prefix = prefix
        self._compute = compute
        self._changes: Watcher | None = None
        self._is_current = False
        self._value: T

    def get(self) -> T:
        """Return the value for the objects that are stored now."""
        if self._is_current:
            return self._value
        try:
            has_changed = self._changes is None or bool(self._changes.next_nowait())
        except Compacted:
            has_changed = True  # too much has changed since the last call
        if has_changed:
            self._read()
        assert self._changes is not None
        self._is_current = True
        self._changes.on_change(self._note_change)
        return self._value

    def _read(self) -> None:
        if self._changes is not None:
            self._changes.close()
        page = self._store.range(self._prefix)
        self._changes = self._store.watch(self._prefix, after=page.revision)
        self._value = self._compute(page.items)

    def _note_change(self) -> None:
        self._is_current = False


class NamespaceLister(Generic[T]):
    """All objects of a namespaced kind by namespace, parsed once and kept up to date with each event (a lister).

    Args:
        store: the store.
        prefix: the prefix of the kind, such as "/registry/limitranges/".
        parse: makes what is kept of an object.
    """

    def __init__(self, store: RangeWatcher, prefix: str, parse: Callable[[KeyValue], T]) -> None:
        self._store = store
        self._prefix = prefix
        self._parse = parse
        self._changes: Watcher | None = None
        self._objects: dict[str, dict[str, T]] = {}

    def get(self, namespace: str) -> Sequence[T]:
        """Return the objects that are stored in a namespace now, in the order of their names."""
        try:
            while self._changes is None or (events := self._changes.next_nowait()):
                if self._changes is None:
                    self._list()
                else:
                    self._apply(events)
        except Compacted:  # too much has changed since the last call
            self._list()
        objects = self._objects.get(namespace)
        return [objects[key] for key in sorted(objects)] if objects else ()

    def _list(self) -> None:
        if self._changes is not None:
            self._changes.close()
        page = self._store.range(self._prefix)
        self._changes = self._store.watch(self._prefix, after=page.revision)
        self._objects = {}
        for kv in page.items:
            self._objects.setdefault(self._namespace(kv.key), {})[kv.key] = self._parse(kv)

    def _apply(self, events: Sequence[Event]) -> None:
        for event in events:
            namespace = self._namespace(event.key)
            if event.kv is not None:
                self._objects.setdefault(namespace, {})[event.key] = self._parse(event.kv)
            elif objects := self._objects.get(namespace):
                objects.pop(event.key, None)
                if not objects:
                    del self._objects[namespace]

    def _namespace(self, key: str) -> str:
        return key[len(self._prefix) :].partition("/")[0]


class ParsedObjects(Generic[T]):
    """Values made of single objects, such as the policy of a namespace, kept while the object stays as it is.

    Args:
        parse: makes what is kept of an object.
    """

    def __init__(self, parse: Callable[[KeyValue], T]) -> None:
        self._parse = parse
        self._parsed: dict[str, tuple[KeyValue, T]] = {}

    def get(self, kv: KeyValue) -> T:
        """Return what is made of a stored object."""
        known = self._parsed.get(kv.key)
        if known is not None and known[0] is kv:
            return known[1]
        if len(self._parsed) >= MAX_PARSED:
            self._parsed.clear()  # some may be of objects that are long gone
        value = self._parse(kv)
        self._parsed[kv.key] = kv, value
        return value
