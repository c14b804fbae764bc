"""Which values two schemas and two objects call the same, where Python's == is not Go's."""

from typing import Any

import orjson


def same(one: Any, other: Any) -> bool:
    """Are two JSON values the same (reflect.DeepEqual)? 1 is neither true nor 1.0. They may be nested deeply."""
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if left.keys() != right.keys():
                return False
            waiting += [(value, right[key]) for key, value in left.items()]
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


def is_one_of(value: Any, allowed: list[Any]) -> bool:
    """Is a value one of an enum? A number is also what Go converts it to: a whole one, or the letter of that code."""
    return value is not None and any(each is not None and same(_converted(value, each), each) for each in allowed)


def _converted(value: Any, example: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and isinstance(example, str) and isinstance(value, int):
        return chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd"
    if number and type(example) in (int, float):
        return type(example)(value)
    return value


def in_order(value: Any) -> Any:
    """The value with the keys of its objects in order, as Go prints maps."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def key_of(value: Any) -> Any:
    """What tells a value from those that are not the same, to be put into a set."""
    if isinstance(value, dict | list):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return type(value), value
