"""What becomes of an occurrence: a new Event, one more of an Event, part of a series, or nothing (client-go tools)."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import micro_stamp
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_builder import Occurrence
from controller_manager.runtime.ratelimit import TokenBucket

REMEMBERED = 4096
"""How many subjects, sorts and events are remembered (maxLruCacheEntries)."""
SPAM_BURST, SPAM_RATE = 25, 1 / 300
"""What a source may say of an object: 25 Events at once, then one in five minutes."""
SIMILAR = 10
"""How many different messages of a sort are told as they are..."""
SIMILAR_SECONDS = 600
"""...when no two are further apart than this."""
FINISHED = 360.0
"""Seconds of silence after which a series is over (tools/events finishTime)."""

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values that were used last, by key."""

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._values: dict[Hashable, Value] = {}

    def get(self, key: Hashable) -> Value | None:
        """The value, None where it is not remembered."""
        found = self._values.pop(key, None)
        if found is not None:
            self._values[key] = found
        return found

    def put(self, key: Hashable, value: Value) -> None:
        """Remember a value, and forget the one that was not used for longest."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > self._size:
            del self._values[next(iter(self._values))]


@dataclass(frozen=True, slots=True)
class Counted:
    """An Event of the core API.

    Attributes:
        name: of the Event.
        count: how often it happened; it is new when that is once.
        first: when it happened first, in nanoseconds since 1970.
        said: what happened last.
    """

    name: str
    count: int
    first: int
    said: Occurrence


@dataclass(frozen=True, slots=True)
class _Tally:
    """What is remembered of an Event."""

    name: str
    count: int
    first: int


@dataclass(slots=True)
class _Sort:
    """Occurrences that differ in their messages alone."""

    last: int
    messages: set[str] = field(default_factory=set)


class Correlator:
    """Counts, combines and drops (events_cache.go EventCorrelator)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: Recent[TokenBucket] = Recent()
        self._sorts: Recent[_Sort] = Recent()
        self._tallies: Recent[_Tally] = Recent()

    def correlate(self, said: Occurrence) -> Counted | None:
        """The Event to write; None where too much was said already."""
        said, key = self._combined(said)
        tally = self._tallies.get(key)
        now = _Tally(tally.name, tally.count + 1, tally.first) if tally else _Tally(said.event_name, 1, said.nanos)
        self._tallies.put(key, now)
        if not self._bucket(said).take():
            return None
        return Counted(now.name, now.count, now.first, said)

    def _combined(self, said: Occurrence) -> tuple[Occurrence, tuple[str, ...]]:
        """The occurrence, or what stands for many, and by what it is remembered."""
        sort = self._sorts.get(said.similar)
        if sort is None or said.nanos - sort.last > SIMILAR_SECONDS * 10**9:
            sort = _Sort(said.nanos)
            self._sorts.put(said.similar, sort)
        sort.messages.add(said.message)
        sort.last = said.nanos
        if len(sort.messages) < SIMILAR:
            return said, said.same
        sort.messages.pop()
        return said.combined(), said.similar

    def _bucket(self, said: Occurrence) -> TokenBucket:
        found = self._buckets.get(said.subject)
        if found is None:
            found = TokenBucket(self._clock, rate=SPAM_RATE, burst=SPAM_BURST)
            self._buckets.put(said.subject, found)
        return found


@dataclass(frozen=True, slots=True)
class Serial:
    """An Event of events.k8s.io.

    Attributes:
        said: what happened first.
        count: how often it happened; there is a series when that is more than once.
        last: when it happened last, in nanoseconds since 1970.
    """

    name: str
    said: Occurrence
    count: int
    last: int

    def series(self) -> Obj | None:
        """As the Event has it."""
        return {"count": self.count, "lastObservedTime": micro_stamp(self.last / 1e9)} if self.count > 1 else None


class Series:
    """Which occurrences are told by one Event (tools/events event_broadcaster.go)."""

    def __init__(self) -> None:
        self._serials: dict[Hashable, Serial] = {}

    def observe(self, said: Occurrence) -> Serial | None:
        """The Event to write; None where it is only counted, to be told when the series is refreshed or over."""
        key = said.isomorphic
        known = self._serials.get(key)
        if known is None:
            found = Serial(said.event_name, said, 1, said.nanos)
        else:
            found = replace(known, count=known.count + 1, last=said.nanos)
        self._serials[key] = found
        return found if found.count <= 2 else None

    def running(self) -> list[Serial]:
        """The series that are to be told again, so that their Events do not expire."""
        return [serial for serial in self._serials.values() if serial.count > 1]

    def finish(self, now: float) -> Iterator[Serial]:
        """Forget what has fallen silent; gives the series among it, whose last count is to be told."""
        silent = [key for key, serial in self._serials.items() if now - serial.last / 1e9 > FINISHED]
        for key in silent:
            serial = self._serials.pop(key)
            if serial.count > 1:
                yield serial
