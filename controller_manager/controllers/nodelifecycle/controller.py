"""Marks nodes that stopped reporting as unknown, and taints nodes by their conditions (pkg/controller/nodelifecycle).

Unlike upstream, NoExecute taints are not rate-limited per zone; when no node at all is ready, pods stay where they are,
as upstream.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.nodelifecycle.health import (
    RECHECK_SHARE,
    STARTUP_GRACE,
    NodeHealthMap,
    silent_status,
)
from controller_manager.reconcile.conditions import TRUE
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    STRATEGIC_PATCH,
    WARNING,
    Batch,
    Change,
    ControllerSpec,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    RequeueAfter,
    Update,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import LEASE, NODE, POD
from controller_manager.reconcile.metric_defs import RecordMetric
from controller_manager.reconcile.node_metrics import EVICTIONS, ZONE_GAUGES, zone_of
from controller_manager.reconcile.nodes import LEASE_NAMESPACE, ready_status
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.taints import desired_taints, no_execute
from controller_manager.reconcile.times import format_time

HEALTH = "node-health"
"""The name of the view that remembers when nodes last reported."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A node and the facts that decide about it.

    Attributes:
        pods: the pods bound to it.
        others_ready: True if any other node is ready.
        grace: seconds without a report that are tolerated.
    """

    node: Obj
    lease: Obj | None
    pods: Collection[Obj]
    others_ready: bool
    grace: float
    health: NodeHealthMap


def _node_key(_: Listers, change: Change) -> Iterable[Key]:
    return (name_of(change.new),) if change.new is not None else ()


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the node of that key, or None if it is gone."""
    node = listers[NODE].get(key)
    if node is None:
        return None
    return Observed(
        node,
        listers[LEASE].get(f"{LEASE_NAMESPACE}/{key}"),
        listers[POD].by_index(PODS_BY_NODE.name, key),
        any(other is not node and ready_status(other) == TRUE for other in listers[NODE]),
        listers.settings.node_monitor_grace if ready_status(node) else STARTUP_GRACE,
        listers.view(HEALTH),
    )


def reconcile(observed: Observed, now: float) -> Plan:
    """Mark the node unknown if it was silent for too long, taint it, and requeue for when it may have been."""
    node, name = observed.node, name_of(observed.node)
    if observed.health.is_new(name):
        yield _event(node, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
    known = observed.health.observe(node, observed.lease, now=now)
    due = known.at + observed.grace
    ready_before = known.ready
    pods = list(observed.pods)
    if now >= due and (status := silent_status(node, now)) != node.get("status"):
        if not known.is_confirmed():
            yield RequeueAfter(max(1.0, observed.grace * RECHECK_SHARE))
            return
        node = yield Update(NODE, node | {"status": status}, subresource="status")
    ready = ready_status(node)
    if ready != TRUE and ready_before == TRUE:
        yield _event(observed.node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        yield from _mark_pods(pods, now)
    known.ready = ready
    yield from _update_taints(node, now, evict=observed.others_ready or ready == TRUE)
    yield RequeueAfter(due - now if now < due else observed.grace)


def _event(node: Obj, reason: str, message: str) -> RecordEvent:
    return RecordEvent(node, reason=reason, message=message)


def _mark_pods(pods: Collection[Obj], now: float) -> Plan:
    """Mark the pods of a node that is not ready as not ready (controller_utils.go MarkPodsNotReady)."""
    ready = [pod for pod in pods if is_ready(pod)]
    for pod in ready:
        yield RecordEvent(pod, reason="NodeNotReady", message="Node is not ready", type=WARNING)
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": format_time(now)}
    answers = yield Batch(
        [
            Patch(
                POD,
                key_of(pod),
                {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [condition]}},
                subresource="status",
                content_type=STRATEGIC_PATCH,
            )
            for pod in ready
        ]
    )
    for answer in answers:
        if isinstance(answer, ApiError) and answer.code not in (404, 409):  # gone, or replaced by another of its name
            raise answer


def _update_taints(node: Obj, now: float, *, evict: bool) -> Plan:
    taints = desired_taints(node, now, evict=evict)
    if taints is not None:
        version = node["metadata"]["resourceVersion"]
        yield Patch(NODE, name_of(node), {"metadata": {"resourceVersion": version}, "spec": {"taints": taints}})
        before = no_execute(node)
        if any(taint not in before for taint in no_execute({"spec": {"taints": taints}})):
            yield RecordMetric(EVICTIONS, labels=(zone_of(node),))


SPEC = ControllerSpec(
    name="nodelifecycle",
    account="node-controller",
    watches=(Watch(NODE, _node_key), Watch(LEASE), Watch(POD)),
    observe=observe,
    reconcile=reconcile,
    source="node-controller",
    workers=8,
    indexes=(PODS_BY_NODE,),
    views={HEALTH: NodeHealthMap},
    view_kinds={HEALTH: (NODE,)},
    queue="node_lifecycle_controller",
    metrics=(EVICTIONS,),
    gauges=ZONE_GAUGES,
)
