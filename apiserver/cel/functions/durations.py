"""Durations and timestamps: read from text and printed as Go does, added and subtracted within their range."""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone, tzinfo
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
"""What may be a moment, before it is known whether its month has that day (cel-go's isStrictRFC3339)."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND
"""From the year 1 to the year 9999: the moments that there are."""


def parse_duration(text: str) -> Duration | None:
    """The duration that a text such as "1h30m" says (time.ParseDuration), None where it says none."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return Duration(0)
    nanos, at = 0, 0
    while at < len(unsigned):
        found = _PART.match(unsigned, at)
        if found is None or not (found[1] or found[2]):
            return None
        unit = _UNITS[found[3]]
        nanos += int(found[1] or 0) * unit + _fraction(found[2] or "") * unit // SECOND
        at = found.end()
    nanos = -nanos if text[:1] == "-" else nanos
    return Duration(nanos) if unsigned and is_int64(nanos) else None


def _fraction(digits: str) -> int:
    """The digits behind a point, in billionths."""
    return int(digits[:9].ljust(9, "0"))


def duration_text(duration: Duration) -> str:
    """The duration in seconds: "5400s", "0.5s"."""
    whole, rest = divmod(abs(duration.nanos), SECOND)
    sign = "-" if duration.nanos < 0 else ""
    return f"{sign}{whole}.{rest:09}".rstrip("0").rstrip(".") + "s"


def parse_timestamp(text: str) -> Timestamp | None:
    """The moment that a text of RFC 3339 says, None where it says none.

    Raises:
        EvaluationError: the moment is before the year 1 or after the year 9999.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[n]) for n in range(1, 7))
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or 4, month)[1]:
        return None
    hours, minutes = int(found[9] or 0), int(found[10] or 0)
    if max(hour, hours) > 23 or max(minute, second, minutes) > 59:
        return None
    offset = (hours * 60 + minutes) * (-60 if found[8] == "-" else 60)
    days = (datetime(year or 4, month, day, tzinfo=UTC) - _EPOCH).days - (0 if year else 1461)
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    return _in_range(seconds * SECOND + _fraction(found[7] or ""), offset)


def strict_timestamp(text: str) -> Timestamp:
    """Return the moment that a text of RFC 3339 says; unlike Go, cel-go takes no text that only looks like one.

    Raises:
        EvaluationError: it says none, or one before the year 1 or after the year 9999.
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
    """The moment so many seconds after 1970.

    Raises:
        EvaluationError: it is before the year 1 or after the year 9999.
    """
    return _in_range(seconds * SECOND)


def timestamp_text(moment: Timestamp) -> str:
    """The moment in RFC 3339, in its zone, with as many digits as it needs."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    hours, minutes = divmod(abs(moment.offset) // 60, 60)
    zone = f"{'-' if moment.offset < 0 else '+'}{hours:02}:{minutes:02}" if moment.offset else "Z"
    try:
        local = _EPOCH + timedelta(seconds=seconds + moment.offset)
    except OverflowError:  # only the zone is beyond the years that there are
        return timestamp_text(Timestamp(moment.nanos))
    return f"{local.year:04}-{local:%m-%dT%H:%M:%S}{fraction}{zone}"


def local_time(moment: Timestamp, zone: str = "") -> datetime:
    """The moment in a zone, which is a name such as "Europe/Berlin" or an offset such as "-08:00"; without nanoseconds.

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
        told = str(error).replace("ParseInt", "Atoi") if colon else f"unknown time zone {name}"
        raise EvaluationError(told) from None
    except (OSError, LookupError):
        raise EvaluationError(f"unknown time zone {name}") from None
    if not -24 < hour < 24:
        raise EvaluationError(f"timezone offset hours out of range [-23, 23]: {name}")
    if not 0 <= minute <= 59:
        raise EvaluationError(f"timezone offset minutes out of range [0, 59]: {name}")
    return timezone(timedelta(minutes=hour * 60 + (-minute if name[0] == "-" else minute)))


def added(one: Duration, two: Duration) -> Duration:
    """The sum of two durations."""
    return checked_duration(one.nanos + two.nanos)


def checked_duration(nanos: int) -> Duration:
    """The duration of so many nanoseconds.

    Raises:
        EvaluationError: it is longer than 292 years.
    """
    if not is_int64(nanos):
        raise EvaluationError("integer overflow")
    return Duration(nanos)


def later(moment: Timestamp, duration: Duration) -> Timestamp:
    """The moment a duration later."""
    return _in_range(moment.nanos + duration.nanos, moment.offset)
