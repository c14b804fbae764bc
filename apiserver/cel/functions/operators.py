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


def _quotient(one: int, two: int) -> int:
    """The quotient, cut off towards zero as Go does."""
    if two == 0:
        raise EvaluationError("division by zero")
    quotient = abs(one) // abs(two)
    return quotient if (one < 0) is (two < 0) else -quotient


def _remainder(one: int, two: int) -> int:
    """The rest of a division, with the sign of what is divided."""
    if two == 0:
        raise EvaluationError("modulus by zero")
    if two == -1 and one == -(2**63):
        raise EvaluationError("integer overflow")
    return one - two * _quotient(one, two)


def _double(one: float, two: float) -> float:
    if two:
        return one / two
    if one == 0 or math.isnan(one) or math.isnan(two):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1, two)


_NUMERIC: dict[str, _Function] = {
    "add_int64": lambda one, two: _int(one + two),
    "add_uint64": lambda one, two: _uint(one + two),
    "add_double": operator.add,
    "subtract_int64": lambda one, two: _int(one - two),
    "subtract_uint64": lambda one, two: _uint(one - two),
    "subtract_double": operator.sub,
    "multiply_int64": lambda one, two: _int(one * two),
    "multiply_uint64": lambda one, two: _uint(one * two),
    "multiply_double": operator.mul,
    "divide_int64": lambda one, two: _int(_quotient(one, two)),
    "divide_uint64": lambda one, two: _uint(_quotient(one, two)),
    "divide_double": _double,
    "modulo_int64": _remainder,
    "modulo_uint64": lambda one, two: _uint(_remainder(one, two)),
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
"""What Python orders as CEL does, once both are of the type."""


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
    """Return an operator; none holds for what is no number, which is an error only where something sorts."""
    return lambda one, two: not (_is_nan(one) or _is_nan(two)) and test(compare(one, two))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def logical_not(value: Any) -> bool:
    """The opposite of a bool."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()


FUNCTIONS: dict[str, _Function] = {**_NUMERIC, **_comparisons(), "logical_not": logical_not}
