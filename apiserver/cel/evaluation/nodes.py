"""Nodes: the closures of all nodes except calls of functions and loops."""

from typing import Any

from apiserver.cel import runtime_cost
from apiserver.cel.evaluation.access import contains, has, optional_part, part
from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.values import (
    MISSING,
    NONE,
    EvaluationError,
    Mapper,
    MapValue,
    Optional,
    Uint,
    equals,
    format_value,
    no_such_overload,
)


def variable(index: int) -> Step:
    """Return the closure of a variable."""

    def evaluate(frame: Frame) -> Any:
        frame.cost += 1
        return frame.values[index]

    return evaluate


def unobserved(step: Step) -> Step:
    """Return the closure of a variable or its part as a key or branch: upstream does not charge for this variable."""

    def evaluate(frame: Frame) -> Any:
        value = step(frame)
        frame.cost -= 1
        return value

    return evaluate


def computed(step: Step) -> Step:
    """Return the closure of an operand that is not a variable; upstream charges for reading it as if it were one."""

    def evaluate(frame: Frame) -> Any:
        value = step(frame)
        frame.cost += 1
        return value

    return evaluate


def field_of(operand: Step, field: str) -> Step:
    """Return the closure of `operand.field`."""

    def evaluate(frame: Frame) -> Any:
        value = operand(frame)
        frame.cost += 1
        return part(value, field)

    return evaluate


def presence(operand: Step, field: str) -> Step:
    """Return the closure of `has(operand.field)`."""
    return lambda frame: has(operand(frame), field)


def index(operand: Step, key: Step) -> Step:
    """Return the closure of `operand[key]`."""

    def evaluate(frame: Frame) -> Any:
        value, key_value = operand(frame), key(frame)
        frame.cost += 1
        return part(value, key_value)

    return evaluate


def optional_index(operand: Step, key: Step) -> Step:
    """Return the closure of `operand[?key]` or `operand.?key`."""

    def evaluate(frame: Frame) -> Any:
        result = optional_part(operand(frame), key(frame))
        frame.cost += result is not NONE
        return result

    return evaluate


def conjunction(left: Step, right: Step) -> Step:
    """Return the closure of `left && right`."""
    return _logic(left, right, decisive=False)


def disjunction(left: Step, right: Step) -> Step:
    """Return the closure of `left || right`."""
    return _logic(left, right, decisive=True)


def _logic(left: Step, right: Step, *, decisive: bool) -> Step:
    """Return the closure of `&&` (false decides) or `||` (true decides); a deciding side hides the other's error."""

    def evaluate(frame: Frame) -> bool:
        error: EvaluationError | None = None
        try:
            left_value: object = left(frame)
            if left_value is decisive:
                return decisive
            if type(left_value) is not bool:
                error = no_such_overload()
        except EvaluationError as raised:
            error = raised
        try:
            right_value: object = right(frame)
        except EvaluationError as raised:
            raise error or raised from None
        if right_value is decisive:
            return decisive
        if error or type(right_value) is not bool:
            raise error or no_such_overload()
        return right_value

    return evaluate


def conditional(condition: Step, positive: Step, negative: Step) -> Step:
    """Return the closure of `condition ? positive : negative`."""

    def evaluate(frame: Frame) -> Any:
        value = condition(frame)
        if type(value) is not bool:
            raise no_such_overload()
        return positive(frame) if value else negative(frame)

    return evaluate


def optional_or(left: Step, right: Step) -> Step:
    """Return the closure of `left.or(right)`."""

    def evaluate(frame: Frame) -> Any:
        optional = left(frame)
        if type(optional) is not Optional:
            raise no_such_overload()
        return right(frame) if optional is NONE else optional

    return evaluate


def or_value(left: Step, right: Step) -> Step:
    """Return the closure of `left.orValue(right)`."""

    def evaluate(frame: Frame) -> Any:
        optional = left(frame)
        if type(optional) is not Optional:
            raise no_such_overload()
        return right(frame) if optional is NONE else optional.value

    return evaluate


def equality(left: Step, right: Step) -> Step:
    """Return the closure of `left == right`."""

    def evaluate(frame: Frame) -> bool:
        try:
            left_value, right_value = left(frame), right(frame)
        except EvaluationError:
            frame.charge(runtime_cost.OF_ERRORS)
            raise
        frame.charge(runtime_cost.equality(left_value, right_value))
        return equals(left_value, right_value)

    return evaluate


def inequality(left: Step, right: Step) -> Step:
    """Return the closure of `left != right`."""
    equal = equality(left, right)
    return lambda frame: not equal(frame)


def membership(value: Step, container: Step) -> Step:
    """Return the closure of `value in container`."""

    def evaluate(frame: Frame) -> bool:
        item, values = value(frame), container(frame)
        frame.charge(1 if isinstance(values, Mapper) else runtime_cost.membership(values))
        return contains(item, values)

    return evaluate


def membership_of_constants(value: Step, constants: frozenset[Any]) -> Step:
    """Return the closure of `in` a list of constant strings and integers, which costs nothing."""

    def evaluate(frame: Frame) -> bool:
        item = value(frame)
        return (item if type(item) in _CONSTANTS else None) in constants

    return evaluate


_CONSTANTS = frozenset((str, int, Uint, float))


def list_literal(items: tuple[Step, ...], optional: frozenset[int]) -> Step:
    """Return the closure of a list; items at the indexes in `optional` are left out if they have no value."""

    def evaluate(frame: Frame) -> list[Any]:
        frame.cost += runtime_cost.MAKE_LIST
        values = [item(frame) for item in items]
        if not optional:
            return values
        result = []
        for position, value in enumerate(values):
            if position not in optional:
                result.append(value)
            elif type(value) is not Optional:
                message = "cannot initialize optional list element from non-optional value"
                raise EvaluationError(f"{message} {format_value(value)}")
            elif value is not NONE:
                result.append(value.value)
        return result

    return evaluate


def map_literal(entries: list[tuple[Step, Step, bool]]) -> Step:
    """Return the closure of a map of keys, values, and flags for values that are left out if they are missing."""

    def evaluate(frame: Frame) -> MapValue:
        frame.cost += runtime_cost.MAKE_MAP
        result = []
        for key_step, value_step, optional in entries:
            key, value = key_step(frame), value_step(frame)
            if optional:
                if type(value) is not Optional:
                    message = f"cannot initialize optional entry '{format_value(key)}' from non-optional value"
                    raise EvaluationError(f"{message} {format_value(value)}")
                value = value.value
            if value is not MISSING:
                result.append((key, value))
        return MapValue(result)

    return evaluate
