"""Regular expressions in the library's RE2, whose time grows with the text alone: no pattern of a rule can hold it up.

A match takes some 15 µs, almost all of it the library's way in and out.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from apiserver.api.golang.regexp import compile_regexp
from apiserver.cel.values import EvaluationError

if TYPE_CHECKING:
    from cel_expr_python import cel

_EXPRESSIONS = {
    "matches": "text.matches(pattern)",
    "find": "regex.extract(text, pattern).orValue('')",
    "findAll": "regex.extractAll(text, pattern)",
}


@cache  # as in parsing: programs are never written to
def _program(name: str) -> cel.Expression:
    from cel_expr_python import cel  # noqa: PLC0415

    config = cel.NewEnvConfigFromYaml("name: regexes\nextensions:\n- name: optional\n- name: regex")
    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(config=config, variables=variables).compile(_EXPRESSIONS[name])


@cache
def _error_type() -> cel.Type:
    from cel_expr_python import cel  # noqa: PLC0415

    return cel.Type.ERROR


def _evaluated(name: str, text: str, pattern: str) -> Any:
    """What the library finds, None where it does not take the pattern."""
    try:
        found = _program(name).eval(data={"text": text, "pattern": pattern})
    except RuntimeError:  # half a character
        return None
    return None if found.type() == _error_type() else found.plain_value()


def pattern_error(pattern: str) -> str:
    """What is wrong with a pattern, in Go's words; "" where nothing is."""
    try:
        compile_regexp(pattern)
    except ValueError as error:
        return str(error)
    return ""


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern is found in a text.

    Raises:
        EvaluationError: the pattern is none.
    """
    found: bool | None = _evaluated("matches", text, pattern)
    if found is None:
        raise EvaluationError(_refusal(pattern))
    return found


def find(text: str, pattern: str) -> str:
    """The first match, "" where there is none.

    Raises:
        EvaluationError: the pattern is none.
    """
    found: str = _found("find", text, pattern)
    return found


def find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    """All matches, or the first few; matches of nothing are left out, unlike upstream.

    Raises:
        EvaluationError: the pattern is none.
    """
    found: list[str] = _found("findAll", text, pattern)
    return found if count < 0 else found[:count]


def _found(name: str, text: str, pattern: str) -> Any:
    wrong = pattern_error(pattern)  # first, since putting it in a group may make it right
    found = None if wrong else _evaluated(name, text, whole(pattern))
    if found is None:
        raise EvaluationError(f"Illegal regex: {wrong or _refusal(pattern)}")
    return found


def _refusal(pattern: str) -> str:
    return pattern_error(pattern) or f"error parsing regexp: invalid pattern: `{pattern}`"


@lru_cache(maxsize=1024)
def whole(pattern: str) -> str:
    """The pattern in the one group that the library gives back; its own groups capture nothing any more."""
    parts, at, inside = ["("], 0, 0  # `inside` is where the content of a class begins, 0 outside of classes
    while at < len(pattern):
        taken = 1
        if pattern.startswith(r"\Q", at):
            end = pattern.find(r"\E", at)
            taken = (len(pattern) if end < 0 else end + 2) - at
        elif pattern[at] == "\\":
            taken = 2
        elif inside:
            inside = 0 if pattern[at] == "]" and at > inside else inside  # first in a class it is itself
            taken = _named_class(pattern, at)
        elif pattern[at] == "[":
            inside = at + 1 + pattern.startswith("^", at + 1)
        elif pattern[at] == "(" and not pattern.startswith("(?", at):
            parts.append("(?:")
            at += 1
            continue
        elif pattern.startswith(("(?P<", "(?<"), at):
            parts.append("(?:")
            at = pattern.find(">", at) + 1 or len(pattern)
            continue
        parts.append(pattern[at : at + taken])
        at += taken
    return "".join([*parts, ")"])


def _named_class(pattern: str, at: int) -> int:
    """The length of a class such as [:alpha:] within a class, 1 where none begins."""
    end = pattern.find(":]", at) if pattern.startswith("[:", at) else -1
    return end + 2 - at if end > 0 else 1
