"""Sizes and costs as ranges with saturating 64-bit arithmetic (cel-go's checker/cost.go)."""

from dataclasses import dataclass
from math import ceil

MAX_COST = 2**64 - 1


def scaled(number: int, factor: float) -> int:
    """Return the number times a factor, rounded up; computed with doubles, as upstream does."""
    product = float(number) * factor
    return MAX_COST if product >= 2.0**64 else ceil(product)


def times(left: int, right: int) -> int:
    """Return the product of two numbers, at most MOST."""
    return min(left * right, MAX_COST)


@dataclass(frozen=True, slots=True)
class Size:
    """The possible size of a value: a range of characters, bytes or items."""

    min: int
    max: int

    def __add__(self, other: "Size") -> "Size":
        return Size(min(self.min + other.min, MAX_COST), min(self.max + other.max, MAX_COST))

    def __mul__(self, other: "Size") -> "Size":
        return Size(times(self.min, other.min), times(self.max, other.max))

    def __or__(self, other: "Size") -> "Size":
        """Return the range that includes both."""
        return Size(min(self.min, other.min), max(self.max, other.max))

    def read(self, factor: float = 1) -> int:
        """Return the cost of reading a string of the greatest size once, or `factor` times."""
        return scaled(self.max, factor * 0.1)


def fixed_size(number: int) -> Size:
    """Return a size that is known."""
    return Size(number, number)


UNKNOWN = Size(0, MAX_COST)
EMPTY = fixed_size(0)
ONE = fixed_size(1)
