"""Validation of Job statuses, which custom controllers may write too (validateJobStatus, ValidateJobStatusUpdate)."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, at, nonnegative
from apiserver.groups.batch.jobs.indexes import indexes_error

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")

_TERMINAL = ("Failed", "Complete", "FailureTarget")


class _Status(NamedTuple):
    """A Job's status and spec, and the types of its conditions that are true."""

    status: Obj
    spec: Obj
    true: frozenset[str]

    @property
    def finished(self) -> bool:
        return "Complete" in self.true or "Failed" in self.true


class _Rule(NamedTuple):
    """A rule that a status must not break; it is checked only if an update changes one of its fields.

    Attributes:
        fields: the fields of the status that the rule is about.
        broken: whether a Job breaks the rule.
        path: the field that the error names; its value is in the message, except for conditions.
        message: the error's detail.
        missing: the error is that the field is required.
    """

    fields: tuple[str, ...]
    broken: Callable[[_Status], bool]
    path: str
    message: str
    missing: bool = False

    def error(self, status: Obj) -> FieldError:
        if self.missing:
            return field.required(self.path, self.message)
        if self.path == "conditions":
            return FieldError("FieldValueInvalid", self.path, f"Invalid value: {self.message}")
        return field.invalid(self.path, status.get(self.path), self.message)


def _has_both(one: str, other: str) -> Callable[[_Status], bool]:
    return lambda job: one in job.true and other in job.true


def _has_without(one: str, other: str) -> Callable[[_Status], bool]:
    return lambda job: one in job.true and other not in job.true


def _count(name: str) -> Callable[[_Status], bool]:
    return lambda job: job.finished and bool(job.status.get(name))


def _ends_first(job: _Status) -> bool:
    """Return whether the Job ends before it starts; RFC 3339 times in UTC sort as text."""
    start, end = job.status.get("startTime"), job.status.get("completionTime")
    return bool(start and end and end < start)


_CONDITIONS, _END = ("conditions",), ("conditions", "completionTime")

_RULES = (
    _Rule(
        _CONDITIONS,
        _has_both("Complete", "Failed"),
        "conditions",
        "cannot set Complete=True and Failed=true conditions",
    ),
    _Rule(
        _CONDITIONS,
        _has_both("Complete", "FailureTarget"),
        "conditions",
        "cannot set Complete=True and FailureTarget=true conditions",
    ),
    _Rule(
        _END,
        lambda job: bool(job.status.get("completionTime")) and "Complete" not in job.true,
        "completionTime",
        "cannot set completionTime when there is no Complete=True condition",
    ),
    _Rule(
        _END,
        lambda job: not job.status.get("completionTime") and "Complete" in job.true,
        "completionTime",
        "completionTime is required for Complete jobs",
        missing=True,
    ),
    _Rule(
        ("startTime", "completionTime"), _ends_first, "completionTime", "completionTime cannot be set before startTime"
    ),
    _Rule(
        _CONDITIONS,
        _has_without("Failed", "FailureTarget"),
        "conditions",
        "cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    _Rule(
        _CONDITIONS,
        _has_without("Complete", "SuccessCriteriaMet"),
        "conditions",
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
    _Rule(("conditions", "active"), _count("active"), "active", "active>0 is invalid for finished job"),
    _Rule(
        ("conditions", "startTime"),
        lambda job: job.finished and not job.status.get("startTime"),
        "startTime",
        "startTime is required for finished job",
        missing=True,
    ),
    _Rule(
        ("conditions", "uncountedTerminatedPods"),
        lambda job: job.finished and any((job.status.get("uncountedTerminatedPods") or {}).values()),
        "uncountedTerminatedPods",
        "uncountedTerminatedPods needs to be empty for finished job",
    ),
    _Rule(
        ("completedIndexes",),
        lambda job: bool(job.status.get("completedIndexes")) and job.spec.get("completionMode") != "Indexed",
        "completedIndexes",
        "cannot set non-empty completedIndexes when non-indexed completion mode",
    ),
    _Rule(
        ("failedIndexes",),
        lambda job: job.status.get("failedIndexes") is not None and job.spec.get("backoffLimitPerIndex") is None,
        "failedIndexes",
        "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    ),
    _Rule(
        ("conditions", "terminating"), _count("terminating"), "terminating", "terminating>0 is invalid for finished job"
    ),
    _Rule(
        ("ready", "active"),
        lambda job: (job.status.get("ready") or 0) > (job.status.get("active") or 0),
        "ready",
        "cannot set more ready pods than active",
    ),
    _Rule(
        _CONDITIONS,
        _has_both("SuccessCriteriaMet", "Failed"),
        "conditions",
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    ),
    _Rule(
        _CONDITIONS,
        _has_both("SuccessCriteriaMet", "FailureTarget"),
        "conditions",
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
)


def job_status_update(new: Obj, old: Obj) -> FieldErrors:
    """Return the errors in an update of a Job's status subresource."""
    after, before = _status(new), _status(old)
    errors = [error for name in _COUNTS for error in at(name, nonnegative(after.status.get(name) or 0))]
    changed = {name for name in {*after.status, *before.status} if after.status.get(name) != before.status.get(name)}
    errors += [r.error(after.status) for r in _RULES if not changed.isdisjoint(r.fields) and r.broken(after)]
    return at("status", [*errors, *_index_lists(after, changed), *_changes(after, before)])


def _status(job: Obj) -> _Status:
    status = job.get("status") or {}
    true = (c.get("type", "") for c in status.get("conditions") or () if c.get("status") == "True")
    return _Status(status, job.get("spec") or {}, frozenset(true))


def _index_lists(job: _Status, changed: set[str]) -> Iterator[FieldError]:
    completions = job.spec.get("completions")
    for name in ("completedIndexes", "failedIndexes"):
        indexes = job.status.get(name) or ""
        if name in changed and completions is not None and (error := indexes_error(indexes, completions)):
            yield field.invalid(name, indexes, f"error parsing {name}: {error}")


def _changes(new: _Status, old: _Status) -> Iterator[FieldError]:
    for name in _TERMINAL:
        if name in old.true - new.true:
            message = f"Invalid value: cannot disable the terminal {name}=True condition"
            yield FieldError("FieldValueInvalid", "conditions", message)
    scaled = new.spec.get("completionMode") == "Indexed" and new.spec.get("completions") == new.spec.get("parallelism")
    for name in ("failed",) if scaled else ("failed", "succeeded"):
        if (count := new.status.get(name) or 0) < (old.status.get(name) or 0):
            yield field.invalid(name, count, f"cannot decrease the {name} counter")
    end, ended = new.status.get("completionTime"), old.status.get("completionTime")
    if end and ended and end != ended:
        yield field.invalid("completionTime", end, "completionTime cannot be mutated")
    started = old.status.get("startTime")
    if started and started != new.status.get("startTime") and not new.spec.get("suspend"):
        yield field.required("startTime", "startTime cannot be removed for unsuspended job")
    if "SuccessCriteriaMet" in old.true - new.true:
        message = "Invalid value: cannot disable the SuccessCriteriaMet=True condition"
        yield FieldError("FieldValueInvalid", "conditions", message)
