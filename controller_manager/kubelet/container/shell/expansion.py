"""Word expansion: variables, command substitution, arithmetic, field splitting and file names (POSIX shell, 2.6)."""

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias

from controller_manager.kubelet.container.files import Directory, FileSystem, absolute
from controller_manager.kubelet.container.patterns import Glob, has_pattern, literal
from controller_manager.kubelet.container.shell.arithmetic import evaluate
from controller_manager.kubelet.container.shell.lexer import (
    Arithmetic,
    Part,
    ShellSyntaxError,
    Substitution,
    Text,
    Variable,
    Word,
)
from controller_manager.kubelet.container.shell.state import MAX_TOTAL_LENGTH, ShellState, check_size
from controller_manager.kubelet.container.syscalls import SystemCall

TextProcess: TypeAlias = Generator[SystemCall, Any, str]
Output: TypeAlias = Callable[[str], TextProcess]
"""Runs a script and returns its output."""

BLANK = " \t\n"
_EACH = 16
MAX_MATCHES = 10_000
"""The maximum number of files that a pattern may match."""


class Field:
    """A field under construction, which becomes an argument.

    Attributes:
        there: True if it becomes an argument even if it is empty.
    """

    __slots__ = ("_pieces", "_size", "there")

    def __init__(self) -> None:
        self._pieces: list[Text] = []
        self._size = 0
        self.there = False

    def add(self, text: str, *, quoted: bool) -> None:
        """Add text; quoted text has no special characters."""
        self._size += len(text)
        check_size(self._size)
        self._pieces.append(Text(text, quoted))
        self.there = self.there or quoted or bool(text)

    @property
    def text(self) -> str:
        """The field's text."""
        return "".join(piece.text for piece in self._pieces)

    @property
    def is_pattern(self) -> bool:
        """True if it may be a pattern for file names."""
        return any(has_pattern(piece.text) for piece in self._pieces if not piece.quoted)

    @property
    def pattern(self) -> str:
        """The pattern, in which only unquoted text has wildcards."""
        return "".join(literal(piece.text) if piece.quoted else piece.text for piece in self._pieces)


class Expansion:
    """Expands words, given a state and a function that runs scripts."""

    def __init__(self, state: ShellState, output: Output) -> None:
        self._state = state
        self._output = output

    def arguments(self, words: tuple[Word, ...]) -> Generator[SystemCall, Any, list[str]]:
        """Expand words to arguments; each word may become none, one or several."""
        arguments: list[str] = []
        size = 0
        for word in words:
            for field in (yield from self._fields(word)):
                names = _files(field.pattern, self._state) if field.is_pattern else []
                names = names or [field.text]
                size += sum(map(len, names)) + _EACH * len(names)
                check_size(size, MAX_TOTAL_LENGTH)
                arguments += names
        return arguments

    def text(self, word: Word) -> TextProcess:
        """Expand a word to one text, as in an assignment."""
        field = yield from self._single_field(word)
        return field.text

    def pattern(self, word: Word) -> TextProcess:
        """Expand a word to the pattern of a case."""
        field = yield from self._single_field(word)
        return field.pattern

    def _single_field(self, word: Word) -> Generator[SystemCall, Any, Field]:
        field = Field()
        for part in _with_tilde_expanded(word, self._state):
            value = yield from self._value(part)
            field.add(value, quoted=part.quoted)
        return field

    def _fields(self, word: Word) -> Generator[SystemCall, Any, list[Field]]:
        fields = [Field()]
        for part in _with_tilde_expanded(word, self._state):
            if isinstance(part, Variable) and part.name == "@" and part.quoted and not part.change:
                _add_each(fields, self._state.arguments)
                continue
            value = yield from self._value(part)
            if part.quoted or isinstance(part, Text):
                fields[-1].add(value, quoted=part.quoted)
            else:
                _add_split(fields, value)
        return [field for field in fields if field.there]

    def _value(self, part: Part) -> TextProcess:
        match part:
            case Text():
                return part.text
            case Substitution():
                output = yield from self._output(part.script)
                return output.rstrip("\n")
            case Arithmetic():
                expression = yield from self.text(part.expression)
                return str(evaluate(expression, self._state.variables))
            case Variable():
                return (yield from self._variable(part))

    def _variable(self, part: Variable) -> TextProcess:
        state = self._state
        if len(part.name) > 1 and part.name.startswith("#"):
            return str(len(state.value(part.name[1:]) or ""))
        value = state.value(part.name)
        if part.change[:1] in ("#", "%"):
            pattern = yield from self.pattern(part.word)
            return _trimmed(value or "", pattern, part.change)
        missing = value is None or (part.change.startswith(":") and not value)
        match part.change.removeprefix(":"):
            case "-" if missing:
                return (yield from self.text(part.word))
            case "+":
                return "" if missing else (yield from self.text(part.word))
            case "=" if missing:
                state.variables[part.name] = yield from self.text(part.word)
                return state.variables[part.name]
            case "?" if missing:
                message = yield from self.text(part.word)
                raise ShellSyntaxError(f"sh: {part.name}: {message or 'parameter not set'}")
            case "" if value is None and "u" in state.options and part.name not in ("@", "*"):
                raise ShellSyntaxError(f"sh: {part.name}: parameter not set")
        return value or ""


def _with_tilde_expanded(word: Word, state: ShellState) -> Iterator[Part]:
    """Yield the parts of a word, with a tilde at its beginning replaced by the home directory."""
    first = word[0] if word else None
    if isinstance(first, Text) and not first.quoted and (first.text == "~" or first.text.startswith("~/")):
        yield Text(state.variables.get("HOME", "/root"), quoted=True)
        yield Text(first.text[1:])
        yield from word[1:]
    else:
        yield from word


def _add_each(fields: list[Field], texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts):
        if number:
            fields.append(Field())
        fields[-1].add(text, quoted=True)


def _add_split(fields: list[Field], value: str) -> None:
    """Add an unquoted value: blanks end a field."""
    check_size(len(value))
    if value[:1] in BLANK and value and fields[-1].there:
        fields.append(Field())
    for number, text in enumerate(value.split()):
        if number:
            fields.append(Field())
        fields[-1].add(text, quoted=False)
    if value[-1:] in BLANK and value and fields[-1].there:
        fields.append(Field())


def _trimmed(value: str, pattern: str, change: str) -> str:
    """Remove the prefix (#) or suffix (%) that the pattern matches; the longest one if the sign is doubled."""
    longest = len(change) > 1
    if change[0] == "#":
        lengths = Glob(pattern).prefix_lengths(value)
        return value[max(lengths) if longest else min(lengths) :] if lengths else value
    lengths = Glob(pattern).suffix_lengths(value)
    return value[: len(value) - (max(lengths) if longest else min(lengths))] if lengths else value


def _files(pattern: str, state: ShellState) -> list[str]:
    """Return the files that a pattern matches, sorted; empty if there are none."""
    names = ["/" if pattern.startswith("/") else ""]
    for part in filter(None, pattern.split("/")):
        names = [name for start in names for name in _matches(start, part, state.container.files, state.directory)]
        check_size(len(names), MAX_MATCHES)
    return sorted(name.removesuffix("/") or "/" for name in names)


def _matches(start: str, part: str, files: FileSystem, directory: str) -> Iterator[str]:
    node = files.find(absolute(start, directory))
    if not isinstance(node, Directory):
        return
    if part in (".", ".."):
        yield f"{start}{part}/"
        return
    glob = Glob(part)
    for name in node.entries:
        if name.startswith(".") <= part.startswith(".") and glob.matches(name):
            yield f"{start}{name}/"
