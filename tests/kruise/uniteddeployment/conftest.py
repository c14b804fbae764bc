"""A cluster in memory for UnitedDeployments: a store, workloads whose pods tests bring to life, one controller."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from lagging_cluster import answers_to

from apiserver.api.errors import ApiError, already_exists, conflict, not_found
from apiserver.api.patch.merge_patch import apply as merged
from controller_manager.kruise.uniteddeployment.controller import SPEC
from controller_manager.kruise.uniteddeployment.sync_subsets import KINDS
from controller_manager.reconcile.contract import (
    Batch,
    Create,
    Delete,
    Patch,
    RecordEvent,
    RequeueAfter,
    Update,
    key_of,
)
from controller_manager.reconcile.kinds import (
    ADVANCED_STATEFUL_SET,
    CLONE_SET,
    CONTROLLER_REVISION,
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    UNITED_DEPLOYMENT,
)
from controller_manager.reconcile.pods import is_active
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0
TEMPLATES = {
    STATEFUL_SET: "statefulSetTemplate",
    ADVANCED_STATEFUL_SET: "advancedStatefulSetTemplate",
    CLONE_SET: "cloneSetTemplate",
    DEPLOYMENT: "deploymentTemplate",
}
REVISION = "apps.kruise.io/controller-revision-hash"
SUBSET = "apps.kruise.io/subset-name"
RESERVED = "apps.kruise.io/united-deployment-reserved-pod"


def template(image: str = "web:1", **spec: Any) -> Any:
    pods = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"template": pods} | spec}


@dataclass
class RunResult:
    """The requests and events of one run of the controller."""

    requests: list[Any] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    error: ApiError | None = None

    def of(self, verb: type[Any], kind: Any = None) -> list[Any]:
        requests = [request for request in self.requests if isinstance(request, verb)]
        return [request for request in requests if kind in (None, request.kind)]

    def keys(self, verb: type, kind: Any) -> list[str]:
        return [r.key if isinstance(r, Delete | Patch) else key_of(r.obj) for r in self.of(verb, kind)]

    @property
    def quiet(self) -> bool:
        return not self.requests and not self.events and self.error is None


class Lab:
    """The server's truth, which caches know at once, and the UnitedDeployment controller.

    Attributes:
        refuse: asked before each request: an ApiError is the answer.
    """

    kind = UNITED_DEPLOYMENT

    def __init__(self, make_world) -> None:
        self._make_world = make_world
        self.now = NOW
        self.refuse: Callable[[Any], ApiError | None] = lambda _: None
        self.objects: dict[Any, dict[str, Any]] = {
            kind: {} for kind in (*KINDS.values(), UNITED_DEPLOYMENT, POD, REPLICA_SET, CONTROLLER_REVISION)
        }
        self._count = 0

    # -- the server

    def store(self, kind, obj):
        self._count += 1
        obj = {"apiVersion": kind.api_version, "kind": kind.kind} | copy.deepcopy(obj)
        meta = obj["metadata"] = {"namespace": "ns"} | obj["metadata"]
        if "name" not in meta:
            meta["name"] = f"{meta['generateName']}{self._count:05d}"
        if "uid" not in meta:
            meta |= {"uid": f"uid-{self._count}", "creationTimestamp": format_time(self.now), "generation": 1}
        meta["resourceVersion"] = str(self._count)
        self.objects[kind][key_of(obj)] = obj
        return copy.deepcopy(obj)

    def perform(self, request):
        refused = self.refuse(request)
        return refused if refused is not None else self._perform(request)

    def _create(self, kind, obj):
        name = obj["metadata"].get("name")
        if name and key_of(obj) in self.objects[kind]:
            return already_exists(kind.group, kind.plural, name)
        return self.store(kind, obj)

    def _perform(self, request):
        kind, stored = request.kind, self.objects[request.kind]
        if isinstance(request, Create):
            return self._create(kind, request.obj)
        key = key_of(request.obj) if isinstance(request, Update) else request.key
        if key not in stored:
            return not_found(kind.group, kind.plural, key.partition("/")[2])
        cluster = stored[key]
        match request:
            case Update():
                return self._update(request, cluster)
            case Patch(body=body):
                return self.store(kind, merged(cluster, {"metadata": dict(body["metadata"])}))
            case Delete(uid=uid):
                assert not uid or uid == cluster["metadata"]["uid"]
                del stored[key]
                return {}
            case _:
                return copy.deepcopy(cluster)

    def _update(self, request, current):
        kind, obj = request.kind, request.obj
        if obj["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"]:
            return conflict(kind.group, kind.plural, name=obj["metadata"]["name"], why="stale")
        whole = obj | {"status": current.get("status", {})}
        changed = current | {"status": obj["status"]} if request.subresource else whole
        return current if changed == current else self.store(kind, changed)

    # -- the controller

    def world(self):
        return self._make_world(SPEC, {kind: objects.values() for kind, objects in self.objects.items()})

    def run(self, name: str = "web") -> RunResult:
        world, ran = self.world(), RunResult()
        seen = SPEC.observe(world, f"ns/{name}")
        if seen is None:
            return ran
        plan, reply = SPEC.reconcile(seen, self.now), None
        try:
            while True:
                action = plan.throw(reply) if isinstance(reply, ApiError) else plan.send(reply)
                ran.actions.append(action)
                reply = self._do(action, ran)
        except StopIteration:
            pass
        except ApiError as error:
            ran.error = error
        return ran

    def _do(self, action, ran):
        match action:
            case RecordEvent(reason=reason, message=message):
                ran.events.append(f"{reason}: {message}")
            case RequeueAfter(seconds=wait):
                ran.later.append(wait)
            case Batch():
                return answers_to(action, partial(self._ask, ran))
            case Create() | Update() | Patch() | Delete():
                return self._ask(ran, action)
            case _:
                return self.perform(action) if hasattr(action, "kind") else None
        return None

    def _ask(self, ran, request):
        ran.requests.append(request)
        return self.perform(request)

    # -- what tests see and do

    def revisions(self):
        """The revisions, oldest first."""
        return sorted(self.objects[CONTROLLER_REVISION].values(), key=lambda revision: revision["revision"])

    @property
    def united(self):
        return self.objects[UNITED_DEPLOYMENT]["ns/web"]

    @property
    def status(self):
        return self.united["status"]

    def change(self, **spec):
        """Change the spec."""
        united = self.united
        meta = united["metadata"] | {"generation": united["metadata"]["generation"] + 1}
        self.store(UNITED_DEPLOYMENT, united | {"metadata": meta, "spec": united["spec"] | spec})

    def workloads(self, kind=None):
        """Subset → its workload."""
        kinds = KINDS.values() if kind is None else (kind,)
        return {obj["metadata"]["labels"][SUBSET]: obj for each in kinds for obj in self.objects[each].values()}

    def sizes(self):
        return {name: workload["spec"]["replicas"] for name, workload in sorted(self.workloads().items())}

    def pods(self, subset=""):
        """The active pods of a subset, or all."""
        pods = [pod for pod in self.objects[POD].values() if is_active(pod)]
        return [pod for pod in pods if not subset or pod["metadata"]["labels"][SUBSET] == subset]

    def amend(self, kind, key, **parts):
        """Change an object."""
        return self.store(kind, self.objects[kind][key] | parts)

    def play(self, *, ready: Callable[[Any], bool] = lambda _: True, room: dict[str, int] | None = None) -> None:
        """Let all workloads come to rest, with the desired number of pods, and as many old ones as the partition says.

        Args:
            ready: which pods are ready, if they have a node.
            room: subset → how many of its pods find a node; the others wait for one.
        """
        for kind in KINDS.values():
            for key, obj in list(self.objects[kind].items()):
                self._play(kind, key, obj, ready=ready, room=room or {})
        for key, pod in list(self.objects[POD].items()):
            owner = pod["metadata"]["ownerReferences"][0]["uid"]
            if all(owner != obj["metadata"]["uid"] for each in KINDS.values() for obj in self.objects[each].values()):
                del self.objects[POD][key]

    def _play(self, kind, key, obj, *, ready, room):
        spec, meta = obj["spec"], obj["metadata"]
        subset, revision = meta["labels"][SUBSET], spec["template"]["metadata"]["labels"][REVISION]
        rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        own_pods = [pod for pod in self.pods(subset) if pod["metadata"]["ownerReferences"][0]["uid"] == meta["uid"]]
        own_pods.sort(key=lambda pod: (not pod["spec"].get("nodeName"), pod["metadata"]["name"]))
        for pod in own_pods[spec["replicas"] :]:
            del self.objects[POD][key_of(pod)]
        own_pods = own_pods[: spec["replicas"]]
        old = [pod for pod in own_pods if pod["metadata"]["labels"][REVISION] != revision]
        for pod in old[rolling.get("partition", 0) :]:
            del self.objects[POD][key_of(pod)]
            own_pods.remove(pod)
        taken = {pod["metadata"]["name"] for pod in own_pods}
        free = (f"{meta['name']}-{n}" for n in range(1000) if f"{meta['name']}-{n}" not in taken)
        labels = spec["template"]["metadata"]["labels"]
        while len(own_pods) < spec["replicas"]:
            reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": meta["name"], "uid": meta["uid"]}
            made = {"name": next(free), "labels": labels, "ownerReferences": [reference | {"controller": True}]}
            own_pods.append(self.store(POD, {"metadata": made, "spec": {}, "status": {"phase": "Pending"}}))
        placed = [pod for pod in own_pods if pod["spec"].get("nodeName")]
        for pod in own_pods:
            if not pod["spec"].get("nodeName") and len(placed) < room.get(subset, 1000):
                placed.append(pod)
            self._live(pod, placed=pod in placed, ready=ready(pod))
        counted = [self.objects[POD][key_of(pod)] for pod in own_pods]
        status = {"replicas": len(own_pods), "readyReplicas": sum(map(self.is_ready, counted))}
        status |= {"observedGeneration": meta["generation"]}
        if obj.get("status") != status:
            self.amend(kind, key, status=status)

    def _live(self, pod, *, placed, ready):
        """Give a pod a node or let it wait for one, and make it ready or not."""
        conditions = (pod.get("status") or {}).get("conditions")
        scheduled = {"type": "PodScheduled", "status": "True" if placed else "False"}
        if not placed:
            scheduled["reason"] = "Unschedulable"
        since = format_time(self.now)
        if conditions and conditions[-1]["status"] == str(placed and ready):
            since = conditions[-1]["lastTransitionTime"]
        condition = {"type": "Ready", "status": str(placed and ready), "lastTransitionTime": since}
        status = {"phase": "Running" if placed else "Pending", "conditions": [scheduled, condition]}
        if pod.get("status") != status:
            self.store(POD, pod | {"spec": {"nodeName": "n1"} if placed else {}, "status": status})

    @staticmethod
    def is_ready(pod) -> bool:
        return bool(pod["status"]["conditions"][-1]["status"] == "True")

    def settle(self, **how: Any) -> list[RunResult]:
        """Let controller and workloads take turns until nothing happens any more."""
        runs = []
        for _ in range(30):
            runs.append(self.run())
            self.play(**how)
            if runs[-1].quiet and self.run().quiet:
                return runs
        raise AssertionError(f"it never comes to rest: {runs[-1].requests} {runs[-1].events} {runs[-1].error}")

    def condition(self, type_: str) -> str:
        """Return "STATUS/REASON: MESSAGE" of a condition of the UnitedDeployment, or ""."""
        return condition_text(self.status.get("conditions", ()), type_)

    def entry(self, subset: str) -> Any:
        """Return the entry of a subset in the status, or None."""
        return next((status for status in self.status["subsetStatuses"] if status["name"] == subset), None)

    def schedulable(self, subset: str) -> str:
        """Return "STATUS/REASON: MESSAGE" of a subset's condition, or ""."""
        return condition_text(self.entry(subset).get("conditions", ()), "Schedulable")


def condition_text(conditions, type_: str) -> str:
    for condition in conditions:
        if condition["type"] == type_:
            return f"{condition['status']}/{condition.get('reason', '')}: {condition.get('message', '')}"
    return ""


@pytest.fixture
def make_lab(make_world) -> Callable[[], Lab]:
    return lambda: Lab(make_world)


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    return make_lab()


@pytest.fixture(name="template")
def _template() -> Callable[..., Any]:
    """template(image, **of the workload's spec): a template of a workload."""
    return template


def topology(*subsets: Any, **strategy: Any) -> Any:
    made = [{"name": each} if isinstance(each, str) else each for each in subsets]
    return {"subsets": made} | ({"scheduleStrategy": strategy} if strategy else {})


@pytest.fixture(name="topology")
def _topology() -> Callable[..., Any]:
    """topology(subset, …, **strategy): what spec.topology says, a subset by its name or in full."""
    return topology


@pytest.fixture
def united(lab):
    """united(subset, …, replicas=…, kind=…, **of the spec): a UnitedDeployment "web" in the lab."""

    def make(*subsets: Any, replicas: int | None = 6, kind: Any = STATEFUL_SET, strategy: Any = None, **spec: Any):
        made = {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {TEMPLATES[kind]: template()},
            "topology": topology(*(subsets or ("a", "b", "c")), **(strategy or {})),
            "updateStrategy": {"type": "Manual", "manualUpdate": {}},
            "revisionHistoryLimit": 10,
        }
        made |= {} if replicas is None else {"replicas": replicas}
        return lab.store(UNITED_DEPLOYMENT, {"metadata": {"name": "web"}, "spec": made | spec})

    return make


@pytest.fixture
def settled(united, lab):
    """settled(subset, …): the same, once its pods run."""

    def make(*subsets: Any, **more: Any):
        united(*subsets, **more)
        lab.settle()
        return lab

    return make
