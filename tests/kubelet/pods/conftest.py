"""Pods and nodes of a simulation, and the life of a pod as its kubelet sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_manager.kubelet.pods.lifecycle import next_step
from controller_manager.kubelet.pods.pod_sync import NodeContext
from controller_manager.kubelet.pods.steps import Step
from controller_manager.reconcile.times import format_time

START = 1_800_000_000.0
PLACE = NodeContext("node-1", "172.18.0.2", "10.244.0.2")


@pytest.fixture
def node_context() -> NodeContext:
    return PLACE


@pytest.fixture
def make_pod() -> Callable[..., Any]:
    """make_pod(image, annotations=…, meta=…, spec=…, **of the container): bound to node-1, and not looked at yet."""

    def make(image="nginx:1.27", *, annotations=None, meta=None, spec=None, **container: Any) -> Any:
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": format_time(START),
        }
        named = {"name": "web", "namespace": "default", "uid": "uid-web", "generation": 1, "resourceVersion": "900"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": named
            | {"creationTimestamp": format_time(START)}
            | ({"annotations": annotations} if annotations else {})
            | (meta or {}),
            "spec": {
                "nodeName": "node-1",
                "restartPolicy": "Always",
                "containers": [{"name": "web", "image": image, "imagePullPolicy": "IfNotPresent"} | container],
            }
            | (spec or {}),
            "status": {"phase": "Pending", "qosClass": "BestEffort", "conditions": [scheduled]},
        }

    return make


@pytest.fixture
def make_node() -> Callable[..., Any]:
    """make_node(name, ready=…, simulated=…, annotations=…, taints=…, heartbeat=…): with a block and an address."""

    def make(name="node-1", *, ready="True", simulated=True, annotations=None, taints=None, heartbeat=START):
        time = format_time(heartbeat)
        condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": time, "lastTransitionTime": time}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "resourceVersion": "800",
                "creationTimestamp": format_time(START),
                "labels": {"mockube.io/simulated": "true"} if simulated else {},
                "annotations": annotations or {},
            },
            "spec": {"podCIDR": "10.244.0.0/24"} | ({"taints": taints} if taints else {}),
            "status": {
                "addresses": [{"type": "InternalIP", "address": "172.18.0.2"}],
                "conditions": [condition] if ready else [],
            },
        }

    return make


@dataclass
class Life:
    """A pod that is looked at whenever something is due.

    Attributes:
        steps: (seconds since the beginning, what was done), of the looks that did something.
    """

    pod: Any
    now: float = START + 0.25
    steps: list[tuple[float, Step]] = field(default_factory=list)

    def look(self, at: float | None = None) -> Step:
        """Look at the pod, now or so many seconds after the beginning."""
        self.now = self.now if at is None else START + at
        step = next_step(self.pod, PLACE, self.now)
        if step.status is not None:
            self.pod = self.pod | {"status": step.status}
        if step.status is not None or step.events or step.delete:
            self.steps.append((self.now - START, step))
        return step

    def until(self, seconds: float) -> "Life":
        """Let time pass; the kubelet looks when it asked to, and a last time at the end."""
        step = self.look()
        while step.wait is not None and self.now + step.wait - START <= seconds:
            self.now += step.wait
            step = self.look()
        if self.now < START + seconds:
            self.look(seconds)
        return self

    @property
    def status(self) -> Any:
        return self.pod["status"]

    @property
    def phase(self) -> str:
        return str(self.status["phase"])

    def container(self, name: str = "web") -> Any:
        fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        return next(each for field in fields for each in self.status.get(field, ()) if each["name"] == name)

    def shown(self, name: str = "web") -> str:
        """Return the state of a container as kubectl shows it: "Running", or a reason."""
        state = self.container(name)["state"]
        return "Running" if "running" in state else next(iter(state.values()))["reason"]

    def condition(self, type_: str) -> Any:
        return next((each for each in self.status["conditions"] if each["type"] == type_), None)

    def is_ready(self) -> bool:
        return bool(self.condition("Ready")["status"] == "True")

    @property
    def event_texts(self) -> list[str]:
        return [f"{event.reason}: {event.message}" for _, step in self.steps for event in step.events]

    def event_times(self, reason: str) -> list[int]:
        """Return the seconds, since the beginning, at which events with that reason came."""
        return [int(at) for at, step in self.steps for event in step.events if event.reason == reason]


@pytest.fixture
def live(make_pod) -> Callable[..., Life]:
    """live(image, …): the life of such a pod, before its kubelet saw it."""
    return lambda *args, **more: Life(make_pod(*args, **more))
