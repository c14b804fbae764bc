"""Whose turn it is: pods by priority, then as they came; those that found no place wait for something to change.

As upstream's PriorityQueue (pkg/scheduler/backend/queue) it has three parts: pods to be placed, pods that were tried
not long ago and wait a moment, and pods that wait for an event that may help them. An event moves pods from the third
part to the second, from which they are taken before their time while nobody else waits and while that goes well.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from controller_manager.scheduler.pod_info import PodInfo

INITIAL_BACKOFF, MAX_BACKOFF = 1.0, 10.0
"""Seconds that a pod waits after its first failure, doubled with each, and at most (podInitialBackoffSeconds)."""
MAX_PARKED = 300.0
"""Seconds after which a pod is tried again although nothing happened (podMaxInUnschedulablePodsDuration)."""


class Part(Enum):
    """Where a pod is."""

    ACTIVE = "its turn comes by priority"
    BACKOFF = "it was tried not long ago"
    PARKED = "something has to happen first"
    TAKEN = "it is being placed"
    GONE = "it wants no node any more"


@dataclass(slots=True, eq=False)
class Waiting:
    """A pod that wants a node.

    Attributes:
        key, uid: of the pod.
        failures: how often it found no place.
        errors: how often in a row something went wrong.
        until: before which it is tried only if nobody else waits.
        since: when it began to wait for an event.
        info: what it is, as it was when it found no place.
        plugins: who refused it then.
        part: where it is.
        entry: the number of what stands for it in heaps; other entries are out of date.
    """

    key: str
    uid: str
    priority: int
    failures: int = 0
    errors: int = 0
    until: float = 0.0
    since: float = 0.0
    info: PodInfo | None = None
    plugins: frozenset[str] = frozenset()
    part: Part = Part.GONE
    entry: int = 0


class _Entry(NamedTuple):
    """A pod in a heap; the number decides between equals, and tells whether it still stands for the pod."""

    rank: float
    number: int
    waiting: Waiting

    @property
    def is_current(self) -> bool:
        return self.waiting.entry == self.number and self.waiting.part in (Part.ACTIVE, Part.BACKOFF)


class SchedulingQueue:
    """The pods that want a node."""

    def __init__(self) -> None:
        self._pods: dict[str, Waiting] = {}
        self._active: list[_Entry] = []
        self._ranked: list[_Entry] = []
        self._timed: list[_Entry] = []
        self._parked: dict[PodInfo, dict[str, Waiting]] = {}
        self._numbers = count(1)
        self._eager = True

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    @property
    def has_any(self) -> bool:
        """Whether it is, or will be, some pod's turn without anything happening."""
        return _first(self._active) is not None or _first(self._timed) is not None

    @property
    def has_parked(self) -> bool:
        """Whether pods wait for an event."""
        return bool(self._parked)

    def parts(self) -> Counter[Part]:
        """How many pods each part has."""
        return Counter(waiting.part for waiting in self._pods.values())

    def add(self, key: str, uid: str, *, priority: int) -> None:
        """A pod wants a node; one that waits for an event is tried again, since it has changed itself."""
        known = self._pods.get(uid)
        if known is None:
            known = self._pods[uid] = Waiting(key, uid, priority)
            self._activate(known)
        else:
            self.retry(uid)

    def remove(self, uid: str) -> bool:
        """The pod wants no node any more; gives whether it was being placed."""
        known = self._pods.pop(uid, None)
        if known is None:
            return False
        was_taken = known.part is Part.TAKEN
        self._unpark(known)
        known.part = Part.GONE
        return was_taken

    def retry(self, uid: str) -> str:
        """A pod that waits for an event is tried again; gives its key, "" for one that wants no node."""
        known = self._pods.get(uid)
        if known is None:
            return ""
        if known.part is Part.PARKED:
            self._retry(known)
        return known.key

    # -- who is next

    def take(self, now: float) -> Waiting | None:
        """The pod whose turn it is, None where it is nobody's; it has to be given back, or removed."""
        while (entry := _first(self._timed)) is not None and entry.rank <= now:
            self._activate(entry.waiting)
        entry = self._next()
        if entry is None:
            return None
        entry.waiting.part = Part.TAKEN
        return entry.waiting

    def next_key(self) -> str:
        """The key of a pod whose turn it is already, "" where there is none."""
        entry = self._next()
        return entry.waiting.key if entry is not None else ""

    def _next(self) -> _Entry | None:
        """Whose turn it is; where nobody waits for it, of those that were tried not long ago."""
        entry = _first(self._active)
        return _first(self._ranked) if entry is None and self._eager else entry

    def due(self) -> float | None:
        """When the next pod has waited long enough after a failure, None where none does."""
        entry = _first(self._timed)
        return entry.rank if entry is not None else None

    # -- who is given back

    def park(self, waiting: Waiting, info: PodInfo, *, plugins: frozenset[str], now: float) -> None:
        """The pod found no place: it waits until one of the plug-ins may think otherwise.

        A pod that was tried before its time for nothing is the last one, until something else happens.
        """
        if waiting.part is not Part.TAKEN:
            return
        self._eager = self._eager and now >= waiting.until
        waiting.failures += 1
        waiting.errors = 0
        waiting.info, waiting.plugins, waiting.since = info, plugins, now
        waiting.until = now + _patience(waiting.failures)
        waiting.part = Part.PARKED
        self._parked.setdefault(info, {})[waiting.uid] = waiting

    def fail(self, waiting: Waiting, now: float) -> None:
        """Something went wrong with the pod: it is tried again after a while."""
        if waiting.part is not Part.TAKEN:
            return
        waiting.errors += 1
        waiting.until = now + _patience(waiting.errors)
        self._back_off(waiting)

    # -- what helps

    def move(self, helps: Callable[[PodInfo, frozenset[str]], bool]) -> list[str]:
        """Something happened: pods that it may help are tried again; gives their keys.

        Args:
            helps: whether it may help pods of this kind that these plug-ins refused; asked once for all that are alike.
        """
        moved = []
        for info, alike in list(self._parked.items()):
            known: dict[frozenset[str], bool] = {}
            for waiting in list(alike.values()):
                plugins = waiting.plugins
                if plugins not in known:
                    known[plugins] = helps(info, plugins)
                if known[plugins]:
                    self._retry(waiting)
                    moved.append(waiting.key)
        return moved

    def flush(self, now: float) -> None:
        """Try again who has waited very long, lest an event was missed."""
        late = [w for alike in self._parked.values() for w in alike.values() if now - w.since >= MAX_PARKED]
        for waiting in late:
            self._unpark(waiting)
            self._activate(waiting)

    # -- parts

    def _activate(self, waiting: Waiting) -> None:
        waiting.part, waiting.entry = Part.ACTIVE, next(self._numbers)
        heappush(self._active, _Entry(-waiting.priority, waiting.entry, waiting))

    def _back_off(self, waiting: Waiting) -> None:
        waiting.part, waiting.entry = Part.BACKOFF, next(self._numbers)
        heappush(self._timed, _Entry(waiting.until, waiting.entry, waiting))

    def _retry(self, waiting: Waiting) -> None:
        self._unpark(waiting)
        self._back_off(waiting)
        self._eager = True
        heappush(self._ranked, _Entry(-waiting.priority, waiting.entry, waiting))

    def _unpark(self, waiting: Waiting) -> None:
        if waiting.part is Part.PARKED:
            assert waiting.info is not None
            alike = self._parked[waiting.info]
            del alike[waiting.uid]
            if not alike:
                del self._parked[waiting.info]


def _first(heap: list[_Entry]) -> _Entry | None:
    """The first entry that still stands for its pod; those before it are dropped."""
    while heap and not heap[0].is_current:
        heappop(heap)
    return heap[0] if heap else None


def _patience(times: int) -> float:
    return min(INITIAL_BACKOFF * 2.0 ** (times - 1), MAX_BACKOFF)
