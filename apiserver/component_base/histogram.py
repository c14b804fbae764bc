"""A histogram as plain numbers, which cost nothing until they are scraped."""

from bisect import bisect_left


class Histogram:
    """Counts of values by upper bound, and of those above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Add a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times
