"""Caches: what the server said last of each kind, indexed, with one writer; and the world of all of them."""

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
    ORPHANS,
    OWNER,
    Change,
    Index,
    Key,
    Settings,
    Spec,
    View,
    key_of,
)
from controller_manager.reconcile.controller_ref import controller_of
from controller_manager.reconcile.kinds import EVERYTHING, Kind, Served
from controller_manager.reconcile.profile import NEWEST, Profile

log = logging.getLogger("controller_manager")

Values = Callable[[Obj], Iterable[str]]
Listener = Callable[[Change], None]

_NONE: Mapping[Key, Obj] = {}


def _owner(obj: Obj) -> Iterable[str]:
    owner = controller_of(obj)
    return (owner["uid"],) if owner else ()


def _orphaned(obj: Obj) -> Iterable[str]:
    return () if controller_of(obj) else (namespace_of(obj),)


BUILT_IN: Mapping[str, Values] = {
    OWNER: _owner,
    ORPHANS: _orphaned,
    NAMESPACE_INDEX: lambda obj: (namespace_of(obj),),
}


def number_of(revision: str) -> int:
    """A revision as a number, by which revisions are compared; 0 where it is none."""
    return int(revision) if revision.isdecimal() else 0


def revision_of(obj: Obj) -> int:
    """The revision at which an object was stored, 0 where it tells none that is a number."""
    return number_of(str(obj["metadata"].get("resourceVersion") or ""))


class KindCache:
    """All objects of a kind; written by its watcher alone, read by everybody, listened to by controllers.

    Attributes:
        revision: up to which everything is in here, 0 before the first list.
        attached: since when, on the manager's clock, changes come in as they happen; None while they do not.
        absent: whether its watcher waits, since the server has said that it does not serve the kind.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.revision = 0
        self.attached: float | None = None
        self.absent = False
        self._attaching: list[Callable[[], None]] = []
        self._synced = asyncio.Event()
        self._objects: dict[Key, Obj] = {}
        self._functions: dict[str, Values] = {}
        self._filed: dict[str, dict[str, dict[Key, Obj]]] = {}
        self._values: list[tuple[Values, dict[str, dict[Key, Obj]]]] = []
        self._listeners: list[Listener] = []
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._ticket = count()
        self._changing: dict[Key, list[Callable[[], None]]] = {}
        for name, values in BUILT_IN.items():
            self.index(name, values)

    @property
    def kind(self) -> Kind:
        """Whose objects."""
        return self._kind

    def index(self, name: str, values: Values) -> None:
        """File objects under values as well; before any is in here. Several may want the same one, by the same name."""
        assert not self._objects, "indexes come before objects"
        known = self._functions.setdefault(name, values)
        assert known is values, f"two indexes of {self._kind} are named {name}"
        if name not in self._filed:
            self._filed[name] = {}
            self._values.append((partial(self._values_of, name), self._filed[name]))

    def listen(self, listener: Listener) -> None:
        """Hear of every change from now on, after it can be read here."""
        self._listeners.append(listener)

    def get(self, key: Key) -> Obj | None:
        """The object, None where there is none."""
        return self._objects.get(key)

    def by(self, index: str, value: str) -> Collection[Obj]:
        """The objects that an index files under a value."""
        return self._filed[index].get(value, _NONE).values()

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        """Return when the first list is complete."""
        await self._synced.wait()

    def __iter__(self) -> Iterator[Obj]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    # -- the writer's side

    def put(self, obj: Obj) -> None:
        """An object came or changed."""
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None:
            self._withdraw(key, old)
            if old["metadata"].get("uid") != obj["metadata"].get("uid"):  # its deletion was not seen
                del self._objects[key]
                self._tell(Change(old, None))
                old = None
        self._objects[key] = obj
        for values, filed in self._values:
            for value in values(obj):
                filed.setdefault(value, {})[key] = obj
        self._tell(Change(old, obj))
        self.advance(revision_of(obj))

    def remove(self, obj: Obj) -> None:
        """An object went; its last state may come with the event."""
        key = key_of(obj)
        old = self._objects.pop(key, None)
        if old is not None:
            self._withdraw(key, old)
            self._tell(Change(obj, None))
        self.advance(revision_of(obj))

    def replace(self, objects: Iterable[Obj], revision: int) -> None:
        """All that there is, as of a revision: what is missing has gone (as a tombstone: with its last known state)."""
        found = {key_of(obj): obj for obj in objects}
        for key in [key for key in self._objects if key not in found]:
            self.remove(self._objects[key])
        for key, obj in found.items():
            old = self._objects.get(key)
            if old is None or old["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self.put(obj)
        self.revision = 0  # a server that lost its data starts again from a lower one
        self._synced.set()
        self.advance(revision)

    def resync(self) -> None:
        """Tell listeners of everything again, as unchanged."""
        for obj in list(self._objects.values()):
            self._tell(Change(obj, obj))

    def advance(self, revision: int) -> None:
        """Everything up to a revision is in here: wake who waited for it."""
        if revision > self.revision:
            self.revision = revision
            while self._waiting and self._waiting[0][0] <= revision:
                heappop(self._waiting)[2]()

    def attach(self, now: float) -> None:
        """From now on changes come in as they happen: wake who waited for that."""
        if self.attached is None:
            self.attached = now
            waiting, self._attaching = self._attaching, []
            for then in waiting:
                then()

    def detach(self) -> None:
        """Changes come in later, if at all."""
        self.attached = None

    def when_attached(self, then: Callable[[], None]) -> None:
        """Call once changes come in as they happen again."""
        self._attaching.append(then)

    def when(self, revision: int, then: Callable[[], None]) -> None:
        """Call once everything up to a revision is in here."""
        heappush(self._waiting, (revision, next(self._ticket), then))

    def when_changed(self, key: Key, then: Callable[[], None]) -> None:
        """Call at the next change of an object, or when it goes."""
        self._changing.setdefault(key, []).append(then)

    def _values_of(self, index: str, obj: Obj) -> Iterable[str]:
        """What an index files an object under: nothing if it fails at an odd one, which is in here all the same."""
        try:
            return frozenset(self._functions[index](obj))
        except Exception:
            log.exception("the index %s of %s failed at %s", index, self._kind, key_of(obj))
            return ()

    def _withdraw(self, key: Key, old: Obj) -> None:
        for values, filed in self._values:
            for value in values(old):
                place = filed[value]
                del place[key]
                if not place:
                    del filed[value]

    def _tell(self, change: Change) -> None:
        """Let everybody hear of it; who fails at an odd object keeps nobody else, and no other object, from it."""
        for listener in self._listeners:
            try:
                listener(change)
            except Exception:
                log.exception("whoever listens to %s failed at %s", self._kind, key_of(change.obj))
        if self._changing:
            for then in self._changing.pop(key_of(change.obj), ()):
                then()


@dataclass(slots=True)
class Caches:
    """The world as controllers see it: a cache for every kind that a SPEC names, and the views.

    Attributes:
        served: what discovery found last; nothing before its first look.
    """

    profile: Profile = NEWEST
    settings: Settings = field(default_factory=Settings)
    served: Served = field(default_factory=Served)
    kinds: dict[Kind, KindCache] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    _resources: dict[str, KindCache] = field(default_factory=dict)
    _everywhere: list[Callable[[Kind], Listener]] = field(default_factory=list)

    def __getitem__(self, kind: Kind) -> KindCache:
        return self.kinds[kind]

    def find(self, resource: str) -> KindCache | None:
        """The cache of what str(kind) names, in whichever version it is followed; None where it is not."""
        return self._resources.get(resource)

    def view(self, name: str) -> Any:
        """The view of that name."""
        return self.views[name]

    def provide(self, spec: Spec) -> None:
        """Make the caches, indexes and views that a controller needs; before anything is in them."""
        for watch in spec.watches:
            if watch.kind != EVERYTHING:
                self.cache(watch.kind)
        for index in spec.indexes:
            self.add_index(index)
        for name, make in spec.views.items():
            if name not in self.views:
                self.views[name] = make()
                for kind in spec.feeds.get(name, ()):
                    self.listen(kind, partial(_feeder, self.views[name]))

    def cache(self, kind: Kind) -> KindCache:
        """The cache of a kind, made if need be."""
        if kind not in self.kinds:
            made = self.kinds[kind] = KindCache(kind)
            self._resources.setdefault(str(kind), made)
            for listener in self._everywhere:
                made.listen(listener(kind))
        return self.kinds[kind]

    def renewed(self, kind: Kind) -> KindCache:
        """The cache of a kind, made if need be, which `find` finds from now on instead of that of another version."""
        found = self._resources[str(kind)] = self.cache(kind)
        return found

    @property
    def follows_everything(self) -> bool:
        """Whether somebody wants to hear of EVERYTHING."""
        return bool(self._everywhere)

    def listen(self, kind: Kind, listener: Callable[[Kind], Listener]) -> None:
        """Hear of every change of a kind from now on, of EVERYTHING of all kinds, also of those that come later.

        Args:
            kind: whose changes.
            listener: makes the one who hears of a kind.
        """
        if kind != EVERYTHING:
            self.cache(kind).listen(listener(kind))
            return
        self._everywhere.append(listener)
        for known, cache in self.kinds.items():
            cache.listen(listener(known))

    def add_index(self, index: Index) -> None:
        """File a kind's objects under more values."""
        self.cache(index.kind).index(index.name, index.values)


def _feeder(view: View, kind: Kind) -> Listener:
    return lambda change: view.change(kind, change.old, change.new)
