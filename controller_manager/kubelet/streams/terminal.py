"""A terminal's line discipline: typed text is echoed, edited, and passed to the process line by line (tty(4))."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

INTERRUPT, END, ERASE_LINE, ERASE_WORD, ESCAPE = 0x03, 0x04, 0x15, 0x17, 0x1B
BACKSPACE = frozenset((0x08, 0x7F))
MAX_LINE_LENGTH = 4096
_BACK = b"\b \b"


@dataclass(frozen=True, slots=True)
class Echo:
    """Output to the typing user."""

    data: bytes


@dataclass(frozen=True, slots=True)
class InputLine:
    """A line with its newline; without one if it was ended with Ctrl-D, and empty if Ctrl-D came alone."""

    line: bytes


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Ctrl-C."""


Event: TypeAlias = Echo | InputLine | Interrupt


class LineEditor:
    """The text that was typed into the current line."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._escape = b""

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that typed bytes cause."""
        for key in data:
            if self._escape or key == ESCAPE:
                self._skip(key)
            else:
                yield from self._key(key)

    def _skip(self, key: int) -> None:
        """Skip the escape sequences that keys such as arrows send: ESC, "[" or "O", and everything up to a letter."""
        self._escape += bytes([key])
        started = len(self._escape) > 2 or (len(self._escape) == 2 and key not in b"[O")
        if (started and 0x40 <= key <= 0x7E) or len(self._escape) > 8:
            self._escape = b""

    def _key(self, key: int) -> Iterator[Event]:
        if key in b"\r\n":
            line, self._line = bytes(self._line), bytearray()
            yield Echo(b"\r\n")
            yield InputLine(line + b"\n")
        elif key in BACKSPACE:
            yield from self._erase(_letter(self._line))
        elif key == ERASE_LINE:
            yield from self._erase(len(self._line))
        elif key == ERASE_WORD:
            yield from self._erase(len(self._line) - len(self._line.rstrip().rpartition(b" ")[0]))
        elif key == INTERRUPT:
            self._line.clear()
            yield Echo(b"^C")
            yield Interrupt()
        elif key == END:
            line, self._line = bytes(self._line), bytearray()
            yield InputLine(line)
        elif key >= 0x20 and len(self._line) < MAX_LINE_LENGTH:
            self._line.append(key)
            yield Echo(bytes([key]))

    def _erase(self, count: int) -> Iterator[Event]:
        if count:
            gone = bytes(self._line[-count:])
            del self._line[-count:]
            yield Echo(_BACK * len(gone.decode("utf-8", "replace")))


def _letter(line: bytearray) -> int:
    """Return the number of bytes of the last character (UTF-8)."""
    count = 0
    while count < min(len(line), 4):
        count += 1
        if line[-count] & 0xC0 != 0x80:
            break
    return count


def shown(data: bytes) -> bytes:
    """Return a process' output for a terminal: every new line begins at the left."""
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
