"""Retries with exponential backoff, as in the rate limiters of upstream's queues."""

from collections.abc import Callable
from dataclasses import dataclass

BASE_DELAY, MAX_DELAY = 0.1, 30.0
"""Seconds until a retry, after the first failure and at most."""


@dataclass(slots=True)
class _PendingRetry:
    """A pending retry.

    Attributes:
        due: the time of the retry.
        wait: the seconds between the last failure and the retry.
    """

    due: float
    wait: float


class BackoffQueue:
    """The pending retries, by name.

    Args:
        now: returns the time, in seconds from any start.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed: dict[str, _PendingRetry] = {}

    def add_rate_limited(self, name: str) -> None:
        """Schedule a retry after a failure, with twice the last wait."""
        before = self._failed.get(name)
        wait = min(before.wait * 2, MAX_DELAY) if before else BASE_DELAY
        self._failed[name] = _PendingRetry(self._now() + wait, wait)

    def forget(self, name: str) -> None:
        """Drop the retry of a name: it has succeeded, or is gone."""
        self._failed.pop(name, None)

    def due_names(self) -> list[str]:
        """Return the names whose retries are due."""
        now = self._now()
        return [name for name, failed in self._failed.items() if failed.due <= now]

    def seconds_to_next(self) -> float | None:
        """Return the seconds until the next retry, None if there is none."""
        if not self._failed:
            return None
        return max(0.0, min(failed.due for failed in self._failed.values()) - self._now())
