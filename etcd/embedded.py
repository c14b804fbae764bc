"""The store over the engine in this process, in memory; and its watchers, which park until the engine wakes them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from etcd.access import ClusterConfig
from etcd.compaction import CompactionLimits, CompactionSchedule
from etcd.mvcc import Cursor, DirectoryIndex, Engine
from etcd.store import (
    MAX_VALUE_BYTES,
    MISSING,
    Conflict,
    Event,
    KeyValue,
    Page,
    Revision,
    TooLarge,
    Unavailable,
)


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The options that every backend is opened with.

    Attributes:
        attach: computes from a key and its value what to keep beside it.
        clock: seconds that only ever grow.
        limits: how much history to keep.
        access: how a cluster is used.
    """

    attach: Callable[[str, bytes], Any]
    clock: Callable[[], float]
    limits: CompactionLimits
    access: ClusterConfig = field(default_factory=ClusterConfig)


class EmbeddedStore:
    """The contract over an engine; a write is applied at once. Make it in a running event loop."""

    def __init__(self, engine: Engine, options: StoreOptions) -> None:
        self._engine = engine
        self._attach = options.attach
        self._clock = options.clock
        self._schedule = CompactionSchedule(options.limits)
        self._loop = asyncio.get_running_loop()
        self._closed = ""
        self.get = engine.get
        self.range = engine.range
        self.count = engine.count
        self._schedule.due(self._clock(), engine.revision)
        self._timer = self._loop.call_later(self._schedule.interval, self._tick)

    @property
    def revision(self) -> Revision:
        """The newest revision that reads can see."""
        return Revision(self._engine.revision)

    @property
    def is_shared(self) -> bool:
        """False: no other process has the keys."""
        return False

    @property
    def closed(self) -> str:
        """Why the store does not answer any more; "" while it does."""
        return self._closed

    @property
    def health_error(self) -> str:
        """Why the store does not answer any more; "" while it does."""
        return self._closed

    async def sync_read(self) -> None:
        """Do nothing: reads here are always linearizable."""

    async def range_at(self, prefix: str, *, start: str = "", limit: int = 0, revision: int) -> Page:
        """Return what `range` returns: there are no snapshots but the engine's."""
        return self.range(prefix, start=start, limit=limit, revision=revision)

    @property
    def supports_ttl(self) -> bool:
        """False: keys stay until they are deleted."""
        return False

    async def put(
        self,
        key: str,
        value: bytes,
        *,
        expect: int | None = None,
        index_attrs: Any = MISSING,
        ttl: float = 0.0,  # noqa: ARG002 - see `supports_ttl`
    ) -> KeyValue:
        """Write a key once no earlier write of it is pending; see `Store.put`."""
        if len(value) + len(key) > MAX_VALUE_BYTES:
            raise TooLarge
        if index_attrs is MISSING:
            index_attrs = self._attach(key, value)
        while not _matches(prev := self._newest(key), expect):
            if not await self._await_pending_write(key):
                raise Conflict(prev)
        revision = self._next_revision()
        kv = KeyValue(key, value, prev.create_revision if prev else revision, revision, index_attrs)
        await self._commit(Event(revision, key, kv, prev))
        return kv

    async def delete(self, key: str, *, expect: int | None = None) -> Event:
        """Delete a key once no earlier write of it is pending; see `Store.delete`."""
        while (prev := self._newest(key)) is None or not _matches(prev, expect):
            if not await self._await_pending_write(key):
                raise Conflict(prev)
        event = Event(self._next_revision(), key, None, prev)
        await self._commit(event)
        return event

    def watch(self, prefix: str, *, after: int) -> "ParkingWatcher":
        """Return a watcher of the events under a prefix after a revision, which raises Compacted if some are gone."""
        return ParkingWatcher(self, self._engine.watch(prefix, after))

    async def wait_for(self, revision: int, timeout: float) -> bool:  # noqa: ASYNC109 - a late revision is an answer
        """Wait until a revision can be read; return False if it does not come in time."""
        try:
            async with asyncio.timeout(timeout):
                while self._engine.revision < revision:
                    self._require_open()
                    await wait_for_change(self._engine.directory_index(""))
        except TimeoutError:
            return False
        return True

    async def compact(self, revision: int) -> None:
        """Forget history before a revision; raises FutureRevision."""
        self._compact(revision)

    async def close(self) -> None:
        """Stop the store: waiting watchers wake up, and whatever comes later raises Unavailable."""
        self._timer.cancel()
        self._closed = self._closed or "the store is closed"
        self._engine.wake_all()

    def _newest(self, key: str) -> KeyValue | None:
        """Return the version that the next write to a key replaces; None if the key does not exist."""
        return self._engine.get(key)

    async def _await_pending_write(self, key: str) -> bool:  # noqa: ARG002 - here no write is ever under way
        """Wait for the write of a key that is under way; return False if there is none."""
        return False

    def _next_revision(self) -> int:
        self._require_open()
        return self._engine.revision + 1

    async def _commit(self, event: Event) -> None:
        event.key.encode()  # a key that is not valid text raises here, as it does where keys are stored
        self._apply((event,))

    def _apply(self, events: Iterable[Event]) -> None:
        self._engine.apply(events)
        log = self._engine.log
        surplus = self._schedule.surplus(len(log))
        if surplus:
            self._compact(log[surplus - 1].revision)

    def _compact(self, revision: int) -> None:
        self._engine.compact(revision)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._schedule.interval, self._tick)
        old = self._schedule.due(self._clock(), self._engine.revision)
        if old > self._engine.compacted:
            self._compact(old)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable(self._closed)


class ParkingWatcher:
    """The contract's watcher: a cursor of the engine, parked at its directory's index while there are no events."""

    __slots__ = ("_closed", "_cursor", "_store")

    def __init__(self, store: EmbeddedStore, cursor: Cursor) -> None:
        self._store = store
        self._cursor = cursor
        self._closed = ""

    @property
    def position(self) -> int:
        """The revision up to which the caller has all events of the prefix."""
        return self._cursor.position

    async def next(self) -> Sequence[Event]:
        """Return the next events; waits for the first. Raises Compacted and Unavailable."""
        while not (batch := self.next_nowait()):
            await wait_for_change(self._cursor.index)
        return batch

    def next_nowait(self) -> Sequence[Event]:
        """Return the events there are, without waiting. Raises Compacted and Unavailable."""
        closed = self._closed or self._store.closed
        if closed:
            raise Unavailable(closed)
        return self._cursor.next_events()

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have a function called once when something happens in the watched directory, or when the watch ends."""
        self._cursor.index.parked.add(callback)

    def close(self) -> None:
        """Stop the watch; a waiting `next` raises Unavailable."""
        self._closed = "the watch is closed"
        self._cursor.index.wake()


async def wait_for_change(index: DirectoryIndex) -> None:
    """Wait until something happens in a directory."""
    woken = asyncio.get_running_loop().create_future()
    wake = partial(_resolve, woken)
    index.parked.add(wake)
    try:
        await woken
    finally:
        index.parked.discard(wake)


def _resolve(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


def _matches(current: KeyValue | None, expect: int | None) -> bool:
    return expect is None or expect == (current.mod_revision if current else 0)
