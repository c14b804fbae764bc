"""Durations as people write them: "90", "1m30s", "500ms", "never"."""

import re
from math import inf

from apiserver.api.golang.durations import parse_duration

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
ENDLESS = frozenset(("never", "forever", "infinity", "inf"))

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def duration(text: str) -> float:
    """Parse a duration as seconds; infinity for "never".

    Raises:
        ValueError: the text is not a duration.
    """
    text = text.strip()
    if text in ENDLESS:
        return inf
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return parse_duration(text, UNITS)
    except ValueError as error:
        raise ValueError(f'"{text}" is no duration: write "90", "1m30s" or "never"') from error
