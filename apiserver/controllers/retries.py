"""What failed and is to be tried again: each time after twice as long, as the rate limiters of upstream's queues do."""

from collections.abc import Callable
from dataclasses import dataclass

FIRST_WAIT, LONGEST_WAIT = 0.1, 30.0
"""Seconds until something is tried again, after its first failure and after many."""


@dataclass(slots=True)
class _Failed:
    """What failed.

    Attributes:
        due: when it is tried again.
        wait: how long that is after it failed last, in seconds.
    """

    due: float
    wait: float


class Retries:
    """The names of what failed.

    Args:
        now: tells the time, in seconds since whenever.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed: dict[str, _Failed] = {}

    def failed(self, name: str) -> None:
        """Have it tried again, later than the last time."""
        before = self._failed.get(name)
        wait = min(before.wait * 2, LONGEST_WAIT) if before else FIRST_WAIT
        self._failed[name] = _Failed(self._now() + wait, wait)

    def settled(self, name: str) -> None:
        """It went well, or there is nothing to be tried any more."""
        self._failed.pop(name, None)

    def due(self) -> list[str]:
        """What is to be tried now."""
        now = self._now()
        return [name for name, failed in self._failed.items() if failed.due <= now]

    def wait(self) -> float | None:
        """Seconds until something is due, None where nothing failed."""
        if not self._failed:
            return None
        return max(0.0, min(failed.due for failed in self._failed.values()) - self._now())
