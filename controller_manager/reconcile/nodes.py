"""Simulated nodes: their registration, their leases, and the status that their kubelets report.

(pkg/kubelet/nodestatus/setters.go, pkg/kubelet/kubelet_node_status.go)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from zlib import crc32

from apiserver.api import quantity
from apiserver.api.meta import Obj, annotations_of, labels_of
from apiserver.api.nodes import HOSTNAME, REGION, ZONE
from controller_manager.reconcile.conditions import FALSE, TRUE, UNKNOWN, condition_of, find_condition
from controller_manager.reconcile.times import format_micro_time, format_time, parse_time, time_left

NOT_READY_ANNOTATION = "mockube.io/not-ready"
"""The annotation that makes a node not ready; its value is the condition's message."""
PRESSURE_ANNOTATION = "mockube.io/pressure"
"""The annotation of a node under pressure: "memory", "disk", "pid", or several separated by commas."""
STATUS_REPORT_SECONDS = 300.0
"""Seconds between two reports of an unchanged status (nodeStatusReportFrequency)."""
KUBELET_PORT = 10250


@dataclass(frozen=True, slots=True)
class NodeCapacity:
    """The capacity of simulated nodes."""

    cpu: str
    memory: str
    pods: int
    version: str


def kubelet_status(node: Obj, size: NodeCapacity, now: float, *, address: str) -> Obj:
    """Return the status as the node's kubelet reports it: values set by users are kept, missing ones filled in.

    Args:
        node: the node as it is.
        size: the capacity if the node has none.
        now: the time.
        address: the address if the node has none.
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


def _capacity(size: NodeCapacity) -> dict[str, str]:
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


def _info(node: Obj, size: NodeCapacity) -> Obj:
    reported = (node.get("status") or {}).get("nodeInfo") or {}
    name = node["metadata"]["name"]
    defaults = {
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
    return defaults | {key: value for key, value in reported.items() if value and key != "kubeletVersion"}


def _identity(name: str, purpose: str) -> str:
    """Return a UUID that is always the same for a node and a purpose."""
    digits = sha256(f"{purpose} of {name}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


# -- conditions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PressureCondition:
    """A pressure condition of a node: its word in the annotation, and the reasons and messages of True and False."""

    word: str
    bad: str
    good: str
    bad_message: str
    good_message: str


PRESSURE_CONDITIONS: Mapping[str, PressureCondition] = {
    "MemoryPressure": PressureCondition(
        "memory",
        "KubeletHasInsufficientMemory",
        "KubeletHasSufficientMemory",
        "kubelet has insufficient memory available",
        "kubelet has sufficient memory available",
    ),
    "DiskPressure": PressureCondition(
        "disk",
        "KubeletHasDiskPressure",
        "KubeletHasNoDiskPressure",
        "kubelet has disk pressure",
        "kubelet has no disk pressure",
    ),
    "PIDPressure": PressureCondition(
        "pid",
        "KubeletHasInsufficientPID",
        "KubeletHasSufficientPID",
        "kubelet has insufficient PID available",
        "kubelet has sufficient PID available",
    ),
}
"""Condition type → the reasons and messages of a kubelet."""
READY = ("KubeletReady", "kubelet is posting ready status")


def _conditions(node: Obj, now: float) -> list[Obj]:
    annotations = annotations_of(node)
    before = (node.get("status") or {}).get("conditions") or ()
    pressures = {word.strip() for word in annotations.get(PRESSURE_ANNOTATION, "").split(",")}
    conditions = [
        _pressure(type_, health, holds=health.word in pressures) for type_, health in PRESSURE_CONDITIONS.items()
    ]
    conditions.append(_ready(annotations.get(NOT_READY_ANNOTATION)))
    foreign = [condition for condition in before if condition["type"] not in {*PRESSURE_CONDITIONS, "Ready"}]
    return foreign + [
        _timed(condition, find_condition(before, condition["type"]), format_time(now)) for condition in conditions
    ]


def _pressure(type_: str, health: PressureCondition, *, holds: bool) -> Obj:
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


# -- reporting ---------------------------------------------------------------------------------------------------------


def is_report_due(node: Obj, reported: Obj, now: float) -> bool:
    """Return whether a status should be written, because it has changed or the last report is old.

    Args:
        node: the node as it is.
        reported: the status that its kubelet would report.
        now: the time.
    """
    status = node.get("status") or {}
    if not report_due_in(node, now):
        return True
    return _without_heartbeats(status) != _without_heartbeats(reported)


def report_due_in(node: Obj, now: float) -> float:
    """Return the seconds until the status should be reported again even if it does not change."""
    ready = condition_of(node, "Ready") or {}
    reported = ready.get("lastHeartbeatTime")
    return time_left(STATUS_REPORT_SECONDS, parse_time(reported), now) if reported else 0.0


def _without_heartbeats(status: Obj) -> Obj:
    conditions = [condition | {"lastHeartbeatTime": ""} for condition in status.get("conditions") or ()]
    return status | {"conditions": sorted(conditions, key=lambda condition: str(condition["type"]))}


SIMULATED_LABEL = "mockube.io/simulated"
"""The label, "true", of nodes whose kubelet is simulated; users may set it on nodes that they create."""
LOST_ANNOTATION = "mockube.io/lost"
"""The annotation, "true", of a node whose kubelet is silent and does nothing."""
REGION_NAME, ZONE_NAMES = "local", ("local-a", "local-b", "local-c")
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
"""nodeLeaseDurationSeconds."""


def name_of_node(number: int) -> str:
    """Return the name of the simulated node of a number, from 1."""
    return f"node-{number}"


def is_simulated(node: Obj) -> bool:
    """Return whether the node's kubelet is simulated."""
    return labels_of(node).get(SIMULATED_LABEL) == "true"


def is_lost(node: Obj) -> bool:
    """Return whether a user has made the node's kubelet silent."""
    return annotations_of(node).get(LOST_ANNOTATION) == "true"


def is_alive(node: Obj) -> bool:
    """Return whether the node's pods are simulated: its kubelet is simulated, not silent, and not marked unknown."""
    return is_simulated(node) and not is_lost(node) and ready_status(node) != UNKNOWN


def ready_status(node: Obj) -> str:
    """Return the status of the node's Ready condition, or "" if it has none."""
    ready = condition_of(node, "Ready")
    return str(ready["status"]) if ready else ""


def address_of(node: Obj) -> str:
    """Return the node's InternalIP, or "" if none is valid (k8s.io/component-helpers/node/util GetNodeHostIPs)."""
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


# -- new nodes ---------------------------------------------------------------------------------------------------------


def new_node(number: int, size: NodeCapacity, *, block: str, now: float, address: str) -> Obj:
    """Return a simulated node as it registers.

    Args:
        number: the node's number, from 1.
        size: its capacity.
        block: the range of its pods' addresses, "" for none.
        now: the time.
        address: the node's own address.
    """
    name = name_of_node(number)
    node = {
        "metadata": {
            "name": name,
            "labels": _labels(name, ZONE_NAMES[(number - 1) % len(ZONE_NAMES)]),
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
        REGION: REGION_NAME,
        ZONE: zone,
        SIMULATED_LABEL: "true",
    }


# -- leases ------------------------------------------------------------------------------------------------------------


def renewal_period(name: str, nodes: int, *, grace: float) -> float:
    """Return the seconds between two renewals of a node's lease: upstream's ten, or more if there are many nodes.

    A lease is renewed at least twice within the grace period. Periods differ a little, so that not all nodes renew at
    once.

    Args:
        name: the node's name.
        nodes: the number of nodes.
        grace: seconds that a node may be silent.
    """
    return min(max(10.0, nodes / 10), grace / 2) * (1 - crc32(name.encode()) % 100 / 500)


def new_lease(node: Obj, now: float) -> Obj:
    """Return the lease of a node."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {"name": meta["name"], "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": meta["name"],
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format_micro_time(now),
        },
    }


def renewed_at(lease: Obj | None) -> float:
    """Return the time of a lease's last renewal, or 0 if it was never renewed."""
    text = ((lease or {}).get("spec") or {}).get("renewTime")
    return parse_time(text) if text else 0.0
