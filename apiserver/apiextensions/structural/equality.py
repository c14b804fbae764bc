"""Equality of JSON values as Go has it, where Python's == differs."""

from typing import Any

import orjson


def same(first: Any, second: Any) -> bool:
    """Return True if two JSON values are equal (reflect.DeepEqual); 1 is neither true nor 1.0. No recursion limit."""
    pending = [(first, second)]
    while pending:
        left, right = pending.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if left.keys() != right.keys():
                return False
            pending += [(value, right[key]) for key, value in left.items()]
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            pending += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


def is_one_of(value: Any, allowed: list[Any]) -> bool:
    """Return True if a value is in an enum; Go also converts numbers: to an equal one, or the letter of that code."""
    return value is not None and any(
        member is not None and same(_converted(value, member), member) for member in allowed
    )


def _converted(value: Any, example: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and isinstance(example, str) and isinstance(value, int):
        return chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd"
    if number and type(example) in (int, float):
        return type(example)(value)
    return value


def in_order(value: Any) -> Any:
    """Return the value with the keys of its objects sorted, as Go prints maps."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def key_of(value: Any) -> Any:
    """Return a hashable key that is equal only for equal values."""
    if isinstance(value, dict | list):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return type(value), value
