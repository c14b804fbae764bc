"""What the scheduler writes: bindings, why a pod has no node, what goes before a binding, and that a pod has to go."""

from collections.abc import Mapping

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.pods import DISRUPTION_TARGET
from controller_manager.reconcile.times import stamp
from controller_manager.reconcile.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE, reference_to
from controller_manager.scheduler.preemption import BY_SCHEDULER

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
"""Reasons of the condition PodScheduled."""

_LONGEST_NOTE = 1024
_CUT = " ..."


def binding(pod: Obj, node: str) -> Obj:
    """What gives a pod its node (plugins/defaultbinder)."""
    meta = {"namespace": namespace_of(pod), "name": name_of(pod), "uid": pod["metadata"]["uid"]}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": {"kind": "Node", "name": node}}


def note(message: str) -> str:
    """A message as an Event may carry it (truncateMessage)."""
    return message if len(message) <= _LONGEST_NOTE else message[: _LONGEST_NOTE - len(_CUT)] + _CUT


# -- patches of a pod's status -----------------------------------------------------------------------------------------


def refusal(pod: Obj, now: float, *, reason: str, message: str, nominated: str) -> Obj | None:
    """Why the pod has no node, and which it is promised; None where it says so already (updatePod)."""
    told = {"status": "False", "reason": reason, "message": message}
    status: Obj = {}
    if (condition := _condition(pod, "PodScheduled", told=told, now=now)) is not None:
        status["conditions"] = [condition]
    if nominated != ((pod.get("status") or {}).get("nominatedNodeName") or ""):
        status["nominatedNodeName"] = nominated or None
    return _patch(pod, status)


def disruption(pod: Obj, now: float, *, scheduler: str) -> Obj | None:
    """That the pod has to go for another (preemption/executor.go); None where it says so already."""
    message = f"{scheduler}: preempting to accommodate a higher priority pod"
    told = {"status": "True", "reason": BY_SCHEDULER, "message": message}
    condition = _condition(pod, DISRUPTION_TARGET, told=told, now=now)
    return _patch(pod, {} if condition is None else {"conditions": [condition]})


NO_NOMINATION: Obj = {"status": {"nominatedNodeName": None}}
"""A pod is promised no node any more."""


def _condition(pod: Obj, type_: str, *, told: Mapping[str, str], now: float) -> Obj | None:
    """The condition as it is to be, None where it is so already; its time moves with its status alone."""
    current = condition_of(pod, type_)
    generation = pod["metadata"].get("generation")
    wanted = {**told, **({} if generation is None else {"observedGeneration": generation})}
    if current is not None and all(current.get(name) == value for name, value in wanted.items()):
        return None
    stays = current is not None and current.get("status") == told["status"] and current.get("lastTransitionTime")
    time = current["lastTransitionTime"] if current is not None and stays else stamp(now)
    return {"type": type_, "lastProbeTime": None, "lastTransitionTime": time, **wanted}


def _patch(pod: Obj, status: Obj) -> Obj | None:
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status} if status else None


# -- patches of claims and volumes -------------------------------------------------------------------------------------


def selection(claim: Obj, node: str) -> Obj:
    """That the claim's volume is to be made for a node, by whoever makes volumes."""
    return _annotated(claim, SELECTED_NODE, node)


def reservation(volume: Obj, claim: Obj) -> Obj:
    """That the volume is the claim's; whoever binds volumes does the rest (GetBindVolumeToClaim)."""
    return {**_annotated(volume, BOUND_BY_CONTROLLER, "yes"), "spec": {"claimRef": reference_to(claim)}}


def _annotated(obj: Obj, name: str, value: str) -> Obj:
    meta = obj["metadata"]
    guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]} if "resourceVersion" in meta else {}
    return {"metadata": {**guard, "annotations": {name: value}}}
