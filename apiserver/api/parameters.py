"""The parameters of a query, of which one may stand several times, and how their values are read."""

from collections.abc import Iterable

from apiserver.api import errors
from apiserver.api.golang.numbers import parse_int

FALSE = ("0", "false")


class Parameters(dict[str, str]):
    """Name → the value that stands first, which is what counts of those that are no lists; nobody changes them.

    Args:
        pairs: names and values as they stand in the query.
    """

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple(pairs)
        super().__init__(reversed(self._pairs))

    def all(self, name: str) -> list[str]:
        """The values of a parameter that is a list, in their order."""
        return [value for known, value in self._pairs if known == name]

    def is_true(self, name: str) -> bool:
        """Whether a parameter is there and neither "0" nor "false" (runtime's Convert_Slice_string_To_bool)."""
        value = self.get(name)
        return value is not None and value.lower() not in FALSE

    def integer(self, name: str) -> int | None:
        """A numeric parameter, None where absent or empty.

        Raises:
            ApiError: 400 with the words of Go's ParseInt.
        """
        text = self.get(name)
        return integer(text) if text else None


def integer(text: str) -> int:
    """A number that a client gives.

    Raises:
        ApiError: 400 with the words of Go's ParseInt.
    """
    try:
        return parse_int(text)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
