"""Calls: the closure of a function's call, which selects the overload that fits its arguments."""

from collections.abc import Callable
from typing import Any

from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.functions.library import implementations
from apiserver.cel.runtime_cost import OF_ERRORS, RESULT_COSTS, cost_of
from apiserver.cel.signatures import Overload
from apiserver.cel.types import CelType
from apiserver.cel.values import (
    Duration,
    EvaluationError,
    Mapper,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    is_list,
    items_of,
    type_name,
)

_Test = Callable[[Any], bool]


def _is(kind: type) -> _Test:
    return lambda value: type(value) is kind


_TESTS: dict[str, _Test] = {
    "bool": _is(bool),
    "int": _is(int),
    "uint": _is(Uint),
    "double": _is(float),
    "string": _is(str),
    "bytes": _is(bytes),
    "timestamp": _is(Timestamp),
    "duration": _is(Duration),
    "type": _is(TypeValue),
    "map": lambda value: isinstance(value, Mapper),
}


def _test(kind: CelType) -> _Test | None:
    """Return a test whether a value has a type, as far as the value shows it; None if any value passes."""
    if kind.kind in ("dyn", "param"):
        return None
    if kind.is_optional:
        return _is(Optional)
    if kind.kind == "list":
        return _list_test(_test(kind.params[0]))
    return _TESTS.get(kind.kind) or (lambda value: type_name(value) == kind.name)


def call(function: str, overloads: tuple[Overload, ...], args: tuple[Step, ...], types: tuple[CelType, ...]) -> Step:
    """Return the closure of a function's call.

    Args:
        function: the function's name, for errors.
        overloads: its possible overloads.
        args: the arguments.
        types: the types of the arguments, as far as they are known.
    """
    if len(overloads) == 1 and not any(kind.is_dyn for kind in types):
        return _certain(overloads[0], args)
    table = implementations()
    test = _shallow_test if function == "flatten" else _test  # upstream leaves that one unguarded
    choices = [
        (tuple(map(test, overload.args)), overload.id, cost_of(overload), table[overload.id]) for overload in overloads
    ]

    def evaluate(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        for tests, name, cost, implementation in choices:
            if all(test is None or test(value) for test, value in zip(tests, values, strict=True)):
                frame.charge(cost(*values) if cost else 1)
                return _costed(frame, name, implementation(*values))
        if function in _PLAIN:
            raise EvaluationError("no such overload")
        raise EvaluationError(f"no such overload: {function}({', '.join(map(type_name, values))})")

    return evaluate


def _shallow_test(kind: CelType) -> _Test | None:
    return is_list if kind.kind == "list" else _test(kind)


def _list_test(item: _Test | None) -> _Test:
    """Return a test whether a value is a list whose first item has a type."""

    def test(value: Any) -> bool:
        return is_list(value) and (item is None or not len(value) or item(items_of(value)[0]))

    return test


_PLAIN = frozenset(
    ("_+_", "_-_", "_*_", "_/_", "_%_", "-_", "!_", "_<_", "_<=_", "_>_", "_>=_", "contains", "endsWith", "startsWith")
) | {"matches"}
"""Operators that are methods of their first argument, so that the error names no function."""


def _costed(frame: Frame, overload: str, result: Any) -> Any:
    if overload in RESULT_COSTS:
        frame.charge(RESULT_COSTS[overload](result) - 1)
    return result


def _certain(overload: Overload, args: tuple[Step, ...]) -> Step:
    """Return the closure of a call whose types determine the overload."""
    implementation, cost, name = implementations()[overload.id], cost_of(overload), overload.id
    if cost is None:
        return _cheap(implementation, args)

    def evaluate(frame: Frame) -> Any:
        try:
            values = [arg(frame) for arg in args]
        except EvaluationError:
            frame.charge(OF_ERRORS)
            raise
        frame.charge(cost(*values))
        return _costed(frame, name, implementation(*values))

    return evaluate


def _cheap(implementation: Callable[..., Any], args: tuple[Step, ...]) -> Step:
    """Return the closure of a call that costs 1: with one argument, two, or any other number."""
    if len(args) == 1:
        (only,) = args

        def unary(frame: Frame) -> Any:
            frame.cost += 1
            return implementation(only(frame))

        return unary
    if len(args) == 2:
        left, right = args

        def binary(frame: Frame) -> Any:
            frame.cost += 1
            return implementation(left(frame), right(frame))

        return binary

    def evaluate(frame: Frame) -> Any:
        frame.cost += 1
        return implementation(*[arg(frame) for arg in args])

    return evaluate
