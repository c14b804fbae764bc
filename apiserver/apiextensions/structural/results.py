"""The errors of a value, in the words of k8s.io/kube-openapi/pkg/validation/errors."""

from collections.abc import Callable
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.schema import quoted
from apiserver.apiextensions.structural.equality import in_order
from apiserver.apiextensions.structural.numbers import NumberError
from apiserver.apiextensions.structural.types import TypeMismatch

NOWHERE = "<nil>"
"""The field that upstream prints for errors which name none."""

_Make = Callable[[str], FieldError]


class ValidationResult:
    """The errors of a value and of everything in it.

    Attributes:
        noted: message → the path in the schema's words, and a function from the path in the object to the error.
        matches: the number of constraints compared; of alternatives, the one with the most is reported.
    """

    __slots__ = ("matches", "noted_errors")

    def __init__(self) -> None:
        self.noted_errors: dict[str, tuple[str, _Make]] = {}
        self.matches = 0

    def __bool__(self) -> bool:
        return bool(self.noted_errors)

    def clear(self) -> None:
        """Drop all errors."""
        self.noted_errors.clear()

    def merge(self, others: "ValidationResult") -> None:
        """Add the findings of a part; an error that is known already is not repeated."""
        for message, finding in others.noted_errors.items():
            self.noted_errors.setdefault(message, finding)
        self.matches += others.matches

    def errors(self, path: str) -> list[FieldError]:
        """Return all errors of a value at a path; "" for a whole object."""
        return [make(_path_in_object(path, schema_path)) for schema_path, make in self.noted_errors.values()]

    def _add(self, message: str, path: str, make: _Make) -> None:
        self.noted_errors.setdefault(message, (path, make))

    def _invalid(self, message: str, path: str, value: Any) -> None:
        shown = in_order(value)
        self._add(message, path, lambda path_in_object: field.invalid(path_in_object, shown, message))

    def without_field(self, message: str) -> None:
        """Note an error that upstream reports without a field."""
        self._invalid(message, "", "")

    def wrong_type(self, path: str, mismatch: TypeMismatch) -> None:
        """Note a wrong type."""
        message = f"{path} in body must be of type {mismatch.expected}: {quoted(mismatch.given)}"
        self._add(message, path, lambda path_in_object: field.type_invalid(path_in_object, mismatch.given, message))

    def number(self, path: str, wrong: NumberError) -> None:
        """Note the error of a number."""
        message = wrong.text % path
        if wrong.value is None:
            self.without_field(message)
        else:
            self._invalid(message, path, wrong.value)

    def missing(self, path: str) -> None:
        """Note a missing required field."""
        self._add(f"{path} in body is required", path, field.required)

    def not_one_of(self, path: str, value: Any, allowed: list[Any]) -> None:
        """Note a value that is not in its enum."""
        supported = [
            member if isinstance(member, str) else orjson.dumps(in_order(member)).decode() for member in allowed
        ]
        shown, message = in_order(value), f"{path} in body should be one of {supported}"
        self._add(message, path, lambda path_in_object: field.not_supported(path_in_object, shown, supported))

    def too_long(self, path: str, limit: int) -> None:
        """Note a text with too many characters; upstream counts bytes."""
        message = f"{path} in body should be at most {limit} chars long"
        self._add(message, path, lambda path_in_object: field.too_long(path_in_object, limit))

    def too_short(self, path: str, text: str, limit: int) -> None:
        """Note a text with too few characters."""
        self._invalid(f"{path} in body should be at least {limit} chars long", path, text)

    def unmatched(self, path: str, text: str, pattern: str) -> None:
        """Note a text that does not match its pattern."""
        self._invalid(f"{path} in body should match '{pattern}'", path, text)

    def too_many(self, path: str, size: int, limit: int, *, of: str) -> None:
        """Note too many items or properties."""
        message = f"{path} in body should have at most {limit} {of}"
        self._add(message, path, lambda path_in_object: field.too_many(path_in_object, size, limit))

    def too_few(self, path: str, size: int, limit: int, *, of: str) -> None:
        """Note too few items or properties."""
        self._invalid(f"{path} in body should have at least {limit} {of}", path, size)

    def repeated(self, path: str) -> None:
        """Note equal items."""
        self._invalid(f"{path} in body shouldn't contain duplicates", path, "")

    def not_allowed(self, path: str, key: str) -> None:
        """Note a field that is not allowed."""
        self._invalid(f"{path}.{key} in body is a forbidden property", path, key)


def _path_in_object(root: str, path: str) -> str:
    path = path.removeprefix(".")
    return f"{root}.{path}" if root and path else root or path or NOWHERE
