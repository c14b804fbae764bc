"""Numbers given out one by one: the addresses and node ports of Services (pkg/registry/core/service/allocator)."""

from collections.abc import Callable

Choose = Callable[[int], int]
"""A choice among so many: a number from 0 up to, but not including, the argument."""


class PoolError(Exception):
    """A number cannot be given out; the message is upstream's."""


class NumberPool:
    """The numbers from `first` to `last`, of which the lowest `static` are given only when asked for or at the end.

    People pick low numbers, so that what is picked for them comes from above (KEP-3070, KEP-3668). For example,
    NodePorts from 30000 to 32767 with static=86: take_any chooses among 30086 … 32767 while any of them is free, and
    among 30000 … 30085 after that; take(30007) takes that number whichever part it lies in.

    Attributes:
        name: what the numbers are.
    """

    def __init__(self, first: int, last: int, *, static: int, name: str = "") -> None:
        self.name = name
        self._first, self._last = first, last
        self._parts = ((first + static, last), (first, first + static - 1))
        self._taken: set[int] = set()

    def __contains__(self, number: int) -> bool:
        """Is the number one that the pool could give, be it taken or not?"""
        return self._first <= number <= self._last

    def is_taken(self, number: int) -> bool:
        """Has somebody got the number?"""
        return number in self._taken

    def take(self, number: int) -> None:
        """Mark the number as taken; one outside of the pool, or taken before, makes no difference."""
        self._taken.add(number)

    def take_any(self, choose: Choose) -> int:
        """Take a free number.

        Raises:
            PoolError: none is free.
        """
        for low, high in self._parts:
            size = high - low + 1
            if size <= 0:
                continue
            start = choose(size)
            for step in range(size):
                number = low + (start + step) % size
                if number not in self._taken:
                    self._taken.add(number)
                    return number
        raise PoolError("range is full")

    def free(self, number: int) -> None:
        """Give the number back; one that nobody has makes no difference."""
        self._taken.discard(number)


def static_share(size: int, *, step: int, most: int, least: int = 16) -> int:
    """How many of so many numbers are kept for those who ask for them (calculateRangeOffset)."""
    return 0 if size <= least else min(max(least, size // step), most)
