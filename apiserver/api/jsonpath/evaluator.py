"""From the parts of a template to functions that find values, each made once (jsonpath/jsonpath.go)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apiserver.api.golang.values import go_text, go_type
from apiserver.api.jsonpath.comparing import ComparisonError, comparison
from apiserver.api.jsonpath.nodes import (
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

Values = list[Any]
Walk = Callable[[Values], Values]
"""From the values found so far to those found next; what came in stays as it is."""


class WalkError(Exception):
    """The object is not of the shape that the template wants.

    Attributes:
        found: what upstream has in hands when it gives up; a filter that asks for existence is content with that.
    """

    def __init__(self, message: str, found: Values) -> None:
        super().__init__(message)
        self.found = found


STEPS = 50_000
"""How many values may be looked at for one object: paths that descend again and again would never come to an end."""


class Steps:
    """Counts how many values are looked at."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = STEPS

    def take(self, count: int) -> None:
        """Look at so many.

        Raises:
            WalkError: they are too many.
        """
        self.left -= count
        if self.left < 0:
            raise WalkError("the path finds too many values", [])


class JSONPath:
    """A template, ready to be used on many objects, one after the other."""

    __slots__ = ("_steps", "_walks")

    def __init__(self, template: str) -> None:
        """Compile a template.

        Args:
            template: as kubectl takes it; what stands outside of braces is text.

        Raises:
            JSONPathError: it is no template.
        """
        self._steps = Steps()
        self._walks = [_part(part, self._steps) for part in parse(template)]

    def find(self, obj: Any) -> list[Values]:
        """What each part of the template finds in an object, which is only read; text finds itself.

        Raises:
            WalkError: something is no list where one is indexed or filtered, a list is too short, or values cannot be
                compared; or the template has loops, or finds more than there is time for.
        """
        self._steps.left = STEPS
        return [walk([obj]) for walk in self._walks]


def _part(part: Part, steps: Steps) -> Walk:
    return _text(part, steps) if isinstance(part, Text) else _chain(part, steps)


def _chain(action: Action, steps: Steps) -> Walk:
    """One walk after the other; a row of fields is walked at once, since most paths are nothing else."""
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
        for each in walks:
            values = each(values)
        return values

    return walk


def _fields(names: tuple[str, ...]) -> Walk:
    def walk(values: Values) -> Values:
        found = []
        for value in values:
            for name in names:
                if type(value) is not dict or name not in value:
                    break
                value = value[name]  # noqa: PLW2901 - one step down
            else:
                found.append(value)
        return found

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
        found = []
        for value in values:
            if value is None:
                continue
            length = len(_list(value, values))
            place = index + length if index < 0 else index
            if not 0 <= place < length:
                raise _out_of_bounds(place, length, values)
            found.append(value[place])
        return found

    return walk


def _slice(node: Slice, steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            length = len(_list(value, values))
            start = _from_end(node.start or 0, length)
            end = length if node.end is None else _from_end(node.end, length)
            if start == end:  # upstream looks no further, whatever else there is
                return found
            _check_bounds(start, end, length, values)
            if node.step is not None and node.step <= 0:
                raise WalkError("step must be > 0", values)
            steps.take(end - start)
            found += value[start : end : node.step or 1]
        return found

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


def _union(node: Union, steps: Steps) -> Walk:
    walks = [_chain(action, steps) for action in node.actions]

    def walk(values: Values) -> Values:
        try:
            steps.take(len(values) * len(walks))
            return [found for each in walks for found in each(values)]
        except WalkError as error:
            raise WalkError(str(error), values) from error

    return walk


def _wildcard(_node: Wildcard, steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        found: Values = []
        for value in values:
            below = _below(value)
            steps.take(len(below))
            found += below
        return found

    return walk


def _recursive(_node: Recursive, steps: Steps) -> Walk:
    def walk(values: Values) -> Values:
        found, ahead = [], values[::-1]
        while ahead:
            steps.take(1)
            value = ahead.pop()
            if below := _below(value):
                found.append(value)
                if type(value) is not str:  # there is nothing below bytes
                    ahead += reversed(below)
        return found

    return walk


def _below(value: Any) -> Sequence[Any]:
    """What a map, a list or (its bytes) a string has."""
    if type(value) is dict:
        return list(value.values())
    if type(value) is list:
        return value
    return value.encode() if type(value) is str else ()


def _filter(node: Filter, steps: Steps) -> Walk:
    passes = _existence(node, steps) if node.operator == "exists" else _comparison(node, steps)

    def walk(values: Values) -> Values:
        found: Values = []
        for value in values:
            if type(value) is not list:
                raise WalkError(f"{go_text(value)} is not array or slice and cannot be filtered", values)
            steps.take(len(value))
            try:
                found += filter(passes, value)
            except ComparisonError as error:
                raise WalkError(str(error), found) from error
            except WalkError as error:
                raise WalkError(str(error), values) from error
        return found

    return walk


def _existence(node: Filter, steps: Steps) -> Callable[[Any], bool]:
    left = _chain(node.left, steps)

    def exists(item: Any) -> bool:
        try:
            return bool(left([item]))
        except WalkError as error:
            return bool(error.found)

    return exists


def _comparison(node: Filter, steps: Steps) -> Callable[[Any], bool]:
    left, right, holds = _chain(node.left, steps), _chain(node.right, steps), comparison(node.operator)

    def passes(item: Any) -> bool:
        lefts = left([item])
        if not _is_one(lefts):
            return False
        rights = right([item])
        return _is_one(rights) and holds(lefts[0], rights[0])

    return passes


def _is_one(found: Values) -> bool:
    if len(found) > 1:
        raise WalkError("can only compare one element at a time", found)
    return bool(found)


_WALKS: Mapping[type[Node], Callable[[Any, Steps], Walk]] = {
    Filter: _filter,
    Identifier: _identifier,
    Index: _index,
    Literal: _literal,
    Recursive: _recursive,
    Slice: _slice,
    Text: _text,
    Union: _union,
    Wildcard: _wildcard,
}
"""What each node does to the values found so far; rows of fields are another matter."""
