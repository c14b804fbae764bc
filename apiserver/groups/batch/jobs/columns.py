"""Columns of Jobs."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.apps.workload_columns import container_cells, pod_spec_of
from apiserver.groups.cell_format import AgeCell, age, epoch, human_duration, selector_text
from apiserver.groups.cells import Cells, has_condition, is_deleted, mapping, number_of


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
