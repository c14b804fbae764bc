"""Quantities: Kubernetes' library for resource.Quantity (k8s.io/apiserver/pkg/cel/library/quantity.go)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from apiserver.api.quantity import QuantityError, parse
from apiserver.cel.values import EvaluationError, is_int64

_UNIT = 10**9


@dataclass(frozen=True, slots=True)
class QuantityValue:
    """A quantity; equal to others of the same amount, however they are written."""

    nanos: int

    type_name: ClassVar[str] = "kubernetes.Quantity"


def _amount(text: str) -> QuantityValue:
    try:
        return QuantityValue(parse(text).nanos)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def _is_integer(amount: QuantityValue) -> bool:
    return amount.nanos % _UNIT == 0 and is_int64(amount.nanos // _UNIT)


def _integer(amount: QuantityValue) -> int:
    if not _is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.nanos // _UNIT


def _order(left: QuantityValue, right: QuantityValue) -> int:
    return -1 if left.nanos < right.nanos else int(left.nanos > right.nanos)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_quantity": _amount,
    "is_quantity_string": _is_quantity,
    "quantity_sign": lambda amount: _order(amount, QuantityValue(0)),
    "quantity_get_float": lambda amount: amount.nanos / _UNIT,
    "quantity_get_int": _integer,
    "quantity_is_integer": _is_integer,
    "quantity_add": lambda left, right: QuantityValue(left.nanos + right.nanos),
    "quantity_add_int": lambda amount, number: QuantityValue(amount.nanos + number * _UNIT),
    "quantity_sub": lambda left, right: QuantityValue(left.nanos - right.nanos),
    "quantity_sub_int": lambda amount, number: QuantityValue(amount.nanos - number * _UNIT),
    "quantity_is_greater_than": lambda left, right: left.nanos > right.nanos,
    "quantity_is_less_than": lambda left, right: left.nanos < right.nanos,
    "quantity_compare_to": _order,
}
