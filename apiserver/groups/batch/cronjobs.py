"""CronJobs (batch): defaults, strategy, validation and columns."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, metadata, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.combinators import FieldErrors, at, nonnegative, struct
from apiserver.api.validation.contract import Validator
from apiserver.groups.apps.workload_columns import container_cells, pod_spec_of, selector_column
from apiserver.groups.apps.workload_defaults import spec_with
from apiserver.groups.batch.jobs.defaults import default_job_spec
from apiserver.groups.batch.jobs.validation import job_template_spec
from apiserver.groups.cell_format import age, selector_text, since
from apiserver.groups.cells import NONE, UNSET, Cells, count, mapping, text_of
from apiserver.groups.columns import AGE, BATCH, CONTAINERS, IMAGES, NAME, Column, Printer
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import Strategy, creation, status_updating, updating

_CRON_JOB: Mapping[str, Any] = {
    "concurrencyPolicy": "Allow",
    "failedJobsHistoryLimit": 1,
    "successfulJobsHistoryLimit": 3,
    "suspend": False,
}


def default_cron_job(cron_job: Obj) -> None:
    """Set the defaults of a CronJob and of its job template's fields; a Job is defaulted itself once it is created."""
    spec = spec_with(cron_job, _CRON_JOB)
    default_job_spec(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


CRON_JOB_STRATEGY = Strategy(creation(status=dict), updating("spec"), status_updating(), has_status=True)

_MAX_NAME_LENGTH = 52  # a job's name adds up to 11 characters to its cron job's, and a pod's hostname has at most 63

_POLICIES = frozenset({"Allow", "Forbid", "Replace"})

_ZONE_PART = re.compile(r"[A-Za-z.\-_+0-9]{1,14}")


def _schedule(spec: Obj, old: Obj | None) -> Iterator[FieldError]:
    """Yield the errors of the schedule; one that had a time zone in it when that was still allowed may keep one."""
    schedule, zone = spec.get("schedule"), spec.get("timeZone")
    if not schedule:
        yield field.required("schedule")
    elif error := schedule_error(schedule):
        yield field.invalid("schedule", schedule, error)
    kept = old is not None and "TZ" in (old.get("schedule") or "")
    conflict = (
        "both timeZone field and TZ or CRON_TZ in schedule"
        if kept
        else "TZ or CRON_TZ in schedule, use timeZone field instead"
    )
    if "TZ" in (schedule or "") and (not kept or zone is not None):
        yield field.invalid("schedule", schedule, f"cannot use {conflict}")
    yield from _starting(spec)
    if zone is not None and (old is None or zone != old.get("timeZone")) and (error := _time_zone(zone)):
        yield field.invalid("timeZone", zone, error)


def _time_zone(zone: str) -> str:
    if not zone:
        return "timeZone must be nil or non-empty string"
    parts = zone.split("/")
    if any(part in {".", ".."} or part[:1] == "-" or not _ZONE_PART.fullmatch(part) for part in parts):
        return f"unknown time zone {zone}"
    if zone.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    return "" if is_time_zone(zone) else f"unknown time zone {zone}"


_starting = struct(("startingDeadlineSeconds", nonnegative))

_limits = struct(("successfulJobsHistoryLimit", nonnegative), ("failedJobsHistoryLimit", nonnegative))


def _validate_cron_job(obj: Obj, old: Obj | None = None) -> FieldErrors:
    spec = obj.get("spec") or {}
    errors = [*_schedule(spec, old)]
    errors += checks.required_one_of("concurrencyPolicy", spec.get("concurrencyPolicy"), _POLICIES)
    errors += at("jobTemplate.spec", _job_template((spec.get("jobTemplate") or {}).get("spec") or {}))
    return at("spec", [*errors, *_limits(spec)])


def _job_template(spec: Obj) -> list[FieldError]:
    errors = job_template_spec(spec)
    if (selector := spec.get("selector")) is not None:
        errors.append(field.invalid("selector", selector, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        errors.append(field.not_supported("manualSelector", True, ("nil", "false")))
    return errors


def _create_cron_job(obj: Obj) -> FieldErrors:
    name = metadata(obj).get("name", "")
    errors = _validate_cron_job(obj)
    detail = f"must be no more than {_MAX_NAME_LENGTH} characters"
    return errors if len(name) <= _MAX_NAME_LENGTH else [*errors, field.invalid("metadata.name", name, detail)]


def _update_cron_job(new: Obj, old: Obj) -> FieldErrors:
    return _validate_cron_job(new, old.get("spec") or {})


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
    """An error in a schedule, in the words of the library that upstream uses."""


def schedule_error(schedule: str) -> str:
    """Return the first error of the schedule, or "" if it is valid (cron.ParseStandard)."""
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
    if (number := names.get(text.lower())) is not None:
        return number
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
    """Return whether a name is in the IANA time zone database; on a machine without that database any name is."""
    known = _zones()
    return name in known or name in {"", "UTC", "Local"} or not known


def _cron_job_cells(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    last, suspend = status.get("lastScheduleTime"), spec.get("suspend")
    job_spec = mapping(mapping(spec, "jobTemplate"), "spec")
    return [
        name_of(obj),
        text_of(spec, "schedule"),
        text_of(spec, "timeZone", NONE),
        str(suspend) if isinstance(suspend, bool) else UNSET,
        count(status, "active"),
        NONE if last is None else since(last),
        age(obj),
        *container_cells(pod_spec_of(job_spec)),
        selector_text(job_spec, "selector"),
    ]


CRON_JOB = BuiltinKind(
    "batch",
    "CronJob",
    ("cj",),
    categories=ALL,
    default=default_cron_job,
    strategy=CRON_JOB_STRATEGY,
    validator=Validator(create=_create_cron_job, update=_update_cron_job),
    printer=Printer(
        columns=(
            NAME,
            Column("Schedule", f"{BATCH}CronJobSpec#schedule"),
            Column("Timezone", f"{BATCH}CronJobSpec#timeZone"),
            Column("Suspend", f"{BATCH}CronJobSpec#suspend", type="boolean"),
            Column("Active", f"{BATCH}CronJobStatus#active", type="integer"),
            Column("Last Schedule", f"{BATCH}CronJobStatus#lastScheduleTime"),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{BATCH}JobSpec"),
        ),
        cells=_cron_job_cells,
    ),
    notices=stored("CronJob", "has no CronJob controller", "creates no Jobs"),
)
