"""Functions of timestamps and durations."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from apiserver.cel.functions.durations import SECOND, added, checked_duration, later, local_time
from apiserver.cel.values import Duration, Timestamp

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
