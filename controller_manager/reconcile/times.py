"""Times as objects hold them, and as numbers: seconds since 1970."""

from datetime import UTC, datetime
from functools import lru_cache

FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and the last second of the years 1 to 9999, which is all that the format can express; sums with times that
users wrote may lie outside.
"""


def format_time(now: float) -> str:
    """Return a metav1.Time: whole seconds, "2026-01-02T03:04:05Z"."""
    return _text(int(min(max(now, FIRST), LAST)), "seconds")


def format_micro_time(now: float) -> str:
    """Return a metav1.MicroTime: "2026-01-02T03:04:05.000006Z"."""
    return _text(min(max(now, FIRST), LAST), "microseconds")


def _text(now: float, precision: str) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec=precision).replace("+00:00", "Z")


@lru_cache(maxsize=4096)
def parse_time(text: str) -> float:
    """Return the time in a string of either format.

    Raises:
        ValueError: it is not a time.
    """
    return datetime.fromisoformat(text).timestamp()


def time_left(period: float, since: float, now: float) -> float:
    """Return the seconds until a period is over; 0 if it is, or if it began in the future because a clock was wrong."""
    return max(since + period - now, 0.0) if since <= now else 0.0
