"""Words to arguments: variables, output of commands, arithmetic, fields and file names (POSIX shell, 2.6)."""

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias

from controller_manager.kubelet.container.files import Directory, Files, absolute
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
from controller_manager.kubelet.container.shell.state import LONGEST_VALUES, State, check_size
from controller_manager.kubelet.container.syscalls import Effect

Found: TypeAlias = Generator[Effect, Any, str]
Output: TypeAlias = Callable[[str], Found]
"""What a script puts out."""

BLANK = " \t\n"
_EACH = 16
MATCHES = 10_000
"""How many files a pattern may stand for."""


class Field:
    """An argument while it is put together.

    Attributes:
        there: it is an argument, even if it is empty.
    """

    __slots__ = ("_pieces", "_size", "there")

    def __init__(self) -> None:
        self._pieces: list[Text] = []
        self._size = 0
        self.there = False

    def add(self, text: str, *, quoted: bool) -> None:
        """Add letters; quoted ones stand for themselves."""
        self._size += len(text)
        check_size(self._size)
        self._pieces.append(Text(text, quoted))
        self.there = self.there or quoted or bool(text)

    @property
    def text(self) -> str:
        """Its letters."""
        return "".join(piece.text for piece in self._pieces)

    @property
    def is_pattern(self) -> bool:
        """Whether it may stand for file names."""
        return any(has_pattern(piece.text) for piece in self._pieces if not piece.quoted)

    @property
    def pattern(self) -> str:
        """The pattern that its unquoted letters make it."""
        return "".join(literal(piece.text) if piece.quoted else piece.text for piece in self._pieces)


class Expansion:
    """Makes arguments of words, in a state and by a way to run scripts."""

    def __init__(self, state: State, output: Output) -> None:
        self._state = state
        self._output = output

    def arguments(self, words: tuple[Word, ...]) -> Generator[Effect, Any, list[str]]:
        """The arguments that words come to, of which each may be none, one or several."""
        found: list[str] = []
        size = 0
        for word in words:
            for field in (yield from self._fields(word)):
                names = _files(field.pattern, self._state) if field.is_pattern else []
                names = names or [field.text]
                size += sum(map(len, names)) + _EACH * len(names)
                check_size(size, LONGEST_VALUES)
                found += names
        return found

    def text(self, word: Word) -> Found:
        """A word as one text, as in an assignment."""
        field = yield from self._joined(word)
        return field.text

    def pattern(self, word: Word) -> Found:
        """A word as the pattern of a case."""
        field = yield from self._joined(word)
        return field.pattern

    def _joined(self, word: Word) -> Generator[Effect, Any, Field]:
        field = Field()
        for part in _with_home(word, self._state):
            value = yield from self._value(part)
            field.add(value, quoted=part.quoted)
        return field

    def _fields(self, word: Word) -> Generator[Effect, Any, list[Field]]:
        fields = [Field()]
        for part in _with_home(word, self._state):
            if isinstance(part, Variable) and part.name == "@" and part.quoted and not part.change:
                _add_each(fields, self._state.arguments)
                continue
            value = yield from self._value(part)
            if part.quoted or isinstance(part, Text):
                fields[-1].add(value, quoted=part.quoted)
            else:
                _add_split(fields, value)
        return [field for field in fields if field.there]

    def _value(self, part: Part) -> Found:
        match part:
            case Text():
                return part.text
            case Substitution():
                found = yield from self._output(part.script)
                return found.rstrip("\n")
            case Arithmetic():
                expression = yield from self.text(part.expression)
                return str(evaluate(expression, self._state.variables))
            case Variable():
                return (yield from self._variable(part))

    def _variable(self, part: Variable) -> Found:
        state = self._state
        if len(part.name) > 1 and part.name.startswith("#"):
            return str(len(state.value(part.name[1:]) or ""))
        value = state.value(part.name)
        if part.change[:1] in ("#", "%"):
            pattern = yield from self.pattern(part.word)
            return _cut(value or "", pattern, part.change)
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
                why = yield from self.text(part.word)
                raise ShellSyntaxError(f"sh: {part.name}: {why or 'parameter not set'}")
            case "" if value is None and "u" in state.options and part.name not in ("@", "*"):
                raise ShellSyntaxError(f"sh: {part.name}: parameter not set")
        return value or ""


def _with_home(word: Word, state: State) -> Iterator[Part]:
    """The parts of a word, a tilde at its beginning being the home directory."""
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
    """Add what is not quoted: blanks end a field."""
    check_size(len(value))
    if value[:1] in BLANK and value and fields[-1].there:
        fields.append(Field())
    for number, text in enumerate(value.split()):
        if number:
            fields.append(Field())
        fields[-1].add(text, quoted=False)
    if value[-1:] in BLANK and value and fields[-1].there:
        fields.append(Field())


def _cut(value: str, pattern: str, change: str) -> str:
    """Without what the pattern fits at the beginning (#) or the end (%); the longest part where the sign is double."""
    longest = len(change) > 1
    if change[0] == "#":
        lengths = Glob(pattern).beginnings(value)
        return value[max(lengths) if longest else min(lengths) :] if lengths else value
    lengths = Glob(pattern).endings(value)
    return value[: len(value) - (max(lengths) if longest else min(lengths))] if lengths else value


def _files(pattern: str, state: State) -> list[str]:
    """The files that a pattern stands for, sorted; none where none fits."""
    found = ["/" if pattern.startswith("/") else ""]
    for part in filter(None, pattern.split("/")):
        found = [name for start in found for name in _matches(start, part, state.container.files, state.directory)]
        check_size(len(found), MATCHES)
    return sorted(name.removesuffix("/") or "/" for name in found)


def _matches(start: str, part: str, files: Files, directory: str) -> Iterator[str]:
    node = files.find(absolute(start, directory))
    if not isinstance(node, Directory):
        return
    if part in (".", ".."):
        yield f"{start}{part}/"
        return
    glob = Glob(part)
    for name in node.entries:
        if name.startswith(".") <= part.startswith(".") and glob.fits(name):
            yield f"{start}{name}/"
