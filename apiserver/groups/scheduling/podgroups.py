"""CompositePodGroups and PodGroups (scheduling.k8s.io): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mapping, mappings, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_GROUPS, stored
from apiserver.groups.strategy import GUARDED_STATUS


def _policy(spec: Obj) -> str:
    return "Gang" if mapping(spec, "schedulingPolicy").get("gang") is not None else "Basic"


def _workload(spec: Obj) -> str:
    reference = spec.get("workloadRef")
    return text_of(reference, "workloadName") if isinstance(reference, dict) else NONE


def _group_status(status: Obj) -> str:
    conditions = {text_of(condition, "type"): condition for condition in mappings(status, "conditions")}
    if "DisruptionTarget" in conditions:
        return text_of(conditions["DisruptionTarget"], "reason")
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

COMPOSITE_POD_GROUP = BuiltinKind(
    "scheduling.k8s.io",
    "CompositePodGroup",
    strategy=GUARDED_STATUS,
    printer=Printer(columns=(NAME, _POLICY, _WORKLOAD, AGE), cells=_composite_pod_group),
    notices=stored("CompositePodGroup", NO_GROUPS, "its Pods are scheduled one by one"),
)

POD_GROUP = BuiltinKind(
    "scheduling.k8s.io",
    "PodGroup",
    strategy=GUARDED_STATUS,
    printer=Printer(
        columns=(NAME, _POLICY, _WORKLOAD, Column("Status", "How far the group is, in one word."), AGE),
        cells=_pod_group,
    ),
    notices=stored("PodGroup", NO_GROUPS, "its Pods are scheduled one by one"),
)
