"""Comparisons in filters: only values of the same type compare (client-go's fork of text/template, funcs.go)."""

import operator
from collections.abc import Callable
from typing import Any

Compare = Callable[[Any, Any], bool]


class ComparisonError(Exception):
    """The values cannot be compared, or not with this operator; the message is upstream's."""


def comparison_function(sign: str) -> Compare:
    """Return the function for a comparison operator; for an unknown one it fails when it is first called.

    The function raises ComparisonError.
    """
    compare = _COMPARISONS.get(sign)
    return compare if compare is not None else _unknown(sign)


def _compared(compare: Compare, *, ordered: bool) -> Compare:
    def compare_values(left: Any, right: Any) -> bool:
        kind = _kind(left)
        if kind is not _kind(right):
            raise ComparisonError("incompatible types for comparison")
        if ordered and kind is bool:
            raise ComparisonError("invalid type for comparison")
        return compare(left, right)

    return compare_values


def _kind(value: Any) -> type:
    kind = type(value)
    if kind not in _KINDS:
        raise ComparisonError("invalid type for comparison")
    return kind


def _unknown(sign: str) -> Compare:
    def fail(_left: Any, _right: Any) -> bool:
        raise ComparisonError(f"unrecognized filter operator {sign}")

    return fail


_KINDS = (bool, int, float, str)
_COMPARISONS = {
    "==": _compared(operator.eq, ordered=False),
    "!=": _compared(operator.ne, ordered=False),
    "<": _compared(operator.lt, ordered=True),
    "<=": _compared(operator.le, ordered=True),
    ">": _compared(operator.gt, ordered=True),
    ">=": _compared(operator.ge, ordered=True),
}
