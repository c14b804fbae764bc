"""Times as Go's time.Parse reads RFC 3339, with Go's error messages."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"
"""The layouts of metav1.Time and metav1.MicroTime, in Go's notation."""

_FRACTION = ".000000"
_ZONE = "Z07:00"
_ZERO = datetime(1, 1, 1, tzinfo=UTC)


class _BadError(Exception):
    """A part of the text does not have the form that the layout demands."""


class _RangeError(Exception):
    """A part of the text is a number, but too large or too small."""


def canonical_time(text: str) -> str | None:
    """Return a metav1.Time as the API writes it: whole seconds in UTC, or None for the zero time.

    Raises:
        ValueError: the text is not an RFC 3339 time; the message is Go's.
    """
    if is_canonical(text):
        return text
    moment = _parse(text, SECONDS)
    return None if moment == _ZERO else moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def canonical_micro_time(text: str) -> str | None:
    """Return a metav1.MicroTime as the API writes it: six digits after the second, in UTC, or None for the zero time.

    Raises:
        ValueError: the text is not an RFC 3339 time with six digits; the message is Go's.
    """
    moment = _parse(text, MICROSECONDS)
    return None if moment == _ZERO else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def is_canonical(text: str) -> bool:
    """Return whether a time is written as the API writes a metav1.Time."""
    return len(text) == 20 and _is_plain(text)


@lru_cache(maxsize=1024)  # one second recurs within a status, and in all objects that change in that second
def _is_plain(text: str) -> bool:
    if text == "0001-01-01T00:00:00Z":
        return False
    try:
        return f"{datetime.fromisoformat(text[:19]).isoformat()}Z" == text
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class _Part:
    """A number of the layout.

    Attributes:
        before: the text before it.
        layout: the number in a layout of Go's.
        name: its name in range errors; "" if the range is checked later.
        low, high: the range, inclusive.
        width: the number of digits; only the hour may also have one.
    """

    before: str
    layout: str
    name: str
    low: int = 0
    high: int = 59
    width: int = 2

    def read(self, text: str) -> tuple[int, str]:
        """Return the number at the text's beginning, and the rest."""
        width = self.width
        if self.name == "hour" and _digits(text, 1) and not _digits(text, width):
            width = 1
        if not _digits(text, width):
            raise _BadError
        number = int(text[:width])
        if self.name and not self.low <= number <= self.high:
            raise _RangeError(self.name)
        return number, text[width:]


_PARTS = (
    _Part("", "2006", "", high=9999, width=4),
    _Part("-", "01", "month", low=1, high=12),
    _Part("-", "02", ""),
    _Part("T", "15", "hour", high=23),
    _Part(":", "04", "minute"),
    _Part(":", "05", "second"),
)


def _parse(text: str, layout: str) -> datetime:
    numbers: list[int] = []
    rest = text
    for part in _PARTS:
        if not rest.startswith(part.before):
            raise _cannot_parse(text, layout, rest=rest, expected=part.before)
        rest = rest[len(part.before) :]
        number, rest = _read(text, layout, rest=rest, expected=part.layout, reader=part.read)
        numbers.append(number)
    micros = 0
    if layout == MICROSECONDS:
        micros, rest = _read(text, layout, rest=rest, expected=_FRACTION, reader=_six_digits)
    elif rest[:1] in (".", ",") and rest[1:2].isdecimal():
        rest = rest[1:].lstrip("0123456789")
    offset, rest = _read(text, layout, rest=rest, expected=_ZONE, reader=_zone)
    if rest:
        raise ValueError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    return _moment(text, numbers, micros=micros, offset=offset)


def _moment(text: str, numbers: list[int], *, micros: int, offset: int) -> datetime:
    year, month, day, hour, minute, second = numbers
    zone = timezone(timedelta(minutes=offset))
    try:
        return datetime(year, month, day, hour, minute, second, micros, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"parsing time {_quoted(text)}: day out of range") from error


def _read(
    text: str, layout: str, *, rest: str, expected: str, reader: Callable[[str], tuple[int, str]]
) -> tuple[int, str]:
    try:
        return reader(rest)
    except _BadError as error:
        raise _cannot_parse(text, layout, rest=rest, expected=expected) from error
    except _RangeError as error:
        raise ValueError(f"parsing time {_quoted(text)}: {error} out of range") from error


def _digits(text: str, count: int) -> bool:
    head = text[:count]
    return len(head) == count and head.isascii() and head.isdigit()


def _six_digits(text: str) -> tuple[int, str]:
    if text[:1] not in (".", ",") or not _digits(text[1:], 6):
        raise _BadError
    return int(text[1:7]), text[7:]


def _zone(text: str) -> tuple[int, str]:
    if text[:1] == "Z":
        return 0, text[1:]
    if text[3:4] != ":" or not _digits(text[1:3], 2) or not _digits(text[4:6], 2):
        raise _BadError
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23:
        raise _RangeError("time zone offset hour")
    if minutes > 59:
        raise _RangeError("time zone offset minute")
    if text[0] not in "+-":
        raise _BadError
    return (hours * 60 + minutes) * (-1 if text[0] == "-" else 1), text[6:]


def _cannot_parse(text: str, layout: str, *, rest: str, expected: str) -> ValueError:
    return ValueError(
        f"parsing time {_quoted(text)} as {_quoted(layout)}: cannot parse {_quoted(rest)} as {_quoted(expected)}"
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
