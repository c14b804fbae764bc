"""Simulated nodes: how they register, their leases, and the status that their kubelets report.

(pkg/kubelet/nodestatus/setters.go, pkg/kubelet/kubelet_node_status.go)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from zlib import crc32

from apiserver.api import quantity
from apiserver.api.meta import Obj, annotations_of, labels_of
from apiserver.api.nodes import HOSTNAME
from controller_manager.reconcile.conditions import FALSE, TRUE, UNKNOWN, condition_of, find
from controller_manager.reconcile.times import micro_stamp, seconds, stamp, time_left

NOT_READY = "mockube.io/not-ready"
"""The annotation of a node that is not ready; its value is the condition's message."""
PRESSURE = "mockube.io/pressure"
"""The annotation of a node that lacks something: "memory", "disk", "pid", or several with commas."""
HEARTBEAT = 300.0
"""Seconds between two reports of a status that does not change (nodeStatusReportFrequency)."""
KUBELET_PORT = 10250


@dataclass(frozen=True, slots=True)
class Size:
    """How big simulated nodes are."""

    cpu: str
    memory: str
    pods: int
    version: str


def kubelet_status(node: Obj, size: Size, now: float, *, address: str) -> Obj:
    """The status as its kubelet reports it: what people put there stays, what is missing is filled in.

    Args:
        node: as it is.
        size: the capacity, where the node tells none.
        now: the time.
        address: where the node tells none.
    """
    status = node.get("status") or {}
    capacity = status.get("capacity") or _capacity(size)
    return status | {
        "capacity": capacity,
        "allocatable": capacity | (status.get("allocatable") or {}),
        "conditions": _conditions(node, now),
        "addresses": status.get("addresses") or _addresses(node, address),
        "daemonEndpoints": status.get("daemonEndpoints") or {"kubeletEndpoint": {"Port": KUBELET_PORT}},
        "nodeInfo": _info(node, size),
    }


def _capacity(size: Size) -> dict[str, str]:
    return {
        "cpu": quantity.canonical(size.cpu),
        "ephemeral-storage": "1Ti",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": quantity.canonical(size.memory),
        "pods": str(size.pods),
    }


def _addresses(node: Obj, address: str) -> list[Obj]:
    hostname = {"type": "Hostname", "address": node["metadata"]["name"]}
    return [{"type": "InternalIP", "address": address}, hostname] if address else [hostname]


def _info(node: Obj, size: Size) -> Obj:
    known = (node.get("status") or {}).get("nodeInfo") or {}
    name = node["metadata"]["name"]
    made = {
        "architecture": "amd64",
        "bootID": _identity(name, "boot"),
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.12.0-mockube",
        "kubeProxyVersion": "",
        "kubeletVersion": size.version,
        "machineID": _identity(name, "machine").replace("-", ""),
        "operatingSystem": "linux",
        "osImage": "mockube",
        "systemUUID": _identity(name, "system"),
    }
    return made | {key: value for key, value in known.items() if value and key != "kubeletVersion"}


def _identity(name: str, what: str) -> str:
    """A UUID that is always the same."""
    digits = sha256(f"{what} of {name}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


# -- conditions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Health:
    """A condition of a node: the word for it in PRESSURE, and its reason and message where it holds and where not."""

    word: str
    bad: str
    good: str
    bad_message: str
    good_message: str


HEALTH: Mapping[str, Health] = {
    "MemoryPressure": Health(
        "memory",
        "KubeletHasInsufficientMemory",
        "KubeletHasSufficientMemory",
        "kubelet has insufficient memory available",
        "kubelet has sufficient memory available",
    ),
    "DiskPressure": Health(
        "disk",
        "KubeletHasDiskPressure",
        "KubeletHasNoDiskPressure",
        "kubelet has disk pressure",
        "kubelet has no disk pressure",
    ),
    "PIDPressure": Health(
        "pid",
        "KubeletHasInsufficientPID",
        "KubeletHasSufficientPID",
        "kubelet has insufficient PID available",
        "kubelet has sufficient PID available",
    ),
}
"""The type of a condition → what a kubelet says of it."""
READY = ("KubeletReady", "kubelet is posting ready status")


def _conditions(node: Obj, now: float) -> list[Obj]:
    annotations = annotations_of(node)
    before = (node.get("status") or {}).get("conditions") or ()
    lacking = {word.strip() for word in annotations.get(PRESSURE, "").split(",")}
    made = [_pressure(type_, health, holds=health.word in lacking) for type_, health in HEALTH.items()]
    made.append(_ready(annotations.get(NOT_READY)))
    foreign = [condition for condition in before if condition["type"] not in {*HEALTH, "Ready"}]
    return foreign + [_timed(condition, find(before, condition["type"]), stamp(now)) for condition in made]


def _pressure(type_: str, health: Health, *, holds: bool) -> Obj:
    if holds:
        return {"type": type_, "status": TRUE, "reason": health.bad, "message": health.bad_message}
    return {"type": type_, "status": FALSE, "reason": health.good, "message": health.good_message}


def _ready(why_not: str | None) -> Obj:
    if why_not is None:
        return {"type": "Ready", "status": TRUE, "reason": READY[0], "message": READY[1]}
    return {"type": "Ready", "status": FALSE, "reason": "KubeletNotReady", "message": why_not}


def _timed(condition: Obj, old: Obj | None, time: str) -> Obj:
    same = old is not None and old["status"] == condition["status"]
    since = old.get("lastTransitionTime") if same and old is not None else None
    return condition | {"lastHeartbeatTime": time, "lastTransitionTime": since or time}


# -- when --------------------------------------------------------------------------------------------------------------


def is_report_due(node: Obj, reported: Obj, now: float) -> bool:
    """Whether a status is to be written: it says something new, or the last report is old.

    Args:
        node: as it is.
        reported: what its kubelet would report.
        now: the time.
    """
    status = node.get("status") or {}
    if not report_due_in(node, now):
        return True
    return _without_heartbeats(status) != _without_heartbeats(reported)


def report_due_in(node: Obj, now: float) -> float:
    """Seconds until the status is to be reported again although it did not change."""
    ready = condition_of(node, "Ready") or {}
    reported = ready.get("lastHeartbeatTime")
    return time_left(HEARTBEAT, seconds(reported), now) if reported else 0.0


def _without_heartbeats(status: Obj) -> Obj:
    conditions = [condition | {"lastHeartbeatTime": ""} for condition in status.get("conditions") or ()]
    return status | {"conditions": sorted(conditions, key=lambda condition: str(condition["type"]))}


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
