"""Rate limits: token buckets for requests and events, and the growing backoff of keys that fail."""

from collections.abc import Hashable

from controller_manager.runtime.clock import Clock


class TokenBucket:
    """A token bucket: a burst, then so many tokens per second (golang.org/x/time/rate).

    Args:
        clock: its monotonic time fills the bucket.
        rate: tokens per second.
        burst: how many tokens it holds, and begins with.
    """

    def __init__(self, clock: Clock, *, rate: float, burst: int) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._tokens = self._burst
        self._filled = clock.monotonic()

    def reserve(self) -> float:
        """Take a token, even one of the future; return the seconds until it may be used."""
        self._fill()
        self._tokens -= 1
        return 0.0 if self._tokens >= 0 else -self._tokens / self._rate

    def try_accept(self) -> bool:
        """Take a token if there is one; return whether there was."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def wait(self) -> None:
        """Take a token, and wait until it may be used."""
        seconds = self.reserve()
        if seconds > 0:
            await self._clock.sleep(seconds)

    def _fill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._filled) * self._rate)
        self._filled = now


class ItemBackoff:
    """Waits that double with every failure of an item (ItemExponentialFailureRateLimiter).

    Args:
        base: seconds after the first failure.
        top: the longest wait.
    """

    def __init__(self, base: float = 0.005, top: float = 1000.0) -> None:
        self._base = base
        self._top = top
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable) -> float:
        """Return the seconds to wait after one more failure of the item."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        return min(self._base * 2.0 ** min(failures, 64), self._top)

    def num_requeues(self, item: Hashable) -> int:
        """Return how often the item has failed since it was forgotten."""
        return self._failures.get(item, 0)

    def forget(self, item: Hashable) -> None:
        """Forget the item's failures, after a success or if it is no longer needed."""
        self._failures.pop(item, None)


class QueueLimiter:
    """The longer of an item's own wait and the wait in the bucket of all items (DefaultControllerRateLimiter).

    Args:
        clock: the clock of the bucket.
    """

    def __init__(self, clock: Clock) -> None:
        self._items = ItemBackoff()
        self._bucket = TokenBucket(clock, rate=10.0, burst=100)

    def when(self, item: Hashable) -> float:
        """Return the seconds to wait after one more failure of the item."""
        return max(self._items.when(item), self._bucket.reserve())

    def num_requeues(self, item: Hashable) -> int:
        """Return how often the item has failed since it was forgotten (NumRequeues)."""
        return self._items.num_requeues(item)

    def forget(self, item: Hashable) -> None:
        """Forget the item's failures, after a success or if it is no longer needed."""
        self._items.forget(item)
