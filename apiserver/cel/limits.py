"""Limits of the values that an evaluation may build: costs count what is read, so these bound what is created.

The limits are specific to this server. Upstream has none for these and runs out of memory: 'a…a'.replace('', 'a…a') of
two strings of a megabyte has 10**12 characters and costs 200,000.
"""

from apiserver.cel.values import CostExceededError

_MAX_LENGTH = 16 * 1024 * 1024
_MAX_COUNT = 1024 * 1024
MAX_RANGE = 1_000_000
"""The most numbers that lists.range may return; this limit is cel-go's."""


def check_length(length: int) -> None:
    """Refuse to create a string, or bytes, of that length.

    Raises:
        CostExceededError: it is too long.
    """
    if length > _MAX_LENGTH:
        raise CostExceededError


def check_count(count: int) -> None:
    """Refuse to create a list of that many items.

    Raises:
        CostExceededError: there are too many.
    """
    if count > _MAX_COUNT:
        raise CostExceededError
