"""What commands share: their type, and how they read options and files."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import FileError
from controller_manager.kubelet.container.syscalls import Effect, Process, Read

Command: TypeAlias = Callable[[Call], Process]

MOST = 4 * 1024 * 1024
"""Bytes that a command keeps of what it reads, unless it is known to need more."""


class UsageError(FileError):
    """A command is called with what it does not know."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a command is called with.

    Attributes:
        letters: the options without values; long ones whole.
        values: those with values.
        operands: the rest.
    """

    letters: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)
    operands: tuple[str, ...] = ()


def options(call: Call, known: str, with_value: str = "") -> Options:
    """The options of a call, by their letters; those that take a value are named apart.

    Raises:
        UsageError: there is another one.
    """
    letters: set[str] = set()
    values: dict[str, str] = {}
    operands: list[str] = []
    rest = iter(call.arguments)
    for argument in rest:
        if argument == "--":
            operands += rest
        elif argument.startswith("--"):
            letters.add(argument)
        elif argument.startswith("-") and len(argument) > 1:
            _short(argument[1:], rest, known=known, with_value=with_value, letters=letters, values=values)
        else:
            operands.append(argument)
    return Options(frozenset(letters), values, tuple(operands))


def _short(
    cluster: str, rest: Iterator[str], *, known: str, with_value: str, letters: set[str], values: dict[str, str]
) -> None:
    for number, letter in enumerate(cluster):
        if letter in with_value:
            value = cluster[number + 1 :] or next(rest, None)
            if value is None:
                raise UsageError(f"option requires an argument -- '{letter}'")
            values[letter] = value
            return
        if letter not in known:
            raise UsageError(f"unrecognized option: {letter}")
        letters.add(letter)


def contents(call: Call, paths: tuple[str, ...], limit: int = MOST) -> Generator[Effect, Any, bytes]:
    """Everything in files, or in the standard input where none or "-" is named.

    Raises:
        FileError: a file cannot be read.
        MemoryError: it is too much.
    """
    found = bytearray()
    for path in paths or ("-",):
        if path != "-":
            found += call.read(path)
        else:
            while data := (yield Read()):
                found += data
                _check(found, limit)
        _check(found, limit)
    return bytes(found)


def _check(found: bytearray, limit: int) -> None:
    if len(found) > limit:
        raise MemoryError


def number(text: str) -> int:
    """A number that a command was given.

    Raises:
        UsageError: it is none.
    """
    if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 18:
        raise UsageError(f"invalid number '{text}'")
    return int(text)
