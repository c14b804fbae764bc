"""Progress shown to the user: a bar on a terminal, a line every few seconds elsewhere."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TextIO

_BAR: Final = 24
"""The width of a bar in characters, if there is room for it."""
_MIN_SECONDS: Final = 8
"""The smallest width of a bar; with less room there is none."""
_REDRAW: Final = 0.1
_LINE: Final = 5.0
"""Seconds between two lines if there is no terminal."""


@dataclass(slots=True)
class Progress:
    """Shows the progress of phases on a stream.

    Attributes:
        quiet: show nothing.
        stream: the stream to write to.
        clock: seconds that only ever grow.
    """

    quiet: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic

    def print_line(self, text: str) -> None:
        """Print a line."""
        if not self.quiet:
            print(text, file=self.stream, flush=True)

    @contextmanager
    def phase(self, what: str, total: int, unit: str = "objects") -> Iterator["Phase"]:
        """Begin a phase of the work, which ends with the block."""
        phase = Phase(self, what, total, unit, self.clock())
        try:
            yield phase
        finally:
            phase.finish()


@dataclass(slots=True)
class Phase:
    """The progress of one phase."""

    progress: Progress
    what: str
    total: int
    unit: str
    began: float
    done: int = 0
    _shown_at: float = 0.0

    def __post_init__(self) -> None:
        self._shown_at = self.began

    def advance(self, count: int = 1) -> None:
        """Note that `count` more are done."""
        self.done += count
        if self.progress.quiet:
            return
        now = self.progress.clock()
        if now - self._shown_at >= (_REDRAW if self._terminal else _LINE):
            self._shown_at = now
            self._show(now)

    def finish(self) -> None:
        """Show the progress at the end of the phase."""
        if not self.progress.quiet:
            self._show(self.progress.clock())
            if self._terminal:
                print(file=self.progress.stream, flush=True)

    @property
    def _terminal(self) -> bool:
        return self.progress.stream.isatty()

    def _show(self, now: float) -> None:
        stream, counts = self.progress.stream, self._counts(now - self.began)
        if self._terminal:
            room = shutil.get_terminal_size().columns - len(self.what) - len(counts) - 6
            line = f"{self.what}: {self._bar(min(room, _BAR))}{counts}"
            print(f"\r{line}\x1b[K", end="", file=stream, flush=True)
        else:
            print(f"{self.what}: {counts}", file=stream, flush=True)

    def _bar(self, width: int) -> str:
        full = round(self._part * width)
        return f"[{'#' * full}{'-' * (width - full)}] " if width >= _MIN_SECONDS else ""

    @property
    def _part(self) -> float:
        return min(self.done / self.total, 1) if self.total else 1.0

    def _counts(self, seconds: float) -> str:
        rate = self.done / seconds if seconds > 0 else 0.0
        left = f"  {_clock((self.total - self.done) / rate)} left" if rate and self.done < self.total else ""
        return f"{self.done:,} of {self.total:,} {self.unit}  {self._part:4.0%}  {rate:,.0f}/s{left}"


def count_text(number: int, noun: str) -> str:
    """Return a number of things in words: "1 key", "1,200 keys"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
