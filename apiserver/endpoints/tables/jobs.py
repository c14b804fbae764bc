"""Rows of jobs and of what makes them on a schedule."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, CONTAINERS, IMAGES, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import (
    NONE,
    UNSET,
    Cells,
    count,
    has_condition,
    is_deleted,
    mapping,
    number,
    text,
)
from apiserver.endpoints.tables.format import Since, age, epoch, human_duration, selector_text, since
from apiserver.endpoints.tables.workloads import container_cells, pod_spec_of, selector_column

_BATCH = "io.k8s.api.batch.v1."


def _completions(spec: Obj, status: Obj) -> str:
    succeeded = number(status, "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{number(spec, 'completions')}"
    parallelism = number(spec, "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Obj) -> Since | str:
    start, end = epoch(status.get("startTime")), epoch(status.get("completionTime"))
    if start is None:
        return ""
    return Since(start) if end is None else human_duration(end - start)


def _job_status(job: Obj) -> str:
    status = mapping(job, "status")
    for condition in ("Complete", "Failed"):
        if has_condition(status, condition):
            return condition
    if is_deleted(job):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if has_condition(status, condition):
            return condition
    return "Running"


def _job(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    return [
        name_of(obj),
        _job_status(obj),
        _completions(spec, status),
        _job_duration(status),
        age(obj),
        *container_cells(pod_spec_of(spec)),
        selector_text(spec, "selector"),
    ]


def _cron_job(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    last, suspend = status.get("lastScheduleTime"), spec.get("suspend")
    job_spec = mapping(mapping(spec, "jobTemplate"), "spec")
    return [
        name_of(obj),
        text(spec, "schedule"),
        text(spec, "timeZone", NONE),
        str(suspend) if isinstance(suspend, bool) else UNSET,
        count(status, "active"),
        NONE if last is None else since(last),
        age(obj),
        *container_cells(pod_spec_of(job_spec)),
        selector_text(job_spec, "selector"),
    ]


PRINTERS: Printers = {
    ("batch", "Job"): Printer(
        columns=(
            NAME,
            Column("Status", "The state of the job, in one word."),
            Column("Completions", f"{_BATCH}JobStatus#succeeded"),
            Column("Duration", "How long the job has run, or ran until it was complete."),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{_BATCH}JobSpec"),
        ),
        cells=_job,
    ),
    ("batch", "CronJob"): Printer(
        columns=(
            NAME,
            Column("Schedule", f"{_BATCH}CronJobSpec#schedule"),
            Column("Timezone", f"{_BATCH}CronJobSpec#timeZone"),
            Column("Suspend", f"{_BATCH}CronJobSpec#suspend", type="boolean"),
            Column("Active", f"{_BATCH}CronJobStatus#active", type="integer"),
            Column("Last Schedule", f"{_BATCH}CronJobStatus#lastScheduleTime"),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{_BATCH}JobSpec"),
        ),
        cells=_cron_job,
    ),
}
