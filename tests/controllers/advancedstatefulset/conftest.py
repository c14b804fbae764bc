"""A cluster in memory: a server's store, caches that lag behind, nodes with real kubelets, one controller."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from apiserver.api.errors import ApiError, already_exists, conflict, not_found
from controller_manager.controllers.advancedstatefulset import SPEC
from controller_manager.planning.ordinals import ordinal_of
from controller_manager.planning.pods import is_available
from controller_manager.planning.stages.look import Place
from controller_manager.planning.stages.pods import advance
from controller_manager.planning.times import stamp
from controller_manager.runtime.contract import Batch, Create, Delete, Emit, Get, Later, Patch, Update, key_of
from controller_manager.runtime.kinds import ADVANCED_STATEFUL_SET, CLAIM, CONTROLLER_REVISION, POD

KINDS = (ADVANCED_STATEFUL_SET, POD, CLAIM, CONTROLLER_REVISION)
KEY = "ns/web"


class Ran:
    """What one run of the controller did."""

    def __init__(self) -> None:
        self.requests, self.events, self.later = list[Any](), list[str](), list[float]()
        self.error: ApiError | None = None

    def names(self, verb: type, kind: Any = POD) -> list[str]:
        found = [request for request in self.requests if isinstance(request, verb) and request.kind == kind]
        return [(r.key if isinstance(r, Delete | Patch) else key_of(r.obj)).partition("/")[2] for r in found]

    made = property(lambda self: self.names(Create))
    deleted = property(lambda self: self.names(Delete))
    quiet = property(lambda self: not (self.requests or self.events or self.error))


class Server:
    """What the API server does with objects of a few kinds, as far as the controller and kubelets can tell."""

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
        self.log[kind].append((obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self._revision)}}, False))

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
        deeds = {Update: self._update, Patch: self._patch, Delete: self.delete, Get: lambda _, found: found}
        answer = deeds[type(request)](request, stored[key])
        return answer if isinstance(answer, ApiError) else copy.deepcopy(answer)

    def change(self, kind, found, new):
        """Store what is made of an object, if it is another."""
        if new == found:
            return found
        if new.get("spec") != found.get("spec"):
            new = new | {"metadata": new["metadata"] | {"generation": found["metadata"].get("generation", 0) + 1}}
        return self.store(kind, new)

    def _update(self, request, found):
        obj, kind = request.obj, request.kind
        if obj["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            return conflict(kind.group, kind.plural, name=key_of(obj), why="the object has been modified")
        if request.subresource:
            return self.change(kind, found, found | {"status": obj["status"]})
        return self.change(kind, found, obj | ({"status": found["status"]} if "status" in found else {}))

    def _patch(self, request, found):
        meta, told = found["metadata"], request.body["metadata"]
        assert told["uid"] == meta["uid"]
        new = found | {"metadata": meta | _merged(meta, told)}
        known = {each["type"]: each for each in found.get("status", {}).get("conditions", ())}
        for each in request.body.get("status", {}).get("conditions", ()):
            both = known.get(each["type"], {}) | each
            known[each["type"]] = {name: value for name, value in both.items() if value is not None}
            new = new | {"status": found["status"] | {"conditions": list(known.values())}}
        return self.change(request.kind, found, new)

    def delete(self, request, found):
        kind, uid = request.kind, request.uid
        if uid and uid != found["metadata"]["uid"]:
            return conflict(kind.group, kind.plural, name=request.key, why="the UID in the precondition does not match")
        if kind is POD and "nodeName" in found["spec"]:
            grace = {"deletionTimestamp": stamp(self.now + 30), "deletionGracePeriodSeconds": 30}
            return self.change(kind, found, found | {"metadata": grace | found["metadata"]})
        self.drop(kind, request.key)
        return {}


def _merged(meta, told):
    """Metadata after a patch: of labels and annotations, or of owners in their own merge."""
    merged = {name: meta.get(name, {}) | told[name] for name in ("labels", "annotations") if name in told}
    if "ownerReferences" in told:
        named = {owner["uid"] for owner in told["ownerReferences"]}
        kept = [owner for owner in meta.get("ownerReferences", ()) if owner["uid"] not in named]
        merged["ownerReferences"] = [*kept, *(owner for owner in told["ownerReferences"] if "$patch" not in owner)]
    return merged


class Cluster:
    """The server, what caches know of it, nodes that run pods, and the controller.

    Attributes:
        queue: whether a trigger, or a wait, asked for a run.
    """

    def __init__(self, world, now: float, answers_to: Callable[..., list[Any]]) -> None:
        self.world, self.server, self._answers_to = world, Server(now), answers_to
        self.seen: dict[Any, int] = dict.fromkeys(KINDS, 0)
        self.own: dict[Any, int] = dict.fromkeys(KINDS, 0)
        self.queue, self.timer = True, float("inf")
        for watch in SPEC.watches:
            if watch.trigger is not None:
                world.cache(watch.kind).listen(partial(self._heard, watch.trigger))

    def _heard(self, trigger, change):
        self.queue = KEY in set(trigger(self.world, change)) or self.queue

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
        self.queue, ran = False, Ran()
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
            case Emit(reason=reason, message=message, type=type_):
                ran.events.append(f"{type_} {reason}: {message}")
            case Later(seconds=seconds):
                ran.later.append(seconds)
            case Batch():
                return self._answers_to(action, partial(self._ask, ran))
            case _ if hasattr(action, "kind"):
                return self._ask(ran, action)
        return None

    def _ask(self, ran, request):
        ran.requests.append(request)
        answer = self.server.perform(request)
        self.own[request.kind] = len(self.server.log[request.kind])
        return answer

    # -- the nodes

    def work(self, *names: str) -> bool:
        """Let the scheduler and the kubelets look at pods, or at some of them; False where nothing was to be done."""
        before = len(self.server.log[POD])
        for pod in sorted(self.all(POD), key=key_of):
            if not names or pod["metadata"]["name"] in names:
                self._look(pod)
        return len(self.server.log[POD]) > before

    def _look(self, pod):
        if "nodeName" not in pod["spec"]:
            self.server.store(POD, pod | {"spec": pod["spec"] | {"nodeName": "node-1"}})
            return
        address = f"10.244.0.{pod['metadata']['uid'].removeprefix('uid-')}"
        step = advance(pod, Place("node-1", "172.18.0.2", address), self.now)
        if step.gone:
            self.server.drop(POD, key_of(pod))
            self.collect()
        elif step.status is not None:
            self.server.store(POD, pod | {"status": step.status})

    def collect(self):
        """Do what the garbage collector would do about claims whose owners are gone."""
        there = {obj["metadata"]["uid"] for kind in (ADVANCED_STATEFUL_SET, POD) for obj in self.all(kind)}
        for claim in self.all(CLAIM):
            owners = claim["metadata"].get("ownerReferences") or ()
            if owners and not any(owner["uid"] in there for owner in owners):
                self.server.drop(CLAIM, key_of(claim))

    def settle(self, *, steps=600) -> list[Ran]:
        """Let controller and nodes work until nothing is left to do but to wait; gives all runs."""
        runs = []
        for _ in range(steps):
            self.deliver_all()
            if self.queue:
                runs.append(self.run())
            elif not self.work():
                return runs
        raise AssertionError("the cluster does not come to rest")

    def rest(self):
        """Let all time pass that somebody waits for, and some more."""
        self.settle()
        for _ in range(60):
            self.tick(60 if self.timer == float("inf") else max(self.timer - self.now, 0))
            if not self.settle():
                return
        raise AssertionError("the cluster does not come to rest")

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self.server.now += seconds
        if self.timer <= self.now:
            self.queue, self.timer = True, float("inf")

    # -- what people do

    def edit(self, **spec):
        """Change fields of the set's spec."""
        self.server.change(ADVANCED_STATEFUL_SET, self.set, self.set | {"spec": self.set["spec"] | spec})

    def rolling(self, **strategy):
        """Change fields of its updateStrategy.rollingUpdate."""
        found = self.set["spec"]["updateStrategy"]
        self.edit(updateStrategy=found | {"rollingUpdate": found["rollingUpdate"] | strategy})

    def mark(self, name, **told):
        """Labels or annotations of a pod change; those that are None go."""
        meta = self.pod(name)["metadata"]
        for part, given in told.items():
            merged = meta.get(part, {}) | given
            meta = meta | {part: {key: value for key, value in merged.items() if value is not None}}
        self.server.store(POD, self.pod(name) | {"metadata": meta})

    def give_up(self, name):
        """A pod is labelled as one that is to be deleted."""
        self.mark(name, labels={"apps.kruise.io/specified-delete": "true"})

    def take_down(self, *names):
        """Containers of pods stop being ready."""
        for name in names:
            self.mark(name, annotations={"mockube.io/ready-after": "9000h"})
            self.work(name)

    def evict(self, name):
        """A pod fails, and does not run any more."""
        pod = self.pod(name)
        self.server.store(POD, pod | {"status": pod["status"] | {"phase": "Failed", "reason": "Evicted"}})

    def terminate(self, name):
        """A pod is asked to go, as kubectl delete does."""
        self.server.delete(Delete(POD, f"ns/{name}"), self.pod(name))

    # -- what they see

    @property
    def set(self):
        return self.server.objects[ADVANCED_STATEFUL_SET][KEY]

    @property
    def status(self):
        return self.set["status"]

    def all(self, kind):
        return list(self.server.objects[kind].values())

    def pod(self, name):
        return self.server.objects[POD][f"ns/{name}"]

    @property
    def pods(self):
        """All that there are, by ordinal."""
        found = {ordinal_of("web", pod["metadata"]["name"]): pod for pod in self.all(POD)}
        return dict(sorted(found.items()))

    @property
    def ordinals(self):
        return list(self.pods)

    @property
    def images(self):
        """The image of each pod, by ordinal."""
        return {ordinal: pod["spec"]["containers"][0]["image"] for ordinal, pod in self.pods.items()}

    @property
    def down(self):
        """The ordinals of pods that are there, and not available."""
        minimum = self.set["spec"]["updateStrategy"].get("rollingUpdate", {}).get("minReadySeconds", 0)
        going = {n: pod["metadata"].get("deletionTimestamp") for n, pod in self.pods.items()}
        return [n for n, pod in self.pods.items() if going[n] or not is_available(pod, self.now, minimum=minimum)]

    @property
    def revisions(self):
        return sorted(self.all(CONTROLLER_REVISION), key=lambda each: each["revision"])


@pytest.fixture(name="template")
def _template():
    """template(image, **of the pod's spec)."""
    return a_template


def a_template(image="web:1", **spec):
    containers = [{"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}]
    gate = {"conditionType": "InPlaceUpdateReady"}
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"restartPolicy": "Always", "readinessGates": [gate], "containers": containers} | spec,
    }


@pytest.fixture
def new_cluster(make_world, now, answers_to):
    """new_cluster(rolling={…}, parallel=…, **spec): a cluster in which a set "web" of that spec was just made."""

    def make(*, rolling=None, parallel=False, **spec):
        strategy = {"partition": 0, "maxUnavailable": 1, "podUpdatePolicy": "ReCreate"} | (rolling or {})
        defaulted = {
            "replicas": 3,
            "serviceName": "headless",
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template(),
            "podManagementPolicy": "Parallel" if parallel else "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": strategy},
            "revisionHistoryLimit": 10,
        }
        found = Cluster(make_world(SPEC), now, answers_to)
        found.server.store(ADVANCED_STATEFUL_SET, {"metadata": {"name": "web"}, "spec": defaulted | spec})
        return found

    return make


@pytest.fixture
def cluster(new_cluster):
    """cluster(rolling={…}, parallel=…, **spec): the same, after it has come to rest."""

    def make(**spec):
        found = new_cluster(**spec)
        found.rest()
        return found

    return make
