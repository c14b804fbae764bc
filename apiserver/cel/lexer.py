"""Tokens: the words and symbols of an expression, and the values of its literals (cel-go's CEL.g4 and unescape.go)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_TEXT = "|".join(
    (
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
        r'[rR]"""(?s:.*?)"""',
        r"[rR]'''(?s:.*?)'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
    )
)
_TOKEN = re.compile(
    rf"""
    (?P<space>[\t\ \r\n\f]+|//[^\n]*)
    |(?P<bytes>[bB](?:{_TEXT}))
    |(?P<text>{_TEXT})
    |(?P<float>[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>(?:0x[0-9A-Fa-f]+|[0-9]+)[uU])
    |(?P<int>0x[0-9A-Fa-f]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quoted>`[A-Za-z0-9_./\ -]+`)
    |(?P<sign>[=!<>]=|&&|\|\||[-\[\]{{}}().,!?:+*/%<>])
    """,
    re.VERBOSE,
)
_KEYWORDS = frozenset(("in", "true", "false", "null"))

_MEANINGS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\([0-7]{3}|[xX]..|u.{4}|U.{8}|.)", re.DOTALL)
_NEWLINE = re.compile("\r\n?")


class NotAnExpressionError(ValueError):
    """The text does not follow the grammar."""


class Token(NamedTuple):
    """A word or a symbol.

    Attributes:
        kind: "name", "quoted", "int", "uint", "float", "text" or "bytes"; for symbols and keywords the text itself,
            and "" at the end.
        at: its position, in characters.
    """

    kind: str
    text: str
    at: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of an expression, and a last one that marks its end.

    Raises:
        NotAnExpressionError: the text has something that is no token.
    """
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotAnExpressionError
        kind, word = match.lastgroup or "", match[0]
        if kind == "sign" or word in _KEYWORDS:
            kind = word
        if kind != "space":
            yield Token(kind, word, at)
        at = match.end()
    yield Token("", "", at)


def unquoted(literal: str) -> str:
    """Return the value of a string literal.

    Raises:
        ValueError: it has an escape of an invalid code point; the message is upstream's.
    """
    content, is_raw = _content(literal)
    return content if is_raw else _ESCAPED.sub(_character, content)


def unquoted_bytes(literal: str) -> bytes:
    """Return the value of a bytes literal.

    Raises:
        ValueError: it has an escape of a character, not of a byte; the message is upstream's.
    """
    content, is_raw = _content(literal[1:])
    if is_raw:
        return content.encode()
    parts = _ESCAPED.split(content)
    return b"".join(_byte(part) if index % 2 else part.encode() for index, part in enumerate(parts))


def _content(literal: str) -> tuple[str, bool]:
    """Return the text between the quotes, and whether it is a raw literal, without escapes."""
    literal = _NEWLINE.sub("\n", literal)
    is_raw = literal[0] in "rR"
    literal = literal[is_raw:]
    quote = 3 if len(literal) >= 6 and literal.startswith(('"""', "'''")) else 1
    return literal[quote:-quote], is_raw


def _character(match: re.Match[str]) -> str:
    code = _code(match[1])
    if code is None:
        return _MEANINGS.get(match[1], match[1])
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _byte(escape: str) -> bytes:
    if escape[0] in "uU":
        raise ValueError("unable to unescape string")
    code = _code(escape)
    return _MEANINGS.get(escape, escape).encode() if code is None else bytes((code,))


def _code(escape: str) -> int | None:
    """Return the number of an escape; None if it is a single character."""
    if len(escape) == 1:
        return None
    return int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)
