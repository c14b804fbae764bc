"""Loops: the closures of comprehensions.

Only macros make comprehensions, so there are but three kinds: quantifiers, which stop early and absorb errors; folds,
which count, or fill a list or a map; and names for a value. Each turn of one costs what upstream charges for reading
and writing the accumulator.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apiserver.cel.evaluation.frames import Frame, Step
from apiserver.cel.limits import check_count
from apiserver.cel.runtime_cost import MAKE_LIST
from apiserver.cel.values import Entries, EvaluationError, MapValue, is_list, items_of, no_such_overload, type_name

_ALL_CONDITION, _EXISTS_CONDITION = 2, 3
"""What the test costs whether to go on, before each turn."""

_ACCUMULATOR = 1
_COUNT, _INSERT = 2, 2
_APPEND = 2 + MAKE_LIST
"""What it costs to read the accumulator, and to change it."""


@dataclass(frozen=True, slots=True)
class Range:
    """What is looped over, and where the loop's variables are kept.

    Attributes:
        over: what gives the list or map.
        first, second: the variables' places; `second` is negative where there is one variable.
    """

    over: Step
    first: int
    second: int

    def turns(self, frame: Frame) -> Iterator[int]:
        """One turn for each item or key, with how many come after it; the variables have their values in it."""
        value = self.over(frame)
        if isinstance(value, Entries):
            parts = value.key_list()
        elif is_list(value):
            parts = items_of(value)
        else:
            raise EvaluationError(f"got '{type_name(value)}', expected iterable type")
        left = len(parts)
        for place, part in enumerate(parts):
            left -= 1
            if self.second < 0:
                frame.values[self.first] = part
            elif isinstance(value, Entries):
                frame.values[self.first], frame.values[self.second] = part, value.find(part)
            else:
                frame.values[self.first], frame.values[self.second] = place, part
            yield left


def quantifier(within: Range, predicate: Step, *, stops_at: bool) -> Step:
    """all(), which stops at false, or exists(), which stops at true; errors count only where nothing stops it."""
    condition = _EXISTS_CONDITION if stops_at else _ALL_CONDITION

    def run(frame: Frame) -> bool:
        error: EvaluationError | None = None
        for left in within.turns(frame):
            frame.charge(condition + _ACCUMULATOR)
            try:
                found: object = predicate(frame)
            except EvaluationError as raised:
                error = error or raised
                continue
            if found is stops_at:
                frame.cost += _ACCUMULATOR + (condition if left else 0)
                return stops_at
            if type(found) is not bool:
                error = error or no_such_overload()
        frame.cost += _ACCUMULATOR
        if error:
            raise error
        return not stops_at

    return run


def count(within: Range, predicate: Step) -> Step:
    """How many turns a predicate is true in; the comprehension's result compares that with one."""

    def run(frame: Frame) -> int:
        counted = 0
        for _ in within.turns(frame):
            frame.charge(0)
            if _is_true(predicate(frame)):
                counted += 1
                frame.cost += _COUNT
        return counted

    return run


def collect(within: Range, item: Step, predicate: Step | None) -> Step:
    """A list of what each turn gives, or each in which a predicate is true."""

    def run(frame: Frame) -> list[Any]:
        made: list[Any] = []
        for _ in within.turns(frame):
            frame.charge(0)
            if predicate is None or _is_true(predicate(frame)):
                made.append(item(frame))
                frame.cost += _APPEND
        check_count(len(made))
        frame.cost += _ACCUMULATOR
        return made

    return run


def insert(within: Range, update: tuple[Step, ...], predicate: Step | None) -> Step:
    """A map of what each turn gives: a key and a value, or a map that is merged."""

    def run(frame: Frame) -> MapValue:
        made = MapValue()
        for _ in within.turns(frame):
            frame.charge(0)
            if predicate is not None and not _is_true(predicate(frame)):
                continue
            frame.cost += _INSERT
            given = [step(frame) for step in update]
            if len(given) == 2:
                made.insert(given[0], given[1])
                continue
            if not isinstance(given[0], Entries):
                raise no_such_overload()
            for key in given[0].key_list():
                made.insert(key, given[0].find(key))
        frame.cost += _ACCUMULATOR
        return made

    return run


def named(value: Step, place: int, body: Step) -> Step:
    """A value under a name, within a body."""

    def run(frame: Frame) -> Any:
        frame.values[place] = value(frame)
        return body(frame)

    return run


def _is_true(found: Any) -> bool:
    if type(found) is not bool:
        raise no_such_overload()
    return found
