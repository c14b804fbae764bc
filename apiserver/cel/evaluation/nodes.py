"""Nodes: the closures of everything that is neither a call of a function nor a loop."""

from typing import Any

from apiserver.cel import runtime_cost
from apiserver.cel.evaluation.access import contains, has, optional_part, part
from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.values import (
    MISSING,
    NONE,
    Entries,
    EvaluationError,
    MapValue,
    Optional,
    Uint,
    equals,
    no_such_overload,
    shown,
)


def variable(place: int) -> Step:
    """A variable."""

    def run(frame: Frame) -> Any:
        frame.cost += 1
        return frame.values[place]

    return run


def unobserved(step: Step) -> Step:
    """A variable, or a part of one, that is a key or a branch: upstream does not count that the variable is read."""

    def run(frame: Frame) -> Any:
        value = step(frame)
        frame.cost -= 1
        return value

    return run


def computed(step: Step) -> Step:
    """What an expression comes to of which a part is taken; upstream counts that as if it were a variable."""

    def run(frame: Frame) -> Any:
        value = step(frame)
        frame.cost += 1
        return value

    return run


def field_of(operand: Step, field: str) -> Step:
    """`operand.field`."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        frame.cost += 1
        return part(value, field)

    return run


def presence(operand: Step, field: str) -> Step:
    """`has(operand.field)`."""
    return lambda frame: has(operand(frame), field)


def index(operand: Step, key: Step) -> Step:
    """`operand[key]`."""

    def run(frame: Frame) -> Any:
        value, wanted = operand(frame), key(frame)
        frame.cost += 1
        return part(value, wanted)

    return run


def optional_index(operand: Step, key: Step) -> Step:
    """`operand[?key]` and `operand.?key`."""

    def run(frame: Frame) -> Any:
        found = optional_part(operand(frame), key(frame))
        frame.cost += found is not NONE
        return found

    return run


def conjunction(left: Step, right: Step) -> Step:
    """`left && right`."""
    return _logic(left, right, decisive=False)


def disjunction(left: Step, right: Step) -> Step:
    """`left || right`."""
    return _logic(left, right, decisive=True)


def _logic(left: Step, right: Step, *, decisive: bool) -> Step:
    """`&&`, of which false is decisive, and `||`, of which true is: on either side, whatever the other's error."""

    def run(frame: Frame) -> bool:
        error: EvaluationError | None = None
        try:
            one: object = left(frame)
            if one is decisive:
                return decisive
            if type(one) is not bool:
                error = no_such_overload()
        except EvaluationError as raised:
            error = raised
        try:
            two: object = right(frame)
        except EvaluationError as raised:
            raise error or raised from None
        if two is decisive:
            return decisive
        if error or type(two) is not bool:
            raise error or no_such_overload()
        return two

    return run


def conditional(condition: Step, positive: Step, negative: Step) -> Step:
    """`condition ? positive : negative`."""

    def run(frame: Frame) -> Any:
        found = condition(frame)
        if type(found) is not bool:
            raise no_such_overload()
        return positive(frame) if found else negative(frame)

    return run


def optional_or(left: Step, right: Step) -> Step:
    """`left.or(right)`."""

    def run(frame: Frame) -> Any:
        found = left(frame)
        if type(found) is not Optional:
            raise no_such_overload()
        return right(frame) if found is NONE else found

    return run


def or_value(left: Step, right: Step) -> Step:
    """`left.orValue(right)`."""

    def run(frame: Frame) -> Any:
        found = left(frame)
        if type(found) is not Optional:
            raise no_such_overload()
        return right(frame) if found is NONE else found.value

    return run


def equality(left: Step, right: Step) -> Step:
    """`left == right`."""

    def run(frame: Frame) -> bool:
        try:
            one, two = left(frame), right(frame)
        except EvaluationError:
            frame.charge(runtime_cost.OF_ERRORS)
            raise
        frame.charge(runtime_cost.equality(one, two))
        return equals(one, two)

    return run


def inequality(left: Step, right: Step) -> Step:
    """`left != right`."""
    equal = equality(left, right)
    return lambda frame: not equal(frame)


def membership(value: Step, container: Step) -> Step:
    """`value in container`."""

    def run(frame: Frame) -> bool:
        wanted, found = value(frame), container(frame)
        frame.charge(1 if isinstance(found, Entries) else runtime_cost.membership(found))
        return contains(wanted, found)

    return run


def membership_of_constants(value: Step, constants: frozenset[Any]) -> Step:
    """`in` a list of strings and whole numbers, which costs nothing."""

    def run(frame: Frame) -> bool:
        wanted = value(frame)
        return (wanted if type(wanted) in _CONSTANTS else None) in constants

    return run


_CONSTANTS = frozenset((str, int, Uint, float))


def list_literal(items: tuple[Step, ...], optional: frozenset[int]) -> Step:
    """A list; items at the places in `optional` are optionals, left out where they have no value."""

    def run(frame: Frame) -> list[Any]:
        frame.cost += runtime_cost.MAKE_LIST
        values = [item(frame) for item in items]
        if not optional:
            return values
        made = []
        for place, value in enumerate(values):
            if place not in optional:
                made.append(value)
            elif type(value) is not Optional:
                told = "cannot initialize optional list element from non-optional value"
                raise EvaluationError(f"{told} {shown(value)}")
            elif value is not NONE:
                made.append(value.value)
        return made

    return run


def map_literal(entries: list[tuple[Step, Step, bool]]) -> Step:
    """A map of keys, values, and whether a value is an optional, left out where it has none."""

    def run(frame: Frame) -> MapValue:
        frame.cost += runtime_cost.MAKE_MAP
        made = []
        for key_step, value_step, optional in entries:
            key, value = key_step(frame), value_step(frame)
            if optional:
                if type(value) is not Optional:
                    told = f"cannot initialize optional entry '{shown(key)}' from non-optional value"
                    raise EvaluationError(f"{told} {shown(value)}")
                value = value.value
            if value is not MISSING:
                made.append((key, value))
        return MapValue(made)

    return run
