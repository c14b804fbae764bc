"""Check that what clients saw of a cluster is linearizable, by revision, which puts all writes in one order.

A history is linearizable if each operation can be given one moment between its begin and its end such that all
together make sense one after the other. Here revisions say what the order of writes was, and at which point of it a
read was: what is left to check is that this order is also that of time, that every read shows what was written up to
its point, and that what was acknowledged is there, what was refused is not, and what is in doubt at most once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple


class HistoryEntry(NamedTuple):
    """A write as the cluster has it in its history, which is whole and in order."""

    revision: int
    key: str
    value: str | None


@dataclass
class Write:
    """A write as its client saw it; it has no end if the client was gone by then."""

    name: str
    begin: float
    verb: str
    key: str
    value: str | None
    expect: int | None
    end: float = float("inf")
    outcome: str = "unknown"
    revision: int = 0


@dataclass
class Watch:
    prefix: str
    after: int
    events: list[tuple[int, str, str | None, int]] = field(default_factory=list)
    asked: float | None = None
    position: int = 0


@dataclass
class History:
    """The operations that all servers have written down: see tests/etcd/history_server.py."""

    writes: dict[str, Write] = field(default_factory=dict)
    reads: list[tuple[float, float, int, str, str | None, int]] = field(default_factory=list)
    ranges: list[tuple[float, float, int, str, list[tuple[str, int]]]] = field(default_factory=list)
    watches: dict[str, Watch] = field(default_factory=dict)
    refused: int = 0

    def add(self, kind: str, *line: Any) -> None:
        """Take in one line."""
        match kind:
            case "i":
                self.writes[line[0]] = Write(*line)
            case "o":
                write = self.writes[line[0]]
                write.end, write.outcome, write.revision = line[1:]
            case "r":
                self.reads.append(line)
            case "g":
                self.ranges.append((*line[:4], [tuple(each) for each in line[4]]))
            case "s":
                self.watches[line[0]] = Watch(*line[1:])
            case "e":
                self.watches[line[0]].events.append(line[1:])
            case "p":
                watch = self.watches[line[0]]
                watch.asked, watch.position = line[1:]
            case "f":
                self.refused += 1

    @property
    def operations(self) -> int:
        """The number of writes that were asked for and reads that were answered."""
        return len(self.writes) + len(self.reads) + len(self.ranges)


class Truth:
    """The writes of a cluster's history, by key and revision."""

    def __init__(self, written: Sequence[HistoryEntry]) -> None:
        self.written = written
        self.revisions = [each.revision for each in written]
        self.by_revision = {each.revision: each for each in written}
        self.by_key: dict[str, list[HistoryEntry]] = {}
        for each in written:
            self.by_key.setdefault(each.key, []).append(each)

    def at(self, key: str, revision: int) -> HistoryEntry | None:
        """Return the version of a key at a revision, or None if it does not exist then."""
        versions = self.by_key.get(key, [])
        index = bisect_right(versions, revision, key=lambda each: each.revision)
        return versions[index - 1] if index and versions[index - 1].value is not None else None

    def modified(self, key: str, revision: int) -> int:
        version = self.at(key, revision)
        return version.revision if version else 0

    def between(self, prefix: str, after: int, until: int) -> list[HistoryEntry]:
        first, last = bisect_right(self.revisions, after), bisect_right(self.revisions, until)
        return [each for each in self.written[first:last] if each.key.startswith(prefix)]


class Clock:
    """The revision that everybody has to see from some time on: the newest that a server has answered before."""

    def __init__(self, history: History) -> None:
        revisions = [(write.end, write.revision) for write in history.writes.values() if write.outcome == "ok"]
        revisions += [(end, revision) for _, end, revision, *_ in history.reads]
        revisions += [(end, revision) for _, end, revision, *_ in history.ranges]
        revisions.sort()
        self.times = [time for time, _ in revisions]
        self.newest = list(accumulate((revision for _, revision in revisions), max))

    def floor(self, time: float) -> int:
        index = bisect_left(self.times, time)
        return self.newest[index - 1] if index else 0


def problems(history: History, written: Sequence[HistoryEntry]) -> list[str]:
    """Return the contradictions in a history; none if all is well."""
    truth, clock = Truth(written), Clock(history)
    faults = [*_writes(history, truth, clock), *_reads(history, truth, clock)]
    for name, watch in history.watches.items():
        faults += (f"watch {name} of {watch.prefix!r}: {each}" for each in _watch(watch, truth, clock))
    return faults


def _writes(history: History, truth: Truth, clock: Clock) -> Iterable[str]:
    made: dict[int, Write] = {}
    for write in history.writes.values():
        if write.outcome == "conflict":
            yield from _conflict(write, truth, clock)
        if write.outcome != "ok":
            continue
        there = truth.by_revision.get(write.revision)
        if there is None or (there.key, there.value) != (write.key, write.value):
            yield f"lost: {write} was acknowledged, and at its revision is {there}"
        elif write.revision in made:
            yield f"{write} and {made[write.revision]} were given the same revision"
        made[write.revision] = write
    yield from _in_doubt(history, truth, clock, made)
    for revision, write in made.items():
        yield from _moment(revision, write, truth, clock)


def _in_doubt(history: History, truth: Truth, clock: Clock, made: dict[int, Write]) -> Iterable[str]:
    """Find the writers of revisions that no client got an answer about, and note them in `made`."""
    makers = {write.value: write for write in history.writes.values() if write.value is not None}
    doubtful = [each for each in history.writes.values() if each.outcome == "unknown" and each.verb == "delete"]
    for there in truth.written:
        if there.revision in made:
            continue
        write = makers.get(there.value) if there.value is not None else _deleter(there, doubtful, truth, clock)
        if write is None or write.outcome in {"refused", "conflict"}:
            yield f"nobody can have written {there}: {write}"
        elif write.revision:
            yield f"doubled: {write} is at {there.revision} too"
        else:
            doubtful = [each for each in doubtful if each is not write]
            write.revision = there.revision
            made[there.revision] = write


def _deleter(there: HistoryEntry, doubtful: Iterable[Write], truth: Truth, clock: Clock) -> Write | None:
    """Return a write that may have deleted a key, of those that do not know whether they have."""
    before = truth.modified(there.key, there.revision - 1)
    for write in doubtful:
        fits = write.key == there.key and write.expect in {None, before}
        if fits and clock.floor(write.begin) < there.revision:
            return write
    return None


def _moment(revision: int, write: Write, truth: Truth, clock: Clock) -> Iterable[str]:
    if revision <= (floor := clock.floor(write.begin)):
        yield f"{write} is at {revision}, and {floor} was seen before it began"
    before = truth.modified(write.key, revision - 1)
    if write.expect is not None and write.expect != before:
        yield f"{write} replaced {before}"
    if write.verb == "delete" and not before:
        yield f"{write} deleted nothing"


def _conflict(write: Write, truth: Truth, clock: Clock) -> Iterable[str]:
    """Yield the problems of a conflict: its revision must differ from the expected one and be current meanwhile."""
    expected = write.expect if write.expect is not None else "a key"
    if write.revision == expected:
        yield f"{write} was refused although it was as it should be"
    versions = truth.by_key.get(write.key, [])
    floor = clock.floor(write.begin)
    after = [each for each in versions if each.revision > floor]
    if write.revision:
        possible = {truth.modified(write.key, floor), *(each.revision for each in after if each.value is not None)}
        if write.revision not in possible:
            yield f"stale: {write} was told of {write.revision}, and {floor} was seen before it began"
    elif truth.at(write.key, floor) and all(each.value is not None for each in after):
        yield f"stale: {write} was told that the key is not there, and it always was since {floor}"


def _reads(history: History, truth: Truth, clock: Clock) -> Iterable[str]:
    for begin, _, revision, key, value, modified in history.reads:
        if revision < (floor := clock.floor(begin)):
            yield f"stale: a read of {key} saw {revision}, and {floor} was seen before it began"
        there = truth.at(key, revision)
        if (value, modified) != ((there.value, there.revision) if there else (None, 0)):
            yield f"a read of {key} at {revision} gave {value!r} of {modified}, and it was {there}"
    for begin, _, revision, prefix, items in history.ranges:
        if revision < (floor := clock.floor(begin)):
            yield f"stale: a range of {prefix} saw {revision}, and {floor} was seen before it began"
        revisions = {key: truth.modified(key, revision) for key in truth.by_key if key.startswith(prefix)}
        if items != sorted((key, modified) for key, modified in revisions.items() if modified):
            yield f"a range of {prefix} at {revision} gave {items}, and it was {revisions}"


def _watch(watch: Watch, truth: Truth, clock: Clock) -> Iterable[str]:
    until = watch.position if watch.asked is not None else (watch.events[-1][0] if watch.events else watch.after)
    expected = [
        (each.revision, each.key, each.value, truth.modified(each.key, each.revision - 1))
        for each in truth.between(watch.prefix, watch.after, until)
    ]
    if watch.events != expected:
        gaps, more = (
            sorted(set(one) - set(other)) for one, other in ((expected, watch.events), (watch.events, expected))
        )
        doubled = len(watch.events) - len(set(watch.events))
        yield f"misses {gaps[:3]}, has {more[:3]} of nobody, {doubled} twice, or another order"
    if watch.asked is not None and watch.position < clock.floor(watch.asked):
        yield f"stands at {watch.position}, and {clock.floor(watch.asked)} was seen before it was asked"
