"""Conversions between types, and type() (the ConvertToType methods of cel-go's common/types)."""

import math
from collections.abc import Callable
from typing import Any

from apiserver.api.golang.numbers import parse_int, parse_uint
from apiserver.cel.functions.times import (
    SECOND,
    duration_text,
    of_seconds,
    parse_duration,
    strict_timestamp,
    timestamp_text,
)
from apiserver.cel.values import Duration, EvaluationError, TypeValue, Uint, go_float, is_int64, is_uint64, type_name

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_FLOATS = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}


def _conversion_error(to: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{to}'")


def _string_to_int(text: str) -> int:
    try:
        return parse_int(text)
    except ValueError:
        raise _conversion_error("int") from None


def _string_to_uint(text: str) -> Uint:
    try:
        return Uint(parse_uint(text))
    except ValueError:
        raise _conversion_error("uint") from None


def _string_to_double(text: str) -> float:
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    special = _FLOATS.get(unsigned.lower())
    if special is not None:
        return -special if text[0] == "-" else special
    try:
        if not unsigned[:1].isdigit() and unsigned[:1] != ".":
            raise _conversion_error("double")
        number = float.fromhex(text) if unsigned[:2].lower() == "0x" else float(text)
    except (ValueError, OverflowError):
        raise _conversion_error("double") from None
    if math.isinf(number) or not text.isascii():
        raise _conversion_error("double")
    return number


def _string_to_bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise _conversion_error("bool")


def _string_to_duration(text: str) -> Duration:
    duration = parse_duration(text)
    if duration is None:
        raise _conversion_error("google.protobuf.Duration")
    return duration


def _double_to_int(number: float) -> int:
    if math.isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(number)


def _double_to_uint(number: float) -> Uint:
    if math.isnan(number) or not 0 <= number < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _int_to_uint(number: int) -> Uint:
    if not is_uint64(number):
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _uint_to_int(number: int) -> int:
    if not is_int64(number):
        raise EvaluationError("integer overflow")
    return int(number)


def _bytes_to_string(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _same(value: Any) -> Any:
    return value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("bool_to_bool", "bytes_to_bytes", "double_to_double", "int64_to_int64", "uint64_to_uint64"), _same
    ),
    **dict.fromkeys(("string_to_string", "duration_to_duration", "timestamp_to_timestamp", "to_dyn"), _same),
    "type": lambda value: TypeValue(type_name(value)),
    "string_to_bool": _string_to_bool,
    "string_to_bytes": str.encode,
    "int64_to_double": float,
    "uint64_to_double": float,
    "string_to_double": _string_to_double,
    "string_to_duration": _string_to_duration,
    "double_to_int64": _double_to_int,
    "duration_to_int64": lambda duration: duration.nanos,
    "string_to_int64": _string_to_int,
    "timestamp_to_int64": lambda moment: moment.nanos // SECOND,
    "uint64_to_int64": _uint_to_int,
    "bool_to_string": lambda value: "true" if value else "false",
    "bytes_to_string": _bytes_to_string,
    "double_to_string": go_float,
    "duration_to_string": duration_text,
    "int64_to_string": str,
    "uint64_to_string": lambda value: str(int(value)),
    "timestamp_to_string": timestamp_text,
    "int64_to_timestamp": of_seconds,
    "string_to_timestamp": strict_timestamp,
    "double_to_uint64": _double_to_uint,
    "int64_to_uint64": _int_to_uint,
    "string_to_uint64": _string_to_uint,
}
