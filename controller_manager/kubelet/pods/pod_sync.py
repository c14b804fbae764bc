"""One sync of a pod: its fixed inputs, and the events and due times that it collects."""

from dataclasses import dataclass, field
from hashlib import sha256
from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.behaviour import AnnotationOverride, Behaviour, overrides_of
from controller_manager.kubelet.pods.events import KubeletEvent
from controller_manager.reconcile.images import Image
from controller_manager.reconcile.times import format_time, parse_time

INIT, SIDECAR, MAIN, DEBUG = "init", "sidecar", "main", "debug"
"""The roles of containers: init containers, sidecars, the pod's main containers, and ephemeral ones."""
_LISTS = {INIT: "initContainers", SIDECAR: "initContainers", MAIN: "containers", DEBUG: "ephemeralContainers"}


@dataclass(frozen=True, slots=True)
class NodeContext:
    """The node that a pod runs on.

    Attributes:
        node: its name.
        host_ip: the node's address.
        pod_ip: the pod's address, "" if none is free.
    """

    node: str
    host_ip: str
    pod_ip: str


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod.

    Attributes:
        spec: the container in the pod's spec.
        role: INIT, SIDECAR, MAIN or DEBUG.
        policy: the pod's restart policy, which applies if the container has none of its own.
    """

    spec: Obj
    role: str
    behaviour: Behaviour
    image: Image
    policy: str

    @property
    def name(self) -> str:
        """The container's name."""
        return str(self.spec["name"])

    @property
    def field_path(self) -> str:
        """The container's path as in events: "spec.containers{web}"."""
        return f"spec.{_LISTS[self.role]}{{{self.name}}}"


@dataclass(slots=True)
class PodSync:
    """A sync of a pod: the pod, the time, and the results so far.

    Attributes:
        time: now, formatted for a status.
        events: events, in order.
        due: when something is to be done next.
    """

    pod: Obj
    node_context: NodeContext
    now: float
    time: str = ""
    overrides: list[AnnotationOverride] = field(default_factory=list)
    events: list[KubeletEvent] = field(default_factory=list)
    due: float = inf

    def __post_init__(self) -> None:
        self.time = format_time(self.now)
        self.overrides = overrides_of(self.pod)

    def since(self, text: str) -> float:
        """Parse a time from a status. It has whole seconds: what happened in this one is taken to happen now."""
        return self.now if text == self.time else parse_time(text)

    def is_due(self, time: float) -> bool:
        """Return True if a time has come; if not, remember it as due."""
        if self.now >= time:
            return True
        self.due = min(self.due, time)
        return False

    def record(self, *events: KubeletEvent) -> None:
        """Record events."""
        self.events.extend(events)

    def name(self) -> str:
        """Return the pod's name as in the kubelet's messages (format.Pod)."""
        meta = self.pod["metadata"]
        return f"{meta['name']}_{meta['namespace']}({meta['uid']})"

    def container_id(self, name: str, restarts: int) -> str:
        """Return the id of a container's run, which is derived from its arguments."""
        uid = self.pod["metadata"]["uid"]
        return f"containerd://{sha256(f'{uid}/{name}/{restarts}'.encode()).hexdigest()}"
