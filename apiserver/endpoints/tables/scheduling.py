"""Rows of scheduling.k8s.io: priorities, workloads and the groups of pods that are scheduled together."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, NAME, NAME_AND_AGE, Column, Printer, Printers
from apiserver.endpoints.tables.fields import NONE, Cells, flag, mapping, mappings, number, text
from apiserver.endpoints.tables.format import age

_GROUP = "scheduling.k8s.io"
_V1 = "io.k8s.api.scheduling.v1."


def _priority_class(obj: Obj) -> Cells:
    return [name_of(obj), number(obj, "value"), flag(obj, "globalDefault"), age(obj), text(obj, "preemptionPolicy")]


def _policy(spec: Obj) -> str:
    return "Gang" if mapping(spec, "schedulingPolicy").get("gang") is not None else "Basic"


def _workload(spec: Obj) -> str:
    reference = spec.get("workloadRef")
    return text(reference, "workloadName") if isinstance(reference, dict) else NONE


def _group_status(status: Obj) -> str:
    conditions = {text(condition, "type"): condition for condition in mappings(status, "conditions")}
    if "DisruptionTarget" in conditions:
        return text(conditions["DisruptionTarget"], "reason")
    scheduled = conditions.get("PodGroupInitiallyScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


def _pod_group(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [name_of(obj), _policy(spec), _workload(spec), _group_status(mapping(obj, "status")), age(obj)]


def _composite_pod_group(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [name_of(obj), _policy(spec), _workload(spec), age(obj)]


_POLICY = Column("Policy", "Whether the group is scheduled as a gang or member by member.")
_WORKLOAD = Column("Workload", "The workload that the group was made from.")

PRINTERS: Printers = {
    (_GROUP, "PriorityClass"): Printer(
        columns=(
            NAME,
            Column("Value", f"{_V1}PriorityClass#value", type="integer"),
            Column("Global-Default", f"{_V1}PriorityClass#globalDefault", type="boolean"),
            AGE,
            Column("PreemptionPolicy", f"{_V1}PriorityClass#preemptionPolicy"),
        ),
        cells=_priority_class,
    ),
    (_GROUP, "Workload"): NAME_AND_AGE,
    (_GROUP, "PodGroup"): Printer(
        columns=(NAME, _POLICY, _WORKLOAD, Column("Status", "How far the group is, in one word."), AGE),
        cells=_pod_group,
    ),
    (_GROUP, "CompositePodGroup"): Printer(columns=(NAME, _POLICY, _WORKLOAD, AGE), cells=_composite_pod_group),
}
