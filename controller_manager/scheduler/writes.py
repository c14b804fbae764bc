"""The objects that the scheduler writes: bindings, pod conditions, and patches of claims and volumes."""

from collections.abc import Mapping

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.pods import DISRUPTION_TARGET
from controller_manager.reconcile.times import format_time
from controller_manager.reconcile.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE, reference_to
from controller_manager.scheduler.preemption import BY_SCHEDULER

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
"""Reasons of the condition PodScheduled."""

_MAX_NOTE_LENGTH = 1024
_ELLIPSIS = " ..."


def binding(pod: Obj, node: str) -> Obj:
    """Return the Binding that assigns a pod to a node (plugins/defaultbinder)."""
    meta = {"namespace": namespace_of(pod), "name": name_of(pod), "uid": pod["metadata"]["uid"]}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": {"kind": "Node", "name": node}}


def truncate_message(message: str) -> str:
    """Return a message, shortened to what an Event may carry (truncateMessage)."""
    return message if len(message) <= _MAX_NOTE_LENGTH else message[: _MAX_NOTE_LENGTH - len(_ELLIPSIS)] + _ELLIPSIS


# -- patches of a pod's status -----------------------------------------------------------------------------------------


def unschedulable_patch(pod: Obj, now: float, *, reason: str, message: str, nominated: str) -> Obj | None:
    """Return the status patch that says why a pod has no node, and its nomination; None if it says so already.

    (updatePod)
    """
    fields = {"status": "False", "reason": reason, "message": message}
    status: Obj = {}
    if (condition := _condition(pod, "PodScheduled", fields=fields, now=now)) is not None:
        status["conditions"] = [condition]
    if nominated != ((pod.get("status") or {}).get("nominatedNodeName") or ""):
        status["nominatedNodeName"] = nominated or None
    return _status_patch(pod, status)


def disruption_patch(pod: Obj, now: float, *, scheduler: str) -> Obj | None:
    """Return the status patch for a pod that is preempted (preemption/executor.go); None if it says so already."""
    message = f"{scheduler}: preempting to accommodate a higher priority pod"
    fields = {"status": "True", "reason": BY_SCHEDULER, "message": message}
    condition = _condition(pod, DISRUPTION_TARGET, fields=fields, now=now)
    return _status_patch(pod, {} if condition is None else {"conditions": [condition]})


NO_NOMINATION: Obj = {"status": {"nominatedNodeName": None}}
"""The status patch that removes a pod's nomination."""


def _condition(pod: Obj, type_: str, *, fields: Mapping[str, str], now: float) -> Obj | None:
    """Return the condition to write, None if it is there already; its transition time moves only with its status."""
    current = condition_of(pod, type_)
    generation = pod["metadata"].get("generation")
    desired = {**fields, **({} if generation is None else {"observedGeneration": generation})}
    if current is not None and all(current.get(name) == value for name, value in desired.items()):
        return None
    stays = current is not None and current.get("status") == fields["status"] and current.get("lastTransitionTime")
    time = current["lastTransitionTime"] if current is not None and stays else format_time(now)
    return {"type": type_, "lastProbeTime": None, "lastTransitionTime": time, **desired}


def _status_patch(pod: Obj, status: Obj) -> Obj | None:
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status} if status else None


# -- patches of claims and volumes -------------------------------------------------------------------------------------


def selected_node_patch(claim: Obj, node: str) -> Obj:
    """Return the patch that asks for a volume for the claim on a node; a provisioner makes it."""
    return _annotated(claim, SELECTED_NODE, node)


def claim_ref_patch(volume: Obj, claim: Obj) -> Obj:
    """Return the patch that reserves the volume for the claim; the binder does the rest (GetBindVolumeToClaim)."""
    return {**_annotated(volume, BOUND_BY_CONTROLLER, "yes"), "spec": {"claimRef": reference_to(claim)}}


def _annotated(obj: Obj, name: str, value: str) -> Obj:
    meta = obj["metadata"]
    guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]} if "resourceVersion" in meta else {}
    return {"metadata": {**guard, "annotations": {name: value}}}
