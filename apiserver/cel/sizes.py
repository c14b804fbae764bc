"""Sizes and costs as ranges with saturating 64-bit arithmetic (cel-go's checker/cost.go)."""

from dataclasses import dataclass
from math import ceil

MOST = 2**64 - 1


def scaled(number: int, factor: float) -> int:
    """Return the number times a factor, rounded up; computed with doubles, as upstream does."""
    product = float(number) * factor
    return MOST if product >= 2.0**64 else ceil(product)


def times(left: int, right: int) -> int:
    """Return the product of two numbers, at most MOST."""
    return min(left * right, MOST)


@dataclass(frozen=True, slots=True)
class Size:
    """The possible size of a value: a range of characters, bytes or items."""

    least: int
    most: int

    def __add__(self, other: "Size") -> "Size":
        return Size(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def __mul__(self, other: "Size") -> "Size":
        return Size(times(self.least, other.least), times(self.most, other.most))

    def __or__(self, other: "Size") -> "Size":
        """Return the range that includes both."""
        return Size(min(self.least, other.least), max(self.most, other.most))

    def read(self, factor: float = 1) -> int:
        """Return the cost of reading a string of the greatest size once, or `factor` times."""
        return scaled(self.most, factor * 0.1)


def exactly(number: int) -> Size:
    """Return a size that is known."""
    return Size(number, number)


UNKNOWN = Size(0, MOST)
EMPTY = exactly(0)
ONE = exactly(1)
