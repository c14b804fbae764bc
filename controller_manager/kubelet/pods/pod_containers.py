"""The containers of a pod with their statuses, and the pod's status that follows from them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods import events
from controller_manager.kubelet.pods.behaviour import behaviour_of
from controller_manager.kubelet.pods.conditions import PodState, conditions_of
from controller_manager.kubelet.pods.containers import terminated_status
from controller_manager.kubelet.pods.phases import phase_of
from controller_manager.kubelet.pods.pod_sync import DEBUG, INIT, MAIN, SIDECAR, Container, NodeContext, PodSync
from controller_manager.kubelet.pods.starting import CREATING, INITIALIZING, waiting_status
from controller_manager.reconcile.images import image_of

_FIELDS = {
    "initContainerStatuses": (INIT, SIDECAR),
    "containerStatuses": (MAIN,),
    "ephemeralContainerStatuses": (DEBUG,),
}
"""The lists in a pod's status → the roles of the containers in them."""


@dataclass(slots=True)
class PodContainers:
    """The containers of a pod.

    Attributes:
        pod_sync: the sync of the pod.
        containers: in the order in which they start.
        statuses: container name → status; updated during the sync.
    """

    pod_sync: PodSync
    containers: list[Container]
    statuses: dict[str, Obj]

    def status(self, container: Container) -> Obj:
        """Return a container's status."""
        return self.statuses[container.name]

    def of(self, *roles: str) -> Iterator[Container]:
        """Return the containers with some roles."""
        return (container for container in self.containers if container.role in roles)

    def running(self) -> Iterator[Container]:
        """Return the running containers."""
        return (container for container in self.containers if "running" in self.statuses[container.name]["state"])

    def record_stopping(self) -> None:
        """Record that the running containers are asked to stop."""
        self.pod_sync.record(*(events.stopping(container.name, container.field_path) for container in self.running()))

    def end_running(self, code: int) -> None:
        """End the running containers."""
        for container in list(self.running()):
            self.statuses[container.name] = terminated_status(self.pod_sync, self.status(container), code)

    def phase(self, *, ended: bool = False) -> str:
        """Return the pod's phase; with `ended` nothing is restarted, whatever the policy."""
        return phase_of(self.containers, self.statuses, ended=ended)

    def pod_status(self, phase: str) -> Obj:
        """Return the pod's whole status in a phase (kubelet_pods.go generateAPIPodStatus)."""
        pod_sync, pod, node_context = self.pod_sync, self.pod_sync.pod, self.pod_sync.node_context
        old = pod.get("status") or {}
        state = PodState(pod, self.containers, self.statuses, phase)
        new = old | {
            "phase": phase,
            "conditions": conditions_of(state, pod_sync.time),
            "startTime": old.get("startTime") or pod_sync.time,
        }
        new |= _addresses(old, node_context)
        if generation := pod["metadata"].get("generation"):
            new["observedGeneration"] = generation
        for field, roles in _FIELDS.items():
            if statuses := [self.statuses[container.name] for container in self.of(*roles)]:
                new[field] = statuses
        return new


def _addresses(old: Obj, node_context: NodeContext) -> Obj:
    """Return the addresses for a status: the node's, if it has one, and the pod's own, which does not change."""
    addresses: Obj = (
        {"hostIP": node_context.host_ip, "hostIPs": [{"ip": node_context.host_ip}]} if node_context.host_ip else {}
    )
    address = old.get("podIP") or node_context.pod_ip or node_context.host_ip
    if address:
        known = old.get("podIPs") or [{}]
        addresses |= {"podIP": address, "podIPs": known if known[0].get("ip") == address else [{"ip": address}]}
    return addresses


def pod_containers_of(pod_sync: PodSync) -> PodContainers:
    """Return the containers of a pod with their current statuses."""
    spec, status = pod_sync.pod["spec"], pod_sync.pod.get("status") or {}
    known = {c["name"]: c for field in _FIELDS for c in status.get(field) or ()}
    reason = INITIALIZING if spec.get("initContainers") else CREATING
    containers = list(_containers(pod_sync))
    return PodContainers(
        pod_sync, containers, {c.name: _read(pod_sync, waiting_status(c, reason), known) for c in containers}
    )


def _read(pod_sync: PodSync, fresh: Obj, known: Mapping[str, Obj]) -> Obj:
    """Return the current status of a container, completed in case somebody else than a kubelet wrote it.

    Args:
        pod_sync: the sync of the pod.
        fresh: the status of a container that never ran.
        known: the current statuses by name.
    """
    name = fresh["name"]
    status = known.get(name)
    if status is None:
        return fresh
    state, restarts = status.get("state") or fresh["state"], max(status.get("restartCount") or 0, 0)
    if "running" in state:
        state = {"running": {"startedAt": pod_sync.time} | _without_nulls(state["running"])}
    elif "terminated" in state:
        state = {"terminated": _complete_end(pod_sync, state["terminated"])}
    last = status.get("lastState") or {}
    if "terminated" in last:
        last = {"terminated": _complete_end(pod_sync, last["terminated"])}
    is_made = "waiting" not in state and status.get("containerID") is None
    id_field = {"containerID": pod_sync.container_id(name, restarts)} if is_made else {}
    return fresh | id_field | _without_nulls(status) | {"state": state, "lastState": last, "restartCount": restarts}


def _complete_end(pod_sync: PodSync, ended: Obj | None) -> Obj:
    return {"exitCode": 0, "finishedAt": pod_sync.time} | _without_nulls(ended)


def _without_nulls(part: Obj | None) -> Obj:
    return {name: value for name, value in (part or {}).items() if value is not None}


def _containers(pod_sync: PodSync) -> Iterator[Container]:
    spec = pod_sync.pod["spec"]
    for container in spec.get("initContainers") or ():
        yield _container(pod_sync, container, SIDECAR if container.get("restartPolicy") == "Always" else INIT)
    for container in spec["containers"]:
        yield _container(pod_sync, container, MAIN)
    for container in spec.get("ephemeralContainers") or ():
        yield _container(pod_sync, container, DEBUG)


def _container(pod_sync: PodSync, spec: Obj, role: str) -> Container:
    behaviour = behaviour_of(spec, pod=pod_sync.pod, overrides=pod_sync.overrides, is_init=role == INIT)
    return Container(
        spec, role, behaviour, image_of(spec["image"]), pod_sync.pod["spec"].get("restartPolicy") or "Always"
    )
