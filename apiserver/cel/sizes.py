"""Sizes and costs as ranges whose arithmetic stops at the largest number of 64 bits (cel-go's checker/cost.go)."""

from dataclasses import dataclass
from math import ceil

MOST = 2**64 - 1


def scaled(number: int, factor: float) -> int:
    """The number times a factor, rounded up; computed with doubles, as upstream does."""
    product = float(number) * factor
    return MOST if product >= 2.0**64 else ceil(product)


def times(one: int, two: int) -> int:
    """The product of two numbers."""
    return min(one * two, MOST)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a value is: between two numbers of characters, bytes or items."""

    least: int
    most: int

    def __add__(self, other: "Size") -> "Size":
        return Size(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def __mul__(self, other: "Size") -> "Size":
        return Size(times(self.least, other.least), times(self.most, other.most))

    def __or__(self, other: "Size") -> "Size":
        """The range that has both."""
        return Size(min(self.least, other.least), max(self.most, other.most))

    def read(self, factor: float = 1) -> int:
        """What reading a string of the greatest size costs, or reading it several times."""
        return scaled(self.most, factor * 0.1)


def exactly(number: int) -> Size:
    """A size that is known."""
    return Size(number, number)


UNKNOWN = Size(0, MOST)
EMPTY = exactly(0)
ONE = exactly(1)
