"""The containers of a pod together with their statuses, and the pod's status that follows from these."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods import events
from controller_manager.kubelet.pods.behaviour import behaviour_of
from controller_manager.kubelet.pods.conditions import State, conditions_of
from controller_manager.kubelet.pods.containers import terminated
from controller_manager.kubelet.pods.phases import phase_of
from controller_manager.kubelet.pods.pod_sync import DEBUG, INIT, MAIN, SIDECAR, Container, NodeContext, PodSync
from controller_manager.kubelet.pods.starting import CREATING, INITIALIZING, waiting
from controller_manager.reconcile.images import image_of

_FIELDS = {
    "initContainerStatuses": (INIT, SIDECAR),
    "containerStatuses": (MAIN,),
    "ephemeralContainerStatuses": (DEBUG,),
}
"""The lists of a pod's status → the roles of the containers in them."""


@dataclass(slots=True)
class Crew:
    """The containers of a pod.

    Attributes:
        look: at the pod.
        containers: in the order in which they start.
        statuses: theirs, by name; they are replaced as the look goes on.
    """

    look: PodSync
    containers: list[Container]
    statuses: dict[str, Obj]

    def status(self, container: Container) -> Obj:
        """A container's status."""
        return self.statuses[container.name]

    def of(self, *roles: str) -> Iterator[Container]:
        """The containers of some roles."""
        return (container for container in self.containers if container.role in roles)

    def running(self) -> Iterator[Container]:
        """Those that run."""
        return (each for each in self.containers if "running" in self.statuses[each.name]["state"])

    def tell_stopping(self) -> None:
        """Tell that those that run are asked to stop."""
        self.look.tell(*(events.stopping(each.name, each.where) for each in self.running()))

    def end(self, code: int) -> None:
        """End those that run."""
        for container in list(self.running()):
            self.statuses[container.name] = terminated(self.look, self.status(container), code)

    def phase(self, *, ended: bool = False) -> str:
        """The pod's phase; `ended` where nothing is started again, whatever the policy."""
        return phase_of(self.containers, self.statuses, ended=ended)

    def pod_status(self, phase: str) -> Obj:
        """The pod's whole status, in a phase (kubelet_pods.go generateAPIPodStatus)."""
        look, pod, place = self.look, self.look.pod, self.look.place
        old = pod.get("status") or {}
        state = State(pod, self.containers, self.statuses, phase)
        new = old | {
            "phase": phase,
            "conditions": conditions_of(state, look.time),
            "startTime": old.get("startTime") or look.time,
        }
        new |= _addresses(old, place)
        if generation := pod["metadata"].get("generation"):
            new["observedGeneration"] = generation
        for field, roles in _FIELDS.items():
            if found := [self.statuses[each.name] for each in self.of(*roles)]:
                new[field] = found
        return new


def _addresses(old: Obj, place: NodeContext) -> Obj:
    """The addresses in a status: the node's, if it has one, and the pod's own, which it keeps."""
    found: Obj = {"hostIP": place.host_ip, "hostIPs": [{"ip": place.host_ip}]} if place.host_ip else {}
    address = old.get("podIP") or place.pod_ip or place.host_ip
    if address:
        known = old.get("podIPs") or [{}]
        found |= {"podIP": address, "podIPs": known if known[0].get("ip") == address else [{"ip": address}]}
    return found


def crew_of(look: PodSync) -> Crew:
    """The containers of a pod with their statuses as they are."""
    spec, status = look.pod["spec"], look.pod.get("status") or {}
    known = {each["name"]: each for field in _FIELDS for each in status.get(field) or ()}
    reason = INITIALIZING if spec.get("initContainers") else CREATING
    containers = list(_containers(look))
    return Crew(look, containers, {each.name: _read(look, waiting(each, reason), known) for each in containers})


def _read(look: PodSync, fresh: Obj, known: Mapping[str, Obj]) -> Obj:
    """The status of a container as it is, whole even where somebody else than a kubelet wrote it.

    Args:
        look: at the pod.
        fresh: the status, if there were none.
        known: all that there are, by name.
    """
    name = fresh["name"]
    status = known.get(name)
    if status is None:
        return fresh
    state, restarts = status.get("state") or fresh["state"], max(status.get("restartCount") or 0, 0)
    if "running" in state:
        state = {"running": {"startedAt": look.time} | _told(state["running"])}
    elif "terminated" in state:
        state = {"terminated": _ended(look, state["terminated"])}
    last = status.get("lastState") or {}
    if "terminated" in last:
        last = {"terminated": _ended(look, last["terminated"])}
    is_made = "waiting" not in state and status.get("containerID") is None
    made = {"containerID": look.container_id(name, restarts)} if is_made else {}
    return fresh | made | _told(status) | {"state": state, "lastState": last, "restartCount": restarts}


def _ended(look: PodSync, ended: Obj | None) -> Obj:
    return {"exitCode": 0, "finishedAt": look.time} | _told(ended)


def _told(part: Obj | None) -> Obj:
    return {name: value for name, value in (part or {}).items() if value is not None}


def _containers(look: PodSync) -> Iterator[Container]:
    spec = look.pod["spec"]
    for each in spec.get("initContainers") or ():
        yield _container(look, each, SIDECAR if each.get("restartPolicy") == "Always" else INIT)
    for each in spec["containers"]:
        yield _container(look, each, MAIN)
    for each in spec.get("ephemeralContainers") or ():
        yield _container(look, each, DEBUG)


def _container(look: PodSync, spec: Obj, role: str) -> Container:
    behaviour = behaviour_of(spec, pod=look.pod, asked=look.asked, is_init=role == INIT)
    return Container(spec, role, behaviour, image_of(spec["image"]), look.pod["spec"].get("restartPolicy") or "Always")
