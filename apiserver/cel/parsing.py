"""Parsing: the text of an expression as nodes.

The grammar is ours, for the library's own nests expressions 32 deep at most and lacks macros. What a text that is none
should be, the library tells: its parser is generated from the same grammar as upstream's, and so are its words.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from apiserver.cel.ast import Parsed
from apiserver.cel.ast_builder import TooManyError
from apiserver.cel.environments import STORED, Environment
from apiserver.cel.errors import CompileError
from apiserver.cel.lexer import NotAnExpressionError
from apiserver.cel.parser import TooDeepError, read

if TYPE_CHECKING:
    from cel_expr_python import cel

_LONGEST, _LONGEST_KEPT = 100_000, 2000

_REWORDED = (  # what the library tells otherwise than upstream, and upstream's words
    (
        re.compile(r"no viable alternative at input '.(true|false|null)'", re.DOTALL),
        r"mismatched input '\1' expecting IDENTIFIER",
    ),
    (re.compile(r"(?m)^(ERROR: .*)'\\u003F'"), r"\1'?'"),
    (re.compile(r"\nERROR: <input>:4294967295:0: .*"), ""),
)


def parse(text: str, environment: Environment = STORED) -> Parsed:
    """The expression that the text says.

    Args:
        text: the expression.
        environment: which macros and signs there are.

    Raises:
        CompileError: it says none.
    """
    if len(text) > _LONGEST:
        raise _nowhere(f"expression code point size exceeds limit: size: {len(text)}, limit {_LONGEST}")
    if environment is not STORED or len(text) > _LONGEST_KEPT:
        return _parsed(text, environment)
    return _kept(text)


@lru_cache(maxsize=1024)  # a rule is parsed when its definition is created, and again for each version that has it
def _kept(text: str) -> Parsed:
    return _parsed(text, STORED)


def _parsed(text: str, environment: Environment) -> Parsed:
    try:
        return read(text, environment)
    except NotAnExpressionError:
        raise CompileError(_words(text)) from None
    except (TooDeepError, TooManyError) as error:
        raise _nowhere(str(error)) from None


def _nowhere(message: str) -> CompileError:
    """An error of the whole."""
    return CompileError(f"ERROR: <input>:-1:0: {message}")


@cache  # importing takes 30 ms, so it waits for the first mistake; an environment is never written to
def _environment() -> cel.Env:
    from cel_expr_python import cel  # noqa: PLC0415

    return cel.NewEnv(config=cel.NewEnvConfigFromYaml("name: rules\nextensions:\n- name: optional"))


def _words(text: str) -> str:
    """What is wrong with a text by the grammar, without the library's status code, which stands before and behind."""
    try:
        _environment().compile(text, disable_check=True)
    except (RuntimeError, ValueError) as error:
        code, found, rest = str(error).partition(": ")
        told = rest.removesuffix(f" [{code}]") if found and code.isupper() else str(error)
        for theirs, words in _REWORDED:
            told = theirs.sub(words, told)
        return told
    return "ERROR: <input>:-1:0: Syntax error"
