"""Why a node does not suit a pod, and the message that sums it up for all nodes (framework/types.go FitError)."""

from collections import Counter
from dataclasses import dataclass

# the plug-ins of kube-scheduler that refuse nodes, in the order they filter (apis/config/v1/default_plugins.go)
NODE_UNSCHEDULABLE = "NodeUnschedulable"
TAINT_TOLERATION = "TaintToleration"
NODE_AFFINITY = "NodeAffinity"
NODE_PORTS = "NodePorts"
NODE_RESOURCES_FIT = "NodeResourcesFit"
VOLUME_RESTRICTIONS = "VolumeRestrictions"
VOLUME_BINDING = "VolumeBinding"
VOLUME_ZONE = "VolumeZone"
POD_TOPOLOGY_SPREAD = "PodTopologySpread"
INTER_POD_AFFINITY = "InterPodAffinity"

VOLUME_PLUGINS = frozenset((VOLUME_RESTRICTIONS, VOLUME_BINDING, VOLUME_ZONE))
TOPOLOGY_PLUGINS = frozenset((POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY))
"""The plug-ins for which a pod on one node counts on another."""

NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Status:
    """Why a node, or every node, does not suit.

    Attributes:
        reasons: the reasons, which are counted over all nodes.
        plugin: the plug-in that refused.
        resolvable: True if preempting pods might help (Unschedulable, not UnschedulableAndUnresolvable).
    """

    reasons: tuple[str, ...]
    plugin: str = ""
    resolvable: bool = False


def fit_error(nodes: int, reasons: Counter[str], *, before: str = "", after: str = "") -> str:
    """Return the message: "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: …".

    Args:
        nodes: the number of nodes.
        reasons: reason → number of nodes.
        before: why no node was looked at, which replaces the reasons (PreFilterMsg).
        after: the result of preemption (PostFilterMsg).
    """
    parts = [f"0/{nodes} nodes are available:"]
    if before:
        parts.append(f"{before}.")
    elif reasons:
        parts.append(f"{', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}.")
    if after:
        parts.append(after)
    return " ".join(parts)
