"""Forgets Events that nobody has written for a while, as upstream's store does with a lease (--event-ttl)."""

import asyncio
import calendar
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import orjson

from apiserver.api.meta import Obj
from apiserver.registry.context import Registry
from apiserver.registry.store_watch import follow
from etcd.store import Conflict, KeyValue, Watcher

PREFIX = "/registry/events/"
LONGEST_PAUSE = 30.0
"""Seconds between two sweeps; an Event may live so much longer."""
AT_ONCE = 256
"""How many Events are deleted at a time, so that the store commits them together."""
_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")


class Written(NamedTuple):
    """One write of an Event; it counts while the Event has no later one."""

    seconds: float
    key: str
    revision: int


class EventSweeper:
    """Knows when each Event was written last, by reading the store's log now and then: writers wait for nothing."""

    def __init__(self, registry: Registry, ttl: float) -> None:
        """Take the settings.

        Args:
            registry: the server's collaborators.
            ttl: how long an Event is kept after its last write, in seconds.
        """
        self._store = registry.storage.store
        self._clock = registry.clock
        self._ttl = ttl

    async def run(self) -> None:
        """Sweep until cancelled or the store is closed."""
        await follow(self._store, PREFIX, self._sweep)

    async def _sweep(self, watcher: Watcher, found: Sequence[KeyValue]) -> None:
        known = deque(sorted(Written(_seconds(kv), kv.key, kv.mod_revision) for kv in found))
        while True:
            now = self._clock.now()
            while events := watcher.take():
                known.extend(Written(now, event.key, event.revision) for event in events if event.kv)
            while old := list(_older(known, now - self._ttl)):
                await self._delete(old)
            await asyncio.sleep(min(LONGEST_PAUSE, self._ttl / 2))

    async def _delete(self, old: list[Written]) -> None:
        async with asyncio.TaskGroup() as group:
            for written in old:
                group.create_task(self._delete_one(written))

    async def _delete_one(self, written: Written) -> None:
        with suppress(Conflict):  # written again, or gone
            await self._store.delete(written.key, expect=written.revision)


def _older(known: deque[Written], seconds: float) -> Iterator[Written]:
    """Take some of the writes that are not after a time."""
    for _ in range(AT_ONCE):
        if not known or known[0].seconds > seconds:
            return
        yield known.popleft()


def _seconds(kv: KeyValue) -> float:
    """When an Event that was there at the start was written last, as far as it tells."""
    event: Obj = orjson.loads(kv.value)
    times = (*(event.get(name) for name in _TIMES), event["metadata"].get("creationTimestamp"))
    told = next((text for text in times if text), "1970-01-01T00:00:00Z")
    return calendar.timegm(time.strptime(told[:19], "%Y-%m-%dT%H:%M:%S"))
