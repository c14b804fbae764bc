"""Keeps an engine in step with a cluster: reads the state once, then follows one watch, and never misses an event.

The watch is of all keys, since it is by their events that the feed knows how far it is: each revision of the cluster
has one. Those that lie elsewhere only move the engine's revision on.
"""

import asyncio
import logging
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from etcd.access import ALL, KeyPrefix
from etcd.cluster import Cluster, Json
from etcd.mvcc import Engine
from etcd.pages import Pages
from etcd.store import (
    UNFINISHED,
    UNREADABLE,
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

LOOK: Final = 2.0
"""Seconds between two looks whether the watch is behind the cluster."""
BEHIND: Final = 2.0
"""Seconds that the watch may be behind before another member is asked."""
LONGEST_PAUSE: Final = 0.02
"""Seconds that what has come may be held back, so that it is told together with what comes next."""
_BACK_OFF: Final = (0.05, 2.0)


class Mine(NamedTuple):
    """What this process has written and not seen yet: its bytes, and what to keep beside them."""

    value: bytes
    index_attrs: Any


@dataclass(slots=True)
class Feed:
    """The engine of a store over a cluster.

    Attributes:
        cluster: where the keys are.
        place: under which names.
        attach: computes what to keep beside a value.
        engine: what is known; whoever waits for a revision is woken by it.
        apply: has the engine take events.
        mine: by key, the writes of this process that are under way.
        health_error: why the watch does not follow the cluster, "" while it does.
    """

    cluster: Cluster
    place: KeyPrefix
    attach: Callable[[str, bytes], Any]
    engine: Engine
    apply: Callable[[Iterable[Event]], None]
    mine: dict[str, list[Mine]] = field(default_factory=dict)
    health_error: str = ""
    _task: asyncio.Task[None] | None = None
    _waiting: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    _number: int = 0
    _held: list[Json] = field(default_factory=list)
    _flushing: asyncio.TimerHandle | None = None
    _told_at: float = 0.0
    _pause: float = 0.0

    async def start(self) -> None:
        """Read the state, and follow it from then on.

        Raises:
            StoreError: it cannot be read.
        """
        await self.ask()  # who does not answer that is away, whatever the size of a page
        state, revision = await self._pages().state()
        self.engine.restore(state.values(), revision)
        self._task = asyncio.create_task(self._run(), name="etcd watch")

    async def stop(self) -> None:
        """Follow no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for _, _, come in self._waiting:
            if not come.done():
                come.set_exception(Unavailable("the store is closed"))

    async def until(self, revision: int) -> None:
        """Wait until the engine has come to a revision."""
        if revision <= self.engine.revision:
            return
        come = asyncio.get_running_loop().create_future()
        self._number += 1
        heappush(self._waiting, (revision, self._number, come))
        await come

    def _wake(self) -> None:
        """Tell those who wait for what the engine has come to."""
        waiting, revision = self._waiting, self.engine.revision
        while waiting and waiting[0][0] <= revision:
            come = heappop(waiting)[2]
            if not come.done():
                come.set_result(None)

    # -- the state

    def _pages(self) -> Pages:
        return Pages(self.cluster, self.place, self.key_value)

    async def range_at(self, prefix: str, start: str, limit: int, revision: int) -> Page:
        """What the cluster has of a snapshot; see the contract's `range_at`."""
        return await self._pages().page(prefix, start, limit, revision)

    def key_value(self, key: str, told: Json) -> KeyValue:
        """A key as an answer tells it.

        Raises:
            Damaged: its value is none of ours.
        """
        value = b64decode(told.get("value", ""))
        created, modified = int(told["create_revision"]), int(told["mod_revision"])
        known = self.engine.get(key)
        if known is not None and known.mod_revision == modified:
            return known
        return KeyValue(key, value, created, modified, self._attached(key, value))

    @contextmanager
    def writing(self, key: str, value: bytes, index_attrs: Any) -> Iterator[None]:
        """While a value is being written by this process, what it keeps beside it need not be computed."""
        mine = Mine(value, index_attrs)
        under_way = self.mine.setdefault(key, [])
        under_way.append(mine)
        try:
            yield
        finally:
            under_way[:] = [each for each in under_way if each is not mine]
            if not under_way and self.mine.get(key) is under_way:
                del self.mine[key]

    def _attached(self, key: str, value: bytes) -> Any:
        for mine in self.mine.get(key, ()):
            if mine.value == value:
                return mine.index_attrs
        try:
            return self.attach(key, value)
        except UNREADABLE as error:
            where = self.place.outside + key.removeprefix(self.place.inside)
            if value == UNFINISHED:
                raise Damaged(f"etcd has {where!r}: {value.decode()}") from error
            raise Damaged(
                f"etcd has something under {where!r} that is not of this server ({error}): "
                "name another prefix of keys, or delete it"
            ) from error

    async def _again(self) -> None:
        """Read the state anew, since events are gone: who has not seen what was before has to begin anew as well."""
        state, revision = await self._pages().state()
        engine = self.engine
        gone = [kv for kv in engine.range(self.place.inside).items if kv.key not in state]
        events = [Event(revision, kv.key, None, kv) for kv in gone]
        for key, kv in state.items():
            if (prev := engine.get(key)) is not kv:
                events.append(Event(revision, key, kv, prev))
        self.apply(events)
        engine.advance(revision)
        engine.forget()
        self._wake()

    # -- the watch

    async def _run(self) -> None:
        """Follow until cancelled."""
        first, longest = _BACK_OFF
        wait = first
        while True:
            before = self.engine.revision
            try:
                await self._follow_or_read()
            except StoreError as error:
                is_new = str(error) != self.health_error
                self.health_error = str(error)
                log.log(logging.WARNING if is_new else logging.DEBUG, "the watch of etcd begins anew: %s", error)
            except Exception as error:
                self.health_error = f"the watch of etcd failed: {error!r}"
                log.exception("the watch of etcd failed and begins anew")
            wait = first if self.engine.revision > before else min(wait * 2, longest)
            await asyncio.sleep(wait)

    async def _follow_or_read(self) -> None:
        """Follow; where what was to come next is gone, read everything. Raises StoreError."""
        try:
            await self._follow()
        except Compacted:
            log.warning("etcd has compacted what was to come next: everything is read again")
            await self._again()

    async def _follow(self) -> None:
        """Apply what a watch tells until it breaks off or falls behind; raises StoreError then."""
        tasks = {asyncio.create_task(self._listen()), asyncio.create_task(self._look())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._flush()

    async def _listen(self) -> None:
        await self.ask()  # so the stream comes from a member that answers, and to somebody who is logged in
        create = {"key": ALL, "range_end": ALL, "start_revision": str(self.engine.revision + 1)}
        async with self.cluster.stream("/watch", {"create_request": create}) as messages:
            async for message in messages:
                self._take(message)
            raise Unreachable("the stream ended")

    async def _look(self) -> None:
        """Look from time to time whether the watch is behind the cluster; raises Unavailable where it stays so."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                newest = await self.ask()
            except StoreError as error:  # nobody answers: then the watch cannot be blamed
                self.health_error = str(error)
                continue
            await asyncio.sleep(BEHIND)
            if self.engine.revision < newest:
                self.cluster.leave()
                raise Unreachable(f"the watch stands at revision {self.engine.revision}, the cluster at {newest}")
            self.health_error = ""

    async def ask(self) -> int:
        """The revision of the cluster: all writes that were acknowledged before have it or an older one.

        Raises:
            Away: nobody tells.
            StoreError: it is refused; or the cluster is not as new as what was seen of it.
        """
        seen = self.engine.revision
        answer = await self.cluster.read("/kv/range", {"key": ALL, "limit": 1, "keys_only": True})
        revision = int(answer["header"]["revision"])
        if revision < seen:
            raise Damaged(
                f"etcd is at revision {revision} and was at {seen} before: it is another one, or was restored from an "
                "older copy; what is known of it is wrong, so start anew"
            )
        return revision

    def _take(self, message: Json) -> None:
        """Take in one message; all events of a revision are in the same one."""
        if message.get("canceled"):  # one that etcd refuses is "created" as well
            if int(message.get("compact_revision", 0)):
                raise Compacted(int(message["compact_revision"]))
            raise Unreachable(f"etcd ended the watch: {message.get('cancel_reason') or 'it does not say why'}")
        if message.get("created"):
            self.health_error = ""
        if events := message.get("events"):
            self._held += events
            if self._flushing is None:
                loop = asyncio.get_running_loop()
                self._flushing = loop.call_at(self._told_at + self._pause, self._flush)

    def _flush(self) -> None:
        """Apply what has come.

        Many may have to be told of it, and what comes meanwhile is told to them together: as long as that took the last
        time, nothing else is applied. So the more there are to tell, the more they are told at a time.
        """
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if not self._held:
            return
        loop, events, self._held = asyncio.get_running_loop(), self._held, []
        began = loop.time()
        self.apply(self._events(events))
        self.engine.advance(int(events[-1]["kv"]["mod_revision"]))
        self._wake()
        loop.call_soon(self._told, began)  # after all whom that has woken

    def _told(self, began: float) -> None:
        self._told_at = asyncio.get_running_loop().time()
        self._pause = min(self._told_at - began, LONGEST_PAUSE)

    def _events(self, told: Iterable[Json]) -> Iterable[Event]:
        engine, seen = self.engine, self.engine.revision
        for each in told:
            kv = each["kv"]
            revision, key = int(kv["mod_revision"]), self.place.decoded(kv["key"])
            if key is None or revision <= seen:
                continue
            prev = engine.get(key)
            if each.get("type") != "DELETE":
                try:
                    found = self.key_value(key, kv)
                except Damaged as error:
                    log.error("it is left out: %s", error)  # noqa: TRY400 - the message says it all
                    continue
                yield Event(revision, key, found, prev)
            elif prev is not None:
                yield Event(revision, key, None, prev)
