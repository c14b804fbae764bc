"""Jobs (batch): the kind, its field labels and columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.api.validation.contract import Validator
from apiserver.groups.apps.workload_columns import container_cells, pod_spec_of, selector_column
from apiserver.groups.batch.jobs.defaults import default_job
from apiserver.groups.batch.jobs.status import job_status_update
from apiserver.groups.batch.jobs.strategy import JOB_STRATEGY
from apiserver.groups.batch.jobs.validation import create_job, update_job
from apiserver.groups.cell_format import AgeCell, age, epoch, human_duration, selector_text
from apiserver.groups.cells import Cells, has_condition, is_deleted, mapping, number_of
from apiserver.groups.columns import AGE, BATCH, CONTAINERS, IMAGES, NAME, Column, Printer
from apiserver.groups.field_labels import Fields
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import stored


def _completions(spec: Obj, status: Obj) -> str:
    succeeded = number_of(status, "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{number_of(spec, 'completions')}"
    parallelism = number_of(spec, "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Obj) -> AgeCell | str:
    start, end = epoch(status.get("startTime")), epoch(status.get("completionTime"))
    if start is None:
        return ""
    return AgeCell(start) if end is None else human_duration(end - start)


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


def job_cells(obj: Obj) -> Cells:
    """Return the cells of a Job."""
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


def _job_fields(job: Obj) -> Fields:
    return {"status.successful": str((job.get("status") or {}).get("succeeded", 0))}


JOB = BuiltinKind(
    "batch",
    "Job",
    categories=ALL,
    fields=("status.successful",),
    unknown_field="field label {quoted} not supported for batchv1.Job",
    default=default_job,
    strategy=JOB_STRATEGY,
    validator=Validator(create=create_job, update=update_job, status_update=job_status_update),
    field_labels=_job_fields,
    printer=Printer(
        columns=(
            NAME,
            Column("Status", "The state of the job, in one word."),
            Column("Completions", f"{BATCH}JobStatus#succeeded"),
            Column("Duration", "How long the job has run, or ran until it was complete."),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{BATCH}JobSpec"),
        ),
        cells=job_cells,
    ),
    notices=stored("Job", "has no Job controller", "creates no Pods"),
)
