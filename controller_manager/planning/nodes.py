"""Simulated nodes: how they are told from others, how they register, and their leases."""

from ipaddress import ip_address
from zlib import crc32

from apiserver.api.meta import Obj, annotations_of, labels_of
from apiserver.api.nodes import HOSTNAME
from controller_manager.planning.conditions import UNKNOWN, condition_of
from controller_manager.planning.node_status import Size, kubelet_status
from controller_manager.planning.times import micro_stamp, seconds

SIMULATED = "mockube.io/simulated"
"""The label, "true", of nodes whose kubelet is simulated; people may set it on nodes of their own making."""
LOST = "mockube.io/lost"
"""The annotation, "true", of a node whose kubelet says and does nothing any more."""
REGION, ZONES = "local", ("local-a", "local-b", "local-c")
LEASES = "kube-node-lease"
LEASE_SECONDS = 40
"""nodeLeaseDurationSeconds."""


def name_of_node(number: int) -> str:
    """The name of the first, second … simulated node."""
    return f"node-{number}"


def is_simulated(node: Obj) -> bool:
    """Whether we play its kubelet."""
    return labels_of(node).get(SIMULATED) == "true"


def is_lost(node: Obj) -> bool:
    """Whether its kubelet is silent, as somebody wishes."""
    return annotations_of(node).get(LOST) == "true"


def is_alive(node: Obj) -> bool:
    """Whether we run its pods: it is ours, and neither silent nor given up by the control plane."""
    return is_simulated(node) and not is_lost(node) and ready_status(node) != UNKNOWN


def ready_status(node: Obj) -> str:
    """The status of its Ready condition, "" where it has none."""
    ready = condition_of(node, "Ready")
    return str(ready["status"]) if ready else ""


def address_of(node: Obj) -> str:
    """Its InternalIP, "" where it has none that is an address (k8s.io/component-helpers/node/util GetNodeHostIPs)."""
    for address in (node.get("status") or {}).get("addresses") or ():
        if address["type"] == "InternalIP" and _is_address(address["address"]):
            return str(address["address"])
    return ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


# -- what they are made of ---------------------------------------------------------------------------------------------


def new_node(number: int, size: Size, *, block: str, now: float, address: str) -> Obj:
    """A simulated node as it registers.

    Args:
        number: from 1.
        size: its capacity.
        block: of its pods' addresses, "" for none.
        now: the time.
        address: its own.
    """
    name = name_of_node(number)
    node = {
        "metadata": {
            "name": name,
            "labels": _labels(name, ZONES[(number - 1) % len(ZONES)]),
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {"providerID": f"mockube://{name}"} | ({"podCIDR": block, "podCIDRs": [block]} if block else {}),
    }
    return node | {"status": kubelet_status(node, size, now, address=address)}


def _labels(name: str, zone: str) -> dict[str, str]:
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        HOSTNAME: name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "simulated",
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": zone,
        SIMULATED: "true",
    }


# -- leases ------------------------------------------------------------------------------------------------------------


def renewal_period(name: str, nodes: int, *, grace: float) -> float:
    """Seconds between two renewals of a node's lease: upstream's ten, or more where many would keep the server busy.

    They come twice in the time after which the control plane gives a node up, at the least. Nodes differ a little, so
    that they do not all come at once.

    Args:
        name: of the node.
        nodes: how many there are.
        grace: seconds that a node may be silent.
    """
    return min(max(10.0, nodes / 10), grace / 2) * (1 - crc32(name.encode()) % 100 / 500)


def new_lease(node: Obj, now: float) -> Obj:
    """The lease of a node."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {"name": meta["name"], "namespace": LEASES, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": meta["name"],
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_stamp(now),
        },
    }


def renewed_at(lease: Obj | None) -> float:
    """When a lease was renewed last, 0 where it never was."""
    text = ((lease or {}).get("spec") or {}).get("renewTime")
    return seconds(text) if text else 0.0
