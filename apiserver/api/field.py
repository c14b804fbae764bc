"""Field errors: one invalid field of an object each, as k8s.io/apimachinery/pkg/util/validation/field words them."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.api.golang.numbers import format_float
from apiserver.api.golang.strings import quoted

_REASONS = {  # field.ErrorType → (the text before the value, whether the value follows)
    "FieldValueRequired": ("Required value", False),
    "FieldValueInvalid": ("Invalid value", True),
    "FieldValueDuplicate": ("Duplicate value", True),
    "FieldValueNotFound": ("Not found", True),
    "FieldValueNotSupported": ("Unsupported value", True),
    "FieldValueForbidden": ("Forbidden", False),
    "FieldValueTooLong": ("Too long", False),
    "FieldValueTooMany": ("Too many", True),
    "FieldValueTypeInvalid": ("Invalid value", True),
    "InternalError": ("Internal error", False),
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error in one field of an object.

    Attributes:
        reason: the cause's reason, such as "FieldValueRequired".
        path: the field, such as "spec.containers[0].name".
        message: the text after the field in a Status: "Required value: must specify a name".
    """

    reason: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def show(value: Any) -> str:
    """Return the value as errors show it since 1.34: scalars bare, strings quoted, anything else as JSON."""
    match value:
        case None:
            return "null"
        case str():
            return quoted(value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return format_float(value)
        case _:
            return orjson.dumps(value, default=str).decode()


def _error(reason: str, path: str, value: Any, detail: str) -> FieldError:
    words, with_value = _REASONS[reason]
    head = f"{words}: {show(value)}" if with_value else words
    return FieldError(reason, path, f"{head}: {detail}" if detail else head)


def required(path: str, detail: str = "") -> FieldError:
    """Return the error of a missing field."""
    return _error("FieldValueRequired", path, None, detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """Return the error of a malformed value."""
    return _error("FieldValueInvalid", path, value, detail)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    """Return the error of a value whose type differs from the schema."""
    return _error("FieldValueTypeInvalid", path, value, detail)


def duplicate(path: str, value: Any) -> FieldError:
    """Return the error of a repeated value that must be unique."""
    return _error("FieldValueDuplicate", path, value, "")


def not_found(path: str, value: Any) -> FieldError:
    """Return the error of a value that names something that does not exist."""
    return _error("FieldValueNotFound", path, value, "")


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Return the error of a value outside of the supported ones.

    The message lists a sequence in its order, and a set sorted (upstream's sets.List).
    """
    listed = sorted(supported) if isinstance(supported, AbstractSet) else supported
    allowed = ", ".join(map(quoted, listed))
    return _error("FieldValueNotSupported", path, value, f"supported values: {allowed}" if allowed else "")


def forbidden(path: str, detail: str) -> FieldError:
    """Return the error of a field that may not be set, or not be changed, here."""
    return _error("FieldValueForbidden", path, None, detail)


def too_long(path: str, limit: int) -> FieldError:
    """Return the error of a value of more than `limit` bytes."""
    return _error("FieldValueTooLong", path, None, f"may not be more than {limit} byte{'' if limit == 1 else 's'}")


def too_many(path: str, actual: int, limit: int) -> FieldError:
    """Return the error of a list or map of more than `limit` items."""
    return _error("FieldValueTooMany", path, actual, f"must have at most {limit} item{'' if limit == 1 else 's'}")
