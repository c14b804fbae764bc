"""A record is one line that a program can read, whatever clients put into it."""

import logging

import pytest

from apiserver.component_base.logs import Lines


def line(message: str, **more: object) -> str:
    record = logging.LogRecord("apiserver", logging.INFO, "file", 1, message, (), None)
    record.__dict__.update(more)
    return Lines().format(record).partition(" level=")[2]


def test_quotes_and_line_breaks_are_escaped() -> None:
    assert line('a "b"\nlevel=ERROR \x1b') == r'INFO logger=apiserver msg="a \"b\"\nlevel=ERROR \u001b"'


def test_a_traceback_stays_in_its_line() -> None:
    with pytest.raises(ValueError, match="x") as caught:
        int("x")
    logged = line("it failed", exc_info=(caught.type, caught.value, caught.tb))
    assert logged.startswith(r'INFO logger=apiserver msg="it failed" error="Traceback (most recent call last):\n')
    assert logged.endswith("ValueError: invalid literal for int() with base 10: 'x'\"")
    assert "\n" not in logged
