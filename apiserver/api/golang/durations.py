"""Durations as Go's time.Duration reads and prints them."""

import re
from collections.abc import Mapping

UNITS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_GO_UNITS: Mapping[str, float] = {**UNITS, "μs": 1e-6}
"""The same with both letters that look like a micro sign."""

_GO_PART = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)", re.ASCII)
_MAX_NANOSECONDS = 1 << 63
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]+)", re.ASCII)


def parse_duration(text: str, units: Mapping[str, float] = UNITS) -> float:
    """Return the seconds of a text such as "1h30m" (time.ParseDuration, but without signs).

    Args:
        text: numbers with units.
        units: unit → seconds.

    Raises:
        ValueError: the text is not a duration; the message tells a person what to write.
    """
    if text == "0":
        return 0.0
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text or any(unit not in units for _, unit in parts):
        raise ValueError(f'"{text}" is no duration: give one such as 30s, 5m or 1h30m')
    return sum(float(number) * units[unit] for number, unit in parts)


def go_duration(text: str) -> float:
    """Return the seconds of a text, which may have a sign (time.ParseDuration).

    Raises:
        ValueError: the text is not a duration; the message is Go's.
    """
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return 0.0
    seconds, position, quoted_text = 0.0, 0, _go_quoted(text)
    while position < len(unsigned) or not unsigned:
        part = _GO_PART.match(unsigned, position)
        if part is None or not (part[1] or part[2]):
            raise ValueError(f"time: invalid duration {quoted_text}")
        if not part[3]:
            raise ValueError(f"time: missing unit in duration {quoted_text}")
        unit = _GO_UNITS.get(part[3])
        if unit is None:
            raise ValueError(f"time: unknown unit {_go_quoted(part[3])} in duration {quoted_text}")
        seconds += float(f"{part[1] or 0}.{part[2] or 0}") * unit
        if seconds * 1e9 >= _MAX_NANOSECONDS:
            raise ValueError(f"time: invalid duration {quoted_text}")
        position = part.end()
    return -seconds if text.startswith("-") else seconds


def _go_quoted(text: str) -> str:
    """Return a text in quotes as Go's package time writes it, which escapes all bytes beyond ASCII."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = (c if " " <= c < "\x80" else "".join(f"\\x{b:02x}" for b in c.encode(errors="replace")) for c in escaped)
    return f'"{"".join(shown)}"'


def duration_text(seconds: int) -> str:
    """Return whole seconds as Go prints a time.Duration: "10s", "1m20s", "5m0s"."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
