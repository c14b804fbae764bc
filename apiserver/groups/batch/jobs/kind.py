"""Jobs (batch): the kind and its field labels."""

from apiserver.api.meta import Obj
from apiserver.api.validation.contract import Validator
from apiserver.groups.apps.workload_columns import selector_column
from apiserver.groups.batch.jobs.columns import job_cells
from apiserver.groups.batch.jobs.defaults import default_job
from apiserver.groups.batch.jobs.status import job_status_update
from apiserver.groups.batch.jobs.strategy import JOB_STRATEGY
from apiserver.groups.batch.jobs.validation import create_job, update_job
from apiserver.groups.columns import AGE, BATCH, CONTAINERS, IMAGES, NAME, Column, Printer
from apiserver.groups.field_labels import Fields
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import stored


def _job_fields(job: Obj) -> Fields:
    return {"status.successful": str((job.get("status") or {}).get("succeeded", 0))}


JOB = BuiltinKind(
    "batch",
    "Job",
    categories=ALL,
    fields=("status.successful",),
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
