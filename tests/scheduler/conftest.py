"""A cluster for the scheduler: caches that tests fill, and a server that carries out requests at once."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiserver.api.errors import ApiError
from apiserver.api.patch import merge_patch
from controller_manager.reconcile.contract import (
    Create,
    DelayedKey,
    Delete,
    Enqueue,
    Patch,
    RecordEvent,
    RequeueAfter,
    key_of,
    triggered_keys,
)
from controller_manager.reconcile.kinds import NAMESPACE, NODE, POD
from controller_manager.reconcile.times import format_time
from controller_manager.scheduler.controller import SPEC
from controller_manager.scheduler.feasible_nodes import FeasibleNodes
from controller_manager.scheduler.snapshot import Cluster

HOUR_AGO = "2027-01-15T07:00:00Z"


def a_node(
    name: str, *, cpu: str = "4", memory: str = "8Gi", pods: int = 110, zone: str = "", labels: Any = None, **spec: Any
) -> Any:
    more = {"topology.kubernetes.io/zone": zone} if zone else {}
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods), **spec.pop("extended", {})}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"kubernetes.io/hostname": name} | more | (labels or {}),
        },
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def a_pod(
    name: str = "web",
    *,
    cpu: str = "",
    memory: str = "",
    labels: Any = None,
    node: str = "",
    namespace: str = "default",
    owner: str = "",
    status: Any = None,
    **spec: Any,
) -> Any:
    requests = ({"cpu": cpu} if cpu else {}) | ({"memory": memory} if memory else {}) | spec.pop("extended", {})
    container = {"name": "main", "image": "nginx", "resources": {"requests": requests}} | spec.pop("container", {})
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labels or {}}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}"}
        meta["ownerReferences"] = [reference | {"controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta | {"generation": 1},
        "spec": {"schedulerName": "default-scheduler", "containers": [container]}
        | ({"nodeName": node} if node else {})
        | spec,
        "status": {"phase": "Pending", **(status or {})},
    }


@pytest.fixture
def make_node() -> Callable[..., Any]:
    return a_node


@pytest.fixture
def make_pod() -> Callable[..., Any]:
    return a_pod


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    """make_cluster({"a": {"cpu": "2"}, …}, pods): a Cluster that has seen these nodes and pods."""

    def make(nodes: Any, pods: Any = ()) -> Cluster:
        cluster = Cluster()
        for name, node in nodes.items():
            cluster.node_changed(name, a_node(name, **node))
        for pod in pods:
            cluster.pod_changed(None, pod)
        return cluster

    return make


@pytest.fixture
def board_of() -> Callable[..., FeasibleNodes]:
    """board_of(cluster, pod): the nodes as pods like this one see them."""

    def feasible_nodes(cluster: Cluster, pod: Any, selector: Any = None) -> FeasibleNodes:
        return cluster.feasible_nodes(cluster.info_of(pod), lambda: selector)

    return feasible_nodes


@dataclass
class Stage:
    """The scheduler with its caches.

    Attributes:
        refuse: asked before each request: an ApiError is the answer.
        dies_gracefully: whether pods that are deleted stay a while.
        keys: that triggers, or the scheduler itself, asked to be run.
        done: all actions so far, requests out of their batches.
        error: the last plan's, where it ended with one.
    """

    world: Any
    rehearse: Any
    now: float
    refuse: Callable[[Any], ApiError | None] = lambda _: None
    dies_gracefully: bool = False
    keys: deque[str] = field(default_factory=deque)
    later: list[float] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    error: Exception | None = None

    def __post_init__(self) -> None:
        for watch in SPEC.watches:
            if watch.trigger is not None:
                self.world.get_or_create(watch.kind).add_listener(self._listener(watch.trigger))

    def _listener(self, trigger: Any) -> Any:
        def listen(change: Any) -> None:
            for key in triggered_keys(trigger, self.world, change):
                assert not isinstance(key, DelayedKey)
                if key not in self.keys:
                    self.keys.append(key)

        return listen

    # -- the world

    def put(self, kind: Any, *objects: Any) -> None:
        for obj in objects:
            self.world.get_or_create(kind).put({"apiVersion": kind.api_version, "kind": kind.kind} | obj)

    def remove(self, kind: Any, key: str) -> None:
        self.world.get_or_create(kind).remove(self.world.get_or_create(kind).get(key))

    def pod(self, name: str, namespace: str = "default") -> Any:
        return self.world.get_or_create(POD).get(f"{namespace}/{name}")

    def node_of(self, name: str) -> str:
        return str(self.pod(name)["spec"].get("nodeName") or "")

    def condition(self, name: str) -> Any:
        conditions = self.pod(name)["status"].get("conditions") or ()
        return next((c for c in conditions if c["type"] == "PodScheduled"), None)

    # -- the scheduler

    def run(self, *keys: str, at: float | None = None) -> list[Any]:
        """Run keys until the queue is empty; return the actions."""
        before = len(self.done)
        self.keys.extend(keys)
        while self.keys:
            self._run(self.keys.popleft(), self.now if at is None else at)
        return self.done[before:]

    def _run(self, key: str, now: float) -> None:
        seen = SPEC.observe(self.world, key)
        if seen is None:
            return
        try:
            rehearsal = self.rehearse(SPEC.reconcile(seen, now), self._answer)
            actions = rehearsal.actions
        except ValueError as error:
            self.error, actions = error, []
        for action in actions:
            if isinstance(action, Enqueue):
                self.keys.extend(key for key in action.keys if key not in self.keys)
            elif isinstance(action, RequeueAfter):
                self.later.append(action.seconds)
            elif isinstance(action, RecordEvent):
                self.done.append(action)

    def events(self, name: str = "") -> list[str]:
        emits = [
            a for a in self.done if isinstance(a, RecordEvent) and (not name or a.regarding["metadata"]["name"] == name)
        ]
        return [f"{emit.reason}: {emit.message}" for emit in emits]

    def of(self, verb: type) -> list[Any]:
        return [action for action in self.done if isinstance(action, verb)]

    # -- the server

    def _answer(self, request: Any) -> Any:
        self.done.append(request)
        if (error := self.refuse(request)) is not None:
            return error
        match request:
            case Create(subresource="binding"):
                return self._bind(request)
            case Patch(kind=kind, key=key, body=body):
                obj = self.world.get_or_create(kind).get(key)
                made = merge_patch.apply(obj, _with_conditions(obj, body))
                made["metadata"]["resourceVersion"] = str(int(obj["metadata"].get("resourceVersion") or 0) + 1)
                self.world.get_or_create(kind).put(made)
                return made
            case Delete(key=key):
                return self._delete(key)
        raise AssertionError(request)

    def _bind(self, request: Any) -> Any:
        pod = self.world.get_or_create(POD).get(key_of(request.obj))
        assert not pod["spec"].get("nodeName")
        spec = pod["spec"] | {"nodeName": request.obj["target"]["name"]}
        self.world.get_or_create(POD).put(pod | {"spec": spec})
        return {"kind": "Status", "status": "Success"}

    def _delete(self, key: str) -> Any:
        pod = self.world.get_or_create(POD).get(key)
        if self.dies_gracefully:
            meta = pod["metadata"] | {"deletionTimestamp": format_time(self.now)}
            self.world.get_or_create(POD).put(pod | {"metadata": meta})
        else:
            self.world.get_or_create(POD).remove(pod)
        return pod


def _with_conditions(pod: Any, body: Any) -> Any:
    """Return the merge patch that does the same as a strategic merge patch."""
    new = (body.get("status") or {}).get("conditions")
    if not new:
        return body
    types = {condition["type"] for condition in new}
    kept = [c for c in (pod["status"].get("conditions") or ()) if c["type"] not in types]
    return body | {"status": body["status"] | {"conditions": [*kept, *new]}}


@pytest.fixture
def make_stage(make_world, rehearse, now) -> Callable[..., Stage]:
    """make_stage(nodes, settings=…): the scheduler among these nodes."""

    def make(*nodes: Any, **more: Any) -> Stage:
        stage = Stage(make_world(SPEC, {}, **more), rehearse, now)
        stage.put(NAMESPACE, {"metadata": {"name": "default", "labels": {"kubernetes.io/metadata.name": "default"}}})
        stage.put(NODE, *nodes)
        return stage

    return make
