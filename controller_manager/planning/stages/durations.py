"""Times that people write: "90", "1m30s", "500ms", "never"."""

import re
from math import inf

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
ENDLESS = frozenset(("never", "forever", "infinity", "inf"))

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def duration(text: str) -> float:
    """Seconds; infinitely many of "never".

    Raises:
        ValueError: the text says no time.
    """
    text = text.strip()
    if text in ENDLESS:
        return inf
    if _NUMBER.fullmatch(text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f'"{text}" is no duration: write "90", "1m30s" or "never"')
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def go_text(seconds: int) -> str:
    """Whole seconds as Go prints a time.Duration: "10s", "1m20s", "5m0s"."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
