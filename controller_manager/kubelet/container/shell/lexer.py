"""Shell text to words and operators: quotes, escapes, comments, and expansions (POSIX shell, 2.2-2.6).

Here-documents are not supported.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

BLANK = " \t"
OPERATORS = ("&&", "||", ";;", "<<", ">>", ">&", "<&", "&>", ";", "&", "|", "(", ")", "<", ">", "\n")
"""Longer ones come before their prefixes."""
_META = frozenset(" \t\n;&|()<>")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_IN_BRACES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_CHANGE = re.compile(r":?[-=+?]|##?|%%?")
_NUMBERED = re.compile(r"([0-9])(?=[<>])")
_ESCAPED_IN_QUOTES = frozenset('$`"\\\n')
MAX_DEPTH, TOO_DEEP = 40, "sh: syntax error: too deep"
"""The maximum nesting depth of quotes, braces and commands, and the message for deeper ones."""


class ShellSyntaxError(Exception):
    """Invalid shell text.

    Attributes:
        incomplete: True if more lines could make it valid.
    """

    def __init__(self, message: str, *, incomplete: bool = False) -> None:
        super().__init__(message)
        self.incomplete = incomplete


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; unquoted text may have wildcards."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable $name, or ${name:-word} with a modification; "#" before the name means its length."""

    name: str
    quoted: bool
    change: str = ""
    word: "Word" = ()


@dataclass(frozen=True, slots=True)
class Substitution:
    """A command substitution $(script)."""

    script: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An arithmetic expansion $((expression))."""

    expression: "Word"
    quoted: bool


Part: TypeAlias = Text | Variable | Substitution | Arithmetic
Word: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator; `fd` is the number right before < or >."""

    text: str
    fd: int | None = None


class Scanner:
    """Reads a text from its beginning to its end."""

    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise ShellSyntaxError(TOO_DEEP)
        self._text = text
        self._depth = depth
        self._at = 0

    def next(self) -> Word | Operator | None:
        """Return the next word or operator, None at the end.

        Raises:
            ShellSyntaxError: a quote or a bracket is not closed.
        """
        self._skip()
        if self._at >= len(self._text):
            return None
        numbered = _NUMBERED.match(self._text, self._at)
        start = self._at + (1 if numbered else 0)
        for operator in OPERATORS:
            if self._text.startswith(operator, start):
                self._at = start + len(operator)
                return Operator(operator, int(numbered[1]) if numbered else None)
        return self._word()

    def whole(self) -> Word:
        """Return the whole text as one word, as if it were in double quotes."""
        return tuple(self._quoted(""))

    def inner(self) -> Word:
        """Return the whole text as one word, in which blanks and operators have no meaning."""
        return self._word(frozenset())

    def _skip(self) -> None:
        while True:
            while self._peek() in BLANK and self._at < len(self._text):
                self._at += 1
            if self._text.startswith("\\\n", self._at):
                self._at += 2
            elif self._peek() == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _word(self, ends: frozenset[str] = _META) -> Word:
        parts: list[Part] = []
        while (letter := self._peek()) and letter not in ends:
            self._at += 1
            match letter:
                case "'":
                    parts.append(Text(self._until("'"), quoted=True))
                case '"':
                    parts.append(Text("", quoted=True))  # an empty string in quotes is an argument too
                    parts += self._quoted('"')
                case "\\":
                    if self._peek() != "\n":
                        parts.append(Text(self._peek(), quoted=True))
                    self._at += 1
                case "$":
                    parts.append(self._dollar(quoted=False))
                case "`":
                    parts.append(self._old_substitution(quoted=False))
                case _:
                    parts.append(Text(letter + self._plain(ends)))
        return tuple(parts)

    def _plain(self, ends: frozenset[str]) -> str:
        start = self._at
        while (letter := self._peek()) and letter not in ends and letter not in "'\"\\$`":
            self._at += 1
        return self._text[start : self._at]

    def _quoted(self, end: str) -> list[Part]:
        parts: list[Part] = []
        letters: list[str] = []

        def flush() -> None:
            if letters:
                parts.append(Text("".join(letters), quoted=True))
                letters.clear()

        while (letter := self._peek()) != end:
            if not letter:
                raise ShellSyntaxError("sh: syntax error: unterminated quoted string", incomplete=True)
            self._at += 1
            if letter == "\\" and self._peek() in _ESCAPED_IN_QUOTES and self._peek():
                letters += [self._peek()] if self._peek() != "\n" else []
                self._at += 1
            elif letter in "$`":
                flush()
                parts.append(self._dollar(quoted=True) if letter == "$" else self._old_substitution(quoted=True))
            else:
                letters.append(letter)
        self._at += 1
        flush()
        return parts

    def _until(self, end: str) -> str:
        end_index = self._text.find(end, self._at)
        if end_index < 0:
            raise ShellSyntaxError("sh: syntax error: unterminated quoted string", incomplete=True)
        text = self._text[self._at : end_index]
        self._at = end_index + len(end)
        return text

    def _dollar(self, *, quoted: bool) -> Part:
        if self._text.startswith("((", self._at):
            self._at += 2
            inner = self._balanced("))")
            return Arithmetic(Scanner(inner, self._depth + 1).whole(), quoted)
        match self._peek():
            case "(":
                self._at += 1
                return Substitution(self._balanced(")"), quoted)
            case "{":
                self._at += 1
                return self._braces(quoted=quoted)
        name = _NAME.match(self._text, self._at)
        if name is None:
            return Text("$", quoted)
        self._at = name.end()
        return Variable(name[0], quoted)

    def _braces(self, *, quoted: bool) -> Variable:
        length = self._peek() == "#" and not self._text.startswith("#}", self._at)
        name = _IN_BRACES.match(self._text, self._at + length)
        if name is None:
            raise ShellSyntaxError("sh: syntax error: bad substitution")
        self._at = name.end()
        change = _CHANGE.match(self._text, self._at)
        word: Word = ()
        if change and not length:
            self._at = change.end()
            word = Scanner(self._balanced("}"), self._depth + 1).inner()
        elif self._peek() == "}":
            self._at += 1
        else:
            raise ShellSyntaxError("sh: syntax error: bad substitution")
        return Variable("#" * length + name[0], quoted, change[0] if change and not length else "", word)

    def _old_substitution(self, *, quoted: bool) -> Substitution:
        inner = self._until("`")
        return Substitution(inner, quoted)

    def _balanced(self, end: str) -> str:
        """Return the text up to the closing bracket, skipping quotes and nested brackets."""
        start, depth = self._at, 0
        opening = "{" if end == "}" else "("
        while self._at < len(self._text):
            letter = self._peek()
            if depth == 0 and self._text.startswith(end, self._at):
                self._at += len(end)
                return self._text[start : self._at - len(end)]
            self._at += 1
            match letter:
                case "'":
                    self._until("'")
                case '"':
                    self._past_quotes()
                case "\\":
                    self._at += 1
                case _ if letter == opening:
                    depth += 1
                case _ if letter == end[0]:
                    depth -= 1
        raise ShellSyntaxError(f'sh: syntax error: unexpected end of file (expecting "{end}")', incomplete=True)

    def _past_quotes(self) -> None:
        while (letter := self._peek()) != '"':
            if not letter:
                raise ShellSyntaxError("sh: syntax error: unterminated quoted string", incomplete=True)
            self._at += 2 if letter == "\\" else 1
        self._at += 1
