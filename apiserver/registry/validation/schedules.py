"""The schedules of cron jobs, in the grammar and words of github.com/robfig/cron v3."""

import re
from functools import cache
from typing import NamedTuple
from zoneinfo import available_timezones

_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))+)")
_INTEGER = re.compile("[+-]?[0-9]+")
_JAN_TO_DEC = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = dict(zip(_JAN_TO_DEC, range(1, 13), strict=True))
_DAYS = dict(zip(("sun", "mon", "tue", "wed", "thu", "fri", "sat"), range(7), strict=True))


class _Bounds(NamedTuple):
    low: int
    high: int
    names: dict[str, int]


_FIELDS = (_Bounds(0, 59, {}), _Bounds(0, 23, {}), _Bounds(1, 31, {}), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class _ScheduleError(ValueError):
    """What is wrong with a schedule, in the library's words."""


def schedule_error(schedule: str) -> str:
    """What is wrong with the schedule, "" if nothing is (cron.ParseStandard)."""
    try:
        _parse(schedule)
    except _ScheduleError as error:
        return str(error)
    return ""


def _parse(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, _, schedule = schedule.partition("=")[2].partition(" ")
        if not is_time_zone(zone):
            raise _ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        _descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise _ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for text, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, text.split(",")):
            _range(expression, bounds)


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    duration = text.removeprefix("@every ")
    if duration == text:
        raise _ScheduleError(f"unrecognized descriptor: {text}")
    if not _DURATION.fullmatch(duration):
        raise _ScheduleError(f'failed to parse duration {text}: time: invalid duration "{duration}"')


def _range(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    if low in {"*", "?"}:
        start, end = bounds.low, bounds.high
    else:
        start = end = _number(low, bounds.names)
        if len(highs) > 1:
            raise _ScheduleError(f"too many hyphens: {expression}")
        end = _number(highs[0], bounds.names) if highs else end
    if len(steps) > 1:
        raise _ScheduleError(f"too many slashes: {expression}")
    step = _number(steps[0], {}) if steps else 1
    end = bounds.high if steps and not highs else end
    _check_range(expression, bounds, start=start, end=end, step=step)


def _check_range(expression: str, bounds: _Bounds, *, start: int, end: int, step: int) -> None:
    if start < bounds.low:
        raise _ScheduleError(f"beginning of range ({start}) below minimum ({bounds.low}): {expression}")
    if end > bounds.high:
        raise _ScheduleError(f"end of range ({end}) above maximum ({bounds.high}): {expression}")
    if start > end:
        raise _ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _ScheduleError(f"step of range should be a positive number: {expression}")


def _number(text: str, names: dict[str, int]) -> int:
    if (named := names.get(text.lower())) is not None:
        return named
    if not _INTEGER.fullmatch(text):
        raise _ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if len(text) > 18:
        raise _ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if int(text) < 0:
        raise _ScheduleError(f"negative number ({text}) not allowed: {text}")
    return int(text)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def is_time_zone(name: str) -> bool:
    """Is it a name of the IANA data base? Any name is, on a machine that has none."""
    known = _zones()
    return name in known or name in {"", "UTC", "Local"} or not known
