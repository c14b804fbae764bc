"""Patterns of schemas, with Go's guarantee: the time of a match grows only linearly with the text, for any pattern.

Python's matcher is fast as long as it does not backtrack, and may try more ways to match than there is time for when it
does. So the ways are counted: if there may be too many for a text, the library's RE2 searches it, which has no such
patterns and takes some 15 µs to begin.
"""

import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import _constants as ops  # type: ignore[attr-defined] # there is no other parser of Python's patterns
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from apiserver.api.golang.regexp import compile_regexp
from apiserver.cel.regexes import matches
from apiserver.cel.values import EvaluationError

Matches = Callable[[str], bool]

WAYS = 50_000
"""The most ways to match a text that may be tried: about a millisecond's worth."""


class Searcher(NamedTuple):
    """A pattern for Python's matcher.

    Attributes:
        compiled: the pattern, for its `search`.
        longest: the length up to which Python may search a text.
        weight: RE2's work before it searches a text, in parts of the pattern with its repetitions.
    """

    compiled: re.Pattern[str]
    longest: int
    weight: int


@lru_cache(maxsize=1024)
def searcher(pattern: str) -> Searcher:
    """Return a pattern to search texts with.

    Raises:
        ValueError: it is not a valid pattern in Go; the message is Go's.
    """
    compiled = compile_regexp(pattern)
    items = list(parser.parse(compiled.pattern, compiled.flags))
    return Searcher(compiled, _longest(items), _weight(items))


@lru_cache(maxsize=1024)
def matcher(pattern: str) -> Matches:
    """Return a function that tells whether a pattern is found in a text.

    Raises:
        ValueError: it is not a valid pattern in Go; the message is Go's.
    """
    compiled, longest, _ = searcher(pattern)
    search = compiled.search
    if longest == sys.maxsize:
        return lambda text: search(text) is not None

    def check(text: str) -> bool:
        if len(text) > longest:
            try:
                return matches(text, pattern)
            except EvaluationError:  # RE2 has smaller limits, and takes no surrogates
                pass
        return search(text) is not None

    return check


class _Ways(NamedTuple):
    """The number of ways to match a part of a pattern.

    Attributes:
        repeats: the number of its parts that can end anywhere in the text.
        choices: the number of ways that does not depend on the text.
    """

    repeats: int = 0
    choices: int = 1


def _longest(items: list[Any]) -> int:
    """Return the length up to which Python's matcher may search a text; -1 for never."""
    ways = _through(items)
    if ways is None:
        return -1
    starts_anywhere = not items or items[0] != (ops.AT, ops.AT_BEGINNING_STRING)
    degree = ways.repeats + starts_anywhere
    if not degree:
        return sys.maxsize if ways.choices <= WAYS else -1
    return int((WAYS / ways.choices) ** (1 / degree)) - 1


def _through(items: Iterable[Any]) -> _Ways | None:
    """Return the ways through a sequence; None if they cannot be counted."""
    repeats, choices = 0, 1
    for item in items:
        ways = _ways(item)
        if ways is None:
            return None
        repeats += ways.repeats
        choices *= ways.choices
    return _Ways(repeats, choices)


def _ways(item: Any) -> _Ways | None:
    op, argument = item
    if op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN, ops.AT):
        return _Ways()
    if op is ops.SUBPATTERN:
        return _through(argument[-1])
    if op is ops.BRANCH:
        branches = [_through(branch) for branch in argument[1]]
        counted = [branch for branch in branches if branch is not None]
        if len(counted) < len(branches):
            return None
        return _Ways(max(branch.repeats for branch in counted), sum(branch.choices for branch in counted))
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        return _repeated(*argument)
    return None


def _repeated(least: int, most: int, body: Any) -> _Ways | None:
    inner = _through(body)
    if inner is None or most == 0:
        return inner
    if most == 1:
        return _Ways(inner.repeats, inner.choices + 1 - least)
    if inner == _Ways():
        return _Ways(0 if least == most else 1)
    return _Ways(inner.repeats + 1, inner.choices) if _is_delimited(list(body)) else None


def _weight(items: Iterable[Any]) -> int:
    return sum(map(_weight_of, items))


def _weight_of(item: Any) -> int:
    op, argument = item
    if op is ops.IN:
        return sum(map(_weight_of, argument))
    if op is ops.RANGE:
        return 1 if argument[1] < _ASCII else _SPLIT
    if op is ops.SUBPATTERN:
        return _weight(argument[-1])
    if op is ops.BRANCH:
        return sum(map(_weight, argument[1]))
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        least, most, body = argument
        times: int = least if most is ops.MAXREPEAT else most
        return _weight(body) * max(1, times)
    return 1


_ASCII, _SPLIT = 128, 4
"""A range of non-ASCII characters has several bytes each, so RE2 splits it into several ranges."""


def _is_delimited(items: list[Any]) -> bool:
    """Return True if it begins with a character that occurs nowhere else in it, so each repetition's start is clear."""
    while items and items[0][0] is ops.SUBPATTERN:
        items = [*items[0][1][-1], *items[1:]]
    return bool(items) and items[0][0] is ops.LITERAL and not any(_has(item, items[0][1]) for item in items[1:])


def _has(item: Any, code: int) -> bool:
    """Return True if an item may match a character."""
    op, argument = item
    if op is ops.LITERAL:
        return bool(argument == code)
    if op is ops.RANGE:
        return bool(argument[0] <= code <= argument[1])
    if op is ops.IN:
        return argument[0][0] is ops.NEGATE or any(_has(inner, code) for inner in argument)
    if op is ops.BRANCH:
        return any(_has(inner, code) for branch in argument[1] for inner in branch)
    if op in (ops.SUBPATTERN, ops.MAX_REPEAT, ops.MIN_REPEAT):
        return any(_has(inner, code) for inner in argument[-1])
    return op is not ops.AT
