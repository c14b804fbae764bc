"""A cluster in memory: a server's store, caches that lag behind it, pods that tests bring to life, one controller."""

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from apiserver.api.errors import ApiError, already_exists, conflict, not_found
from controller_manager.controllers.statefulset import SPEC
from controller_manager.planning.profile import NEWEST
from controller_manager.planning.times import stamp
from controller_manager.runtime.contract import (
    Batch,
    Create,
    Delayed,
    Delete,
    Emit,
    Later,
    Patch,
    Update,
    key_of,
)
from controller_manager.runtime.kinds import CLAIM, CONTROLLER_REVISION, POD, STATEFUL_SET

KINDS = (STATEFUL_SET, POD, CLAIM, CONTROLLER_REVISION)


@dataclass
class Ran:
    """What one run of the controller did."""

    requests: list[Any] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    error: ApiError | None = None

    def _names(self, verb: type, kind: Any) -> list[str]:
        found = [r for r in self.requests if isinstance(r, verb) and r.kind == kind]
        return [(r.key if isinstance(r, Delete | Patch) else key_of(r.obj)).partition("/")[2] for r in found]

    @property
    def made(self) -> list[str]:
        return self._names(Create, POD)

    @property
    def deleted(self) -> list[str]:
        return self._names(Delete, POD)

    @property
    def updated(self) -> list[str]:
        return self._names(Update, POD)

    @property
    def claimed(self) -> list[str]:
        return self._names(Create, CLAIM)

    @property
    def quiet(self) -> bool:
        return not self.requests and not self.events and self.error is None


class Cluster:
    """The server's truth, what caches know of it, and the StatefulSet controller.

    Attributes:
        refuse: asked before each request: an ApiError is the answer.
        queue: keys that triggers, or a wait, asked to be run.
    """

    def __init__(self, world, now: float, answers_to: Callable[..., list[Any]]) -> None:
        self.world, self.now, self._answers_to = world, now, answers_to
        self.objects: dict[Any, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.log: dict[Any, list[Any]] = {kind: [] for kind in KINDS}
        self.seen: dict[Any, int] = dict.fromkeys(KINDS, 0)
        self.own: dict[Any, int] = dict.fromkeys(KINDS, 0)
        self.refuse: Callable[[Any], ApiError | None] = lambda _: None
        self.queue: set[str] = set()
        self.timers: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self._uids = 0
        self._revision = 100
        for watch in SPEC.watches:
            if watch.trigger is not None:
                world.cache(watch.kind).listen(self._listener(watch.trigger))

    def _listener(self, trigger):
        def listen(change):
            for key in trigger(self.world, change):
                assert not isinstance(key, Delayed)
                self.queue.add(key)

        return listen

    # -- the server

    def store(self, kind, obj):
        self._revision += 1
        obj = {"apiVersion": kind.api_version, "kind": kind.kind} | copy.deepcopy(obj)
        meta = obj["metadata"] = {"namespace": "ns"} | obj["metadata"]
        meta["resourceVersion"] = str(self._revision)
        if "uid" not in meta:
            self._uids += 1
            meta["uid"], meta["creationTimestamp"] = f"uid-{self._uids}", stamp(self.now)
        self.objects[kind][key_of(obj)] = obj
        self.log[kind].append((obj, True))
        return copy.deepcopy(obj)

    def drop(self, kind, key):
        obj = self.objects[kind].pop(key)
        self._revision += 1
        meta = obj["metadata"] | {"resourceVersion": str(self._revision)}
        self.log[kind].append((obj | {"metadata": meta}, False))

    def perform(self, request):
        refused = self.refuse(request)
        if refused is not None:
            return refused
        answer = self._perform(request)
        self.own[request.kind] = len(self.log[request.kind])
        return answer

    def _perform(self, request):
        kind, stored = request.kind, self.objects[request.kind]
        key = key_of(request.obj) if isinstance(request, Create | Update) else request.key
        if isinstance(request, Create):
            return self._create(request, taken=key in stored)
        if key not in stored:
            return not_found(kind.group, kind.plural, key.partition("/")[2])
        found = stored[key]
        match request:
            case Update():
                return self._update(request, found)
            case Patch(body=body):
                return self.store(kind, _with_owners(found, body["metadata"]))
            case Delete(uid=uid):
                return self._delete(kind, key, uid)
            case _:
                return copy.deepcopy(found)

    def _create(self, request, *, taken):
        kind, obj = request.kind, request.obj
        if taken:
            return already_exists(kind.group, kind.plural, obj["metadata"]["name"])
        return self.store(kind, obj | ({"status": {"phase": "Pending"}} if kind is POD else {}))

    def _update(self, request, found):
        obj, kind = request.obj, request.kind
        if obj["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            return conflict(kind.group, kind.plural, name=key_of(obj), why="the object has been modified")
        new = found | {"status": obj["status"]} if request.subresource else obj
        return found if new == found else self.store(kind, new)

    def _delete(self, kind, key, uid):
        found = self.objects[kind][key]
        if uid and uid != found["metadata"]["uid"]:
            return conflict(kind.group, kind.plural, name=key, why="the UID in the precondition does not match")
        if kind is POD and found["status"]["phase"] == "Running":
            if not found["metadata"].get("deletionTimestamp"):
                self.store(kind, found | {"metadata": found["metadata"] | {"deletionTimestamp": stamp(self.now + 30)}})
        else:
            self.drop(kind, key)
        return {}

    # -- the caches

    def deliver(self, kind, upto: int | None = None):
        """Let the caches see the log of a kind up to a position."""
        upto = len(self.log[kind]) if upto is None else upto
        while self.seen[kind] < upto:
            obj, there = self.log[kind][self.seen[kind]]
            self.seen[kind] += 1
            cache = self.world.cache(kind)
            (cache.put if there else cache.remove)(copy.deepcopy(obj))

    def relist(self, kind):
        """Lose the events of a kind that were not seen yet; only what is left of them is."""
        self.seen[kind] = len(self.log[kind])
        self.world.cache(kind).replace(copy.deepcopy(list(self.objects[kind].values())), self._revision)

    def deliver_all(self):
        for kind in KINDS:
            self.deliver(kind)

    # -- the controller

    def run(self, key="ns/web", *, fresh=True, actions: int | None = None) -> Ran:
        """Run a key as the manager would: once its own writes were seen; it may be killed after so many actions."""
        for kind in KINDS:
            self.deliver(kind, None if fresh else max(self.own[kind], self.seen[kind]))
        self.queue.discard(key)
        ran = Ran()
        seen = SPEC.observe(self.world, key)
        if seen is not None:
            self._carry_out(SPEC.plan(seen, self.now), ran, actions)
        if ran.later:
            self.timers[key] = self.now + min(ran.later)
        if ran.error:
            self.queue.add(key)
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
                ran.events.append(f"{reason}: {message}")
                ran.types.append(type_)
            case Later(seconds=seconds):
                ran.later.append(seconds)
            case Batch():
                return self._answers_to(action, partial(self._asked, ran))
            case _:
                return self._asked(ran, action)
        return None

    def _asked(self, ran, request):
        ran.requests.append(request)
        return self.perform(request)

    # -- what a person and the nodes do

    def add(self, obj, kind=STATEFUL_SET):
        return self.store(kind, obj)

    def edit(self, name="web", **spec):
        found = self.objects[STATEFUL_SET][f"ns/{name}"]
        new = found["spec"] | spec
        if new != found["spec"]:
            meta = found["metadata"] | {"generation": found["metadata"]["generation"] + 1}
            self.store(STATEFUL_SET, found | {"metadata": meta, "spec": new})

    def pod(self, name):
        return self.objects[POD][f"ns/{name}"]

    def claim(self, name):
        return self.objects[CLAIM][f"ns/{name}"]

    @property
    def pods(self):
        return sorted(name.partition("/")[2] for name in self.objects[POD])

    @property
    def status(self):
        return self.objects[STATEFUL_SET]["ns/web"]["status"]

    @property
    def revisions(self):
        return sorted(self.objects[CONTROLLER_REVISION].values(), key=lambda r: r["revision"])

    def images(self):
        return {p["metadata"]["name"]: p["spec"]["containers"][0]["image"] for p in self.objects[POD].values()}

    def phase(self, name, phase, *, ready=False):
        pod = self.pod(name)
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": stamp(self.now)}
        self.store(POD, pod | {"status": {"phase": phase, "conditions": [condition]}})

    def ready(self, *names):
        for name in names:
            self.phase(name, "Running", ready=True)

    def unready(self, *names):
        for name in names:
            self.phase(name, "Running")

    def terminate(self, *names):
        """Pods are asked to go, as kubectl delete does."""
        for name in names:
            self._delete(POD, f"ns/{name}", "")

    def gone(self, *names):
        """Pods that were asked to go are gone."""
        for name in names:
            self.drop(POD, f"ns/{name}")

    def relabel(self, name, labels, kind=POD):
        found = self.objects[kind][f"ns/{name}"]
        self.store(kind, found | {"metadata": found["metadata"] | {"labels": labels}})

    def nodes_do_their_work(self, *, broken=frozenset()):
        """Pods that were asked to go are gone, and others run and are ready, but for those of broken images."""
        moved = False
        for pod in list(self.objects[POD].values()):
            name = pod["metadata"]["name"]
            if pod["metadata"].get("deletionTimestamp"):
                self.gone(name)
                moved = True
            elif pod["status"]["phase"] == "Pending":
                self.phase(name, "Running", ready=pod["spec"]["containers"][0]["image"] not in broken)
                moved = True
        return moved

    def settle(self, *, broken=frozenset(), steps=400):
        """Let controller and nodes work until nothing is left to do; gives all runs."""
        runs = []
        for _ in range(steps):
            self.deliver_all()
            if self.queue:
                runs.append(self.run(min(self.queue)))
            elif not self.nodes_do_their_work(broken=broken):
                if not self.timers:
                    return runs
                key = min(self.timers, key=self.timers.__getitem__)
                self.now = max(self.now, self.timers.pop(key))
                self.queue.add(key)
        raise AssertionError("the controller does not come to rest")


def _with_owners(found, meta):
    """The object after an adoption or a release."""
    owners = found["metadata"].get("ownerReferences") or []
    assert meta["uid"] == found["metadata"]["uid"]
    for reference in meta["ownerReferences"]:
        owners = [owner for owner in owners if owner["uid"] != reference["uid"]]
        if "$patch" not in reference:
            owners.append(reference)
    return found | {"metadata": found["metadata"] | {"ownerReferences": owners}}


def a_template(image):
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}], "restartPolicy": "Always"},
    }


@pytest.fixture
def template():
    return a_template


@pytest.fixture
def make_cluster(make_world, now, answers_to):
    """make_cluster(set?, profile=…): a cluster with a StatefulSet of that spec, or with none."""

    def make(*sets, profile=NEWEST):
        cluster = Cluster(make_world(SPEC, profile=profile), now, answers_to)
        for one in sets:
            cluster.add(one)
        return cluster

    return make


@pytest.fixture
def stateful_set():
    """stateful_set(name=…, **spec): a StatefulSet as the server has it after defaulting."""

    def make(name="web", **spec):
        defaults = {
            "replicas": 3,
            "serviceName": "headless",
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template("v1"),
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "revisionHistoryLimit": 10,
        }
        return {"metadata": {"name": name, "generation": 1}, "spec": defaults | spec, "status": {"replicas": 0}}

    return make


@pytest.fixture
def cluster(make_cluster, stateful_set):
    """cluster(**spec): a cluster in which a StatefulSet "web" of that spec has come to rest."""

    def make(*, profile=NEWEST, broken=frozenset(), **spec):
        found = make_cluster(stateful_set(**spec), profile=profile)
        found.settle(broken=broken)
        return found

    return make
