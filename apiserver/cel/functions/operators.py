"""Operators on numbers, strings and bytes, and comparisons."""

import math
import operator
from collections.abc import Callable
from typing import Any

from apiserver.cel.values import EvaluationError, Uint, compare, is_int64, is_uint64, no_such_overload

_Function = Callable[..., Any]


def _int(value: int) -> int:
    if is_int64(value):
        return value
    raise EvaluationError("integer overflow")


def _uint(value: int) -> Uint:
    if is_uint64(value):
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def _quotient(left: int, right: int) -> int:
    """Return the quotient, truncated towards zero as in Go."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """Return the remainder, with the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if right == -1 and left == -(2**63):
        raise EvaluationError("integer overflow")
    return left - right * _quotient(left, right)


def _double(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


_NUMERIC: dict[str, _Function] = {
    "add_int64": lambda left, right: _int(left + right),
    "add_uint64": lambda left, right: _uint(left + right),
    "add_double": operator.add,
    "subtract_int64": lambda left, right: _int(left - right),
    "subtract_uint64": lambda left, right: _uint(left - right),
    "subtract_double": operator.sub,
    "multiply_int64": lambda left, right: _int(left * right),
    "multiply_uint64": lambda left, right: _uint(left * right),
    "multiply_double": operator.mul,
    "divide_int64": lambda left, right: _int(_quotient(left, right)),
    "divide_uint64": lambda left, right: _uint(_quotient(left, right)),
    "divide_double": _double,
    "modulo_int64": _remainder,
    "modulo_uint64": lambda left, right: _uint(_remainder(left, right)),
    "negate_int64": lambda value: _int(-value),
    "negate_double": operator.neg,
    "add_string": operator.add,
    "add_bytes": operator.add,
}

_ORDERS: dict[str, Callable[[int], bool]] = {
    "less": lambda order: order < 0,
    "less_equals": lambda order: order <= 0,
    "greater": lambda order: order > 0,
    "greater_equals": lambda order: order >= 0,
}
_QUICK = {
    "less": operator.lt,
    "less_equals": operator.le,
    "greater": operator.gt,
    "greater_equals": operator.ge,
}
_SAME = ("int64", "uint64", "string", "bytes", "bool")
"""The types that Python orders as CEL does, if both values have the type."""


def _comparisons() -> dict[str, _Function]:
    table: dict[str, _Function] = {}
    numbers = ("int64", "uint64", "double")
    mixed = [f"{one}_{two}" for one in numbers for two in numbers if one != two]
    for name, test in _ORDERS.items():
        slow = _ordered(test)
        table |= {f"{name}_{kind}": slow for kind in ("double", "timestamp", "duration", *mixed)}
        table |= {f"{name}_{kind}": _QUICK[name] for kind in _SAME}
    return table


def _ordered(test: Callable[[int], bool]) -> _Function:
    """Return an operator; it is false for NaN, which is an error only when sorting."""
    return lambda one, two: not (_is_nan(one) or _is_nan(two)) and test(compare(one, two))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def logical_not(value: Any) -> bool:
    """Return the opposite of a bool."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()


FUNCTIONS: dict[str, _Function] = {**_NUMERIC, **_comparisons(), "logical_not": logical_not}
