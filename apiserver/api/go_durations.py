"""Lengths of time as Go's time.Duration reads them from text and prints them."""

import re
from collections.abc import Mapping

UNITS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]+)", re.ASCII)


def parse_duration(text: str, units: Mapping[str, float] = UNITS) -> float:
    """Seconds of numbers with units, such as "1h30m" (time.ParseDuration, but for signs).

    Args:
        text: what is read.
        units: unit → seconds.

    Raises:
        ValueError: the text is no length of time; the message tells a person what to write.
    """
    if text == "0":
        return 0.0
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text or any(unit not in units for _, unit in parts):
        raise ValueError(f'"{text}" is no duration: give one such as 30s, 5m or 1h30m')
    return sum(float(number) * units[unit] for number, unit in parts)


def duration_text(seconds: int) -> str:
    """Whole seconds as Go prints a time.Duration: "10s", "1m20s", "5m0s"."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
