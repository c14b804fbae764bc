"""The lifecycle of an OpenKruise workload's pods: a label says whether a pod is prepared, updated in place, or neither.

(apis/apps/pub/lifecycle.go, pkg/util/lifecycle) Hooks, which hold a pod in a state, are not implemented.
"""

from apiserver.api.meta import Obj, annotations_of, labels_of
from controller_manager.reconcile.conditions import condition_of, phase_of
from controller_manager.reconcile.in_place import READINESS_GATE, is_gate_closed, is_in_grace, is_updated
from controller_manager.reconcile.times import format_time

SPECIFIED_DELETE = "apps.kruise.io/specified-delete"
"""The label of a pod that is to be deleted, and replaced if that many pods are still asked for."""
IN_PLACE, IN_PLACE_ONLY = "InPlaceIfPossible", "InPlaceOnly"
"""The values of podUpdatePolicy that update pods in place; the third one is ReCreate."""
_RELEVANT_METADATA = ("deletionTimestamp", "generation", "labels", "annotations", "ownerReferences")


STATE_LABEL = "lifecycle.apps.kruise.io/state"
TIME_ANNOTATION = "lifecycle.apps.kruise.io/timestamp"
PREPARING_NORMAL, NORMAL, UPDATING = "PreparingNormal", "Normal", "Updating"


def lifecycle_of(pod: Obj) -> str:
    """Return the state of a pod's lifecycle, "" if its label names none (GetPodLifecycleState)."""
    return labels_of(pod).get(STATE_LABEL, "")


def is_settled(pod: Obj) -> bool:
    """Return True if no update of the pod is under way; while one is, the pod does not count as available."""
    return lifecycle_of(pod) in ("", NORMAL)


def next_lifecycle(pod: Obj) -> str:
    """Return the state that an active pod moves to, "" if it stays (refreshPodState)."""
    state = lifecycle_of(pod)
    return NORMAL if state == PREPARING_NORMAL or (state == UPDATING and is_updated(pod)) else ""


def state_metadata(state: str, now: float) -> Obj:
    """Return the metadata that says that a pod is in a state since now (UpdatePodLifecycle)."""
    return {"labels": {STATE_LABEL: state}, "annotations": {TIME_ANNOTATION: format_time(now)}}


def with_state(pod: Obj, state: str, now: float) -> Obj:
    """Return the pod in a state since now (SetPodLifecycle)."""
    marks = state_metadata(state, now)
    labels, annotations = labels_of(pod) | marks["labels"], annotations_of(pod) | marks["annotations"]
    return pod | {"metadata": pod["metadata"] | {"labels": labels, "annotations": annotations}}


def changes_sync(old: Obj, new: Obj) -> bool:
    """Return True if a change of a pod may change what is done about it, or how it is counted."""
    before, after = old["metadata"], new["metadata"]
    if any(before.get(name) != after.get(name) for name in _RELEVANT_METADATA):
        return True
    if old["spec"].get("nodeName") != new["spec"].get("nodeName") or phase_of(old) != phase_of(new):
        return True
    if any(condition_of(old, type_) != condition_of(new, type_) for type_ in ("Ready", READINESS_GATE)):
        return True
    changing = lifecycle_of(new) == UPDATING or is_in_grace(new) or is_gate_closed(new)
    return changing and _statuses(old) != _statuses(new)


def _statuses(pod: Obj) -> object:
    return (pod.get("status") or {}).get("containerStatuses")
