"""What the control plane makes of nodes that say nothing any more (pkg/controller/nodelifecycle)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.reconcile.conditions import UNKNOWN, condition_of, find
from controller_manager.reconcile.nodes import renewed_at
from controller_manager.reconcile.times import seconds, stamp

STARTUP_GRACE = 60.0
"""Seconds until a node that never reported is given up (nodeStartupGracePeriod)."""
DOUBT = 0.1
"""How much of its grace a silent node has left before it is given up, as heartbeats may be late for once."""
REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that nobody knows any more when the kubelet is silent."""


@dataclass(slots=True)
class Known:
    """What is remembered of a node.

    Attributes:
        heartbeat: the last that was heard, to be told from the next.
        at: when it was heard.
        ready: the status of its Ready condition when it was looked at last.
        doubted: which time of the last heartbeat was found to be too long ago.
    """

    heartbeat: str
    at: float
    ready: str
    doubted: float = 0.0

    def is_sure(self) -> bool:
        """Whether the node was found to be silent before, and still is: the first time this is in doubt.

        Where the whole machine was suspended, or the manager was, all kubelets are heard of again in a moment.
        """
        sure, self.doubted = self.doubted == self.at, self.at
        return sure


class Health:
    """When each node was last heard of, on our own clock: a view of the nodes, filled as they are looked at.

    After a start all nodes count as just heard of: they could not be.
    """

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """A node that goes is forgotten."""
        del kind
        if new is None and old is not None:
            self._known.pop(old["metadata"]["name"], None)

    def is_new(self, name: str) -> bool:
        """Whether a node has never been looked at."""
        return name not in self._known

    def look(self, node: Obj, lease: Obj | None, *, now: float) -> Known:
        """What is known of a node, after its heartbeats were looked at.

        They may have come since the last look: their own time counts, as far as it is between that look and now.
        """
        name, ready = node["metadata"]["name"], _ready(node)
        heartbeat = f"{renewed_at(lease)} {ready.get('lastHeartbeatTime')}"
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = Known(heartbeat, now, ready.get("status") or "")
        elif known.heartbeat != heartbeat:
            said = ready.get("lastHeartbeatTime")
            known.heartbeat = heartbeat
            known.at = min(max(known.at, renewed_at(lease), seconds(said) if said else 0.0), now)
        return known


def _ready(node: Obj) -> Obj:
    return condition_of(node, "Ready") or {}


def silent_status(node: Obj, now: float) -> Obj:
    """The status of a node whose kubelet is silent: the conditions that it keeps are unknown."""
    status = node.get("status") or {}
    conditions = status.get("conditions") or ()
    made = {type_: _unknown(type_, find(conditions, type_), node, stamp(now)) for type_ in REPORTED}
    new = [made.pop(condition["type"], condition) for condition in conditions]
    return status | {"conditions": [*new, *made.values()]}


def _unknown(type_: str, old: Obj | None, node: Obj, time: str) -> Obj:
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
