"""Deletes Events some time after their last write, as upstream's store does with a lease (--event-ttl)."""

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
MAX_PAUSE = 30.0
"""Seconds between two sweeps; an Event may live that much longer."""
AT_ONCE = 256
"""The number of Events deleted at a time, so that the store commits them together."""
_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")


class EventExpiry(NamedTuple):
    """One write of an Event; only its last one counts."""

    seconds: float
    key: str
    revision: int


class EventSweeper:
    """Deletes expired Events; it reads the store's log from time to time, so that writers need not wait."""

    def __init__(self, registry: Registry, ttl: float) -> None:
        """Store the settings.

        Args:
            registry: the server's collaborators.
            ttl: seconds that an Event is kept after its last write.
        """
        self._store = registry.storage.store
        self._clock = registry.clock
        self._ttl = ttl

    async def run(self) -> None:
        """Sweep until cancelled or the store is closed."""
        await follow(self._store, PREFIX, self._sweep)

    async def _sweep(self, watcher: Watcher, items: Sequence[KeyValue]) -> None:
        known = deque(sorted(EventExpiry(_seconds(kv), kv.key, kv.mod_revision) for kv in items))
        while True:
            now = self._clock.now()
            while events := watcher.next_nowait():
                known.extend(EventExpiry(now, event.key, event.revision) for event in events if event.kv)
            while old := list(_older(known, now - self._ttl)):
                await self._delete(old)
            await asyncio.sleep(min(MAX_PAUSE, self._ttl / 2))

    async def _delete(self, old: list[EventExpiry]) -> None:
        async with asyncio.TaskGroup() as group:
            for written in old:
                group.create_task(self._delete_one(written))

    async def _delete_one(self, written: EventExpiry) -> None:
        with suppress(Conflict):  # written again, or gone
            await self._store.delete(written.key, expect=written.revision)


def _older(known: deque[EventExpiry], seconds: float) -> Iterator[EventExpiry]:
    """Remove and yield at most AT_ONCE of the writes up to a time."""
    for _ in range(AT_ONCE):
        if not known or known[0].seconds > seconds:
            return
        yield known.popleft()


def _seconds(kv: KeyValue) -> float:
    """Return the time of the last write of an Event that was stored at the start, as far as its fields tell."""
    event: Obj = orjson.loads(kv.value)
    times = (*(event.get(name) for name in _TIMES), event["metadata"].get("creationTimestamp"))
    timestamp = next((text for text in times if text), "1970-01-01T00:00:00Z")
    return calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S"))
