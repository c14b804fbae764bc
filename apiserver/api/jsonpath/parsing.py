"""Parses a template into its parts, with upstream's error messages (jsonpath/parser.go)."""

import re
from math import isinf

from apiserver.api.golang.values import MAX_INT64
from apiserver.api.jsonpath.ast import (
    Action,
    Field,
    Filter,
    Identifier,
    Index,
    Literal,
    Node,
    Part,
    Recursive,
    Slice,
    Text,
    Union,
    Wildcard,
)

_PLAIN = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_ESCAPE = re.compile(
    r"\\(?:x(?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-7]{3})|(?P<plain>.))",
    re.DOTALL,
)
_SYNTAX = "invalid syntax"


def unquoted(text: str, quote: str) -> str:
    """Return the string that a quoted text stands for, given the text between the quotes.

    Raises:
        ValueError: the text is malformed; the message is Go's.
    """
    if "\\" not in text and quote not in text:
        return text
    result, position = bytearray(), 0
    while position < len(text):
        char = text[position]
        if char == quote:
            raise ValueError(_SYNTAX)
        if char != "\\":
            result += char.encode()
            position += 1
            continue
        escape = _ESCAPE.match(text, position)
        if escape is None:
            raise ValueError(_SYNTAX)
        result += _escaped_bytes(escape, quote)
        position = escape.end()
    return result.decode(errors="replace")


def _escaped_bytes(escape: re.Match[str], quote: str) -> bytes:
    """Return the bytes of an escape: one byte for two hexadecimal or three octal digits, else a character."""
    kind, digits = escape.lastgroup, escape[escape.lastgroup or 0]
    if kind in ("byte", "octal"):
        byte = int(digits, 16 if kind == "byte" else 8)
        if byte > 255:
            raise ValueError(_SYNTAX)
        return bytes((byte,))
    code = _plain(digits, quote) if kind == "plain" else int(digits, 16)
    if code is None or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(_SYNTAX)
    return chr(code).encode()


def _plain(char: str, quote: str) -> int | None:
    return ord(quote) if char == quote else _PLAIN.get(char)


_ENDS = frozenset(" \t\r\n.,[]$@{}")
"""The characters that end a name."""
_NEWLINES = frozenset("\r\n")
_KEY = re.compile("'([^']*)'")
_SLICE = re.compile("(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON = re.compile("([^!<>=]+)([!<>=]+)(.+)")
_INTEGER = re.compile("[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")


class JSONPathError(ValueError):
    """The text is not a template; the message is upstream's."""


def parse(text: str) -> tuple[Part, ...]:
    """Return the parts of a template.

    Raises:
        JSONPathError: the text is not a template.
    """
    return tuple(_Parser(text).parts())


def _parse_action(text: str) -> Action:
    """Return the action of a text as if it stood in braces; anything after the action's end is ignored."""
    action = parse(f"{{{text}}}")[0]
    assert isinstance(action, tuple)
    return action


class _Parser:
    """A single pass through a template that parses it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> list[Part]:
        """Return all parts of the template."""
        parts: list[Part] = []
        while self._at < len(self._text):
            start = self._text.find("{", self._at)
            if start != self._at:
                parts.append(Text(self._text[self._at : start if start >= 0 else None]))
            if start < 0:
                break
            self._at = start + 1
            parts.append(self._action())
        return parts

    def _action(self) -> Action:
        """Return the nodes after a left brace, up to the right one."""
        nodes: list[Node] = []
        while not self._skip("}"):
            if self._skip("[?("):
                nodes.append(self._filter())
            elif self._skip(".."):
                nodes += self._recursive(nodes)
            else:
                nodes += self._node()
        return tuple(nodes)

    def _skip(self, sign: str) -> bool:
        matches = self._text.startswith(sign, self._at)
        if matches:
            self._at += len(sign)
        return matches

    def _next(self) -> str:
        """Consume and return the next character, "" at the end."""
        char = self._text[self._at : self._at + 1]
        self._at += len(char)
        return char

    def _node(self) -> Action:
        match self._next():
            case " " | "@" | "$":
                return ()
            case ".":
                return (self._field(),)
            case "[":
                return self._subscript()
            case '"' | "'" as quote:
                return (self._quotation(quote),)
            case char if not char or char in _NEWLINES:
                raise JSONPathError("unclosed action")
            case char if char in "+-" or char.isdecimal():
                return (self._number(),)
            case char if _is_wordy(char):
                return (self._word(),)
            case char:
                raise JSONPathError(f"unrecognized character in action: {_code_point(char)}")

    def _name(self, *, escapes: bool) -> str:
        """Consume and return the text before the next character that ends a name."""
        text, start, position = self._text, self._at, self._at
        while position < len(text) and text[position] not in _ENDS:
            position += 2 if escapes and text[position] == "\\" else 1
        self._at = min(position, len(text))
        return text[start : self._at]

    def _field(self) -> Node:
        name = self._name(escapes=True)
        return Wildcard() if name == "*" else Field(name.replace("\\", ""))

    def _recursive(self, before: list[Node]) -> list[Node]:
        if before and isinstance(before[-1], Recursive):
            raise JSONPathError("invalid multiple recursive descent")
        has_field = _is_wordy(self._text[self._at : self._at + 1])
        return [Recursive(), self._field()] if has_field else [Recursive()]

    def _word(self) -> Node:
        self._at -= 1
        word = self._name(escapes=False)
        return Literal(word == "true") if word in ("true", "false") else Identifier(word)

    def _number(self) -> Node:
        start = self._at - 1
        while (char := self._text[self._at : self._at + 1]) == "." or char.isdecimal():
            self._at += 1
        number = self._text[start : self._at]
        if _INTEGER.fullmatch(number) and (whole := _int64(number)) is not None:
            return Literal(whole)
        if not _FLOAT.fullmatch(number) or isinf(float(number)):
            raise JSONPathError(f"cannot parse number {number}")
        return Literal(float(number))

    def _quotation(self, quote: str) -> Text:
        start = self._at - 1
        while (char := self._next()) != quote or self._text[self._at - 2] == "\\":
            if char in ("", "\n"):
                raise JSONPathError("unterminated quoted string")
        quotation = self._text[start : self._at]
        try:
            return Text(unquoted(quotation[1:-1], quote))
        except ValueError as error:
            raise JSONPathError(f"unquote string {quotation} error {error}") from error

    def _subscript(self) -> Action:
        """Return the nodes after a left bracket, up to the right one: keys, indices, slices, or several of them."""
        end = self._text.find("]", self._at)
        inside = self._text[self._at : end]
        if end < 0 or "\n" in inside:
            raise JSONPathError("unterminated array")
        self._at = end + 1
        choices = inside.split(",")
        if len(choices) > 1:
            return (Union(tuple([_parse_action(f"[{choice.strip(' ')}]") for choice in choices])),)
        key = _KEY.fullmatch(inside)
        return _parse_action(f".{key[1]}") if key else (_items(inside),)

    def _filter(self) -> Filter:
        """Return the filter after "[?(", up to ")]". Only its first quoted string may contain parentheses."""
        start, quote, closed = self._at, "", False
        while (char := self._next()) != ")" or (quote and not closed):
            if char in ("", "\n"):
                raise JSONPathError("unterminated filter")
            if char in ('"', "'"):
                closed = closed or (char == quote and self._text[self._at - 2] != "\\")
                quote = quote or char
        inside = self._text[start : self._at - 1]
        if not self._skip("]"):
            raise JSONPathError("unclosed array expect ]")
        comparison = _COMPARISON.fullmatch(inside)
        if comparison is None:
            return Filter(_parse_action(inside), "exists", ())
        left, operator, right = comparison.groups()
        return Filter(_parse_action(left), operator, _parse_action(right))


def _items(text: str) -> Node:
    """Return the node of an index or a slice."""
    if text == "*":
        return Slice(None, None, None)
    bounds = _SLICE.fullmatch(text)
    if bounds is None:
        raise JSONPathError(f"invalid array index {text}")
    start, end, step = (None if text is None else _bound(text.removeprefix(":")) for text in bounds.groups())
    return Index(start or 0) if bounds[2] is None else Slice(start, end, step)


def _bound(text: str) -> int | None:
    if not text:
        return None
    bound = None if text == "-" else _int64(text)
    if bound is None:
        raise JSONPathError(f"array index {text} is not a number")
    return bound


def _int64(text: str) -> int | None:
    """Return the number, or None if it does not fit into 64 bits."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > len(str(MAX_INT64)):  # reading very many digits takes too long
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -MAX_INT64 - 1 <= number <= MAX_INT64 else None


def _is_wordy(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _code_point(char: str) -> str:
    """Return a character as %#U prints it: "U+002A '*'"."""
    return f"U+{ord(char):04X}" + (f" '{char}'" if char.isprintable() else "")
