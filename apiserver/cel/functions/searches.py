"""Searches: matches(), find() and findAll(), by Python's matcher if it needs few steps, else by RE2.

RE2 parses the pattern again for each text, which takes some 8 µs, and for large patterns much longer.
"""

import re
from collections.abc import Callable
from typing import Any

from apiserver.cel import regexes
from apiserver.cel.patterns import searcher
from apiserver.cel.values import EvaluationError


def _quick(text: str, pattern: str) -> re.Pattern[str] | None:
    """Return Python's matcher; None if RE2 has to search the text.

    Raises:
        ValueError: the pattern is invalid; the message is Go's.
    """
    compiled = searcher(pattern)
    return compiled.compiled if len(text) <= compiled.longest else None


def _matches(text: str, pattern: str) -> bool:
    try:
        quick = _quick(text, pattern)
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    return regexes.matches(text, pattern) if quick is None else quick.search(text) is not None


def _to_find(text: str, pattern: str) -> re.Pattern[str] | None:
    try:
        return _quick(text, pattern)
    except ValueError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    quick = _to_find(text, pattern)
    if quick is None:
        return regexes.find(text, pattern)
    match = quick.search(text)
    return match[0] if match else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    quick = _to_find(text, pattern)
    if quick is None:
        return regexes.find_all(text, pattern, count)
    all_matches: list[str] = []
    end = -1
    for match in quick.finditer(text):
        if len(all_matches) == count:
            break
        if match.end() > match.start() or match.start() != end:  # Go finds no empty match right after a match
            all_matches.append(match[0])
        end = match.end()
    return all_matches


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches": _matches,
    "matches_string": _matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
