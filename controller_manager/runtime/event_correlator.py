"""Correlates occurrences: each is a new Event, a repetition of one, part of a series, or dropped (client-go tools)."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import format_micro_time
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_builder import Occurrence
from controller_manager.runtime.ratelimit import TokenBucket

CACHE_SIZE = 4096
"""The number of subjects, groups and Events that are remembered (maxLruCacheEntries)."""
SPAM_BURST, SPAM_RATE = 25, 1 / 300
"""The Events of a source about an object: 25 at once, then one in five minutes."""
MAX_SIMILAR = 10
"""The number of different messages of a group that are recorded separately…"""
AGGREGATE_SECONDS = 600
"""…if no two are further apart than this."""
SERIES_END_SECONDS = 360.0
"""Seconds of silence after which a series has ended (tools/events finishTime)."""

Value = TypeVar("Value")


class LRUCache(Generic[Value]):
    """The most recently used values, by key (an LRU cache)."""

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._values: dict[Hashable, Value] = {}

    def get(self, key: Hashable) -> Value | None:
        """Return the value, or None if it is not remembered."""
        value = self._values.pop(key, None)
        if value is not None:
            self._values[key] = value
        return value

    def put(self, key: Hashable, value: Value) -> None:
        """Remember a value, and forget the least recently used one if there are too many."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > self._size:
            del self._values[next(iter(self._values))]


@dataclass(frozen=True, slots=True)
class CountedEvent:
    """An Event of the core API.

    Attributes:
        name: the Event's name.
        count: the number of occurrences; the Event is new if it is 1.
        first: the time of the first, in nanoseconds since 1970.
        occurrence: the last occurrence.
    """

    name: str
    count: int
    first: int
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class _EventCount:
    """The remembered counts of an Event."""

    name: str
    count: int
    first: int


@dataclass(slots=True)
class _SimilarEvents:
    """Occurrences that differ only in their messages."""

    last: int
    messages: set[str] = field(default_factory=set)


class EventCorrelator:
    """Counts, combines and drops occurrences (events_cache.go EventCorrelator)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: LRUCache[TokenBucket] = LRUCache()
        self._groups: LRUCache[_SimilarEvents] = LRUCache()
        self._tallies: LRUCache[_EventCount] = LRUCache()

    def correlate(self, occurrence: Occurrence) -> CountedEvent | None:
        """Return the Event to write, or None if the source has reported too much already."""
        occurrence, key = self._aggregate(occurrence)
        tally = self._tallies.get(key)
        updated = (
            _EventCount(tally.name, tally.count + 1, tally.first)
            if tally
            else _EventCount(occurrence.event_name, 1, occurrence.nanos)
        )
        self._tallies.put(key, updated)
        if not self._bucket(occurrence).try_accept():
            return None
        return CountedEvent(updated.name, updated.count, updated.first, occurrence)

    def _aggregate(self, occurrence: Occurrence) -> tuple[Occurrence, tuple[str, ...]]:
        """Return the occurrence, or one that stands for many, and the key under which it is counted."""
        group = self._groups.get(occurrence.aggregate_key)
        if group is None or occurrence.nanos - group.last > AGGREGATE_SECONDS * 10**9:
            group = _SimilarEvents(occurrence.nanos)
            self._groups.put(occurrence.aggregate_key, group)
        group.messages.add(occurrence.message)
        group.last = occurrence.nanos
        if len(group.messages) < MAX_SIMILAR:
            return occurrence, occurrence.event_key
        group.messages.pop()
        return occurrence.combined(), occurrence.aggregate_key

    def _bucket(self, occurrence: Occurrence) -> TokenBucket:
        bucket = self._buckets.get(occurrence.spam_key)
        if bucket is None:
            bucket = TokenBucket(self._clock, rate=SPAM_RATE, burst=SPAM_BURST)
            self._buckets.put(occurrence.spam_key, bucket)
        return bucket


@dataclass(frozen=True, slots=True)
class SeriesEvent:
    """An Event of events.k8s.io.

    Attributes:
        occurrence: the first occurrence.
        count: the number of occurrences; there is a series if it is more than 1.
        last: the time of the last, in nanoseconds since 1970.
    """

    name: str
    occurrence: Occurrence
    count: int
    last: int

    def series(self) -> Obj | None:
        """Return the Event's series field, or None for a single occurrence."""
        return {"count": self.count, "lastObservedTime": format_micro_time(self.last / 1e9)} if self.count > 1 else None


class SeriesTracker:
    """Groups occurrences into Events of events.k8s.io (tools/events event_broadcaster.go)."""

    def __init__(self) -> None:
        self._serials: dict[Hashable, SeriesEvent] = {}

    def observe(self, occurrence: Occurrence) -> SeriesEvent | None:
        """Return the Event to write, or None if it is only counted until the series is refreshed or over."""
        key = occurrence.series_key
        known = self._serials.get(key)
        if known is None:
            serial = SeriesEvent(occurrence.event_name, occurrence, 1, occurrence.nanos)
        else:
            serial = replace(known, count=known.count + 1, last=occurrence.nanos)
        self._serials[key] = serial
        return serial if serial.count <= 2 else None

    def running(self) -> list[SeriesEvent]:
        """Return the series to write again, so that their Events do not expire."""
        return [serial for serial in self._serials.values() if serial.count > 1]

    def finish(self, now: float) -> Iterator[SeriesEvent]:
        """Forget silent Events; yield the series among them, whose last count is to be written."""
        silent = [key for key, serial in self._serials.items() if now - serial.last / 1e9 > SERIES_END_SECONDS]
        for key in silent:
            serial = self._serials.pop(key)
            if serial.count > 1:
                yield serial
