"""The kubelets of all simulated nodes: pods bound to a node run, end and go (pkg/kubelet).

`lifecycle` works out the status of a pod; a pod that stays as it is costs nothing here, not even a timer. Pods of other
nodes, and of lost nodes, are left alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.kubelet.addresses import PodAddresses
from controller_manager.kubelet.pods.lifecycle import next_step
from controller_manager.kubelet.pods.pod_sync import NodeContext
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    Change,
    ControllerSpec,
    DelayedKey,
    Delete,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Update,
    Watch,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.in_place import READINESS_GATE, has_gate
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.node_metrics import RUNNING_PODS
from controller_manager.reconcile.nodes import address_of, is_alive
from controller_manager.reconcile.pods import is_ready, is_terminal

POD_ADDRESSES = "pod-addresses"
"""The view that allocates the pods' addresses."""

MIN_TERMINATION_SECONDS = 0.3
"""The seconds for which a terminating pod can at least be seen. `kubectl delete` checks whether a pod still exists
before it watches for its end; it waits forever if another pod takes the name in between, as a StatefulSet's pods do.
"""

GATE_WAIT_SECONDS = 1.0
"""The seconds after which a pod starts if nobody has opened its gate for in-place updates; until then its set is
expected to open it, and a status report would only come in between.
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """A pod and the node that runs it."""

    pod: Obj
    node_context: NodeContext


def _pod_changed(listers: Listers, change: Change) -> Iterable[Key | DelayedKey]:
    """Return the key of a pod that came or changed if its kubelet may have something to do."""
    pod = change.new
    if pod is None or not (name := pod["spec"].get("nodeName")):
        return ()
    if _is_ended(pod) or (change.old is not None and (_is_settled(change.old, pod) or _is_over(change.old, pod))):
        return ()
    node = listers[NODE].get(name)
    if node is None or not is_alive(node):
        return ()
    key = key_of(pod)
    if _begins_to_go(change):
        return (DelayedKey(key, MIN_TERMINATION_SECONDS),)
    return (DelayedKey(key, GATE_WAIT_SECONDS) if _waits_for_its_set(pod) else key,)


def _waits_for_its_set(pod: Obj) -> bool:
    """Return True for a new pod with a gate that its CloneSet or Advanced StatefulSet is about to open."""
    return has_gate(pod) and condition_of(pod, READINESS_GATE) is None and not (pod.get("status") or {}).get("podIP")


def _is_over(old: Obj, pod: Obj) -> bool:
    """Return True if a terminating pod's grace period is over: then the change was the kubelet's own deletion."""
    return is_deleting(old) and not pod["metadata"].get("deletionGracePeriodSeconds")


def _begins_to_go(change: Change) -> bool:
    return change.old is not None and is_deleting(change.obj) and not is_deleting(change.old)


def _is_ended(pod: Obj) -> bool:
    return is_terminal(pod) and not is_deleting(pod)


def _is_settled(old: Obj, pod: Obj) -> bool:
    """Return True if a pod runs as its kubelet last wrote it; later changes by time have a timer."""
    meta, status = pod["metadata"], pod.get("status") or {}
    return (
        status.get("phase") == "Running"
        and not meta.get("deletionTimestamp")
        and status.get("observedGeneration") == meta.get("generation")
        and meta.get("annotations") == old["metadata"].get("annotations")
        and (meta.get("generation") is not None or pod["spec"] == old["spec"])
        and _are_gates_open(pod)
        and is_ready(pod)
    )


def _are_gates_open(pod: Obj) -> bool:
    gates = pod["spec"].get("readinessGates") or ()
    return all((condition_of(pod, gate["conditionType"]) or {}).get("status") == "True" for gate in gates)


def _node_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of all pods of a node that came, or came back."""
    new, old = change.new, change.old
    if new is None or not is_alive(new) or (old is not None and is_alive(old)):
        return ()
    return [
        key_of(pod) for pod in listers[POD].by_index(PODS_BY_NODE.name, new["metadata"]["name"]) if not _is_ended(pod)
    ]


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the pod and its node; None if the pod is gone or its node is not simulated and alive."""
    pod = listers[POD].get(key)
    if pod is None:
        return None
    spec = pod["spec"]
    node = listers[NODE].get(spec.get("nodeName") or "")
    if node is None or not is_alive(node):
        return None
    address = (pod.get("status") or {}).get("podIP") or ""
    if not address and not spec.get("hostNetwork"):
        addresses: PodAddresses = listers.view(POD_ADDRESSES)
        address = addresses.allocate(pod["metadata"]["uid"], node["spec"].get("podCIDR") or "")
    return Observed(pod, NodeContext(spec["nodeName"], address_of(node), address))


def reconcile(observed: Observed, now: float) -> Plan:
    """Write the pod's next status, which may be several stages later, and delete the pod once it has stopped."""
    pod, node = observed.pod, observed.node_context.node
    step = next_step(pod, observed.node_context, now)
    if step.status is not None:
        yield Update(POD, _update_status(pod, step.status), subresource="status")
    for event in step.events:
        yield RecordEvent(
            pod,
            reason=event.reason,
            message=event.message,
            type=event.type,
            component="kubelet",
            host=node,
            field_path=event.field_path,
        )
    if step.delete:
        yield from _delete_pod(pod)
    elif step.wait is not None:
        yield RequeueAfter(step.wait)


def _update_status(pod: Obj, status: Obj) -> Obj:
    """Return the pod with the status to write, without its spec, which a server ignores here (podStatusStrategy)."""
    return {"kind": pod["kind"], "apiVersion": pod["apiVersion"], "metadata": pod["metadata"], "status": status}


def _delete_pod(pod: Obj) -> Plan:
    """Delete the pod with no grace period, since it has stopped (status_manager.go)."""
    try:
        yield Delete(POD, key_of(pod), uid=pod["metadata"]["uid"], grace_period_seconds=0)
    except ApiError as error:
        if error.code not in (404, 409):  # gone, or replaced by another pod
            raise


SPEC = ControllerSpec(
    name="kubelet",
    account="simulated-nodes",
    watches=(Watch(POD, _pod_changed), Watch(NODE, _node_changed)),
    observe=observe,
    reconcile=reconcile,
    source="kubelet",
    program="kubelet",
    workers=256,
    indexes=(PODS_BY_NODE,),
    views={POD_ADDRESSES: PodAddresses},
    view_kinds={POD_ADDRESSES: (POD,)},
    gauges=(RUNNING_PODS,),
)
