"""Converts JSON scalars to values of expressions, by the type and the format of their schema.

Source: k8s.io/apiserver/pkg/cel/common/values.go, and k8s.io/kube-openapi/pkg/validation/strfmt for the formats.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from apiserver.api.golang.values import go_type
from apiserver.cel.functions.times import parse_duration, parse_timestamp
from apiserver.cel.values import Duration, EvaluationError, Timestamp

Read = Callable[[Any], Any]
"""Converts JSON to a value of an expression; raises EvaluationError if it does not fit its schema."""

_COUNTED = re.compile(r"(\d{1,18})\s*([A-Za-zµ]+)", re.ASCII)
_LONG_UNITS = {  # the names of a unit, the last of which is a prefix, and its nanoseconds
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 10**3,
    ("ms", "milli"): 10**6,
    ("s", "sec"): 10**9,
    ("m", "min"): 60 * 10**9,
    ("h", "hr", "hour"): 3600 * 10**9,
    ("d", "day"): 86400 * 10**9,
    ("w", "wk", "week"): 604800 * 10**9,
}


def read_int_or_string(value: Any) -> Any:
    """Return a value of a schema with x-kubernetes-int-or-string."""
    if type(value) in (int, str):
        return value
    raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")


def read_no_items(_value: Any) -> Any:
    """Raise EvaluationError for a list whose schema has no items."""
    raise EvaluationError("invalid array type, expected Items with a non-empty Schema")


def unreadable(kind: str) -> Read:
    """Return the reader of a schema without a type, or with an unknown one; it always raises EvaluationError."""

    def read(_value: Any) -> Any:
        raise EvaluationError(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with "
            f"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {kind}"
        )

    return read


def read_string(value: Any) -> str:
    """Return a string, or a value of a format that has no type of its own in expressions."""
    if type(value) is not str:
        raise EvaluationError(f"invalid data, expected string, got {go_type(value)}")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise EvaluationError(f"invalid data, expected float, got {go_type(value)}")
    return float(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise EvaluationError(f"invalid data, expected int, got {go_type(value)}")
    return value


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise EvaluationError(f"invalid data, expected bool, got {go_type(value)}")
    return value


def _duration(value: Any) -> Duration:
    """Return a duration in Go's format, or in numbers with longer units, such as "3 days" (strfmt.ParseDuration)."""
    text = read_string(value)
    duration = parse_duration(text)
    if duration is not None:
        return duration
    parts = [(int(number), _unit(unit.lower())) for number, unit in _COUNTED.findall(text)]
    if not any(nanos for _, nanos in parts):
        raise EvaluationError(f'Invalid duration {text}: unable to parse "{text}" as duration')
    return Duration(sum(number * nanos for number, nanos in parts))


def _unit(name: str) -> int:
    return next((nanos for names, nanos in _LONG_UNITS.items() if name in names or name.startswith(names[-1])), 0)


def _date(value: Any) -> Timestamp:
    return _moment(value, "date", "T00:00:00Z")


def _date_time(value: Any) -> Timestamp:
    return _moment(value, "date-time", "")


def _moment(value: Any, form: str, suffix: str) -> Timestamp:
    text = read_string(value)
    moment = parse_timestamp(f"{text}{suffix}" if suffix else text.upper())
    if moment is None:
        raise EvaluationError(f"Invalid {form} formatted string {text}: unable to parse it")
    return moment


def _bytes(value: Any) -> bytes:
    text = read_string(value)
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"Invalid byte formatted string {text}: {error}") from None


BY_FORMAT: dict[str, Read] = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _bytes}
BY_TYPE: dict[str, Read] = {"number": _number, "integer": _integer, "boolean": _boolean}
