"""What was found wrong with a value, in the words of k8s.io/kube-openapi/pkg/validation/errors."""

from collections.abc import Callable
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.schema import quoted
from apiserver.apiextensions.structural.equality import in_order
from apiserver.apiextensions.structural.numbers import Wrong
from apiserver.apiextensions.structural.types import Unfit

NOWHERE = "<nil>"
"""What upstream prints as the field of errors that name none."""

_Make = Callable[[str], FieldError]


class Findings:
    """What is wrong with a value and with all in it.

    Attributes:
        noted: message → the path in the schema's words, and what makes the error of the path in the object.
        matches: how much of the schema it was held against; of alternatives, that with most tells what is wrong.
    """

    __slots__ = ("matches", "noted")

    def __init__(self) -> None:
        self.noted: dict[str, tuple[str, _Make]] = {}
        self.matches = 0

    def __bool__(self) -> bool:
        return bool(self.noted)

    def forgive(self) -> None:
        """Nothing is wrong after all."""
        self.noted.clear()

    def take(self, others: "Findings") -> None:
        """Take in what was found elsewhere; what is told already is told once."""
        for message, finding in others.noted.items():
            self.noted.setdefault(message, finding)
        self.matches += others.matches

    def errors(self, path: str) -> list[FieldError]:
        """Everything found, of a value at a path; "" for a whole object."""
        return [make(_place(path, at)) for at, make in self.noted.values()]

    def _note(self, message: str, path: str, make: _Make) -> None:
        self.noted.setdefault(message, (path, make))

    def _invalid(self, message: str, path: str, value: Any) -> None:
        shown = in_order(value)
        self._note(message, path, lambda place: field.invalid(place, shown, message))

    def whole(self, message: str) -> None:
        """Something is wrong that upstream names no field of."""
        self._invalid(message, "", "")

    def unfit(self, path: str, why: Unfit) -> None:
        """The type is wrong."""
        message = f"{path} in body must be of type {why.wanted}: {quoted(why.given)}"
        self._note(message, path, lambda place: field.type_invalid(place, why.given, message))

    def number(self, path: str, wrong: Wrong) -> None:
        """A number is wrong."""
        message = wrong.text % path
        if wrong.value is None:
            self.whole(message)
        else:
            self._invalid(message, path, wrong.value)

    def missing(self, path: str) -> None:
        """A field is required."""
        self._note(f"{path} in body is required", path, field.required)

    def not_one_of(self, path: str, value: Any, allowed: list[Any]) -> None:
        """The value is none of an enum."""
        supported = [each if isinstance(each, str) else orjson.dumps(in_order(each)).decode() for each in allowed]
        shown, message = in_order(value), f"{path} in body should be one of {supported}"
        self._note(message, path, lambda place: field.not_supported(place, shown, supported))

    def too_long(self, path: str, limit: int) -> None:
        """A text has too many characters; upstream tells of bytes."""
        message = f"{path} in body should be at most {limit} chars long"
        self._note(message, path, lambda place: field.too_long(place, limit))

    def too_short(self, path: str, text: str, limit: int) -> None:
        """A text has too few characters."""
        self._invalid(f"{path} in body should be at least {limit} chars long", path, text)

    def unmatched(self, path: str, text: str, pattern: str) -> None:
        """A text does not match a pattern."""
        self._invalid(f"{path} in body should match '{pattern}'", path, text)

    def too_many(self, path: str, size: int, limit: int, *, of: str) -> None:
        """There are too many items or properties."""
        message = f"{path} in body should have at most {limit} {of}"
        self._note(message, path, lambda place: field.too_many(place, size, limit))

    def too_few(self, path: str, size: int, limit: int, *, of: str) -> None:
        """There are too few items or properties."""
        self._invalid(f"{path} in body should have at least {limit} {of}", path, size)

    def repeated(self, path: str) -> None:
        """Two items are the same."""
        self._invalid(f"{path} in body shouldn't contain duplicates", path, "")

    def not_allowed(self, path: str, key: str) -> None:
        """There is a field that may not be there."""
        self._invalid(f"{path}.{key} in body is a forbidden property", path, key)


def _place(root: str, path: str) -> str:
    path = path.removeprefix(".")
    return f"{root}.{path}" if root and path else root or path or NOWHERE
