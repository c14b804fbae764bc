"""The kubelets of all simulated nodes: pods that are bound to one run, end and go (pkg/kubelet).

What a pod does is worked out in planning/stages; a pod that stays as it is costs nothing here, not even a timer. Pods
of other nodes, and of nodes that are lost, are left alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.kubelet.addresses import PodAddresses
from controller_manager.kubelet.pods.lifecycle import advance
from controller_manager.kubelet.pods.pod_sync import NodeContext
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    Change,
    Delayed,
    Delete,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Spec,
    Update,
    Watch,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.in_place import GATE, has_gate
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.node_metrics import RUNNING
from controller_manager.reconcile.nodes import address_of, is_alive
from controller_manager.reconcile.pods import is_ready, is_terminal

ADDRESSES = "pod-addresses"
"""The view that gives pods their addresses."""

LINGER = 0.3
"""Seconds for which a pod can at least be seen going. `kubectl delete` looks whether a pod is still there before it
begins to watch for its end; it waits for ever where another has taken its name in between, as a StatefulSet's does.
"""

GATE_WAIT = 1.0
"""Seconds after which a pod starts whose gate for updates in place nobody has opened; until then its set is expected to
write, and a report of the kubelet would only come in between.
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """A pod, and the node that runs it."""

    pod: Obj
    node_context: NodeContext


def _of_pod(listers: Listers, change: Change) -> Iterable[Key | Delayed]:
    """A pod that came or changed, where that may give its kubelet something to do."""
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
        return (Delayed(key, LINGER),)
    return (Delayed(key, GATE_WAIT) if _waits_for_its_set(pod) else key,)


def _waits_for_its_set(pod: Obj) -> bool:
    """Whether a new pod has a gate that its CloneSet or Advanced StatefulSet is about to open."""
    return has_gate(pod) and condition_of(pod, GATE) is None and not (pod.get("status") or {}).get("podIP")


def _is_over(old: Obj, pod: Obj) -> bool:
    """Whether the grace of a pod that goes is over, which is what its kubelet said when it let go of it."""
    return is_deleting(old) and not pod["metadata"].get("deletionGracePeriodSeconds")


def _begins_to_go(change: Change) -> bool:
    return change.old is not None and is_deleting(change.obj) and not is_deleting(change.old)


def _is_ended(pod: Obj) -> bool:
    return is_terminal(pod) and not is_deleting(pod)


def _is_settled(old: Obj, pod: Obj) -> bool:
    """Whether a pod runs as its kubelet last wrote; what it does later, its kubelet has a timer for."""
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


def _of_node(listers: Listers, change: Change) -> Iterable[Key]:
    """All pods of a node that came, or came back."""
    new, old = change.new, change.old
    if new is None or not is_alive(new) or (old is not None and is_alive(old)):
        return ()
    return [key_of(pod) for pod in listers[POD].by(PODS_BY_NODE.name, new["metadata"]["name"]) if not _is_ended(pod)]


def observe(listers: Listers, key: Key) -> Observed | None:
    """The pod and its node, None where it has none of ours."""
    pod = listers[POD].get(key)
    if pod is None:
        return None
    spec = pod["spec"]
    node = listers[NODE].get(spec.get("nodeName") or "")
    if node is None or not is_alive(node):
        return None
    address = (pod.get("status") or {}).get("podIP") or ""
    if not address and not spec.get("hostNetwork"):
        addresses: PodAddresses = listers.view(ADDRESSES)
        address = addresses.allocate(pod["metadata"]["uid"], node["spec"].get("podCIDR") or "")
    return Observed(pod, NodeContext(spec["nodeName"], address_of(node), address))


def plan(observed: Observed, now: float) -> Plan:
    """Write the pod's next status, all stages that have passed in one, and let it go when it has stopped."""
    pod, node = observed.pod, observed.node_context.node
    step = advance(pod, observed.node_context, now)
    if step.status is not None:
        yield Update(POD, _report(pod, step.status), subresource="status")
    for events in step.events:
        yield RecordEvent(
            pod,
            reason=events.reason,
            message=events.message,
            type=events.type,
            component="kubelet",
            host=node,
            field_path=events.field_path,
        )
    if step.gone:
        yield from _delete(pod)
    elif step.wait is not None:
        yield RequeueAfter(step.wait)


def _report(pod: Obj, status: Obj) -> Obj:
    """What is written of a pod: not its spec, which a server keeps whatever a status says (podStatusStrategy)."""
    return {"kind": pod["kind"], "apiVersion": pod["apiVersion"], "metadata": pod["metadata"], "status": status}


def _delete(pod: Obj) -> Plan:
    """Tell the server that the pod has stopped (status_manager.go)."""
    try:
        yield Delete(POD, key_of(pod), uid=pod["metadata"]["uid"], grace=0)
    except ApiError as error:
        if error.code not in (404, 409):  # gone, or another of its name
            raise


SPEC = Spec(
    name="kubelet",
    watches=(Watch(POD, _of_pod), Watch(NODE, _of_node)),
    observe=observe,
    reconcile=plan,
    source="kubelet",
    workers=256,
    indexes=(PODS_BY_NODE,),
    views={ADDRESSES: PodAddresses},
    feeds={ADDRESSES: (POD,)},
    gauges=(RUNNING,),
)
