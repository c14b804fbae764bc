"""Tools for commands: their type, and how they read options and files."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import FileError
from controller_manager.kubelet.container.syscalls import Process, Read, SystemCall, write_error

Command: TypeAlias = Callable[[Call], Process]

MAX_INPUT = 4 * 1024 * 1024
"""The bytes of input that a command keeps, unless it is known to need more."""


class UsageError(FileError):
    """A command was called with invalid arguments."""


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed arguments of a command.

    Attributes:
        letters: the options without values; long ones as a whole.
        values: the options with values.
        operands: the other arguments.
    """

    letters: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)
    operands: tuple[str, ...] = ()


def options(call: Call, known: str, with_value: str = "") -> Options:
    """Parse a call's options, given their letters; those that take a value are listed separately.

    Raises:
        UsageError: there is an unknown option.
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


def for_each(paths: Iterable[str], act: Callable[[str], None], complaint: str) -> Process:
    """Call a function with each path, report the paths at which it fails, and return the exit status.

    Args:
        paths: the paths.
        act: the function; it raises FileError.
        complaint: the report, such as "rm: can't remove '{path}': {why}".
    """
    status = 0
    for path in paths:
        try:
            act(path)
        except FileError as error:
            yield write_error(complaint.format(path=path, why=error.why))
            status = 1
    return status


def read_inputs(call: Call, paths: tuple[str, ...], limit: int = MAX_INPUT) -> Generator[SystemCall, Any, bytes]:
    """Return the content of files, or of the standard input if there are none or for "-".

    Raises:
        FileError: a file cannot be read.
        MemoryError: the content is too large.
    """
    content = bytearray()
    for path in paths or ("-",):
        if path != "-":
            content += call.read(path)
        else:
            while data := (yield Read()):
                content += data
                _check(content, limit)
        _check(content, limit)
    return bytes(content)


def _check(content: bytearray, limit: int) -> None:
    if len(content) > limit:
        raise MemoryError


def number(text: str) -> int:
    """Parse a number on the command line.

    Raises:
        UsageError: it is not a number.
    """
    if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 18:
        raise UsageError(f"invalid number '{text}'")
    return int(text)
