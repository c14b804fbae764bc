"""Compiles the parts of a template to functions that find values (jsonpath/jsonpath.go)."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver.api.golang.values import go_text, go_type
from apiserver.api.jsonpath.ast import (
    Action,
    Field,
    Filter,
    Identifier,
    Index,
    Literal,
    Node,
    Part,
    Recursive,
    Slice,
    Text,
    Union,
    Wildcard,
)
from apiserver.api.jsonpath.parsing import parse

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


Values = list[Any]
Walk = Callable[[Values], Values]
"""A function from the values found so far to those found next; it leaves its argument as it is."""


class WalkError(Exception):
    """The object does not have the structure that the template expects.

    Attributes:
        values: the values that upstream has found when it fails; they are enough for a filter that tests existence.
    """

    def __init__(self, message: str, values: Values) -> None:
        super().__init__(message)
        self.values = values


STEPS = 50_000
"""The most values to visit per object: a path with several recursive descents would take nearly forever."""


class Steps:
    """A counter of the values that may still be visited."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = STEPS

    def count_values(self, count: int) -> None:
        """Count values as visited.

        Raises:
            WalkError: there are too many.
        """
        self.left -= count
        if self.left < 0:
            raise WalkError("the path finds too many values", [])


class JSONPath:
    """A compiled template, to be used on many objects, one after the other."""

    __slots__ = ("_steps", "_walks")

    def __init__(self, template: str) -> None:
        """Compile a template.

        Args:
            template: as kubectl takes it; everything outside of braces is text.

        Raises:
            JSONPathError: the template is malformed.
        """
        self._steps = Steps()
        self._walks = [_part(part, self._steps) for part in parse(template)]

    def find(self, obj: Any) -> list[Values]:
        """Return the values that each part of the template finds in an object, which is only read; text finds itself.

        Raises:
            WalkError: a value that is indexed or filtered is not a list, a list is too short, or values cannot be
                compared; or the template has loops, or visits too many values.
        """
        self._steps.left = STEPS
        return [walk([obj]) for walk in self._walks]


def _part(part: Part, steps: Steps) -> Walk:
    return _text(part, steps) if isinstance(part, Text) else _chain(part, steps)


def _chain(action: Action, steps: Steps) -> Walk:
    """Return a function that runs the nodes one after the other; consecutive fields, the usual case, run at once."""
    walks: list[Walk] = []
    names: list[str] = []
    for node in action:
        if isinstance(node, Field):
            names.append(node.name)
            continue
        if names:
            walks.append(_fields(tuple(names)))
            names = []
        walks.append(_WALKS[type(node)](node, steps))
    if names:
        walks.append(_fields(tuple(names)))
    return walks[0] if len(walks) == 1 else _composed(walks)


def _composed(walks: Sequence[Walk]) -> Walk:
    def walk(values: Values) -> Values:
        for step in walks:
            values = step(values)
        return values

    return walk


def _fields(names: tuple[str, ...]) -> Walk:
    def walk(values: Values) -> Values:
        results = []
        for value in values:
            for name in names:
                if type(value) is not dict or name not in value:
                    break
                value = value[name]  # noqa: PLW2901 - one step down
            else:
                results.append(value)
        return results

    return walk


def _text(node: Text, _steps: Steps) -> Walk:
    return lambda _values: [node.text]


def _literal(node: Literal, _steps: Steps) -> Walk:
    return lambda values: [node.value] * len(values)


def _identifier(node: Identifier, _steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        match node.name:
            case "range":
                return values
            case "end":
                raise WalkError("not in range, nothing to end", [])
        raise WalkError(f"unrecognized identifier {node.name}", values)

    return walk


def _index(node: Index, _steps: Steps) -> Walk:
    index = node.index

    def walk(values: Values) -> Values:
        results = []
        for value in values:
            if value is None:
                continue
            length = len(_list(value, values))
            position = index + length if index < 0 else index
            if not 0 <= position < length:
                raise _out_of_bounds(position, length, values)
            results.append(value[position])
        return results

    return walk


def _slice(node: Slice, steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        results: Values = []
        for value in values:
            if value is None:
                continue
            length = len(_list(value, values))
            start = _from_end(node.start or 0, length)
            end = length if node.end is None else _from_end(node.end, length)
            if start == end:  # upstream stops here, even if there are more values
                return results
            _check_bounds(start, end, length, values)
            if node.step is not None and node.step <= 0:
                raise WalkError("step must be > 0", values)
            steps.count_values(end - start)
            results += value[start : end : node.step or 1]
        return results

    return walk


def _list(value: Any, values: Values) -> Values:
    if type(value) is not list:
        raise WalkError(f"{go_type(value)} is not array or slice", values)
    return value


def _from_end(bound: int, length: int) -> int:
    return bound + length if bound < 0 else bound


def _check_bounds(start: int, end: int, length: int, values: Values) -> None:
    if not 0 <= start < length:
        raise _out_of_bounds(start, length, values)
    if not 0 <= end <= length:
        raise _out_of_bounds(end - 1, length, values)
    if start > end:
        raise WalkError(f"starting index {start} is greater than ending index {end}", values)


def _out_of_bounds(index: int, length: int, values: Values) -> WalkError:
    return WalkError(f"array index out of bounds: index {index}, length {length}", values)


def _compile_union(node: Union, steps: Steps) -> Walk:
    walks = [_chain(action, steps) for action in node.actions]

    def walk(values: Values) -> Values:
        try:
            steps.count_values(len(values) * len(walks))
            return [result for walk_action in walks for result in walk_action(values)]
        except WalkError as error:
            raise WalkError(str(error), values) from error

    return walk


def _wildcard(_node: Wildcard, steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        results: Values = []
        for value in values:
            children = _children(value)
            steps.count_values(len(children))
            results += children
        return results

    return walk


def _recursive(_node: Recursive, steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        results, pending = [], values[::-1]
        while pending:
            steps.count_values(1)
            value = pending.pop()
            if children := _children(value):
                results.append(value)
                if type(value) is not str:  # bytes have no children
                    pending += reversed(children)
        return results

    return walk


def _children(value: Any) -> Sequence[Any]:
    """Return the items of a map or a list, or the bytes of a string."""
    if type(value) is dict:
        return list(value.values())
    if type(value) is list:
        return value
    return value.encode() if type(value) is str else ()


def _filter(node: Filter, steps: Steps) -> Walk:
    passes = _existence(node, steps) if node.operator == "exists" else _comparison(node, steps)

    def walk(values: Values) -> Values:
        results: Values = []
        for value in values:
            if type(value) is not list:
                raise WalkError(f"{go_text(value)} is not array or slice and cannot be filtered", values)
            steps.count_values(len(value))
            try:
                results += filter(passes, value)
            except ComparisonError as error:
                raise WalkError(str(error), results) from error
            except WalkError as error:
                raise WalkError(str(error), values) from error
        return results

    return walk


def _existence(node: Filter, steps: Steps) -> Callable[[Any], bool]:
    left = _chain(node.left, steps)

    def exists(item: Any) -> bool:
        try:
            return bool(left([item]))
        except WalkError as error:
            return bool(error.values)

    return exists


def _comparison(node: Filter, steps: Steps) -> Callable[[Any], bool]:
    left, right, holds = _chain(node.left, steps), _chain(node.right, steps), comparison_function(node.operator)

    def passes(item: Any) -> bool:
        lefts = left([item])
        if not _is_one(lefts):
            return False
        rights = right([item])
        return _is_one(rights) and holds(lefts[0], rights[0])

    return passes


def _is_one(values: Values) -> bool:
    if len(values) > 1:
        raise WalkError("can only compare one element at a time", values)
    return bool(values)


_WALKS: Mapping[type[Node], Callable[[Any, Steps], Walk]] = {
    Filter: _filter,
    Identifier: _identifier,
    Index: _index,
    Literal: _literal,
    Recursive: _recursive,
    Slice: _slice,
    Text: _text,
    Union: _compile_union,
    Wildcard: _wildcard,
}
"""Node type → the function that compiles it; fields are compiled in _chain."""
