"""Patterns of schemas, which are Go's: a match takes a time that grows with the text alone, whatever the pattern is.

Python's matcher is quick where it goes straight on, and may try more ways than there is time for where it does not. So
the ways are counted: where they may be too many for a text, the RE2 of the library of rules looks at it, which has no
such patterns and takes some 15 µs to begin.
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
"""How many ways to match a text may be tried: about a millisecond's worth."""


class Searcher(NamedTuple):
    """A pattern in Python's matcher.

    Attributes:
        compiled: for its `search`.
        longest: the length up to which it may look at a text.
        weight: how much RE2 has to do before it looks at a text, in parts of the pattern with its repetitions.
    """

    compiled: re.Pattern[str]
    longest: int
    weight: int


@lru_cache(maxsize=1024)
def searcher(pattern: str) -> Searcher:
    """A pattern to search texts for.

    Raises:
        ValueError: it is no pattern of Go's; the message is Go's.
    """
    compiled = compile_regexp(pattern)
    items = list(parser.parse(compiled.pattern, compiled.flags))
    return Searcher(compiled, _longest(items), _weight(items))


@lru_cache(maxsize=1024)
def matcher(pattern: str) -> Matches:
    """What tells whether a pattern is found in a text.

    Raises:
        ValueError: it is no pattern of Go's; the message is Go's.
    """
    compiled, longest, _ = searcher(pattern)
    search = compiled.search
    if longest == sys.maxsize:
        return lambda text: search(text) is not None

    def check(text: str) -> bool:
        if len(text) > longest:
            try:
                return matches(text, pattern)
            except EvaluationError:  # RE2 has smaller limits, and takes no half characters
                pass
        return search(text) is not None

    return check


class _Ways(NamedTuple):
    """How many ways there are through a part of a pattern.

    Attributes:
        repeats: how many parts of it end anywhere in the text.
        choices: the ways that do not depend on the text.
    """

    repeats: int = 0
    choices: int = 1


def _longest(items: list[Any]) -> int:
    """The length up to which Python's matcher may look at a text; -1 for none."""
    ways = _through(items)
    if ways is None:
        return -1
    starts_anywhere = not items or items[0] != (ops.AT, ops.AT_BEGINNING_STRING)
    degree = ways.repeats + starts_anywhere
    if not degree:
        return sys.maxsize if ways.choices <= WAYS else -1
    return int((WAYS / ways.choices) ** (1 / degree)) - 1


def _through(items: Iterable[Any]) -> _Ways | None:
    """The ways through a sequence; None where they cannot be told."""
    repeats, choices = 0, 1
    for item in items:
        found = _ways(item)
        if found is None:
            return None
        repeats += found.repeats
        choices *= found.choices
    return _Ways(repeats, choices)


def _ways(item: Any) -> _Ways | None:
    op, given = item
    if op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN, ops.AT):
        return _Ways()
    if op is ops.SUBPATTERN:
        return _through(given[-1])
    if op is ops.BRANCH:
        found = [_through(each) for each in given[1]]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return _Ways(max(each.repeats for each in known), sum(each.choices for each in known))
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        return _repeated(*given)
    return None


def _repeated(least: int, most: int, body: Any) -> _Ways | None:
    inside = _through(body)
    if inside is None or most == 0:
        return inside
    if most == 1:
        return _Ways(inside.repeats, inside.choices + 1 - least)
    if inside == _Ways():
        return _Ways(0 if least == most else 1)
    return _Ways(inside.repeats + 1, inside.choices) if _is_delimited(list(body)) else None


def _weight(items: Iterable[Any]) -> int:
    return sum(map(_weight_of, items))


def _weight_of(item: Any) -> int:
    op, given = item
    if op is ops.IN:
        return sum(map(_weight_of, given))
    if op is ops.RANGE:
        return 1 if given[1] < _ASCII else _SPLIT
    if op is ops.SUBPATTERN:
        return _weight(given[-1])
    if op is ops.BRANCH:
        return sum(map(_weight, given[1]))
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        least, most, body = given
        times: int = least if most is ops.MAXREPEAT else most
        return _weight(body) * max(1, times)
    return 1


_ASCII, _SPLIT = 128, 4
"""A range of other characters is one of several bytes each, for which RE2 takes it apart."""


def _is_delimited(items: list[Any]) -> bool:
    """Does it begin with a character that is nowhere else in it, so that it is clear where each repetition begins?"""
    while items and items[0][0] is ops.SUBPATTERN:
        items = [*items[0][1][-1], *items[1:]]
    return bool(items) and items[0][0] is ops.LITERAL and not any(_has(each, items[0][1]) for each in items[1:])


def _has(item: Any, code: int) -> bool:
    """May a character be a part of what an item matches?"""
    op, given = item
    if op is ops.LITERAL:
        return bool(given == code)
    if op is ops.RANGE:
        return bool(given[0] <= code <= given[1])
    if op is ops.IN:
        return given[0][0] is ops.NEGATE or any(_has(each, code) for each in given)
    if op is ops.BRANCH:
        return any(_has(each, code) for branch in given[1] for each in branch)
    if op in (ops.SUBPATTERN, ops.MAX_REPEAT, ops.MIN_REPEAT):
        return any(_has(each, code) for each in given[-1])
    return op is not ops.AT
