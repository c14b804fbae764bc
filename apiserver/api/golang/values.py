"""Values of JSON as Go has them in unstructured objects: the names of their types, and their texts in messages.

Integers that fit into 64 bits with sign are int64, all other numbers float64; an object is a map, a list a slice.
"""

from decimal import Decimal
from typing import Any

import orjson

from apiserver.api.golang.numbers import as_go_writes

MAX_INT64 = (1 << 63) - 1
_MIN_INT64 = -1 << 63

_TYPES = {
    type(None): "<nil>",
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}
_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
"""The characters that json.Marshal escapes although JSON does not demand it."""
_JSON_POINTS = range(-6, 21)
_TEXT_POINTS = range(-4, 6)
"""The exponents of ten with which %v writes a float64 without an exponent; _JSON_POINTS are those of JSON."""


def go_type(value: Any) -> str:
    """Return the name of the value's type, as %T prints it."""
    return "float64" if _is_float(value) else _TYPES[type(value)]


def go_text(value: Any) -> str:
    """Return the value as %v prints it: "map[a:1 b:[x y]]", "1e+06", "<nil>"."""
    match value:
        case str():
            return value
        case dict():
            return f"map[{' '.join([f'{key}:{go_text(value[key])}' for key in sorted(value)])}]"
        case list():
            return f"[{' '.join([go_text(item) for item in value])}]"
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case _:
            return _float_text(float(value), _TEXT_POINTS, 2) if _is_float(value) else str(value)


def go_json(value: Any) -> str:
    """Return the value as json.Marshal writes it: keys sorted, and characters special to HTML escaped."""
    match value:
        case str():
            return _quoted(value)
        case dict():
            return f"{{{','.join([f'{_quoted(key)}:{go_json(value[key])}' for key in sorted(value)])}}}"
        case list():
            return f"[{','.join([go_json(item) for item in value])}]"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return _float_text(float(value), _JSON_POINTS, 1) if _is_float(value) else str(value)


def json_as_written(value: Any) -> str:
    """Return the value as json.Marshal writes a struct: as go_json, but with the keys in their order."""
    return as_go_writes(orjson.dumps(value)).decode().translate(_HTML)


def _is_float(value: Any) -> bool:
    """Return whether the value is a float64, which an integer that does not fit into int64 is, too."""
    return type(value) is float or (type(value) is int and not _MIN_INT64 <= value <= MAX_INT64)


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode().translate(_HTML)


def _float_text(value: float, points: range, width: int) -> str:
    """Return the shortest digits that read back as the number.

    Args:
        value: the number.
        points: the exponents of ten with which the number is written without an exponent.
        width: the minimum number of an exponent's digits.
    """
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(power, int)
    text, point = "".join(map(str, digits)), len(digits) + power
    minus = "-" if sign else ""
    if value and point - 1 not in points:
        mantissa = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
        return f"{minus}{mantissa}e{'-' if point < 1 else '+'}{abs(point - 1):0{width}}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    return minus + (text.ljust(point, "0") if len(text) <= point else f"{text[:point]}.{text[point:]}")
