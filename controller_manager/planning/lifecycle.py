"""The lifecycle of an OpenKruise workload's pods: a label says whether a pod is prepared, updated in place, or neither.

(apis/apps/pub/lifecycle.go, pkg/util/lifecycle) Hooks, which hold a pod in a state, are not among what is here.
"""

from apiserver.api.meta import Obj, annotations_of, labels_of
from controller_manager.planning.in_place import is_updated
from controller_manager.planning.times import stamp

STATE_LABEL = "lifecycle.apps.kruise.io/state"
TIME_ANNOTATION = "lifecycle.apps.kruise.io/timestamp"
PREPARING_NORMAL, NORMAL, UPDATING = "PreparingNormal", "Normal", "Updating"


def lifecycle_of(pod: Obj) -> str:
    """The state that a pod is in, "" where it tells none (GetPodLifecycleState)."""
    return labels_of(pod).get(STATE_LABEL, "")


def is_calm(pod: Obj) -> bool:
    """Whether nothing is being done to a pod; while something is, it does not count as available."""
    return lifecycle_of(pod) in ("", NORMAL)


def next_lifecycle(pod: Obj) -> str:
    """The state that an active pod is to go to, "" where it stays (refreshPodState)."""
    state = lifecycle_of(pod)
    return NORMAL if state == PREPARING_NORMAL or (state == UPDATING and is_updated(pod)) else ""


def state_marks(state: str, now: float) -> Obj:
    """What of a pod's metadata says that it is in a state since now (UpdatePodLifecycle)."""
    return {"labels": {STATE_LABEL: state}, "annotations": {TIME_ANNOTATION: stamp(now)}}


def in_state(pod: Obj, state: str, now: float) -> Obj:
    """The pod in a state since now (SetPodLifecycle)."""
    marks = state_marks(state, now)
    labels, annotations = labels_of(pod) | marks["labels"], annotations_of(pod) | marks["annotations"]
    return pod | {"metadata": pod["metadata"] | {"labels": labels, "annotations": annotations}}
