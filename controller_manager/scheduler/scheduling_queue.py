"""The scheduling queue: pods by priority, then in the order they came; unschedulable pods wait for an event.

Like upstream's PriorityQueue (pkg/scheduler/backend/queue) it has three parts: active pods, pods that back off after a
recent attempt, and unschedulable pods that wait for an event that may help them. An event moves pods from the third
part to the second. They are taken from there before their backoff is over as long as no pod is active and that
succeeds.
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
"""Seconds of backoff after the first failure, doubled with each one, and the maximum (podInitialBackoffSeconds)."""
MAX_UNSCHEDULABLE_SECONDS = 300.0
"""Seconds after which a pod is tried again without an event (podMaxInUnschedulablePodsDuration)."""


class QueuePart(Enum):
    """The part of the queue that a pod is in."""

    ACTIVE = "its turn comes by priority"
    BACKOFF = "it was tried not long ago"
    UNSCHEDULABLE = "something has to happen first"
    IN_FLIGHT = "it is being placed"
    REMOVED = "it wants no node any more"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod in the queue (framework.QueuedPodInfo).

    Attributes:
        key, uid: of the pod.
        failures: how many attempts found no node.
        errors: how many attempts in a row ended with an error.
        backoff_end: the end of its backoff; before that it is tried only if no pod is active.
        since: when it began to wait for an event.
        info: its PodInfo at the attempt that found no node.
        plugins: the plug-ins that refused it then.
        part: the part of the queue that it is in.
        entry: the number of its valid heap entry; its other entries are out of date.
    """

    key: str
    uid: str
    priority: int
    failures: int = 0
    errors: int = 0
    backoff_end: float = 0.0
    since: float = 0.0
    info: PodInfo | None = None
    plugins: frozenset[str] = frozenset()
    part: QueuePart = QueuePart.REMOVED
    entry: int = 0


class _Entry(NamedTuple):
    """A pod in a heap; the number breaks ties, and is compared with the pod's to see if the entry is out of date."""

    rank: float
    number: int
    queued: QueuedPod

    @property
    def is_current(self) -> bool:
        return self.queued.entry == self.number and self.queued.part in (QueuePart.ACTIVE, QueuePart.BACKOFF)


class SchedulingQueue:
    """The pods that want a node."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._active: list[_Entry] = []
        self._ranked: list[_Entry] = []
        self._timed: list[_Entry] = []
        self._unschedulable: dict[PodInfo, dict[str, QueuedPod]] = {}
        self._numbers = count(1)
        self._eager = True

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    @property
    def has_any(self) -> bool:
        """True if there is a pod to schedule, now or after its backoff, without any event."""
        return _first(self._active) is not None or _first(self._timed) is not None

    @property
    def has_unschedulable(self) -> bool:
        """True if pods wait for an event."""
        return bool(self._unschedulable)

    def sizes(self) -> Counter[QueuePart]:
        """Return the number of pods in each part."""
        return Counter(queued.part for queued in self._pods.values())

    def add(self, key: str, uid: str, *, priority: int) -> None:
        """Add a pod; one that waits for an event already is tried again, since the pod itself has changed."""
        known = self._pods.get(uid)
        if known is None:
            known = self._pods[uid] = QueuedPod(key, uid, priority)
            self._activate(known)
        else:
            self.retry(uid)

    def remove(self, uid: str) -> bool:
        """Remove a pod that wants no node any more; return True if it was being scheduled."""
        known = self._pods.pop(uid, None)
        if known is None:
            return False
        was_taken = known.part is QueuePart.IN_FLIGHT
        self._remove_unschedulable(known)
        known.part = QueuePart.REMOVED
        return was_taken

    def retry(self, uid: str) -> str:
        """Try a pod that waits for an event again; return its key, "" if it is not in the queue."""
        known = self._pods.get(uid)
        if known is None:
            return ""
        if known.part is QueuePart.UNSCHEDULABLE:
            self._retry(known)
        return known.key

    # -- who is next

    def pop(self, now: float) -> QueuedPod | None:
        """Return the pod to schedule next, None if there is none; the caller has to park, fail or remove it."""
        while (entry := _first(self._timed)) is not None and entry.rank <= now:
            self._activate(entry.queued)
        entry = self._next()
        if entry is None:
            return None
        entry.queued.part = QueuePart.IN_FLIGHT
        return entry.queued

    def next_key(self) -> str:
        """Return the key of the pod to schedule next, "" if there is none."""
        entry = self._next()
        return entry.queued.key if entry is not None else ""

    def _next(self) -> _Entry | None:
        """Return the first active entry; if there is none and that has succeeded so far, the first that backs off."""
        entry = _first(self._active)
        return _first(self._ranked) if entry is None and self._eager else entry

    def next_backoff_end(self) -> float | None:
        """Return when the next backoff ends, None if no pod backs off."""
        entry = _first(self._timed)
        return entry.rank if entry is not None else None

    # -- who is given back

    def add_unschedulable(self, queued: QueuedPod, info: PodInfo, *, plugins: frozenset[str], now: float) -> None:
        """Put a pod that found no node aside until an event that may change one of the plug-ins' minds.

        If it was tried before its backoff was over, no other pod is until the next event.
        """
        if queued.part is not QueuePart.IN_FLIGHT:
            return
        self._eager = self._eager and now >= queued.backoff_end
        queued.failures += 1
        queued.errors = 0
        queued.info, queued.plugins, queued.since = info, plugins, now
        queued.backoff_end = now + _backoff_seconds(queued.failures)
        queued.part = QueuePart.UNSCHEDULABLE
        self._unschedulable.setdefault(info, {})[queued.uid] = queued

    def add_after_error(self, queued: QueuedPod, now: float) -> None:
        """Try a pod again after a backoff, since its attempt ended with an error."""
        if queued.part is not QueuePart.IN_FLIGHT:
            return
        queued.errors += 1
        queued.backoff_end = now + _backoff_seconds(queued.errors)
        self._back_off(queued)

    # -- what helps

    def move_helped(self, helps: Callable[[PodInfo, frozenset[str]], bool]) -> list[str]:
        """Try the pods again that an event may help; return their keys.

        Args:
            helps: returns True if the event may help pods with this PodInfo that these plug-ins refused; called once
                for all pods with the same PodInfo and plug-ins.
        """
        moved = []
        for info, alike in list(self._unschedulable.items()):
            known: dict[frozenset[str], bool] = {}
            for queued in list(alike.values()):
                plugins = queued.plugins
                if plugins not in known:
                    known[plugins] = helps(info, plugins)
                if known[plugins]:
                    self._retry(queued)
                    moved.append(queued.key)
        return moved

    def flush_unschedulable(self, now: float) -> None:
        """Try pods again that have waited very long, in case an event was missed."""
        late = [
            w
            for alike in self._unschedulable.values()
            for w in alike.values()
            if now - w.since >= MAX_UNSCHEDULABLE_SECONDS
        ]
        for queued in late:
            self._remove_unschedulable(queued)
            self._activate(queued)

    # -- parts

    def _activate(self, queued: QueuedPod) -> None:
        queued.part, queued.entry = QueuePart.ACTIVE, next(self._numbers)
        heappush(self._active, _Entry(-queued.priority, queued.entry, queued))

    def _back_off(self, queued: QueuedPod) -> None:
        queued.part, queued.entry = QueuePart.BACKOFF, next(self._numbers)
        heappush(self._timed, _Entry(queued.backoff_end, queued.entry, queued))

    def _retry(self, queued: QueuedPod) -> None:
        self._remove_unschedulable(queued)
        self._back_off(queued)
        self._eager = True
        heappush(self._ranked, _Entry(-queued.priority, queued.entry, queued))

    def _remove_unschedulable(self, queued: QueuedPod) -> None:
        if queued.part is QueuePart.UNSCHEDULABLE:
            assert queued.info is not None
            alike = self._unschedulable[queued.info]
            del alike[queued.uid]
            if not alike:
                del self._unschedulable[queued.info]


def _first(heap: list[_Entry]) -> _Entry | None:
    """Return the first entry that is not out of date, None if there is none; drop those before it."""
    while heap and not heap[0].is_current:
        heappop(heap)
    return heap[0] if heap else None


def _backoff_seconds(failures: int) -> float:
    return min(INITIAL_BACKOFF * 2.0 ** (failures - 1), MAX_BACKOFF)
