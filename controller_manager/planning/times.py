"""Times as objects hold them, and as numbers: seconds since 1970."""

from datetime import UTC, datetime
from functools import lru_cache


def stamp(now: float) -> str:
    """metav1.Time: whole seconds, "2026-01-02T03:04:05Z"."""
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(now: float) -> str:
    """metav1.MicroTime: "2026-01-02T03:04:05.000006Z"."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@lru_cache(maxsize=4096)
def seconds(text: str) -> float:
    """The time that a stamp of either form tells.

    Raises:
        ValueError: it is no time.
    """
    return datetime.fromisoformat(text).timestamp()
