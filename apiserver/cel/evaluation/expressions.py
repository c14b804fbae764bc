"""Expressions: the closures of all nodes except calls of functions and loops, and access to fields and items.

Fields, entries and items are found as in cel-go's attributes.go, also through optionals.
"""

from typing import Any

from apiserver.cel import runtime_cost
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
    is_list,
    items_of,
    no_such_overload,
    type_name,
)


def _find(value: Any, key: Any) -> Any:
    """Return the part of a value, or MISSING.

    Raises:
        EvaluationError: the value cannot have such keys.
    """
    if isinstance(value, Mapper):
        return value.find(key)
    if is_list(value):
        index = _index(key)
        return items_of(value)[index] if 0 <= index < len(value) else MISSING
    return MISSING


def _index(key: Any) -> int:
    """Return the key as an index of a list."""
    if type(key) is int or type(key) is Uint:
        return int(key)
    if type(key) is float:
        if key.is_integer():
            return int(key)
        raise EvaluationError(f"unsupported index value {format_value(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def part(value: Any, key: Any) -> Any:
    """Return `value[key]` or `value.key`; an optional for an optional value.

    Raises:
        EvaluationError: there is no such part.
    """
    if type(value) is Optional:
        return optional_part(value, key)
    inner = _find(value, key)
    if inner is not MISSING:
        return inner
    if is_list(value):
        raise EvaluationError(f"index out of bounds: {format_value(key)}")
    raise EvaluationError(f"no such key: {format_value(key)}")


def optional_part(value: Any, key: Any) -> Optional:
    """Return `value[?key]` or `value.?key`."""
    if type(value) is Optional:
        if value is NONE:
            return NONE
        value = value.value
    inner = _find(value, key)
    return NONE if inner is MISSING else Optional(inner)


def has(value: Any, field: str) -> bool:
    """Return `has(value.field)`."""
    if type(value) is Optional:
        value = value.value
    return _find(value, field) is not MISSING


def contains(value: Any, container: Any) -> bool:
    """Return `value in container`.

    Raises:
        EvaluationError: it is not a container, or an item cannot be compared and no other is equal.
    """
    if isinstance(container, Mapper):
        return container.find(value) is not MISSING
    if not is_list(container):
        raise no_such_overload()
    error: EvaluationError | None = None
    for item in items_of(container):
        try:
            if equals(item, value):
                return True
        except EvaluationError as raised:
            error = error or raised
    if error:
        raise error
    return False


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
