"""Keeps an engine in step with a cluster: reads the state once, then follows one watch, and never misses an event.

The watch is of all keys, because each revision of the cluster has an event, and those tell how far the watch has come.
Events of keys outside the store's prefix only advance the engine's revision.
"""

import asyncio
import logging
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from etcd.access import ALL_KEYS, KeyPrefix
from etcd.cluster import Cluster, Json
from etcd.mvcc import Engine
from etcd.range_reader import RangeReader
from etcd.store import (
    DECODE_ERRORS,
    UNFINISHED,
    Compacted,
    Damaged,
    Event,
    KeyValue,
    Page,
    StoreError,
    Unavailable,
    Unreachable,
)

log = logging.getLogger("etcd")

CHECK_INTERVAL: Final = 2.0
"""Seconds between two checks that the watch keeps up with the cluster."""
MAX_LAG: Final = 2.0
"""Seconds that the watch may lag behind before another member is asked."""
MAX_PAUSE: Final = 0.02
"""The longest time in seconds that events are held back, so that they are delivered together with the next ones."""
_BACKOFF: Final = (0.05, 2.0)


class OwnWrite(NamedTuple):
    """A write of this process that the watch has not delivered yet: its bytes, and what to keep beside them."""

    value: bytes
    index_attrs: Any


@dataclass(slots=True)
class WatchCache:
    """The watch cache of a store over a cluster.

    Attributes:
        cluster: the cluster that has the keys.
        key_prefix: the prefix of the keys.
        attach: computes what to keep beside a value.
        engine: the state known so far; it wakes those who wait for a revision.
        apply: applies events to the engine.
        own_writes: by key, the writes of this process that are under way.
        health_error: why the watch does not follow the cluster, "" while it does.
    """

    cluster: Cluster
    key_prefix: KeyPrefix
    attach: Callable[[str, bytes], Any]
    engine: Engine
    apply: Callable[[Iterable[Event]], None]
    own_writes: dict[str, list[OwnWrite]] = field(default_factory=dict)
    health_error: str = ""
    _task: asyncio.Task[None] | None = None
    _waiting: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    _number: int = 0
    _held: list[Json] = field(default_factory=list)
    _flushing: asyncio.TimerHandle | None = None
    _delivered_at: float = 0.0
    _pause: float = 0.0

    async def start(self) -> None:
        """Read the state, and follow it from then on.

        Raises:
            StoreError: the state cannot be read.
        """
        await self.cluster_revision()  # a member that does not answer this is unreachable, whatever the size of a page
        state, revision = await self._range_reader().read_state()
        self.engine.restore(state.values(), revision)
        self._task = asyncio.create_task(self._run(), name="etcd watch")

    async def stop(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for _, _, reached in self._waiting:
            if not reached.done():
                reached.set_exception(Unavailable("the store is closed"))

    async def wait_for(self, revision: int) -> None:
        """Wait until the engine has reached a revision."""
        if revision <= self.engine.revision:
            return
        reached = asyncio.get_running_loop().create_future()
        self._number += 1
        heappush(self._waiting, (revision, self._number, reached))
        await reached

    def _wake(self) -> None:
        """Resolve the futures of those who wait for a revision that the engine has reached."""
        waiting, revision = self._waiting, self.engine.revision
        while waiting and waiting[0][0] <= revision:
            reached = heappop(waiting)[2]
            if not reached.done():
                reached.set_result(None)

    # -- the state

    def _range_reader(self) -> RangeReader:
        return RangeReader(self.cluster, self.key_prefix, self.key_value)

    async def range_at(self, prefix: str, start: str, limit: int, revision: int) -> Page:
        """Return the keys of a snapshot of the cluster; see the contract's `range_at`."""
        return await self._range_reader().read_range(prefix, start, limit, revision)

    def key_value(self, key: str, answer: Json) -> KeyValue:
        """Return a key and its version as an answer of etcd has them.

        Raises:
            Damaged: the value was not written by this server.
        """
        value = b64decode(answer.get("value", ""))
        created, modified = int(answer["create_revision"]), int(answer["mod_revision"])
        cached = self.engine.get(key)
        if cached is not None and cached.mod_revision == modified:
            return cached
        return KeyValue(key, value, created, modified, self._index_attrs(key, value))

    @contextmanager
    def own_write(self, key: str, value: bytes, index_attrs: Any) -> Iterator[None]:
        """Register a write of this process, so that its index attributes need not be computed again."""
        write = OwnWrite(value, index_attrs)
        under_way = self.own_writes.setdefault(key, [])
        under_way.append(write)
        try:
            yield
        finally:
            under_way[:] = [other for other in under_way if other is not write]
            if not under_way and self.own_writes.get(key) is under_way:
                del self.own_writes[key]

    def _index_attrs(self, key: str, value: bytes) -> Any:
        for write in self.own_writes.get(key, ()):
            if write.value == value:
                return write.index_attrs
        try:
            return self.attach(key, value)
        except DECODE_ERRORS as error:
            where = self.key_prefix.cluster_prefix + key.removeprefix(self.key_prefix.store_prefix)
            if value == UNFINISHED:
                raise Damaged(f"etcd has {where!r}: {value.decode()}") from error
            raise Damaged(
                f"etcd has something under {where!r} that is not of this server ({error}): "
                "name another prefix of keys, or delete it"
            ) from error

    async def _resync(self) -> None:
        """Read the whole state again because events are gone, and have every watcher begin again."""
        state, revision = await self._range_reader().read_state()
        engine = self.engine
        gone = [kv for kv in engine.range(self.key_prefix.store_prefix).items if kv.key not in state]
        events = [Event(revision, kv.key, None, kv) for kv in gone]
        for key, kv in state.items():
            if (prev := engine.get(key)) is not kv:
                events.append(Event(revision, key, kv, prev))
        self.apply(events)
        engine.advance(revision)
        engine.forget_history()
        self._wake()

    # -- the watch

    async def _run(self) -> None:
        """Follow the cluster until cancelled."""
        first, longest = _BACKOFF
        delay = first
        while True:
            last_revision = self.engine.revision
            try:
                await self._follow_or_read()
            except StoreError as error:
                is_new = str(error) != self.health_error
                self.health_error = str(error)
                log.log(logging.WARNING if is_new else logging.DEBUG, "the watch of etcd starts again: %s", error)
            except Exception as error:
                self.health_error = f"the watch of etcd failed: {error!r}"
                log.exception("the watch of etcd failed and starts again")
            delay = first if self.engine.revision > last_revision else min(delay * 2, longest)
            await asyncio.sleep(delay)

    async def _follow_or_read(self) -> None:
        """Follow; if the next events are compacted, read everything again. Raises StoreError."""
        try:
            await self._follow()
        except Compacted:
            log.warning("etcd has compacted what was to come next: everything is read again")
            await self._resync()

    async def _follow(self) -> None:
        """Apply the events of a watch until it breaks off or falls behind; raises StoreError then."""
        tasks = {asyncio.create_task(self._watch()), asyncio.create_task(self._check_progress())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._flush()

    async def _watch(self) -> None:
        await (
            self.cluster_revision()
        )  # so the stream comes from a member that answers, and to somebody who is logged in
        create = {"key": ALL_KEYS, "range_end": ALL_KEYS, "start_revision": str(self.engine.revision + 1)}
        async with self.cluster.stream("/watch", {"create_request": create}) as messages:
            async for message in messages:
                self._handle_message(message)
            raise Unreachable("the stream ended")

    async def _check_progress(self) -> None:
        """Check from time to time whether the watch lags behind the cluster; raises Unavailable if it stays behind."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            try:
                newest = await self.cluster_revision()
            except StoreError as error:  # no member answers: then the watch cannot be blamed
                self.health_error = str(error)
                continue
            await asyncio.sleep(MAX_LAG)
            if self.engine.revision < newest:
                self.cluster.switch_member()
                raise Unreachable(f"the watch stands at revision {self.engine.revision}, the cluster at {newest}")
            self.health_error = ""

    async def cluster_revision(self) -> int:
        """Return the revision of the cluster: all writes that were acknowledged before have it or an older one.

        Raises:
            Unreachable: no member answers.
            StoreError: the call is refused; or the cluster is older than what was seen of it.
        """
        seen = self.engine.revision
        answer = await self.cluster.read("/kv/range", {"key": ALL_KEYS, "limit": 1, "keys_only": True})
        revision = int(answer["header"]["revision"])
        if revision < seen:
            raise Damaged(
                f"etcd is at revision {revision} and was at {seen} before: it is another one, or was restored from an "
                "older copy; what is known of it is wrong, so start over"
            )
        return revision

    def _handle_message(self, message: Json) -> None:
        """Handle one message of the watch; all events of a revision are in the same one."""
        if message.get("canceled"):  # a watch that etcd refuses is "created" as well
            if int(message.get("compact_revision", 0)):
                raise Compacted(int(message["compact_revision"]))
            raise Unreachable(f"etcd ended the watch: {message.get('cancel_reason') or 'it does not say why'}")
        if message.get("created"):
            self.health_error = ""
        if events := message.get("events"):
            self._held += events
            if self._flushing is None:
                loop = asyncio.get_running_loop()
                self._flushing = loop.call_at(self._delivered_at + self._pause, self._flush)

    def _flush(self) -> None:
        """Apply the events that have come.

        Many watchers may have to be woken. Events that come meanwhile are held back for as long as the last delivery
        took, and then delivered together: the more watchers there are, the larger the batches.
        """
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if not self._held:
            return
        loop, events, self._held = asyncio.get_running_loop(), self._held, []
        started = loop.time()
        self.apply(self._events(events))
        self.engine.advance(int(events[-1]["kv"]["mod_revision"]))
        self._wake()
        loop.call_soon(self._note_delivery, started)  # after the callbacks of all that were woken

    def _note_delivery(self, started: float) -> None:
        self._delivered_at = asyncio.get_running_loop().time()
        self._pause = min(self._delivered_at - started, MAX_PAUSE)

    def _events(self, events: Iterable[Json]) -> Iterable[Event]:
        engine, seen = self.engine, self.engine.revision
        for event in events:
            kv = event["kv"]
            revision, key = int(kv["mod_revision"]), self.key_prefix.decode(kv["key"])
            if key is None or revision <= seen:
                continue
            prev = engine.get(key)
            if event.get("type") != "DELETE":
                try:
                    current = self.key_value(key, kv)
                except Damaged as error:
                    log.error("it is left out: %s", error)  # noqa: TRY400 - the message says it all
                    continue
                yield Event(revision, key, current, prev)
            elif prev is not None:
                yield Event(revision, key, None, prev)
