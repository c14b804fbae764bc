"""Allocates numbers of a range: the addresses and node ports of Services (pkg/registry/core/service/allocator)."""

from collections.abc import Callable

Choose = Callable[[int], int]
"""Returns a number from 0 up to, but not including, the argument."""


class RangeFullError(Exception):
    """No number can be allocated; the message is upstream's."""


class Bitmap:
    """The numbers from `first` to `last`; the lowest `static` are allocated on request, or when the others are used up.

    People request low numbers, so automatic choices come from above (KEP-3070, KEP-3668). For example,
    NodePorts from 30000 to 32767 with static=86: allocate_next chooses among 30086 … 32767 while any of them is free,
    and among 30000 … 30085 after that; allocate(30007) takes that number whichever part it lies in.

    Attributes:
        name: the kind of the numbers, such as "servicenodeports".
    """

    def __init__(self, first: int, last: int, *, static: int, name: str = "") -> None:
        self.name = name
        self._first, self._last = first, last
        self._parts = ((first + static, last), (first, first + static - 1))
        self._allocated: set[int] = set()

    def __contains__(self, number: int) -> bool:
        """Return whether the number lies in the range, allocated or not."""
        return self._first <= number <= self._last

    def has(self, number: int) -> bool:
        """Return whether the number is allocated."""
        return number in self._allocated

    def allocate(self, number: int) -> None:
        """Mark the number as allocated; one outside the range, or allocated already, is no error."""
        self._allocated.add(number)

    def allocate_next(self, choose: Choose) -> int:
        """Allocate a free number.

        Raises:
            RangeFullError: none is free.
        """
        for low, high in self._parts:
            size = high - low + 1
            if size <= 0:
                continue
            start = choose(size)
            for step in range(size):
                number = low + (start + step) % size
                if number not in self._allocated:
                    self._allocated.add(number)
                    return number
        raise RangeFullError("range is full")

    def release(self, number: int) -> None:
        """Release the number; one that is not allocated is no error."""
        self._allocated.discard(number)


def range_offset(size: int, *, step: int, most: int, least: int = 16) -> int:
    """Return how many numbers of a range of this size are kept for explicit requests (calculateRangeOffset)."""
    return 0 if size <= least else min(max(least, size // step), most)
