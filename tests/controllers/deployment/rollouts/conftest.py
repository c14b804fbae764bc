"""A small cluster in memory: a server, caches that lag behind it, real controllers, and simple kubelets."""

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Any

import pytest

from apiserver.api.errors import ApiError, already_exists, conflict, not_found
from controller_manager.controllers.deployment import controller as deployment
from controller_manager.controllers.replicaset import controller as replicaset
from controller_manager.reconcile.contract import (
    Batch,
    Create,
    DelayedKey,
    Delete,
    Get,
    Patch,
    RecordEvent,
    Requeue,
    RequeueAfter,
    Settings,
    Update,
    key_of,
    triggered_keys,
)
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET
from controller_manager.reconcile.metric_defs import RecordMetric
from controller_manager.reconcile.profile import NEWEST, Profile
from controller_manager.reconcile.times import format_time
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.expectations import Expectations

START = 1_700_000_000.0
KINDS = (DEPLOYMENT, REPLICA_SET, POD)


class Server:
    """A fake API server for objects of three kinds, faithful as far as controllers can tell."""

    def __init__(self) -> None:
        self.now = START
        self.revision = 0
        self.made = 0
        self.objects: dict[Any, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.unseen: dict[Any, deque[Any]] = {kind: deque() for kind in KINDS}
        self.refuse: Callable[[Any], ApiError | None] = lambda _: None

    def perform(self, request: Any) -> Any:
        if (error := self.refuse(request)) is not None:
            raise error
        match request:
            case Create(kind=kind, obj=obj):
                return self.create(kind, obj)
            case Update(kind=kind, obj=obj, subresource=part):
                return self.update(kind, obj, part)
            case Delete(kind=kind, key=key, uid=uid):
                return self.delete(kind, key, uid)
            case Get(kind=kind, key=key):
                return self.get(kind, key)
            case Patch(kind=kind, key=key, body=body):
                return self.own(kind, key, body["metadata"])
        raise AssertionError(f"nobody should ask for {request}")

    def get(self, kind: Any, key: str) -> Any:
        if key not in self.objects[kind]:
            raise not_found(kind.group, kind.plural, key)
        return self.objects[kind][key]

    def create(self, kind: Any, obj: Any) -> Any:
        made = copy.deepcopy(obj)
        self.made += 1
        made["metadata"].setdefault("name", made["metadata"].get("generateName", "") + f"{self.made:05d}")
        if (key := key_of(made)) in self.objects[kind]:
            raise already_exists(kind.group, kind.plural, made["metadata"]["name"])
        made["metadata"] |= {"uid": f"uid-{self.made}", "generation": 1, "creationTimestamp": format_time(self.now)}
        return self.store(kind, key, made | {"apiVersion": kind.api_version, "kind": kind.kind})

    def update(self, kind: Any, obj: Any, part: str = "") -> Any:
        key = key_of(obj)
        old = self.get(kind, key)
        if obj["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
            raise conflict(kind.group, kind.plural, name=key, why="it has been modified")
        annotations = {"annotations": obj["metadata"].get("annotations", {})}
        if part == "status":
            new = old | {"metadata": old["metadata"] | annotations, "status": obj["status"]}
        else:
            grown = old["metadata"].get("generation", 0) + (obj["spec"] != old["spec"])
            new = old | {"metadata": obj["metadata"] | {"generation": grown}, "spec": obj["spec"]}
        return old if new == old else self.store(kind, key, copy.deepcopy(new))

    def own(self, kind: Any, key: str, patch: Any) -> Any:
        old = self.get(kind, key)
        gone = {reference["uid"] for reference in patch["ownerReferences"] if "$patch" in reference}
        kept = [reference for reference in old["metadata"].get("ownerReferences", []) if reference["uid"] not in gone]
        added = [reference for reference in patch["ownerReferences"] if "$patch" not in reference]
        return self.store(kind, key, old | {"metadata": old["metadata"] | {"ownerReferences": kept + added}})

    def delete(self, kind: Any, key: str, uid: str = "") -> Any:
        old = self.get(kind, key)
        if uid and uid != old["metadata"]["uid"]:
            raise conflict(kind.group, kind.plural, name=key, why="the uid is another")
        if kind is POD:
            if "deletionTimestamp" in old["metadata"]:
                return old
            return self.store(
                kind, key, old | {"metadata": old["metadata"] | {"deletionTimestamp": format_time(self.now)}}
            )
        self.remove(kind, key)
        for child, pod in list(self.objects[POD].items()):  # what the garbage collector would do
            if kind is REPLICA_SET and pod["metadata"]["ownerReferences"][0]["uid"] == old["metadata"]["uid"]:
                self.delete(POD, child)
        return {}

    def store(self, kind: Any, key: str, obj: Any) -> Any:
        self.revision += 1
        obj = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.revision)}}
        self.objects[kind][key] = obj
        self.unseen[kind].append((obj, False))
        return obj

    def remove(self, kind: Any, key: str) -> None:
        self.revision += 1
        old = self.objects[kind].pop(key)
        gone = old | {"metadata": old["metadata"] | {"resourceVersion": str(self.revision)}}
        self.unseen[kind].append((gone, True))


@dataclass
class Running:
    """A controller: its queue and what its keys wait for."""

    spec: Any
    awaited: Expectations
    queue: list[str] = field(default_factory=list)

    def add(self, key: str) -> None:
        if key not in self.queue:
            self.queue.append(key)


class Cluster:
    """A server, controllers with caches that lag behind it, and a kubelet that runs pods.

    Attributes:
        events: messages of events about the Deployment.
        writes: requests of controllers that changed something, since `writes` was cleared.
        after: called after each run of a controller, with its name.
    """

    def __init__(self, profile: Profile = NEWEST) -> None:
        self.server = Server()
        self.profile = profile
        self.events: list[str] = []
        self.writes: list[Any] = []
        self.after: Callable[[str], None] = lambda _: None
        self.start()

    def start(self) -> None:
        """Start the controllers afresh: all they knew is gone."""
        self.caches = Caches(self.profile, Settings())
        self.timers: list[tuple[float, str, str]] = []
        self.running = {
            spec.name: Running(spec, Expectations(self.caches, hidden=partial(self._add, spec.name)))
            for spec in (deployment.SPEC, replicaset.SPEC)
        }
        for controller in self.running.values():
            self.caches.prepare_for(controller.spec)
        for kind in KINDS:
            self.caches.get_or_create(kind).replace(self.server.objects[kind].values(), self.server.revision)
            self.server.unseen[kind].clear()
        for controller in self.running.values():
            for watch in controller.spec.watches:
                if watch.trigger is not None:
                    self.caches.get_or_create(watch.kind).add_listener(self._listener(controller, watch.trigger))
        self.caches.get_or_create(DEPLOYMENT).resync()
        self.caches.get_or_create(REPLICA_SET).resync()

    def _add(self, name: str, key: str) -> None:
        self.running[name].add(key)

    def _listener(self, running: Running, trigger: Any) -> Any:
        def listen(change: Any) -> None:
            for key in triggered_keys(trigger, self.caches, change):
                running.add(key.key if isinstance(key, DelayedKey) else key)

        return listen

    def deliver(self, kind: Any, number: int = 1_000_000) -> None:
        """Let the cache of a kind see so many events that it has not seen yet."""
        unseen, cache = self.server.unseen[kind], self.caches.get_or_create(kind)
        for _ in range(min(number, len(unseen))):
            obj, gone = unseen.popleft()
            (cache.remove if gone else cache.put)(obj)

    def relist(self, kind: Any) -> None:
        """Lose the events of a kind that were not seen yet; the cache gets a list of the current objects instead."""
        self.server.unseen[kind].clear()
        self.caches.get_or_create(kind).replace(self.server.objects[kind].values(), self.server.revision)

    def run(self, name: str) -> bool:
        """Run one key of a controller; return False if none waits."""
        running = self.running[name]
        if not running.queue:
            return False
        key = running.queue.pop(0)
        if running.awaited.seconds_blocked(key, lambda: running.add(key), now=self.server.now):
            return True
        seen = running.spec.observe(self.caches, key)
        if seen is not None:
            self._carry_out(running, key, running.spec.reconcile(seen, self.server.now))
        self.after(name)
        return True

    def _carry_out(self, running: Running, key: str, plan: Any) -> None:
        answer: Any = None
        try:
            while True:
                action = plan.throw(answer) if isinstance(answer, ApiError) else plan.send(answer)
                answer = self._do(running, key, action)
        except StopIteration:
            pass
        except ApiError:
            running.add(key)

    def _do(self, running: Running, key: str, action: Any) -> Any:
        match action:
            case RecordEvent(message=message):
                self.events += [message] if running.spec.name == "deployment" else []
            case RequeueAfter(seconds=seconds):
                heappush(self.timers, (self.server.now + seconds, running.spec.name, key))
            case Requeue():
                running.add(key)
            case RecordMetric():
                pass
            case Batch(requests=requests):
                return [self._ask(running, key, request) for request in requests]
            case _:
                return self._ask(running, key, action)
        return None

    def _ask(self, running: Running, key: str, request: Any) -> Any:
        before = self.server.revision
        try:
            answer = self.server.perform(request)
        except ApiError as error:
            return error
        if self.server.revision != before:
            self.writes.append(request)
        running.awaited.expect(key, request, answer, now=self.server.now)
        return answer

    def sleep(self, seconds: float) -> None:
        """Let time pass; keys whose delay is over become due."""
        self.server.now += seconds
        while self.timers and self.timers[0][0] <= self.server.now:
            _, name, key = heappop(self.timers)
            self.running[name].add(key)

    # -- pods

    def pods(self, **of: Any) -> list[Any]:
        """Pods that are not on their way out, of a ReplicaSet by its name as `of`, or all."""
        pods = [pod for pod in self.server.objects[POD].values() if "deletionTimestamp" not in pod["metadata"]]
        return [pod for pod in pods if not of or pod["metadata"]["ownerReferences"][0]["name"] == of["of"]]

    def set_ready(self, pod: Any, ready: str = "True") -> None:
        """Set the Ready condition of a pod, as a kubelet does."""
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": format_time(self.server.now)}
        status = {"phase": "Running", "conditions": [condition]}
        self.server.update(POD, self.server.get(POD, key_of(pod)) | {"status": status}, "status")

    def work(self, number: int = 1_000_000) -> None:
        """Let kubelets do so many things: remove a pod that terminates, or make one ready unless its image is bad."""
        for key, pod in list(self.server.objects[POD].items()):
            if number <= 0:
                return
            if "deletionTimestamp" in pod["metadata"]:
                self.server.remove(POD, key)
            elif "conditions" in pod.get("status", {}) or "bad" in pod["spec"]["containers"][0]["image"]:
                continue
            else:
                self.set_ready(pod)
            number -= 1

    def settle(self, *, rounds: int = 500, kubelet: bool = True) -> None:
        """Let everything happen until nothing does; time stands still."""
        for _ in range(rounds):
            before = self.server.revision
            for kind in KINDS:
                self.deliver(kind)
            ran = [name for name in self.running if self.run(name)]
            if kubelet:
                self.work()
            if not ran and self.server.revision == before and not any(self.server.unseen.values()):
                return
        raise AssertionError("the cluster does not come to rest")

    # -- what people do

    @property
    def deployment(self) -> Any:
        return self.server.objects[DEPLOYMENT]["default/web"]

    @property
    def sets(self) -> list[Any]:
        """The ReplicaSets in the order of their creation."""
        replica_sets = self.server.objects[REPLICA_SET].values()
        return sorted(replica_sets, key=lambda one: int(one["metadata"]["uid"].rpartition("-")[2]))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of ReplicaSets by their images."""
        return {one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"]["replicas"] for one in self.sets}

    @property
    def revisions(self) -> list[int]:
        """The revisions of ReplicaSets."""
        return [int(one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]) for one in self.sets]

    @property
    def progress(self) -> str:
        """Status and reason of the condition Progressing."""
        for condition in self.deployment["status"].get("conditions", ()):
            if condition["type"] == "Progressing":
                return f"{condition['status']}/{condition['reason']}"
        return ""

    def edit(self, **spec: Any) -> None:
        """Change fields of the Deployment's spec."""
        self.server.update(DEPLOYMENT, self.deployment | {"spec": self.deployment["spec"] | spec})

    def set_image(self, image: str, **spec: Any) -> None:
        old = self.deployment["spec"]["template"]
        containers = [old["spec"]["containers"][0] | {"image": image}]
        self.edit(template=old | {"spec": old["spec"] | {"containers": containers}}, **spec)

    def annotate(self, **annotations: str) -> None:
        meta = self.deployment["metadata"]
        self.server.update(
            DEPLOYMENT, self.deployment | {"metadata": meta | {"annotations": meta["annotations"] | annotations}}
        )


@pytest.fixture
def make_cluster(make_deployment) -> Callable[..., Cluster]:
    """make_cluster(image, **of the Deployment): a cluster with that Deployment, just created."""

    def make(image="web:1", *, profile=NEWEST, **spec):
        cluster = Cluster(profile)
        cluster.server.create(DEPLOYMENT, make_deployment(image, **spec))
        return cluster

    return make
