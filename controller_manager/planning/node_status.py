"""The status of simulated nodes: what their kubelets report, and when (pkg/kubelet/nodestatus/setters.go)."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from apiserver.api import quantity
from apiserver.api.meta import Obj, annotations_of
from controller_manager.planning.conditions import FALSE, TRUE, condition_of, find
from controller_manager.planning.times import seconds, stamp, time_left

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
