"""The work queue: each key once, never two workers on one key, delayed keys, and growing waits for failing keys."""

import asyncio
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from controller_manager.reconcile.contract import Key


class RateLimiter(Protocol):
    """Decides how long a failing key waits."""

    def when(self, key: Key) -> float:
        """Return the seconds until the next try; each call counts as a failure."""

    def num_requeues(self, key: Key) -> int:
        """Return how often the key has failed since it was forgotten."""

    def forget(self, key: Key) -> None:
        """Forget the key's failures after a success."""


class QueueMetrics(Protocol):
    """The metrics of a queue (client-go's workqueue metrics)."""

    def added(self) -> None:
        """Count a key that was added."""

    def retried(self) -> None:
        """Count a key that is retried after a failure."""

    def started(self, waited: float) -> None:
        """Record that a worker has taken a key that waited so many seconds."""

    def finished(self, worked: float) -> None:
        """Record that a worker has finished a key after so many seconds."""


class WorkQueue:
    """A queue of keys (client-go's util/workqueue): a key added while it is processed is processed again afterwards.

    Args:
        limiter: decides how long failing keys wait.
        gauges: the metrics of the queue.
        timer: the clock for durations; uvloop's own clock stands still during a turn of the loop.

    Attributes:
        processing: key → when a worker took it, by the timer.
    """

    def __init__(self, limiter: RateLimiter, gauges: QueueMetrics, timer: Callable[[], float] | None = None) -> None:
        self._limiter = limiter
        self._gauges = gauges
        self._loop = asyncio.get_running_loop()
        self._time = timer or self._loop.time
        self._ready: deque[Key] = deque()
        self._dirty: dict[Key, float] = {}
        self.processing: dict[Key, float] = {}
        self._idle: deque[asyncio.Future[None]] = deque()
        self._later: list[tuple[float, Key]] = []
        self._due: dict[Key, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: Key) -> None:
        """Add a key; however often it is added before a worker takes it, it is processed once."""
        if key in self._dirty:
            return
        self._dirty[key] = self._time()
        self._gauges.added()
        if key not in self.processing:
            self._push(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Add the key after so many seconds; the earliest of several times applies."""
        if seconds <= 0:
            self.add(key)
            return
        at = self._loop.time() + seconds
        if at < self._due.get(key, float("inf")):
            self._due[key] = at
            heappush(self._later, (at, key))
            if self._later[0] == (at, key):
                self._start_timer()

    def add_rate_limited(self, key: Key) -> None:
        """Add the key after the backoff for its failures."""
        self._gauges.retried()
        self.add_after(key, self._limiter.when(key))

    def num_requeues(self, key: Key) -> int:
        """Return how often the key has failed in a row."""
        return self._limiter.num_requeues(key)

    def forget(self, key: Key) -> None:
        """Forget the key's failures after a success."""
        self._limiter.forget(key)

    async def get(self) -> Key:
        """Return the next key; the worker must call `done` with it."""
        while not self._ready:
            waiter = self._loop.create_future()
            self._idle.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake()  # another worker must take what this one was woken for
                raise
        key = self._ready.popleft()
        now = self._time()
        self._gauges.started(now - self._dirty.pop(key))
        self.processing[key] = now
        return key

    def done(self, key: Key) -> None:
        """Mark the key as finished by its worker."""
        self._gauges.finished(self._time() - self.processing.pop(key))
        if key in self._dirty:
            self._push(key)

    def shut_down(self) -> None:
        """Cancel all delayed keys."""
        if self._timer:
            self._timer.cancel()

    def _push(self, key: Key) -> None:
        self._ready.append(key)
        self._wake()

    def _wake(self) -> None:
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _start_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._later[0][0], self._timer_fired)

    def _timer_fired(self) -> None:
        now = self._loop.time()
        while self._later and self._later[0][0] <= now:
            at, key = heappop(self._later)
            if self._due.get(key) == at:  # else an earlier time has replaced it
                del self._due[key]
                self.add(key)
        if self._later:
            self._start_timer()
