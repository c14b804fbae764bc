"""Searches: matches(), find() and findAll()."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from apiserver.api.golang.regexp import Regexp, compile_regexp
from apiserver.cel.values import EvaluationError


def _matches(text: str, pattern: str) -> bool:
    try:
        return compile_regexp(pattern).matches(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _to_find(pattern: str) -> Regexp:
    try:
        return compile_regexp(pattern)
    except ValueError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _to_find(pattern).find(text)


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    all_matches = _to_find(pattern).find_all(text)
    return list(all_matches if count < 0 else islice(all_matches, count))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches": _matches,
    "matches_string": _matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
