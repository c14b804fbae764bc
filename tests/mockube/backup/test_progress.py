"""The progress of a command, as a person sees it."""

import io
from itertools import count

import pytest

from mockube.backup.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress_text(stream: io.StringIO, *, quiet: bool = False, seconds: float = 1.0) -> str:
    """Return the progress shown of 2000 items in steps of 100, each of a second, or of the seconds given."""
    clock = (number * seconds for number in count())
    progress = Progress(quiet=quiet, stream=stream, clock=lambda: next(clock))
    with progress.phase("Restoring", 2000) as phase:
        for _ in range(20):
            phase.advance(100)
    return stream.getvalue()


def test_a_terminal_shows_a_bar_with_counts_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = progress_text(Terminal()).split("\r")
    assert lines[5] == "Restoring: [######------------------] 500 of 2,000 objects   25%  100/s  0:15 left\x1b[K"
    assert lines[-1] == "Restoring: [########################] 2,000 of 2,000 objects  100%  95/s\x1b[K\n"


def test_a_narrow_terminal_has_a_shorter_bar_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    line = progress_text(Terminal()).split("\r")[5]
    assert line == "Restoring: [###--------] 500 of 2,000 objects   25%  100/s  0:15 left\x1b[K"
    monkeypatch.setenv("COLUMNS", "60")
    assert progress_text(Terminal()).split("\r")[5] == "Restoring: 500 of 2,000 objects   25%  100/s  0:15 left\x1b[K"


def test_elsewhere_there_is_a_line_every_five_seconds() -> None:
    lines = progress_text(io.StringIO()).splitlines()
    assert lines == [
        "Restoring: 500 of 2,000 objects   25%  100/s  0:15 left",
        "Restoring: 1,000 of 2,000 objects   50%  100/s  0:10 left",
        "Restoring: 1,500 of 2,000 objects   75%  100/s  0:05 left",
        "Restoring: 2,000 of 2,000 objects  100%  100/s",
        "Restoring: 2,000 of 2,000 objects  100%  95/s",
    ]


def test_what_is_fast_is_told_once() -> None:
    assert progress_text(io.StringIO(), seconds=0.01) == "Restoring: 2,000 of 2,000 objects  100%  9,524/s\n"


def test_hours_are_told() -> None:
    assert "1:40:00 left" in progress_text(io.StringIO(), seconds=400)


def test_quiet_tells_nothing() -> None:
    assert progress_text(io.StringIO(), quiet=True) == ""


def test_nothing_to_do_is_done() -> None:
    stream = io.StringIO()
    with Progress(stream=stream).phase("Restoring", 0):
        pass
    assert stream.getvalue() == "Restoring: 0 of 0 objects  100%  0/s\n"
