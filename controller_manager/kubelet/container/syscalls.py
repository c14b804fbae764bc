"""A simulated process: a generator that yields what it asks of the world, and returns its exit code."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

OUT, ERR = 1, 2
"""The file descriptors that processes write to."""
FAILED, MISUSED, NOT_EXECUTABLE, NOT_FOUND, INTERRUPTED = 1, 2, 126, 127, 130
"""Exit codes as shells use them."""


@dataclass(frozen=True, slots=True)
class Read:
    """Ask for more of the standard input; answered with bytes, b"" at its end."""


@dataclass(frozen=True, slots=True)
class Write:
    """Put out bytes."""

    fd: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Now:
    """Ask for the time; answered with seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Let others have a turn; yielded wherever a process could otherwise go on for ever."""


Effect: TypeAlias = Read | Write | Sleep | Now | Turn
Process: TypeAlias = Generator[Effect, Any, int]


class InterruptedByUser(Exception):  # noqa: N818 - it is no error, it is Ctrl-C
    """Thrown into a process when Ctrl-C is typed."""


def text_of(data: bytes) -> str:
    """Bytes as the text that the shell works with; what is no UTF-8 comes through unharmed."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of a text of the shell's."""
    return text.encode("utf-8", "surrogateescape")


def say(text: str, fd: int = OUT) -> Write:
    """Put out a line."""
    return Write(fd, bytes_of(text) + b"\n")


def complain(text: str) -> Write:
    """Put out a line of standard error."""
    return say(text, ERR)
