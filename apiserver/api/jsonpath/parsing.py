"""From the text of a template to its parts; what is wrong with it is told in upstream's words (jsonpath/parser.go)."""

import re
from math import isinf

from apiserver.api.golang.values import MOST_INT
from apiserver.api.jsonpath.nodes import (
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
from apiserver.api.jsonpath.quoting import unquoted

_ENDS = frozenset(" \t\r\n.,[]$@{}")
"""What ends a name."""
_NEWLINES = frozenset("\r\n")
_KEY = re.compile("'([^']*)'")
_SLICE = re.compile("(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON = re.compile("([^!<>=]+)([!<>=]+)(.+)")
_INTEGER = re.compile("[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")


class JSONPathError(ValueError):
    """The text is no template; the message is upstream's."""


def parse(text: str) -> tuple[Part, ...]:
    """The parts of a template.

    Raises:
        JSONPathError: it is none.
    """
    return tuple(_Parser(text).parts())


def _inside(text: str) -> Action:
    """The action that a text is when it stands between braces; what may come after its end does not count."""
    action = parse(f"{{{text}}}")[0]
    assert isinstance(action, tuple)
    return action


class _Parser:
    """Reads one template from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> list[Part]:
        """All parts of the template."""
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
        """The nodes from behind a left brace to the right one."""
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
        found = self._text.startswith(sign, self._at)
        if found:
            self._at += len(sign)
        return found

    def _next(self) -> str:
        """The next character, "" at the end."""
        found = self._text[self._at : self._at + 1]
        self._at += len(found)
        return found

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
                raise JSONPathError(f"unrecognized character in action: {_named(char)}")

    def _name(self, *, escapes: bool) -> str:
        """What stands before the next sign that ends a name."""
        text, start, at = self._text, self._at, self._at
        while at < len(text) and text[at] not in _ENDS:
            at += 2 if escapes and text[at] == "\\" else 1
        self._at = min(at, len(text))
        return text[start : self._at]

    def _field(self) -> Node:
        name = self._name(escapes=True)
        return Wildcard() if name == "*" else Field(name.replace("\\", ""))

    def _recursive(self, before: list[Node]) -> list[Node]:
        if before and isinstance(before[-1], Recursive):
            raise JSONPathError("invalid multiple recursive descent")
        named = _is_wordy(self._text[self._at : self._at + 1])
        return [Recursive(), self._field()] if named else [Recursive()]

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
        """What stands from behind a left bracket to the right one: keys, indices, slices, or several of them."""
        end = self._text.find("]", self._at)
        inside = self._text[self._at : end]
        if end < 0 or "\n" in inside:
            raise JSONPathError("unterminated array")
        self._at = end + 1
        choices = inside.split(",")
        if len(choices) > 1:
            return (Union(tuple([_inside(f"[{choice.strip(' ')}]") for choice in choices])),)
        key = _KEY.fullmatch(inside)
        return _inside(f".{key[1]}") if key else (_items(inside),)

    def _filter(self) -> Filter:
        """What stands from behind "[?(" to ")]". One quotation may have parentheses in it."""
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
            return Filter(_inside(inside), "exists", ())
        left, operator, right = comparison.groups()
        return Filter(_inside(left), operator, _inside(right))


def _items(text: str) -> Node:
    """The items that an index or a slice takes."""
    if text == "*":
        return Slice(None, None, None)
    bounds = _SLICE.fullmatch(text)
    if bounds is None:
        raise JSONPathError(f"invalid array index {text}")
    start, end, step = (None if found is None else _bound(found.removeprefix(":")) for found in bounds.groups())
    return Index(start or 0) if bounds[2] is None else Slice(start, end, step)


def _bound(text: str) -> int | None:
    if not text:
        return None
    bound = None if text == "-" else _int64(text)
    if bound is None:
        raise JSONPathError(f"array index {text} is not a number")
    return bound


def _int64(text: str) -> int | None:
    """The number, None where 64 bits are too few for it."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > len(str(MOST_INT)):  # so many digits that to read them would take its time
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -MOST_INT - 1 <= number <= MOST_INT else None


def _is_wordy(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _named(char: str) -> str:
    """A character as %#U names it: "U+002A '*'"."""
    return f"U+{ord(char):04X}" + (f" '{char}'" if char.isprintable() else "")
