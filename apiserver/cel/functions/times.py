"""Durations and timestamps: parsed and printed as Go does, added and subtracted within their range; their functions."""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from apiserver.api.golang.numbers import parse_int
from apiserver.api.schema import quoted
from apiserver.cel.values import Duration, EvaluationError, Timestamp, is_int64

SECOND = 10**9
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"(\d{0,30})(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_STRICT_MOMENT = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
).fullmatch
"""The syntax of a strict timestamp; the day may still be too high for its month (cel-go's isStrictRFC3339)."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND
"""The range of timestamps: from the year 1 to the year 9999."""


def parse_duration(text: str) -> Duration | None:
    """Return the duration of a text such as "1h30m" (time.ParseDuration); None if it is invalid."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return Duration(0)
    nanos, at = 0, 0
    while at < len(unsigned):
        match = _PART.match(unsigned, at)
        if match is None or not (match[1] or match[2]):
            return None
        unit = _UNITS[match[3]]
        nanos += int(match[1] or 0) * unit + _fraction(match[2] or "") * unit // SECOND
        at = match.end()
    nanos = -nanos if text[:1] == "-" else nanos
    return Duration(nanos) if unsigned and is_int64(nanos) else None


def _fraction(digits: str) -> int:
    """Return the digits after the decimal point, in billionths."""
    return int(digits[:9].ljust(9, "0"))


def duration_text(duration: Duration) -> str:
    """Return the duration in seconds: "5400s", "0.5s"."""
    whole, rest = divmod(abs(duration.nanos), SECOND)
    sign = "-" if duration.nanos < 0 else ""
    return f"{sign}{whole}.{rest:09}".rstrip("0").rstrip(".") + "s"


def parse_timestamp(text: str) -> Timestamp | None:
    """Return the timestamp of a text in RFC 3339; None if it is invalid.

    Raises:
        EvaluationError: the timestamp is before the year 1 or after the year 9999.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or 4, month)[1]:
        return None
    hours, minutes = int(match[9] or 0), int(match[10] or 0)
    if max(hour, hours) > 23 or max(minute, second, minutes) > 59:
        return None
    offset = (hours * 60 + minutes) * (-60 if match[8] == "-" else 60)
    days = (datetime(year or 4, month, day, tzinfo=UTC) - _EPOCH).days - (0 if year else 1461)
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    return _in_range(seconds * SECOND + _fraction(match[7] or ""), offset)


def strict_timestamp(text: str) -> Timestamp:
    """Return the timestamp of a text in RFC 3339; cel-go parses more strictly than Go.

    Raises:
        EvaluationError: the text is invalid, or before the year 1 or after the year 9999.
    """
    if not _STRICT_MOMENT(text):
        raise EvaluationError(f"invalid RFC 3339 timestamp {quoted(text)}")
    moment = parse_timestamp(text)
    if moment is None:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    return moment


def _in_range(nanos: int, offset: int = 0) -> Timestamp:
    if not FIRST <= nanos < _LAST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def of_seconds(seconds: int) -> Timestamp:
    """Return the timestamp so many seconds after 1970.

    Raises:
        EvaluationError: it is before the year 1 or after the year 9999.
    """
    return _in_range(seconds * SECOND)


def timestamp_text(moment: Timestamp) -> str:
    """Return the timestamp in RFC 3339, in its time zone, with as many digits as it needs."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    hours, minutes = divmod(abs(moment.offset) // 60, 60)
    zone = f"{'-' if moment.offset < 0 else '+'}{hours:02}:{minutes:02}" if moment.offset else "Z"
    try:
        local = _EPOCH + timedelta(seconds=seconds + moment.offset)
    except OverflowError:  # only the local time is outside of the range
        return timestamp_text(Timestamp(moment.nanos))
    return f"{local.year:04}-{local:%m-%dT%H:%M:%S}{fraction}{zone}"


def local_time(moment: Timestamp, zone: str = "") -> datetime:
    """Return a timestamp's local time in a zone such as "Europe/Berlin" or "-08:00"; without nanoseconds.

    Raises:
        EvaluationError: there is no such zone.
    """
    offset = _zone(zone) if zone else UTC
    try:
        return (_EPOCH + timedelta(seconds=moment.nanos // SECOND)).astimezone(offset)
    except (OverflowError, ValueError):
        raise EvaluationError("timestamp overflow") from None


def _zone(name: str) -> tzinfo:
    hours, colon, minutes = name.partition(":")
    try:
        if not colon:
            if ".." in name or name.startswith(("/", "\\")):
                raise EvaluationError("time: invalid location name")
            return UTC if name in ("UTC", "Local") else ZoneInfo(name)  # a server's own zone is UTC
        hour, minute = parse_int(hours), parse_int(minutes)
    except ValueError as error:
        message = str(error).replace("ParseInt", "Atoi") if colon else f"unknown time zone {name}"
        raise EvaluationError(message) from None
    except (OSError, LookupError):
        raise EvaluationError(f"unknown time zone {name}") from None
    if not -24 < hour < 24:
        raise EvaluationError(f"timezone offset hours out of range [-23, 23]: {name}")
    if not 0 <= minute <= 59:
        raise EvaluationError(f"timezone offset minutes out of range [0, 59]: {name}")
    return timezone(timedelta(minutes=hour * 60 + (-minute if name[0] == "-" else minute)))


def added(left: Duration, right: Duration) -> Duration:
    """Return the sum of two durations."""
    return checked_duration(left.nanos + right.nanos)


def checked_duration(nanos: int) -> Duration:
    """Return the duration of so many nanoseconds.

    Raises:
        EvaluationError: it is longer than 292 years.
    """
    if not is_int64(nanos):
        raise EvaluationError("integer overflow")
    return Duration(nanos)


def later(moment: Timestamp, duration: Duration) -> Timestamp:
    """Return the timestamp a duration later."""
    return _in_range(moment.nanos + duration.nanos, moment.offset)


_FIELDS: dict[str, Callable[[datetime], int]] = {
    "year": lambda t: t.year,
    "month": lambda t: t.month - 1,
    "day_of_year": lambda t: t.timetuple().tm_yday - 1,
    "day_of_month": lambda t: t.day - 1,
    "day_of_month_1_based": lambda t: t.day,
    "day_of_week": lambda t: t.isoweekday() % 7,
    "hours": lambda t: t.hour,
    "minutes": lambda t: t.minute,
    "seconds": lambda t: t.second,
}


def _getters(field: str, read: Callable[[datetime], int]) -> dict[str, Callable[..., Any]]:
    zoned = "tz" if field == "seconds" else "with_tz"
    return {
        f"timestamp_to_{field}": lambda moment: read(local_time(moment)),
        f"timestamp_to_{field}_{zoned}": lambda moment, zone: read(local_time(moment, zone)),
    }


def _milliseconds(moment: Timestamp, zone: str = "") -> int:
    local_time(moment, zone)  # raises an error if there is no such zone
    return moment.nanos % SECOND // 10**6


def _units(nanos: int, unit: int) -> int:
    """Return whole units, truncated towards zero as in Go."""
    return -(-nanos // unit) if nanos < 0 else nanos // unit


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: function for field, read in _FIELDS.items() for name, function in _getters(field, read).items()},
    "timestamp_to_milliseconds": _milliseconds,
    "timestamp_to_milliseconds_with_tz": _milliseconds,
    "duration_to_hours": lambda d: _units(d.nanos, 3600 * SECOND),
    "duration_to_minutes": lambda d: _units(d.nanos, 60 * SECOND),
    "duration_to_seconds": lambda d: _units(d.nanos, SECOND),
    "duration_to_milliseconds": lambda d: _units(d.nanos, 10**6),
    "add_duration_duration": added,
    "add_duration_timestamp": lambda duration, moment: later(moment, duration),
    "add_timestamp_duration": later,
    "subtract_duration_duration": lambda left, right: checked_duration(left.nanos - right.nanos),
    "subtract_timestamp_duration": lambda moment, duration: later(moment, Duration(-duration.nanos)),
    "subtract_timestamp_timestamp": lambda left, right: checked_duration(left.nanos - right.nanos),
}
