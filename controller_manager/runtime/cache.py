"""Caches: the last known objects of each kind, indexed, with one writer; and all caches together as Listers."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

from apiserver.api.meta import Obj, namespace_of
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    ORPHAN_INDEX,
    OWNER_INDEX,
    Change,
    ControllerSpec,
    Index,
    Key,
    Settings,
    View,
    key_of,
)
from controller_manager.reconcile.controller_ref import controller_of
from controller_manager.reconcile.kinds import EVERYTHING, Kind, Served
from controller_manager.reconcile.profile import NEWEST, Profile

log = logging.getLogger("controller_manager")

IndexFunc = Callable[[Obj], Iterable[str]]
Listener = Callable[[Change], None]

_NO_OBJECTS: Mapping[Key, Obj] = {}


def _owner(obj: Obj) -> Iterable[str]:
    owner = controller_of(obj)
    return (owner["uid"],) if owner else ()


def _orphaned(obj: Obj) -> Iterable[str]:
    return () if controller_of(obj) else (namespace_of(obj),)


BUILT_IN_INDEXES: Mapping[str, IndexFunc] = {
    OWNER_INDEX: _owner,
    ORPHAN_INDEX: _orphaned,
    NAMESPACE_INDEX: lambda obj: (namespace_of(obj),),
}


def revision_number(revision: str) -> int:
    """Return a revision as a number, by which revisions are compared; 0 if it is not a number."""
    return int(revision) if revision.isdecimal() else 0


def revision_of(obj: Obj) -> int:
    """Return the revision at which an object was stored, or 0 if it has none that is a number."""
    return revision_number(str(obj["metadata"].get("resourceVersion") or ""))


class KindCache:
    """All objects of a kind; written by its watcher alone, with indexes for readers and listeners for changes.

    Attributes:
        revision: the cache contains everything up to this revision; 0 before the first list.
        attached: since when, on the manager's clock, changes arrive as they happen; None while they do not.
        absent: True while its watcher waits because the server does not serve the kind.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.revision = 0
        self.attached: float | None = None
        self.absent = False
        self._on_attach: list[Callable[[], None]] = []
        self._synced = asyncio.Event()
        self._objects: dict[Key, Obj] = {}
        self._functions: dict[str, IndexFunc] = {}
        self._indexed: dict[str, dict[str, dict[Key, Obj]]] = {}
        self._indexers: list[tuple[IndexFunc, dict[str, dict[Key, Obj]]]] = []
        self._listeners: list[Listener] = []
        self._on_relist: list[Callable[[], None]] = []
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._ticket = count()
        self._on_change: dict[Key, list[Callable[[], None]]] = {}
        for name, values in BUILT_IN_INDEXES.items():
            self.add_index(name, values)

    @property
    def kind(self) -> Kind:
        """The kind of the objects."""
        return self._kind

    def add_index(self, name: str, values: IndexFunc) -> None:
        """Add an index, before there are objects. The same index may be added several times under one name."""
        assert not self._objects, "indexes come before objects"
        known = self._functions.setdefault(name, values)
        assert known is values, f"two indexes of {self._kind} are named {name}"
        if name not in self._indexed:
            self._indexed[name] = {}
            self._indexers.append((partial(self._values_of, name), self._indexed[name]))

    def add_listener(self, listener: Listener) -> None:
        """Call the listener for every change from now on, after it is visible in the cache."""
        self._listeners.append(listener)

    def on_relist(self, callback: Callable[[], None]) -> None:
        """Call the function whenever a list is about to replace all objects, from now on."""
        self._on_relist.append(callback)

    def get(self, key: Key) -> Obj | None:
        """Return the object, or None if there is none."""
        return self._objects.get(key)

    def by_index(self, index: str, value: str) -> Collection[Obj]:
        """Return the objects that an index files under a value."""
        return self._indexed[index].get(value, _NO_OBJECTS).values()

    @property
    def synced(self) -> bool:
        """True once the first list is complete."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        """Return when the first list is complete."""
        await self._synced.wait()

    def __iter__(self) -> Iterator[Obj]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    # -- the writer's side

    def put(self, obj: Obj, *, relisted: bool = False) -> None:
        """Add or replace an object; `relisted` if a list brought it, which does not show the states in between."""
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None:
            self._unindex(key, old)
            if old["metadata"].get("uid") != obj["metadata"].get("uid"):  # its deletion was not seen
                del self._objects[key]
                self._notify(Change(old, None))
                old = None
        self._objects[key] = obj
        for values, index in self._indexers:
            for value in values(obj):
                index.setdefault(value, {})[key] = obj
        self._notify(Change(old, obj, relisted=relisted and old is not None))
        self.advance_to(revision_of(obj))

    def remove(self, obj: Obj) -> None:
        """Remove an object; its last state may come with the event."""
        key = key_of(obj)
        old = self._objects.pop(key, None)
        if old is not None:
            self._unindex(key, old)
            self._notify(Change(obj, None))
        self.advance_to(revision_of(obj))

    def replace(self, objects: Iterable[Obj], revision: int) -> None:
        """Replace all objects as of a revision; missing ones were deleted (tombstones have their last known state)."""
        for callback in self._on_relist:
            callback()
        current = {key_of(obj): obj for obj in objects}
        for key in [key for key in self._objects if key not in current]:
            self.remove(self._objects[key])
        for key, obj in current.items():
            old = self._objects.get(key)
            if old is None or old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self.put(obj, relisted=True)
        self.revision = 0  # a server that lost its data starts again from a lower one
        self._synced.set()
        self.advance_to(revision)

    def resync(self) -> None:
        """Notify listeners of every object again, as unchanged."""
        for obj in list(self._objects.values()):
            self._notify(Change(obj, obj))

    def advance_to(self, revision: int) -> None:
        """Record that the cache contains everything up to a revision, and call those who waited for it."""
        if revision > self.revision:
            self.revision = revision
            while self._waiting and self._waiting[0][0] <= revision:
                heappop(self._waiting)[2]()

    def attach(self, now: float) -> None:
        """Record that changes arrive as they happen from now on, and call those who waited for that."""
        if self.attached is None:
            self.attached = now
            callbacks, self._on_attach = self._on_attach, []
            for callback in callbacks:
                callback()

    def detach(self) -> None:
        """Record that changes no longer arrive as they happen."""
        self.attached = None

    def call_when_attached(self, callback: Callable[[], None]) -> None:
        """Call the function once changes arrive as they happen again."""
        self._on_attach.append(callback)

    def call_at_revision(self, revision: int, callback: Callable[[], None]) -> None:
        """Call the function once the cache contains everything up to a revision."""
        heappush(self._waiting, (revision, next(self._ticket), callback))

    def call_when_changed(self, key: Key, callback: Callable[[], None]) -> None:
        """Call the function at the next change or deletion of an object."""
        self._on_change.setdefault(key, []).append(callback)

    def _values_of(self, index: str, obj: Obj) -> Iterable[str]:
        """Return an object's values in an index; none if the index fails, so that the object is cached all the same."""
        try:
            return frozenset(self._functions[index](obj))
        except Exception:
            log.exception("the index %s of %s failed at %s", index, self._kind, key_of(obj))
            return ()

    def _unindex(self, key: Key, old: Obj) -> None:
        for values, index in self._indexers:
            for value in values(old):
                entries = index[value]
                del entries[key]
                if not entries:
                    del index[value]

    def _notify(self, change: Change) -> None:
        """Notify all listeners; one that fails at an odd object affects no other listener and no other object."""
        for listener in self._listeners:
            try:
                listener(change)
            except Exception:
                log.exception("whoever listens to %s failed at %s", self._kind, key_of(change.obj))
        if self._on_change:
            for callback in self._on_change.pop(key_of(change.obj), ()):
                callback()


@dataclass(slots=True)
class Caches:
    """All caches and views, as controllers read them (Listers).

    Attributes:
        served: the last result of discovery; empty before the first one.
    """

    profile: Profile = NEWEST
    settings: Settings = field(default_factory=Settings)
    served: Served = field(default_factory=Served)
    kinds: dict[Kind, KindCache] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    _resources: dict[str, KindCache] = field(default_factory=dict)
    _listeners_for_all: list[Callable[[Kind], Listener]] = field(default_factory=list)

    def __getitem__(self, kind: Kind) -> KindCache:
        return self.kinds[kind]

    def find(self, resource: str) -> KindCache | None:
        """Return the cache of the resource str(kind), in whichever version it is watched; None if it is not watched."""
        return self._resources.get(resource)

    def view(self, name: str) -> Any:
        """Return the view of that name."""
        return self.views[name]

    def prepare_for(self, spec: ControllerSpec) -> None:
        """Create the caches, indexes and views that a controller needs, before they are filled."""
        for watch in spec.watches:
            if watch.kind != EVERYTHING:
                self.get_or_create(watch.kind)
        for index in spec.indexes:
            self.add_index(index)
        for name, make in spec.views.items():
            if name not in self.views:
                self.views[name] = make()
                for kind in spec.view_kinds.get(name, ()):
                    self.add_listener(kind, partial(_feeder, self.views[name]))

    def get_or_create(self, kind: Kind) -> KindCache:
        """Return the cache of a kind, created if need be."""
        if kind not in self.kinds:
            created = self.kinds[kind] = KindCache(kind)
            self._resources.setdefault(str(kind), created)
            for listener in self._listeners_for_all:
                created.add_listener(listener(kind))
        return self.kinds[kind]

    def use_version(self, kind: Kind) -> KindCache:
        """Return the cache of a kind, created if need be; `find` now returns it instead of another version's."""
        cache = self._resources[str(kind)] = self.get_or_create(kind)
        return cache

    @property
    def follows_everything(self) -> bool:
        """True if a listener for EVERYTHING exists."""
        return bool(self._listeners_for_all)

    def add_listener(self, kind: Kind, listener: Callable[[Kind], Listener]) -> None:
        """Add a listener to a kind; for EVERYTHING to all kinds, including those that are served later.

        Args:
            kind: the kind to listen to.
            listener: creates the listener for a kind.
        """
        if kind != EVERYTHING:
            self.get_or_create(kind).add_listener(listener(kind))
            return
        self._listeners_for_all.append(listener)
        for known, cache in self.kinds.items():
            cache.add_listener(listener(known))

    def add_index(self, index: Index) -> None:
        """Add an index to a kind's cache."""
        self.get_or_create(index.kind).add_index(index.name, index.values)


def _feeder(view: View, kind: Kind) -> Listener:
    return lambda change: view.apply_change(kind, change.old, change.new)
