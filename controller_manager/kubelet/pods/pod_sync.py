"""One look at a pod: what does not change meanwhile, and what is gathered on the way."""

from dataclasses import dataclass, field
from hashlib import sha256
from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.behaviour import AnnotationOverride, Behaviour, wishes
from controller_manager.kubelet.pods.events import KubeletEvent
from controller_manager.reconcile.images import Image
from controller_manager.reconcile.times import seconds, stamp

INIT, SIDECAR, MAIN, DEBUG = "init", "sidecar", "main", "debug"
"""The roles of containers: ends before the next begins, starts before the next and stays, the pod's own, ephemeral."""
_LISTS = {INIT: "initContainers", SIDECAR: "initContainers", MAIN: "containers", DEBUG: "ephemeralContainers"}


@dataclass(frozen=True, slots=True)
class NodeContext:
    """Where a pod runs.

    Attributes:
        node: its name.
        host_ip: the node's address.
        pod_ip: the pod's, "" where none is free.
    """

    node: str
    host_ip: str
    pod_ip: str


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod.

    Attributes:
        spec: as the pod has it.
        role: INIT, SIDECAR, MAIN or DEBUG.
        policy: the restart policy that it is under, where it has none of its own.
    """

    spec: Obj
    role: str
    behaviour: Behaviour
    image: Image
    policy: str

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.spec["name"])

    @property
    def where(self) -> str:
        """As events name it: "spec.containers{web}"."""
        return f"spec.{_LISTS[self.role]}{{{self.name}}}"


@dataclass(slots=True)
class PodSync:
    """A pod, the time, and what comes of looking at it.

    Attributes:
        time: now, as a status has it.
        told: events, in order.
        due: when something is to be done next.
    """

    pod: Obj
    place: NodeContext
    now: float
    time: str = ""
    asked: list[AnnotationOverride] = field(default_factory=list)
    told: list[KubeletEvent] = field(default_factory=list)
    due: float = inf

    def __post_init__(self) -> None:
        self.time = stamp(self.now)
        self.asked = wishes(self.pod)

    def since(self, text: str) -> float:
        """The time that a status tells. It has whole seconds: what happened in this one is taken to happen now."""
        return self.now if text == self.time else seconds(text)

    def is_due(self, time: float) -> bool:
        """Whether a time has come; if not, it will be looked for."""
        if self.now >= time:
            return True
        self.due = min(self.due, time)
        return False

    def tell(self, *events: KubeletEvent) -> None:
        """Record events."""
        self.told.extend(events)

    def name(self) -> str:
        """The pod as the kubelet's messages name it (format.Pod)."""
        meta = self.pod["metadata"]
        return f"{meta['name']}_{meta['namespace']}({meta['uid']})"

    def container_id(self, name: str, restarts: int) -> str:
        """The id of a container's run, the same whoever works it out."""
        uid = self.pod["metadata"]["uid"]
        return f"containerd://{sha256(f'{uid}/{name}/{restarts}'.encode()).hexdigest()}"
