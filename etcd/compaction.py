"""When to compact: the revision that has become too old, by age or by count. No clock here; callers pass the time."""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """The history to keep: events younger than `age` seconds, but at most about `count` of them."""

    age: float
    count: int


class CompactionSchedule:
    """Remembers which revision was the newest at which time."""

    def __init__(self, limits: CompactionLimits) -> None:
        self._limits = limits
        self._samples: deque[tuple[float, int]] = deque()

    @property
    def interval(self) -> float:
        """Seconds between two calls of `due`: an event outlives its age by at most this interval."""
        return max(self._limits.age / 10, 0.001)

    def due(self, now: float, revision: int) -> int:
        """Note the newest revision and return the newest one that has reached the age; 0 if none has."""
        samples = self._samples
        samples.append((now, revision))
        old = 0
        while samples and samples[0][0] <= now - self._limits.age:
            old = samples.popleft()[1]
        return old

    def surplus(self, length: int) -> int:
        """Return how many events to drop from a log of this length. It may grow by an eighth first, so cuts are few."""
        count = self._limits.count
        return length - count if length > count + count // 8 else 0
