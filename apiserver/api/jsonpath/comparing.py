"""Comparisons of filters: only values of the same type are alike (client-go's fork of text/template, funcs.go)."""

import operator
from collections.abc import Callable
from typing import Any

Holds = Callable[[Any, Any], bool]


class ComparisonError(Exception):
    """The values cannot be compared, or not in this way; the message is upstream's."""


def comparison(sign: str) -> Holds:
    """Whether a comparison holds of two values; a sign that means nothing fails when it is first used.

    What is made raises ComparisonError.
    """
    holds = _COMPARISONS.get(sign)
    return holds if holds is not None else _unknown(sign)


def _compared(compare: Holds, *, ordered: bool) -> Holds:
    def holds(left: Any, right: Any) -> bool:
        kind = _kind(left)
        if kind is not _kind(right):
            raise ComparisonError("incompatible types for comparison")
        if ordered and kind is bool:
            raise ComparisonError("invalid type for comparison")
        return compare(left, right)

    return holds


def _kind(value: Any) -> type:
    kind = type(value)
    if kind not in _KINDS:
        raise ComparisonError("invalid type for comparison")
    return kind


def _unknown(sign: str) -> Holds:
    def holds(_left: Any, _right: Any) -> bool:
        raise ComparisonError(f"unrecognized filter operator {sign}")

    return holds


_KINDS = (bool, int, float, str)
_COMPARISONS = {
    "==": _compared(operator.eq, ordered=False),
    "!=": _compared(operator.ne, ordered=False),
    "<": _compared(operator.lt, ordered=True),
    "<=": _compared(operator.le, ordered=True),
    ">": _compared(operator.gt, ordered=True),
    ">=": _compared(operator.ge, ordered=True),
}
