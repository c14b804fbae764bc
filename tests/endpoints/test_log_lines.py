"""A record is one line that a program can read, whatever clients put into it."""

import logging
import sys

from apiserver.__main__ import Lines


def line(message: str, **more: object) -> str:
    record = logging.LogRecord("apiserver", logging.INFO, "file", 1, message, (), None)
    record.__dict__.update(more)
    return Lines().format(record).partition(" level=")[2]


def test_quotes_and_line_breaks_are_escaped() -> None:
    assert line('a "b"\nlevel=ERROR \x1b') == r'INFO logger=apiserver msg="a \"b\"\nlevel=ERROR \u001b"'


def test_a_traceback_stays_in_its_line() -> None:
    try:
        raise ValueError("x")
    except ValueError:
        told = line("it failed", exc_info=sys.exc_info())
    assert told.startswith(r'INFO logger=apiserver msg="it failed" error="Traceback (most recent call last):\n')
    assert told.endswith(r'\nValueError: x"')
    assert "\n" not in told
