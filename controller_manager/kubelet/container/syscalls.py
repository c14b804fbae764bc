"""System calls of simulated processes: a process is a generator that yields these, and returns its exit code."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

OUT, ERR = 1, 2
"""The file descriptors that processes write to."""
FAILED, MISUSE, NOT_EXECUTABLE, NOT_FOUND, INTERRUPTED = 1, 2, 126, 127, 130
"""Exit codes as shells use them."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read more of the standard input; answered with bytes, b"" at its end."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write bytes to a file descriptor."""

    fd: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Now:
    """Get the time; answered with seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Yield:
    """Let others run (sched_yield); yielded wherever a process could otherwise run without end."""


SystemCall: TypeAlias = Read | Write | Sleep | Now | Yield
Process: TypeAlias = Generator[SystemCall, Any, int]


class InterruptedByUser(Exception):  # noqa: N818 - not an error, but Ctrl-C
    """Thrown into a process when Ctrl-C is typed."""


def text_of(data: bytes) -> str:
    """Decode bytes as the text that the shell works with; invalid UTF-8 is preserved."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Encode a text of the shell as bytes."""
    return text.encode("utf-8", "surrogateescape")


def write_line(text: str, fd: int = OUT) -> Write:
    """Write a line."""
    return Write(fd, bytes_of(text) + b"\n")


def write_error(text: str) -> Write:
    """Write a line to standard error."""
    return write_line(text, ERR)
