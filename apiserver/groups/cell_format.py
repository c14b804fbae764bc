"""Text of durations, labels and selectors, as k8s.io/apimachinery writes them for people."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apiserver.api.meta import Obj, metadata
from apiserver.groups.cells import NONE, UNKNOWN, mapping, mappings, text_of, texts

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400

_SECONDS_ALONE = 2 * _MINUTE

# Below so many seconds: the unit, its letter, and the finer unit that is written too (0: none) with its letter.
_STEPS = (
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (48 * _HOUR, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)

_MAX_DURATION_SECONDS = ((1 << 63) - 1) // 10**9
"""Seconds of Go's longest duration, 292 years: anything older is shown as that old."""

_ZERO_TIME = -62135596800.0  # 0001-01-01T00:00:00Z, what Go writes for a time that is not set


def human_duration(seconds: float) -> str:
    """Return a duration to two or three figures, "<invalid>" if it is negative by two seconds or more.

    Source: HumanDuration of k8s.io/apimachinery/pkg/util/duration.
    """
    whole = min(int(seconds), _MAX_DURATION_SECONDS)
    if whole < _SECONDS_ALONE:
        if whole < -1:
            return "<invalid>"
        return f"{whole}s" if whole > 0 else "0s"
    for below, unit, letter, finer, finer_letter in _STEPS:
        if whole < below:
            rest = whole % unit // finer if finer else 0
            return f"{whole // unit}{letter}{rest}{finer_letter}" if rest else f"{whole // unit}{letter}"
    return f"{whole // _YEAR}y"


@dataclass(frozen=True, slots=True)
class AgeCell:
    """A cell that shows how long ago something happened.

    Attributes:
        start: seconds since the epoch.
        pattern: the text around the duration, with one %s for it; "" for the duration alone.
    """

    start: float
    pattern: str = ""

    def text_at(self, now: float) -> str:
        """Return the cell's text at a time (seconds since the epoch)."""
        duration = human_duration(now - self.start)
        return self.pattern % duration if self.pattern else duration


def epoch(timestamp: Any) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; None if it is absent, malformed, or Go's zero time."""
    if not isinstance(timestamp, str):
        return None
    try:
        seconds = datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        return None
    return None if seconds == _ZERO_TIME else seconds


def since(timestamp: Any) -> AgeCell | str:
    """Return a cell that counts from a timestamp, or "<unknown>" if there is none."""
    start = epoch(timestamp)
    return UNKNOWN if start is None else AgeCell(start)


def age(obj: Obj) -> AgeCell | str:
    """Return the cell of the column Age."""
    return since(metadata(obj).get("creationTimestamp"))


def labels_text(labels: Obj) -> str:
    """Return labels as "a=1,b=2", or "<none>" if there are none (labels.FormatLabels)."""
    return ",".join(sorted([f"{key}={value}" for key, value in labels.items()])) or NONE


def selector_text(obj: Obj, key: str) -> str:
    """Return the label selector at a key as kubectl reads it, "<none>" if it is empty (metav1.FormatLabelSelector)."""
    requirements = selector_requirements(mapping(obj, key))
    return "<error>" if requirements is None else requirements or NONE


def selector_requirements(selector: Obj) -> str | None:
    """Return a label selector's requirements, sorted by key, as "a=1,b in (x,y),!c"; None if one is invalid."""
    requirements = [(key, f"{key}={value}") for key, value in mapping(selector, "matchLabels").items()]
    for expression in mappings(selector, "matchExpressions"):
        requirement = _requirement(expression)
        if requirement is None:
            return None
        requirements.append((text_of(expression, "key"), requirement))
    return ",".join([requirement for _, requirement in sorted(requirements, key=lambda pair: pair[0])])


# Operator → its text, and whether it takes values.
_OPERATORS = {
    "In": ("{key} in ({values})", True),
    "NotIn": ("{key} notin ({values})", True),
    "Exists": ("{key}", False),
    "DoesNotExist": ("!{key}", False),
}


def _requirement(expression: Obj) -> str | None:
    pattern, takes_values = _OPERATORS.get(text_of(expression, "operator"), (None, False))
    values = texts(expression, "values")
    if pattern is None or bool(values) is not takes_values:
        return None
    return pattern.format(key=text_of(expression, "key"), values=",".join(sorted(values)))


def selector_dump(selector: Obj) -> str:
    """Return a label selector as Go prints the struct, as the column of an admission policy's parameters shows it."""
    labels = "".join(f"{key}: {value}," for key, value in sorted(mapping(selector, "matchLabels").items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{text_of(expression, 'key')},Operator:{text_of(expression, 'operator')},"
        f"Values:[{' '.join(texts(expression, 'values'))}],}},"
        for expression in mappings(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
