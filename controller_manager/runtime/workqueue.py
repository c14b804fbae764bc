"""The work queue: keys once each, never two workers on one key, later keys, and failing keys with growing patience."""

import asyncio
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from controller_manager.reconcile.contract import Key


class Limiter(Protocol):
    """How long a failing key waits."""

    def when(self, key: Key) -> float:
        """Seconds until the next try; each call is a failure."""

    def failures(self, key: Key) -> int:
        """How often it has failed since it was forgotten."""

    def forget(self, key: Key) -> None:
        """It went well."""


class Gauges(Protocol):
    """What is measured of a queue (client-go's workqueue metrics)."""

    def added(self) -> None:
        """A key came into the queue."""

    def retried(self) -> None:
        """A key comes again after a failure."""

    def started(self, waited: float) -> None:
        """A worker has taken a key that waited so many seconds."""

    def finished(self, worked: float) -> None:
        """A worker has let go of a key after so many seconds."""


class WorkQueue:
    """Keys to be worked on (client-go's util/workqueue): what is added while in work runs again afterwards.

    Args:
        limiter: how long failing keys wait.
        gauges: what is told of keys that come and go.
        timer: by which it is measured how long they take; uvloop's own clock stands still during a turn of the loop.

    Attributes:
        running: key → when a worker took it, by the timer.
    """

    def __init__(self, limiter: Limiter, gauges: Gauges, timer: Callable[[], float] | None = None) -> None:
        self._limiter = limiter
        self._gauges = gauges
        self._loop = asyncio.get_running_loop()
        self._time = timer or self._loop.time
        self._ready: deque[Key] = deque()
        self._dirty: dict[Key, float] = {}
        self.running: dict[Key, float] = {}
        self._idle: deque[asyncio.Future[None]] = deque()
        self._later: list[tuple[float, Key]] = []
        self._due: dict[Key, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: Key) -> None:
        """Have the key worked on, once however often it is added before a worker takes it."""
        if key in self._dirty:
            return
        self._dirty[key] = self._time()
        self._gauges.added()
        if key not in self.running:
            self._offer(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Add the key when so much time has passed; of several times the earliest holds."""
        if seconds <= 0:
            self.add(key)
            return
        at = self._loop.time() + seconds
        if at < self._due.get(key, float("inf")):
            self._due[key] = at
            heappush(self._later, (at, key))
            if self._later[0] == (at, key):
                self._arm()

    def retry(self, key: Key) -> None:
        """Add the key after the time that its failures have earned it."""
        self._gauges.retried()
        self.add_after(key, self._limiter.when(key))

    def failures(self, key: Key) -> int:
        """How often the key has failed in a row."""
        return self._limiter.failures(key)

    def forget(self, key: Key) -> None:
        """The key went well: its next failure is its first."""
        self._limiter.forget(key)

    async def get(self) -> Key:
        """The next key; the worker must call `done` with it."""
        while not self._ready:
            waiter = self._loop.create_future()
            self._idle.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake()  # somebody else must take what this worker was woken for
                raise
        key = self._ready.popleft()
        now = self._time()
        self._gauges.started(now - self._dirty.pop(key))
        self.running[key] = now
        return key

    def done(self, key: Key) -> None:
        """The worker has let go of the key."""
        self._gauges.finished(self._time() - self.running.pop(key))
        if key in self._dirty:
            self._offer(key)

    def close(self) -> None:
        """Let nothing come later any more."""
        if self._timer:
            self._timer.cancel()

    def _offer(self, key: Key) -> None:
        self._ready.append(key)
        self._wake()

    def _wake(self) -> None:
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _arm(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._later[0][0], self._ring)

    def _ring(self) -> None:
        now = self._loop.time()
        while self._later and self._later[0][0] <= now:
            at, key = heappop(self._later)
            if self._due.get(key) == at:  # else an earlier time has replaced it
                del self._due[key]
                self.add(key)
        if self._later:
            self._arm()
