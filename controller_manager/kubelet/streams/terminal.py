"""The terminal between a person and a process: what is typed is shown, edited, and handed on line by line (tty(4))."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

INTERRUPT, END, ERASE_LINE, ERASE_WORD, ESCAPE = 0x03, 0x04, 0x15, 0x17, 0x1B
BACKSPACE = frozenset((0x08, 0x7F))
LONGEST_LINE = 4096
_BACK = b"\b \b"


@dataclass(frozen=True, slots=True)
class Echo:
    """What is shown to who types."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Typed:
    """A line, with its end; without one where Ctrl-D was typed after some letters, and empty where it was alone."""

    line: bytes


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Ctrl-C."""


Event: TypeAlias = Echo | Typed | Interrupted


class LineEditor:
    """What is typed into the present line."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._escape = b""

    def feed(self, data: bytes) -> Iterator[Event]:
        """What follows from keys."""
        for key in data:
            if self._escape or key == ESCAPE:
                self._skip(key)
            else:
                yield from self._key(key)

    def _skip(self, key: int) -> None:
        """Pass over what keys such as arrows send: ESC, "[" or "O", and all up to a letter."""
        self._escape += bytes([key])
        started = len(self._escape) > 2 or (len(self._escape) == 2 and key not in b"[O")
        if (started and 0x40 <= key <= 0x7E) or len(self._escape) > 8:
            self._escape = b""

    def _key(self, key: int) -> Iterator[Event]:
        if key in b"\r\n":
            line, self._line = bytes(self._line), bytearray()
            yield Echo(b"\r\n")
            yield Typed(line + b"\n")
        elif key in BACKSPACE:
            yield from self._erase(_letter(self._line))
        elif key == ERASE_LINE:
            yield from self._erase(len(self._line))
        elif key == ERASE_WORD:
            yield from self._erase(len(self._line) - len(self._line.rstrip().rpartition(b" ")[0]))
        elif key == INTERRUPT:
            self._line.clear()
            yield Echo(b"^C")
            yield Interrupted()
        elif key == END:
            line, self._line = bytes(self._line), bytearray()
            yield Typed(line)
        elif key >= 0x20 and len(self._line) < LONGEST_LINE:
            self._line.append(key)
            yield Echo(bytes([key]))

    def _erase(self, count: int) -> Iterator[Event]:
        if count:
            gone = bytes(self._line[-count:])
            del self._line[-count:]
            yield Echo(_BACK * len(gone.decode("utf-8", "replace")))


def _letter(line: bytearray) -> int:
    """How many bytes the last letter has (UTF-8)."""
    count = 0
    while count < min(len(line), 4):
        count += 1
        if line[-count] & 0xC0 != 0x80:
            break
    return count


def shown(data: bytes) -> bytes:
    """What a process puts out, as a terminal needs it: every new line begins at the left."""
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
