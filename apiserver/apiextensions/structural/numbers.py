"""Numbers of custom resources: which JSON numbers are integers, and how limits apply to them.

The rules are those of k8s.io/kube-openapi/pkg/validation/validate (validator.go, values.go) and go-openapi's swag, with
Go's number types: limits are float64, and integers are compared with limits cut to whole numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any

from apiserver.api.golang.numbers import format_float
from apiserver.api.meta import Obj

RANGES_SINCE = 36
"""The minor release since which values must fit the range of their format."""

MAX_INT64, MIN_INT64 = (1 << 63) - 1, -(1 << 63)
"""The range of an int64."""

_EXACT = (1 << 53) - 1
_EPSILON = 1e-9
_FLOAT32 = (2 - 2**-24) * 2.0**127  # a value from here on would be rounded to a number that no float32 holds
_INT32 = 1 << 31


@dataclass(frozen=True, slots=True)
class NumberError:
    """An error of a number.

    Attributes:
        text: the message, with "%s" for the path.
        value: the bad value of the error; None if the error is about the whole object and names no field.
    """

    text: str
    value: int | float | None = None


def in_go(value: Any) -> Any:
    """Return a number as Go reads it: a float64 if no int64 holds it."""
    return value if type(value) is not int or MIN_INT64 <= value <= MAX_INT64 else float(value)


def is_whole(value: float) -> bool:
    """Return True if the float64 is an integer, or only a trace above one (swag.IsFloat64AJSONInteger)."""
    if not -_EXACT <= value <= _EXACT:
        return False
    integer = int(value)
    return value == integer or (value > 1 and (value - integer) / (value + integer) < _EPSILON)


def number_errors(value: float, schema: Obj, *, kind: str, form: str, minor: int) -> Iterator[NumberError]:
    """Yield the errors of a number besides its type.

    Args:
        value: the number, as `in_go` returns it.
        schema: the schema with the limits.
        kind: the type of the schema, "" if it has none or two.
        form: its format.
        minor: the minor release.
    """
    yield from _out_of_range(value, kind, form, "Checked", minor=minor)
    factor, least, most = (_float(schema.get(word)) for word in ("multipleOf", "minimum", "maximum"))
    if factor is not None:
        range_errors = [*_out_of_range(factor, kind, form, "MultipleOf", minor=minor)]
        yield from range_errors
        yield from _not_a_multiple(float(value) if range_errors else value, factor)
    if least is not None:
        range_errors = [*_out_of_range(least, kind, form, "Minimum boundary", minor=minor)]
        yield from range_errors
        yield from _below(
            float(value) if range_errors else value, least, exclusive=bool(schema.get("exclusiveMinimum"))
        )
    if most is not None:
        range_errors = [*_out_of_range(most, kind, form, "Maximum boundary", minor=minor)]
        yield from range_errors
        yield from _above(float(value) if range_errors else value, most, exclusive=bool(schema.get("exclusiveMaximum")))


def int_bounds(schema: Obj, *, kind: str, form: str, minor: int) -> tuple[int, int] | None:
    """Return the range of an int64; None if only `number_errors` can tell which values are valid."""
    least, most = _float(schema.get("minimum")), _float(schema.get("maximum"))
    limits = [limit for limit in (least, most) if limit is not None]
    if schema.get("multipleOf") is not None or not all(MIN_INT64 <= limit < -MIN_INT64 for limit in limits):
        return None
    if any(any(_out_of_range(limit, kind, form, "", minor=minor)) for limit in limits):
        return None
    low, high = (-_INT32, _INT32 - 1) if form == "int32" and minor >= RANGES_SINCE else (MIN_INT64, MAX_INT64)
    if least is not None:
        low = max(low, int(least) + bool(schema.get("exclusiveMinimum")))
    if most is not None:
        high = min(high, int(most) - bool(schema.get("exclusiveMaximum")))
    return low, high


def float_bounds(schema: Obj, *, kind: str, form: str) -> tuple[float, float] | None:
    """Return the range of a float64 that need not be an integer; None if only `number_errors` can tell."""
    if kind != "number" or form == "float" or schema.get("multipleOf") is not None:
        return None
    least, most = _float(schema.get("minimum")), _float(schema.get("maximum"))
    low = -inf if least is None else nextafter(least, inf) if schema.get("exclusiveMinimum") else least
    high = inf if most is None else nextafter(most, -inf) if schema.get("exclusiveMaximum") else most
    return low, high


def _float(limit: float | None) -> float | None:
    return None if limit is None else float(limit)


def _out_of_range(value: float, kind: str, form: str, what: str, *, minor: int) -> Iterator[NumberError]:
    """Yield an error if the type and format of the schema cannot hold a number."""
    if minor < RANGES_SINCE or not kind:
        return
    if kind == "integer":
        bound = _INT32 if form == "int32" else 1 << 63
        fits = (type(value) is int or value.is_integer()) and -bound <= value < bound
    else:
        fits = form != "float" or abs(value) < _FLOAT32
    if not fits:
        yield NumberError(
            f"{what} value must be of type {kind} {f'with format {form}' if form else '(default format)'} in %s"
        )


def _go_number(value: float) -> str:
    return format_float(value) if type(value) is float else str(value)


def _limit(limit: float, value: float) -> float:
    """Return the limit as it is compared with the value: cut to a whole number for an int64."""
    return limit if type(value) is float else int(limit)


def _above(value: float, most: float, *, exclusive: bool) -> Iterator[NumberError]:
    limit = _limit(most, value)
    if value > limit or (exclusive and value == limit):
        yield NumberError(
            f"%s in body should be less than {'' if exclusive else 'or equal to '}{_go_number(limit)}", value
        )


def _below(value: float, least: float, *, exclusive: bool) -> Iterator[NumberError]:
    limit = _limit(least, value)
    if value < limit or (exclusive and value == limit):
        yield NumberError(
            f"%s in body should be greater than {'' if exclusive else 'or equal to '}{_go_number(limit)}", value
        )


def _not_a_multiple(value: float, factor: float) -> Iterator[NumberError]:
    unit = _limit(factor, value)
    if unit <= 0:
        yield NumberError(f"factor MultipleOf declared for %s must be positive: {_go_number(unit)}", unit)
    elif value % unit if type(value) is int else not is_whole(1 / unit * value if unit < 1 else value / unit):
        yield NumberError(f"%s in body should be a multiple of {_go_number(unit)}", value)
