"""Searches: matches(), find() and findAll(), by Python's matcher where that tries few ways, else by RE2.

RE2 reads the pattern anew for each text, which takes some 8 µs and for large ones much longer.
"""

import re
from collections.abc import Callable
from typing import Any

from apiserver.cel import regexes
from apiserver.cel.patterns import searcher
from apiserver.cel.values import EvaluationError


def _quick(text: str, pattern: str) -> re.Pattern[str] | None:
    """Python's matcher, None where RE2 has to look at the text.

    Raises:
        ValueError: it is no pattern; the message is Go's.
    """
    found = searcher(pattern)
    return found.compiled if len(text) <= found.longest else None


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
    found = quick.search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    quick = _to_find(text, pattern)
    if quick is None:
        return regexes.find_all(text, pattern, count)
    found: list[str] = []
    end = -1
    for match in quick.finditer(text):
        if len(found) == count:
            break
        if match.end() > match.start() or match.start() != end:  # Go finds nothing right behind a match
            found.append(match[0])
        end = match.end()
    return found


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches": _matches,
    "matches_string": _matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
