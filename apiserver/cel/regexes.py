"""Regular expressions in the library's RE2, whose time is linear in the text: no pattern of a rule can block it.

A match takes some 15 µs, almost all of it for the call into the library and back.
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
    """Return the library's result, None if it does not accept the pattern."""
    try:
        result = _program(name).eval(data={"text": text, "pattern": pattern})
    except RuntimeError:  # a surrogate
        return None
    return None if result.type() == _error_type() else result.plain_value()


def pattern_error(pattern: str) -> str:
    """Return the error of a pattern, in Go's words; "" if it is valid."""
    try:
        compile_regexp(pattern)
    except ValueError as error:
        return str(error)
    return ""


def matches(text: str, pattern: str) -> bool:
    """Return True if a pattern is found in a text.

    Raises:
        EvaluationError: the pattern is invalid.
    """
    is_match: bool | None = _evaluated("matches", text, pattern)
    if is_match is None:
        raise EvaluationError(_refusal(pattern))
    return is_match


def find(text: str, pattern: str) -> str:
    """Return the first match, "" if there is none.

    Raises:
        EvaluationError: the pattern is invalid.
    """
    match: str = _searched("find", text, pattern)
    return match


def find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    """Return all matches, or the first few; unlike upstream without empty matches.

    Raises:
        EvaluationError: the pattern is invalid.
    """
    all_matches: list[str] = _searched("findAll", text, pattern)
    return all_matches if count < 0 else all_matches[:count]


def _searched(name: str, text: str, pattern: str) -> Any:
    error = pattern_error(pattern)  # first, since a group around it may make it valid
    result = None if error else _evaluated(name, text, whole(pattern))
    if result is None:
        raise EvaluationError(f"Illegal regex: {error or _refusal(pattern)}")
    return result


def _refusal(pattern: str) -> str:
    return pattern_error(pattern) or f"error parsing regexp: invalid pattern: `{pattern}`"


@lru_cache(maxsize=1024)
def whole(pattern: str) -> str:
    """Return the pattern in one group, which the library returns; its own groups no longer capture."""
    parts, at, inside = ["("], 0, 0  # `inside` is where the content of a class begins, 0 outside of classes
    while at < len(pattern):
        length = 1
        if pattern.startswith(r"\Q", at):
            end = pattern.find(r"\E", at)
            length = (len(pattern) if end < 0 else end + 2) - at
        elif pattern[at] == "\\":
            length = 2
        elif inside:
            inside = 0 if pattern[at] == "]" and at > inside else inside  # "]" is literal as the first character
            length = _named_class(pattern, at)
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
        parts.append(pattern[at : at + length])
        at += length
    return "".join([*parts, ")"])


def _named_class(pattern: str, at: int) -> int:
    """Return the length of a class such as [:alpha:] within a class, 1 if none begins there."""
    end = pattern.find(":]", at) if pattern.startswith("[:", at) else -1
    return end + 2 - at if end > 0 else 1
