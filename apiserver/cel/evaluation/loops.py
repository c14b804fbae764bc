"""Loops: the closures of comprehensions.

Only macros create comprehensions, so there are just three kinds: quantifiers, which stop early and absorb errors;
folds, which count, or fill a list or a map; and names for a value. Each iteration costs what upstream charges for
reading and writing the accumulator.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.limits import check_count
from apiserver.cel.runtime_cost import MAKE_LIST
from apiserver.cel.values import EvaluationError, Mapper, MapValue, is_list, items_of, no_such_overload, type_name

_ALL_CONDITION, _EXISTS_CONDITION = 2, 3
"""The cost of the test whether to go on, before each iteration."""

_ACCUMULATOR = 1
_COUNT, _INSERT = 2, 2
_APPEND = 2 + MAKE_LIST
"""The costs of reading the accumulator, and of changing it."""


@dataclass(frozen=True, slots=True)
class LoopRange:
    """The list or map to loop over, and the indexes of the loop's variables in the frame.

    Attributes:
        over: evaluates to the list or map.
        first, second: the variables' indexes; `second` is negative if there is only one variable.
    """

    over: Step
    first: int
    second: int

    def iterate(self, frame: Frame) -> Iterator[int]:
        """Set the variables to each item or key in turn, and yield the number of those that follow."""
        value = self.over(frame)
        if isinstance(value, Mapper):
            parts = value.key_list()
        elif is_list(value):
            parts = items_of(value)
        else:
            raise EvaluationError(f"got '{type_name(value)}', expected iterable type")
        remaining = len(parts)
        for index, part in enumerate(parts):
            remaining -= 1
            if self.second < 0:
                frame.values[self.first] = part
            elif isinstance(value, Mapper):
                frame.values[self.first], frame.values[self.second] = part, value.find(part)
            else:
                frame.values[self.first], frame.values[self.second] = index, part
            yield remaining


def quantifier(within: LoopRange, predicate: Step, *, stops_at: bool) -> Step:
    """Return the closure of all(), which stops at false, or exists(), which stops at true; a stop drops errors."""
    condition = _EXISTS_CONDITION if stops_at else _ALL_CONDITION

    def evaluate(frame: Frame) -> bool:
        error: EvaluationError | None = None
        for remaining in within.iterate(frame):
            frame.charge(condition + _ACCUMULATOR)
            try:
                verdict: object = predicate(frame)
            except EvaluationError as raised:
                error = error or raised
                continue
            if verdict is stops_at:
                frame.cost += _ACCUMULATOR + (condition if remaining else 0)
                return stops_at
            if type(verdict) is not bool:
                error = error or no_such_overload()
        frame.cost += _ACCUMULATOR
        if error:
            raise error
        return not stops_at

    return evaluate


def count(within: LoopRange, predicate: Step) -> Step:
    """Return the closure that counts the iterations with a true predicate; the result compares that with one."""

    def evaluate(frame: Frame) -> int:
        counted = 0
        for _ in within.iterate(frame):
            frame.charge(0)
            if _is_true(predicate(frame)):
                counted += 1
                frame.cost += _COUNT
        return counted

    return evaluate


def collect(within: LoopRange, item: Step, predicate: Step | None) -> Step:
    """Return the closure of a list of an item per iteration, or per iteration with a true predicate."""

    def evaluate(frame: Frame) -> list[Any]:
        items: list[Any] = []
        for _ in within.iterate(frame):
            frame.charge(0)
            if predicate is None or _is_true(predicate(frame)):
                items.append(item(frame))
                frame.cost += _APPEND
        check_count(len(items))
        frame.cost += _ACCUMULATOR
        return items

    return evaluate


def insert(within: LoopRange, update: tuple[Step, ...], predicate: Step | None) -> Step:
    """Return the closure of a map that each iteration updates: by a key and a value, or by a map to merge."""

    def evaluate(frame: Frame) -> MapValue:
        result = MapValue()
        for _ in within.iterate(frame):
            frame.charge(0)
            if predicate is not None and not _is_true(predicate(frame)):
                continue
            frame.cost += _INSERT
            update_values = [step(frame) for step in update]
            if len(update_values) == 2:
                result.insert(update_values[0], update_values[1])
                continue
            if not isinstance(update_values[0], Mapper):
                raise no_such_overload()
            for key in update_values[0].key_list():
                result.insert(key, update_values[0].find(key))
        frame.cost += _ACCUMULATOR
        return result

    return evaluate


def named(value: Step, index: int, body: Step) -> Step:
    """Return the closure of a body in which a value has a name."""

    def evaluate(frame: Frame) -> Any:
        frame.values[index] = value(frame)
        return body(frame)

    return evaluate


def _is_true(value: Any) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return value
