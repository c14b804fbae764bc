"""The heartbeats of nodes, and the status of nodes that stopped reporting (pkg/controller/nodelifecycle)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.reconcile.conditions import UNKNOWN, condition_of, find_condition
from controller_manager.reconcile.nodes import renewed_at
from controller_manager.reconcile.times import format_time, parse_time

STARTUP_GRACE = 60.0
"""Seconds until a node that never reported is marked unknown (nodeStartupGracePeriod)."""
RECHECK_SHARE = 0.1
"""The share of the grace period after which a silent node is checked again, since a heartbeat may be late once."""
KUBELET_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that become unknown when the kubelet is silent."""


@dataclass(slots=True)
class NodeHealth:
    """The last heartbeat of a node.

    Attributes:
        heartbeat: identifies the last heartbeat, to detect the next.
        at: when it arrived.
        ready: the status of its Ready condition at the last sync.
        doubted: the value of `at` that was found to be too long ago.
    """

    heartbeat: str
    at: float
    ready: str
    doubted: float = 0.0

    def is_confirmed(self) -> bool:
        """Return whether the node was found silent before and still is; the first time this is in doubt.

        If the whole machine, or the manager, was suspended, all kubelets report again in a moment.
        """
        confirmed, self.doubted = self.doubted == self.at, self.at
        return confirmed


class NodeHealthMap:
    """When each node last reported, on the manager's own clock: a view of the nodes, updated when they are synced.

    After a start all nodes count as having just reported, since the manager could not receive earlier reports.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeHealth] = {}

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Forget a node that was deleted."""
        del kind
        if new is None and old is not None:
            self._nodes.pop(old["metadata"]["name"], None)

    def is_new(self, name: str) -> bool:
        """Return whether a node has never been synced."""
        return name not in self._nodes

    def observe(self, node: Obj, lease: Obj | None, *, now: float) -> NodeHealth:
        """Record the node's heartbeats and return what is known of it.

        A heartbeat may have arrived since the last call: its own time counts, limited to the time between that call and
        now.
        """
        name, ready = node["metadata"]["name"], _ready(node)
        heartbeat = f"{renewed_at(lease)} {ready.get('lastHeartbeatTime')}"
        known = self._nodes.get(name)
        if known is None:
            known = self._nodes[name] = NodeHealth(heartbeat, now, ready.get("status") or "")
        elif known.heartbeat != heartbeat:
            reported = ready.get("lastHeartbeatTime")
            known.heartbeat = heartbeat
            known.at = min(max(known.at, renewed_at(lease), parse_time(reported) if reported else 0.0), now)
        return known


def _ready(node: Obj) -> Obj:
    return condition_of(node, "Ready") or {}


def silent_status(node: Obj, now: float) -> Obj:
    """Return the status of a node whose kubelet is silent: the conditions that the kubelet reports are unknown."""
    status = node.get("status") or {}
    conditions = status.get("conditions") or ()
    unknown = {
        type_: _unknown_condition(type_, find_condition(conditions, type_), node, format_time(now))
        for type_ in KUBELET_CONDITIONS
    }
    new = [unknown.pop(condition["type"], condition) for condition in conditions]
    return status | {"conditions": [*new, *unknown.values()]}


def _unknown_condition(type_: str, old: Obj | None, node: Obj, time: str) -> Obj:
    if old is None:
        return {
            "type": type_,
            "status": UNKNOWN,
            "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.",
            "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
            "lastTransitionTime": time,
        }
    if old["status"] == UNKNOWN:
        return old
    return old | {
        "status": UNKNOWN,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": time,
    }
