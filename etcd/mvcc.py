"""The engine: the newest state, and one append-only log of events that is its history, until compacted.

A snapshot at an old revision is the newest state with the events since then undone: each carries what it replaced.
So there is no history per key, and a version lives exactly as long as an event that replaced it.

For example, after put a=1 (revision 2), put a=2 (3) and delete a (4):

    log        2: a (none → 1)   3: a (1 → 2)   4: a (2 → none)        newest state: no keys
    range(revision=3)            undo 4: a is 2
    watch(after=2)               a cursor whose next_events() returns the events 3 and 4
    compact(3)                   drops the events 2 and 3; a watch after 2 is now refused with Compacted
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter

from sortedcontainers import SortedList

from etcd.store import Compacted, Event, FutureRevision, KeyValue, Page, Revision

_MAX_BATCH = 1000
"""The most events that one call of `next_events` returns, which bounds the memory of a slow watcher."""

_MAX_SNAPSHOTS = 8
"""Old snapshots that are kept for their next pages."""

_revision = attrgetter("revision")
_key = attrgetter("key")


class DirectoryIndex:
    """The keys and events below one directory, so that a watcher or reader of one resource never meets another's.

    Attributes:
        keys: the keys that exist, in byte order (the order of code points is that of UTF-8).
        events: the events since compaction, in order of revision.
        dropped: revision of the newest event that compaction has dropped from `events`.
        parked: callbacks to call, once, when an event comes.
    """

    __slots__ = ("dropped", "events", "keys", "parked")

    def __init__(self) -> None:
        self.keys: SortedList = SortedList()
        self.events: list[Event] = []
        self.dropped = 0
        self.parked: set[Callable[[], None]] = set()

    def index_after(self, revision: int) -> int:
        """Return the index of the first event after a revision."""
        events = self.events
        if not events or events[-1].revision <= revision:
            return len(events)
        return bisect_right(events, revision, key=_revision)

    def wake(self) -> None:
        """Call every callback that is parked here."""
        if self.parked:
            parked, self.parked = self.parked, set()
            for callback in parked:
                callback()

    def drop(self, revision: int) -> None:
        """Remove the events up to and including a revision."""
        end = self.index_after(revision)
        if end:
            self.dropped = self.events[end - 1].revision
            del self.events[:end]


class Cursor:
    """A watcher's position in the log of one directory."""

    __slots__ = ("_engine", "_position", "_prefix", "_whole", "index")

    def __init__(self, engine: "Engine", prefix: str, after: int) -> None:
        directory_key = directory(prefix)
        self.index = engine.directory_index(directory_key)
        self._engine = engine
        self._prefix = prefix
        self._whole = prefix == directory_key
        self._position = after

    @property
    def position(self) -> int:
        """The revision up to which all events of the prefix have been returned.

        Reading it moves it to the newest revision if this directory has no event that is yet to be returned.
        """
        events = self.index.events
        if self._position >= self.index.dropped and (not events or events[-1].revision <= self._position):
            self._position = max(self._position, self._engine.revision)
        return self._position

    def next_events(self) -> Sequence[Event]:
        """Return the next events, at most a batch of them; raises Compacted if some are gone."""
        while self.position < self._engine.revision:
            if self._position < self.index.dropped:
                raise Compacted(self._engine.compacted)
            batch = self._next_batch()
            if batch:
                return batch
        return ()

    def _next_batch(self) -> Sequence[Event]:
        events = self.index.events
        begin = self.index.index_after(self._position)
        end = min(begin + _MAX_BATCH, len(events))
        while begin < end < len(events) and events[end].revision == events[end - 1].revision:
            end += 1  # a transaction's events have one revision, and stay together
        batch = events[begin:end]
        self._position = batch[-1].revision if end < len(events) else self._engine.revision
        if self._whole:
            return batch
        prefix = self._prefix
        return [event for event in batch if event.key.startswith(prefix)]


class Engine:
    """Keys with their newest versions, and the log of the events that led to them.

    Attributes:
        revision: the revision of the newest event applied.
        compacted: the oldest revision whose snapshot can be read, and from which a watch can start.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.compacted = 0
        self._live: dict[str, KeyValue] = {}
        self._all = DirectoryIndex()
        self._indexes: dict[str, DirectoryIndex] = {"": self._all}
        self._snapshots: dict[tuple[str, int], list[KeyValue]] = {}
        self.get: Callable[[str], KeyValue | None] = self._live.get

    @property
    def log(self) -> Sequence[Event]:
        """The events since compaction, of all keys, in order of revision."""
        return self._all.events

    def log_until(self, revision: int) -> list[Event]:
        """Return the part of the log that compaction at a revision drops."""
        return self._all.events[: self._all.index_after(revision)]

    def directory_index(self, directory_key: str) -> DirectoryIndex:
        """Return the index of a directory; "" has the events of all, and the keys that lie in no directory."""
        index = self._indexes.get(directory_key)
        if index is None:
            index = self._indexes[directory_key] = DirectoryIndex()
        return index

    def restore(self, state: Iterable[KeyValue], revision: int) -> None:
        """Begin with a state at a revision; earlier history is unknown. The engine must be new."""
        self.revision = self.compacted = revision
        live, directory_key = self._live, ""
        keys_by_directory: dict[str, list[str]] = {}
        for kv in state:
            key = kv.key
            live[key] = kv
            if not directory_key or not key.startswith(directory_key):
                directory_key = directory(key)
                keys = keys_by_directory.setdefault(directory_key, [])
            keys.append(key)
        for directory_key, keys in keys_by_directory.items():
            self.directory_index(directory_key).keys.update(keys)

    def apply(self, events: Iterable[Event]) -> None:
        """Append events, none with an older revision than the one before, and wake those who wait for them."""
        touched = {self._all}
        log = self._all.events
        for event in events:
            index = self.directory_index(directory(event.key))
            self._store(event, index)
            log.append(event)
            if index is not self._all:
                index.events.append(event)
                touched.add(index)
            self.revision = event.revision
        for touched_index in touched:
            touched_index.wake()

    def advance(self, revision: int) -> None:
        """Note that nothing else has happened up to a revision, and wake those who wait for it."""
        if revision > self.revision:
            self.revision = revision
            self._all.wake()

    def _store(self, event: Event, index: DirectoryIndex) -> None:
        _, key, kv, prev = event
        if kv is None:
            del self._live[key]
            index.keys.remove(key)
            return
        if prev is None:
            index.keys.add(key)
        self._live[key] = kv

    def wake_all(self) -> None:
        """Call every callback that is parked in any directory."""
        for index in self._indexes.values():
            index.wake()

    def watch(self, prefix: str, after: int) -> Cursor:
        """Return a cursor strictly after a revision; raises Compacted if events after it are gone."""
        if after < self.compacted:
            raise Compacted(self.compacted)
        return Cursor(self, prefix, after)

    def compact(self, revision: int) -> None:
        """Forget the events up to a revision; raises FutureRevision."""
        if revision > self.revision:
            raise FutureRevision(self.revision)
        if revision > self.compacted:
            self.compacted = revision
            self._snapshots.clear()
            for index in self._indexes.values():
                index.drop(revision)

    def forget_history(self) -> None:
        """Forget all history: events may have been missed, so every watcher gets Compacted."""
        self.compact(self.revision)
        for index in self._indexes.values():
            index.dropped = self.revision
            index.wake()

    def count(self, prefix: str) -> int:
        """Return the number of keys under a prefix."""
        keys = self._keys(directory(prefix))
        return int(keys.bisect_left(_successor(prefix)) - keys.bisect_left(prefix))

    def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return a page of the keys under a prefix, of the newest state or of an old one; see `Store.range`."""
        if revision > self.revision:
            raise FutureRevision(self.revision)
        if revision and revision < self.compacted:
            raise Compacted(self.compacted)
        directory_key = directory(prefix)
        past = self._items_at(directory_key, revision) if revision else None
        if past is None:
            keys = self._keys(directory_key)
            span = _PageBounds(keys.bisect_left(max(prefix, start)), keys.bisect_left(_successor(prefix)), limit)
            items = list(map(self._live.__getitem__, keys.islice(span.begin, span.end)))
        else:
            first, last = (bisect_left(past, bound, key=_key) for bound in (max(prefix, start), _successor(prefix)))
            span = _PageBounds(first, last, limit)
            items = past[span.begin : span.end]
        at = Revision(revision or self.revision)
        return Page(items=items, revision=at, more=span.remaining > 0, remaining=span.remaining)

    def _keys(self, directory_key: str) -> SortedList:
        if directory_key:
            index = self._indexes.get(directory_key)
            return index.keys if index else SortedList()
        return SortedList(chain.from_iterable(other.keys for other in self._indexes.values()))

    def _items_at(self, directory_key: str, revision: int) -> list[KeyValue] | None:
        """Return a directory's items at a revision, kept for the next pages; None if nothing has changed since."""
        log = self._indexes.get(directory_key)
        if log is None or log.index_after(revision) == len(log.events):
            return None
        past = self._snapshots.get((directory_key, revision))
        if past is None:
            if len(self._snapshots) == _MAX_SNAPSHOTS:
                del self._snapshots[next(iter(self._snapshots))]
            past = self._snapshots[directory_key, revision] = self._items_before(
                directory_key, log.events[log.index_after(revision) :]
            )
        return past

    def _items_before(self, directory_key: str, events: list[Event]) -> list[KeyValue]:
        """Return a directory's items as they were before the newest events."""
        changed = {event.key: event.prev for event in reversed(events)}
        items = [self._live[key] for key in self._keys(directory_key) if key not in changed]
        items += [kv for kv in changed.values() if kv is not None]
        items.sort(key=_key)
        return items


class _PageBounds:
    """The positions of a page in a sorted list, and the number of items of the range that follow it."""

    __slots__ = ("begin", "end", "remaining")

    def __init__(self, begin: int, stop: int, limit: int) -> None:
        self.begin = begin
        self.end = min(begin + limit, stop) if limit else stop
        self.remaining = stop - self.end


def directory(key: str) -> str:
    """Return the first two segments of a key, "/registry/pods/" of "/registry/pods/default/web"; "" if it has fewer.

    All keys with a prefix lie in the prefix's directory, if it has one: the directory indexes rely on that.
    """
    second = key.find("/", 1)
    third = key.find("/", second + 1) if second > 0 else -1
    return key[: third + 1]


def _successor(prefix: str) -> str:
    """Return the least string above all that begin with a prefix (as far as keys go: they end before U+10FFFF)."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else chr(0x10FFFF)
