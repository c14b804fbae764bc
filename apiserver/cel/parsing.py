"""Parsing: from the text of an expression to nodes.

The parser is this package's own, as the library's nests expressions at most 32 deep and lacks macros. For a text that
does not follow the grammar the library gives the message: its parser is generated from upstream's grammar.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from apiserver.cel.ast import ParsedExpr
from apiserver.cel.ast_builder import TooManyError
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment
from apiserver.cel.errors import CompileError
from apiserver.cel.lexer import NotAnExpressionError
from apiserver.cel.parser import TooDeepError, parse_expression

if TYPE_CHECKING:
    from cel_expr_python import cel

_MAX_SIZE, _MAX_CACHED_LENGTH = 100_000, 2000

_REWORDED = (  # messages of the library that differ from upstream's, and upstream's
    (
        re.compile(r"no viable alternative at input '.(true|false|null)'", re.DOTALL),
        r"mismatched input '\1' expecting IDENTIFIER",
    ),
    (re.compile(r"(?m)^(ERROR: .*)'\\u003F'"), r"\1'?'"),
    (re.compile(r"\nERROR: <input>:4294967295:0: .*"), ""),
)


def parse(text: str, environment: Environment = STORED_EXPRESSIONS) -> ParsedExpr:
    """Parse the text of an expression.

    Args:
        text: the expression.
        environment: the macros and the syntax that it may use.

    Raises:
        CompileError: the text is no valid expression.
    """
    if len(text) > _MAX_SIZE:
        raise _error_without_position(f"expression code point size exceeds limit: size: {len(text)}, limit {_MAX_SIZE}")
    if environment is not STORED_EXPRESSIONS or len(text) > _MAX_CACHED_LENGTH:
        return _parsed(text, environment)
    return _parse_cached(text)


@lru_cache(maxsize=1024)  # a rule is parsed when its definition is created, and again for each version that has it
def _parse_cached(text: str) -> ParsedExpr:
    return _parsed(text, STORED_EXPRESSIONS)


def _parsed(text: str, environment: Environment) -> ParsedExpr:
    try:
        return parse_expression(text, environment)
    except NotAnExpressionError:
        raise CompileError(_syntax_error(text)) from None
    except (TooDeepError, TooManyError) as error:
        raise _error_without_position(str(error)) from None


def _error_without_position(message: str) -> CompileError:
    """Return an error without a position."""
    return CompileError(f"ERROR: <input>:-1:0: {message}")


@cache  # an environment is never written to
def _environment() -> cel.Env:
    from cel_expr_python import cel  # noqa: PLC0415 - takes 30 ms, and few expressions have a mistake

    return cel.NewEnv(config=cel.NewEnvConfigFromYaml("name: rules\nextensions:\n- name: optional"))


def _syntax_error(text: str) -> str:
    """Return the library's message for a syntax error, without its status code at the beginning and the end."""
    try:
        _environment().compile(text, disable_check=True)
    except (RuntimeError, ValueError) as error:
        code, separator, rest = str(error).partition(": ")
        message = rest.removesuffix(f" [{code}]") if separator and code.isupper() else str(error)
        for pattern, upstream in _REWORDED:
            message = pattern.sub(upstream, message)
        return message
    return "ERROR: <input>:-1:0: Syntax error"
