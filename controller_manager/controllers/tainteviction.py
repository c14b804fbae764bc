"""Deletes pods once they no longer tolerate a NoExecute taint of their node (pkg/controller/tainteviction)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    STRATEGIC_PATCH,
    Change,
    ControllerSpec,
    Delete,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    RequeueAfter,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric
from controller_manager.reconcile.pods import DISRUPTION_TARGET, is_terminal
from controller_manager.reconcile.taints import TaintTimes, no_execute, taints_of, tolerated_for
from controller_manager.reconcile.times import format_time

TAINT_TIMES = "taints-since"
"""The name of the view that remembers when nodes got taints without timeAdded."""

DELETIONS = MetricDef(
    "taint_eviction_controller_pod_deletions_total", "Pods that were deleted for a taint of their node."
)
LATENCY = MetricDef(
    "taint_eviction_controller_pod_deletion_duration_seconds",
    "Seconds between the time when a pod had to go and its deletion.",
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
)


@dataclass(frozen=True, slots=True)
class Observed:
    """A pod, and the taints that evict it."""

    pod: Obj
    node: Obj
    taints: Sequence[Obj]
    since: TaintTimes


def _pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the key of a pod that was bound to a tainted node, or whose tolerations changed."""
    pod = change.new
    if pod is None or not (name := pod["spec"].get("nodeName")):
        return ()
    node = listers[NODE].get(name)
    if node is None or not taints_of(node) or not no_execute(node):
        return ()
    old = change.old
    if old is not None and old["spec"].get("nodeName") == name and _tolerations(old) == _tolerations(pod):
        return ()
    return (key_of(pod),)


def _node_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of all pods of a node that gains a taint, or loses one, which ends the wait."""
    new, old = change.new, change.old
    if new is None or no_execute(new) == (no_execute(old) if old is not None else []):
        return ()
    return [key_of(pod) for pod in listers[POD].by_index(PODS_BY_NODE.name, new["metadata"]["name"])]


def _tolerations(pod: Obj) -> Sequence[Obj]:
    return pod["spec"].get("tolerations") or ()


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the pod and its node's taints, or None if no taint evicts it."""
    pod = listers[POD].get(key)
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        return None
    node = listers[NODE].get(pod["spec"].get("nodeName") or "")
    taints = no_execute(node) if node is not None else []
    if node is None or not taints or is_terminal(pod):
        return None
    return Observed(pod, node, taints, listers.view(TAINT_TIMES))


def reconcile(observed: Observed, now: float) -> Plan:
    """Delete the pod when it has tolerated its node's taints for long enough."""
    pod = observed.pod
    toleration_seconds = tolerated_for(_tolerations(pod), observed.taints)
    if toleration_seconds is None:
        return
    due = (
        observed.since.tainted_since(observed.node, observed.taints, pod, now) + toleration_seconds
        if toleration_seconds
        else now
    )
    if now < due:
        yield RequeueAfter(due - now)
        return
    yield RecordEvent(
        pod,
        reason="TaintManagerEviction",
        message=f"Marking for deletion Pod {namespace_of(pod)}/{pod['metadata']['name']}",
    )
    yield from _evict(pod, now, late=now - due)


def _evict(pod: Obj, now: float, *, late: float) -> Plan:
    """Set the pod's condition DisruptionTarget, then delete it, this late (addConditionAndDeletePod)."""
    meta = pod["metadata"]
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": format_time(now),
    }
    body = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}}
    try:
        yield Patch(POD, key_of(pod), body, subresource="status", content_type=STRATEGIC_PATCH)
        yield Delete(POD, key_of(pod), uid=meta["uid"])
    except ApiError as error:
        if error.code not in (404, 409):  # gone, or replaced by another of its name
            raise
    else:
        yield RecordMetric(DELETIONS)
        yield RecordMetric(LATENCY, late, elapsed=True)


SPEC = ControllerSpec(
    name="taint-eviction-controller",
    account="node-controller",
    watches=(Watch(POD, _pod_changed), Watch(NODE, _node_changed)),
    observe=observe,
    reconcile=reconcile,
    source="taint-eviction-controller",
    workers=8,
    indexes=(PODS_BY_NODE,),
    views={TAINT_TIMES: TaintTimes},
    view_kinds={TAINT_TIMES: (NODE,)},
    queue="noexec_taint_pod",
    metrics=(DELETIONS, LATENCY),
)
