"""Query parameters, which may occur several times, and readers for their values."""

from collections.abc import Iterable

from apiserver.api import errors
from apiserver.api.golang.numbers import parse_int

FALSE = ("0", "false")


class Parameters(dict[str, str]):
    """Name → first value, which is the one that counts except for lists; never change it.

    Args:
        pairs: names and values in the order of the query.
    """

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple(pairs)
        super().__init__(reversed(self._pairs))

    def all(self, name: str) -> list[str]:
        """Return all values of a parameter that is a list, in their order."""
        return [value for known, value in self._pairs if known == name]

    def is_true(self, name: str) -> bool:
        """Return whether a parameter is set and neither "0" nor "false" (runtime's Convert_Slice_string_To_bool)."""
        value = self.get(name)
        return value is not None and value.lower() not in FALSE

    def integer(self, name: str) -> int | None:
        """Return a numeric parameter, or None if absent; an empty one is no number (Convert_Slice_string_To_int64).

        Raises:
            ApiError: 400 with the message of Go's ParseInt.
        """
        text = self.get(name)
        return None if text is None else integer(text)


def integer(text: str) -> int:
    """Return the number in a client's text.

    Raises:
        ApiError: 400 with the message of Go's ParseInt.
    """
    try:
        return parse_int(text)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
