"""A cluster in memory: a server's store, caches that lag behind, nodes with real kubelets, the CloneSet controller."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiserver.api.errors import ApiError, already_exists, conflict, not_found
from controller_manager.controllers.cloneset import SPEC
from controller_manager.planning.pods import is_active, is_available
from controller_manager.planning.stages.look import Place
from controller_manager.planning.stages.pods import advance
from controller_manager.planning.times import stamp
from controller_manager.runtime.contract import Batch, Create, Delete, Emit, Get, Later, Patch, Update, key_of
from controller_manager.runtime.kinds import CLAIM, CLONE_SET, CONTROLLER_REVISION, NODE, POD
from controller_manager.runtime.meters import Measure

KINDS = (CLONE_SET, POD, CLAIM, CONTROLLER_REVISION, NODE)
KEY = "ns/web"


@dataclass
class Ran:
    """What one run of the controller did."""

    requests: list[Any] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    error: ApiError | None = None

    def names(self, verb: type, kind: Any = POD) -> list[str]:
        found = [request for request in self.requests if isinstance(request, verb) and request.kind == kind]
        return [(r.key if isinstance(r, Delete | Patch) else key_of(r.obj)).partition("/")[2] for r in found]

    @property
    def made(self) -> list[str]:
        return self.names(Create)

    @property
    def deleted(self) -> list[str]:
        return self.names(Delete)

    @property
    def quiet(self) -> bool:
        return not self.requests and not self.events and self.error is None


class Server:
    """What the API server does with objects of a few kinds, as far as controllers and kubelets can tell."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.objects: dict[Any, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.log: dict[Any, list[Any]] = {kind: [] for kind in KINDS}
        self.refuse: Callable[[Any], ApiError | None] = lambda _: None
        self._revision = 100
        self._uids = 0

    def store(self, kind, obj):
        self._revision += 1
        obj = {"apiVersion": kind.api_version, "kind": kind.kind} | copy.deepcopy(obj)
        meta = obj["metadata"] = {"namespace": "ns"} | obj["metadata"]
        meta["resourceVersion"] = str(self._revision)
        if "uid" not in meta:
            self._uids += 1
            meta |= {"uid": f"uid-{self._uids}", "creationTimestamp": stamp(self.now), "generation": 1}
        self.objects[kind][key_of(obj)] = obj
        self.log[kind].append((obj, True))
        return copy.deepcopy(obj)

    def drop(self, kind, key):
        obj = self.objects[kind].pop(key)
        self._revision += 1
        gone = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self._revision)}}
        self.log[kind].append((gone, False))
        if kind is POD:
            self.collect()

    def collect(self):
        """Do what the garbage collector would do, and what keeps claims as long as they are used."""
        pods = {pod["metadata"]["uid"] for pod in self.objects[POD].values()}
        for key, claim in list(self.objects[CLAIM].items()):
            owners = [owner for owner in claim["metadata"].get("ownerReferences", ()) if owner["kind"] == "Pod"]
            is_orphan = bool(owners) and not any(owner["uid"] in pods for owner in owners)
            if is_orphan or ("deletionTimestamp" in claim["metadata"] and not self._is_used(claim)):
                self.drop(CLAIM, key)

    def perform(self, request):
        if (refused := self.refuse(request)) is not None:
            return refused
        kind, stored = request.kind, self.objects[request.kind]
        key = key_of(request.obj) if isinstance(request, Create | Update) else request.key
        if isinstance(request, Create):
            if key in stored:
                return already_exists(kind.group, kind.plural, request.obj["metadata"]["name"])
            return self.store(kind, request.obj | ({"status": {"phase": "Pending"}} if kind is POD else {}))
        if key not in stored:
            return not_found(kind.group, kind.plural, key.partition("/")[2])
        deeds = {Update: self._update, Patch: self._patch, Delete: self._delete, Get: lambda _, found: found}
        answer = deeds[type(request)](request, stored[key])
        return answer if isinstance(answer, ApiError) else copy.deepcopy(answer)

    def _update(self, request, found):
        obj, kind = request.obj, request.kind
        if obj["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            return conflict(kind.group, kind.plural, name=key_of(obj), why="the object has been modified")
        if request.subresource:
            return self._changed(kind, found, found | {"status": obj["status"]})
        return self._changed(kind, found, obj | ({"status": found["status"]} if "status" in found else {}))

    def _patch(self, request, found):
        meta, body = found["metadata"], request.body
        told = body.get("metadata", {})
        if told.get("uid", meta["uid"]) != meta["uid"]:
            return conflict("", "pods", name=request.key, why="the UID in the precondition does not match")
        assert "ownerReferences" not in told or not request.subresource, "a status keeps them (podStatusStrategy)"
        merged = {name: meta.get(name, {}) | told[name] for name in ("labels", "annotations") if name in told}
        if "ownerReferences" in told:
            gone = {owner["uid"] for owner in told["ownerReferences"] if "$patch" in owner}
            merged["ownerReferences"] = [each for each in meta["ownerReferences"] if each["uid"] not in gone]
        new = found | {"metadata": meta | merged}
        if conditions := body.get("status", {}).get("conditions"):
            assert request.subresource == "status"
            known = {each["type"]: each for each in found["status"].get("conditions", ())}
            for each in conditions:
                both = known.get(each["type"], {}) | each
                known[each["type"]] = {name: value for name, value in both.items() if value is not None}
            new = new | {"status": found["status"] | {"conditions": list(known.values())}}
        return self._changed(request.kind, found, new)

    def _changed(self, kind, found, new):
        if new == found:
            return found
        if new.get("spec") != found.get("spec"):
            new = new | {"metadata": new["metadata"] | {"generation": found["metadata"]["generation"] + 1}}
        return self.store(kind, new)

    def _delete(self, request, found):
        kind, key, uid = request.kind, request.key, request.uid
        if uid and uid != found["metadata"]["uid"]:
            return conflict(kind.group, kind.plural, name=key, why="the UID in the precondition does not match")
        if "nodeName" in found.get("spec", {}) or (kind is CLAIM and self._is_used(found)):
            if not found["metadata"].get("deletionTimestamp"):
                grace = {"deletionTimestamp": stamp(self.now + 30), "deletionGracePeriodSeconds": 30}
                self.store(kind, found | {"metadata": found["metadata"] | grace})
        else:
            self.drop(kind, key)
        return {}

    def _is_used(self, claim):
        names = [
            volume.get("persistentVolumeClaim", {}).get("claimName")
            for pod in self.objects[POD].values()
            for volume in pod["spec"].get("volumes", ())
        ]
        return claim["metadata"]["name"] in names


class Cluster:
    """The server, what caches know of it, nodes that run pods, and the CloneSet controller.

    Attributes:
        queue: whether a trigger, or a wait, asked for a run.
    """

    def __init__(self, world, now: float) -> None:
        self.world, self.server = world, Server(now)
        self.seen: dict[Any, int] = dict.fromkeys(KINDS, 0)
        self.own: dict[Any, int] = dict.fromkeys(KINDS, 0)
        self.queue, self.timer, self.node = True, float("inf"), 0
        for watch in SPEC.watches:
            if watch.trigger is not None:
                world.cache(watch.kind).listen(self._listener(watch.trigger))

    def _listener(self, trigger):
        def listen(change):
            self.queue = self.queue or KEY in set(trigger(self.world, change))

        return listen

    @property
    def now(self) -> float:
        return self.server.now

    # -- the caches

    def deliver(self, kind, upto: int | None = None):
        """Let the caches see the log of a kind up to a position."""
        upto = len(self.server.log[kind]) if upto is None else upto
        while self.seen[kind] < upto:
            obj, there = self.server.log[kind][self.seen[kind]]
            self.seen[kind] += 1
            cache = self.world.cache(kind)
            (cache.put if there else cache.remove)(copy.deepcopy(obj))

    def deliver_all(self):
        for kind in KINDS:
            self.deliver(kind)

    # -- the controller

    def run(self, *, fresh=True, actions: int | None = None) -> Ran:
        """Run the set as the manager would, once its own writes were seen; it may be killed after so many actions."""
        for kind in KINDS:
            self.deliver(kind, None if fresh else max(self.own[kind], self.seen[kind]))
        self.queue = False
        ran = Ran()
        if (seen := SPEC.observe(self.world, KEY)) is not None:
            self._carry_out(SPEC.plan(seen, self.now), ran, actions)
        self.timer = min([self.timer, *(self.now + seconds for seconds in ran.later)])
        self.queue = self.queue or ran.error is not None
        if fresh:
            self.deliver_all()
        return ran

    def _carry_out(self, plan, ran, actions):
        reply: Any = None
        try:
            while actions is None or actions > 0:
                action = plan.throw(reply) if isinstance(reply, ApiError) else plan.send(reply)
                reply = self._do(action, ran)
                actions = None if actions is None else actions - 1
            plan.close()
        except StopIteration:
            pass
        except ApiError as error:
            ran.error = error

    def _do(self, action, ran):
        match action:
            case Emit(reason=reason, message=message):
                ran.events.append(f"{reason}: {message}")
            case Later(seconds=seconds):
                ran.later.append(seconds)
            case Measure():
                pass
            case Batch(requests=requests, slow_start=slow):
                return self._batch(list(requests), ran, slow=slow)
            case _:
                return self._ask(action, ran)
        return None

    def _ask(self, request, ran):
        ran.requests.append(request)
        answer = self.server.perform(request)
        self.own[request.kind] = len(self.server.log[request.kind])
        return answer

    def _batch(self, requests, ran, *, slow):
        replies: list[Any] = []
        size = 1 if slow else len(requests)
        while len(replies) < len(requests):
            found = [self._ask(request, ran) for request in requests[len(replies) : len(replies) + size]]
            replies += found
            if slow and any(isinstance(reply, ApiError) for reply in found):
                break
            size *= 2
        return replies + [None] * (len(requests) - len(replies))

    # -- the nodes

    def work(self, *names: str) -> bool:
        """Let the scheduler and the kubelets look at pods, or at some of them; False where nothing was to be done."""
        before = len(self.server.log[POD])
        for key, pod in sorted(self.server.objects[POD].items()):
            if names and pod["metadata"]["name"] not in names:
                continue
            if "nodeName" not in pod["spec"]:
                self.node = self.node % 3 + 1
                self.server.store(POD, pod | {"spec": pod["spec"] | {"nodeName": f"node-{self.node}"}})
            else:
                self._look(key, pod)
        return len(self.server.log[POD]) > before

    def _look(self, key, pod):
        address = f"10.244.0.{pod['metadata']['uid'].removeprefix('uid-')}"
        step = advance(pod, Place(pod["spec"]["nodeName"], "172.18.0.2", address), self.now)
        if step.gone:
            self.server.drop(POD, key)
        elif step.status is not None:
            self.server.store(POD, pod | {"status": step.status})

    def settle(self, *, steps=400) -> list[Ran]:
        """Let controller and nodes work until nothing is left to do but to wait; gives all runs."""
        runs = []
        for _ in range(steps):
            self.server.collect()
            self.deliver_all()
            if self.queue:
                runs.append(self.run())
            elif not self.work():
                return runs
        raise AssertionError("the cluster does not come to rest")

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self.server.now += seconds
        if self.timer <= self.now:
            self.queue, self.timer = True, float("inf")

    # -- what people do and see

    def edit(self, **spec):
        """Change fields of the set's spec."""
        found = self.server.objects[CLONE_SET][KEY]
        new = found | {"spec": found["spec"] | spec}
        if new != found:
            new["metadata"] = found["metadata"] | {"generation": found["metadata"]["generation"] + 1}
            self.server.store(CLONE_SET, new)

    def rolling(self, **strategy):
        """Change fields of its updateStrategy.rollingUpdate."""
        found = self.set["spec"]["updateStrategy"]
        self.edit(updateStrategy=found | {"rollingUpdate": found["rollingUpdate"] | strategy})

    def pod_changes(self, name, change):
        """Somebody changes a pod."""
        self.server.store(POD, change(self.server.objects[POD][f"ns/{name}"]))

    def label(self, name, **labels):
        """Somebody labels a pod; the names of labels are of apps.kruise.io."""
        named = {key.replace("_", "-"): value for key, value in labels.items()}
        told = {f"apps.kruise.io/{key}": value for key, value in named.items()}
        self.pod_changes(name, lambda pod: _labelled(pod, told))

    def terminate(self, *names):
        """Pods are asked to go, as kubectl delete does."""
        for name in names:
            self.server.perform(Delete(POD, f"ns/{name}"))

    def take_down(self, *names):
        """Containers of pods stop being ready."""
        for name in names:
            self.pod_changes(name, lambda pod: _annotated(pod, {"mockube.io/ready-after": "9000h"}))
            self.work(name)

    @property
    def set(self):
        return self.server.objects[CLONE_SET][KEY]

    @property
    def status(self):
        return self.set["status"]

    @property
    def all_pods(self):
        return sorted(self.server.objects[POD].values(), key=lambda pod: pod["metadata"]["name"])

    @property
    def pods(self):
        """Active pods."""
        return [pod for pod in self.all_pods if is_active(pod)]

    @property
    def names(self):
        return [pod["metadata"]["name"] for pod in self.pods]

    @property
    def images(self):
        """How many active pods are of which image."""
        found: dict[str, int] = {}
        for pod in self.pods:
            image = pod["spec"]["containers"][0]["image"]
            found[image] = found.get(image, 0) + 1
        return found

    @property
    def claims(self):
        return sorted(claim["metadata"]["name"] for claim in self.server.objects[CLAIM].values())

    @property
    def revisions(self):
        return sorted(self.server.objects[CONTROLLER_REVISION].values(), key=lambda each: each["revision"])

    @property
    def available(self):
        """How many active pods are ready, and so for minReadySeconds."""
        minimum = self.set["spec"].get("minReadySeconds", 0)
        return sum(is_available(pod, self.now, minimum=minimum) for pod in self.pods)

    def condition(self, type_):
        return next((each for each in self.status.get("conditions", ()) if each["type"] == type_), None)


def _labelled(pod, labels):
    meta = pod["metadata"]
    return pod | {"metadata": meta | {"labels": meta["labels"] | labels}}


def _annotated(pod, annotations):
    meta = pod["metadata"]
    return pod | {"metadata": meta | {"annotations": meta.get("annotations", {}) | annotations}}


def a_template(image="web:1", *, labels=None, annotations=None, **spec):
    return {
        "metadata": {"labels": {"app": "web"} | (labels or {})} | ({"annotations": annotations} if annotations else {}),
        "spec": {
            "restartPolicy": "Always",
            "containers": [{"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}],
        }
        | spec,
    }


@pytest.fixture
def template():
    """template(image, labels=…, annotations=…, **of the pod's spec)."""
    return a_template


@pytest.fixture
def clone_set():
    """clone_set(rolling={…}, **spec): a CloneSet as the server has it after defaulting."""

    def make(*, rolling=None, **spec):
        strategy = {"podUpdatePolicy": "ReCreate", "partition": 0, "maxUnavailable": "20%", "maxSurge": 0}
        defaults = {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template(),
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": strategy | (rolling or {})},
            "scaleStrategy": {},
            "revisionHistoryLimit": 10,
        }
        return {"metadata": {"name": "web"}, "spec": defaults | spec, "status": {}}

    return make


@pytest.fixture
def new_cluster(make_world, now, clone_set):
    """new_cluster(rolling={…}, **spec): a cluster in which a CloneSet "web" of that spec was just made."""

    def make(**spec):
        found = Cluster(make_world(SPEC), now)
        found.server.store(CLONE_SET, clone_set(**spec))
        return found

    return make


@pytest.fixture
def cluster(new_cluster):
    """cluster(rolling={…}, **spec): the same, after it has come to rest."""

    def make(**spec):
        found = new_cluster(**spec)
        found.settle()
        found.tick(100)
        return found

    return make
