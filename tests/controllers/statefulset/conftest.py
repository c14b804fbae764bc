"""A cluster in memory: a server's store, caches that lag behind it, pods that tests bring to life, one controller."""

import pytest
from fake_server import FakeServer
from lagging_cluster import LaggingCluster, RunResult

from controller_manager.controllers.statefulset.controller import SPEC
from controller_manager.reconcile.contract import DelayedKey, Delete
from controller_manager.reconcile.kinds import CLAIM, CONTROLLER_REVISION, POD, STATEFUL_SET
from controller_manager.reconcile.profile import NEWEST
from controller_manager.reconcile.times import format_time

KINDS = (STATEFUL_SET, POD, CLAIM, CONTROLLER_REVISION)


class Server(FakeServer):
    """A server whose pods are stopped by their kubelets if they run, and whose controllers say what they patch."""

    def lingers(self, kind, current):
        return kind is POD and current["status"]["phase"] == "Running"

    def patch(self, request, current):
        assert request.body["metadata"]["uid"] == current["metadata"]["uid"]
        return super().patch(request, current)


class Cluster(LaggingCluster):
    """The server's truth, what caches know of it, and the StatefulSet controller.

    Attributes:
        queue: keys that triggers, or a wait, asked to be run.
    """

    def __init__(self, world, now: float) -> None:
        super().__init__(SPEC, world, Server(KINDS, now))
        self.objects, self.log = self.server.objects, self.server.log
        self.store, self.drop = self.server.store, self.server.drop
        self.queue: set[str] = set()
        self.timers: dict[str, float] = {}

    def wake(self, keys):
        assert not any(isinstance(key, DelayedKey) for key in keys)
        self.queue |= keys

    @property
    def now(self):
        return self.server.now

    @now.setter
    def now(self, seconds):
        self.server.now = seconds

    @property
    def refuse(self):
        """Asked before each request: an ApiError is the answer."""
        return self.server.refuse

    @refuse.setter
    def refuse(self, answer):
        self.server.refuse = answer

    def run(self, key="ns/web", *, fresh=True, actions: int | None = None) -> RunResult:
        """Run a key as the manager would: once its own writes were seen; it may be killed after so many actions."""
        self.catch_up(fresh=fresh)
        self.queue.discard(key)
        ran = self.carry_out(key, actions)
        if ran.later:
            self.timers[key] = self.now + min(ran.later)
        if ran.error:
            self.queue.add(key)
        if fresh:
            self.deliver_all()
        return ran

    # -- what a person and the nodes do

    def add(self, obj, kind=STATEFUL_SET):
        return self.store(kind, obj)

    def edit(self, name="web", **spec):
        stateful_set = self.objects[STATEFUL_SET][f"ns/{name}"]
        new = stateful_set["spec"] | spec
        if new != stateful_set["spec"]:
            meta = stateful_set["metadata"] | {"generation": stateful_set["metadata"]["generation"] + 1}
            self.store(STATEFUL_SET, stateful_set | {"metadata": meta, "spec": new})

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

    def images(self):
        return {p["metadata"]["name"]: p["spec"]["containers"][0]["image"] for p in self.objects[POD].values()}

    def phase(self, name, phase, *, ready=False):
        pod = self.pod(name)
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": format_time(self.now),
        }
        self.store(POD, pod | {"status": {"phase": phase, "conditions": [condition]}})

    def ready(self, *names):
        for name in names:
            self.phase(name, "Running", ready=True)

    def unready(self, *names):
        for name in names:
            self.phase(name, "Running")

    def terminate(self, *names):
        """Mark pods for deletion, as kubectl delete does."""
        for name in names:
            self.server.delete(Delete(POD, f"ns/{name}"), self.pod(name))

    def gone(self, *names):
        """Remove the pods that are marked for deletion."""
        for name in names:
            self.drop(POD, f"ns/{name}")

    def relabel(self, name, labels, kind=POD):
        obj = self.objects[kind][f"ns/{name}"]
        self.store(kind, obj | {"metadata": obj["metadata"] | {"labels": labels}})

    def nodes_do_their_work(self, *, broken=frozenset()):
        """Remove the pods that are marked for deletion; the others run and are ready, unless their image is broken."""
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
        """Let controller and nodes work until nothing is left to do; return all runs."""
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


def a_template(image):
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}], "restartPolicy": "Always"},
    }


@pytest.fixture
def template():
    return a_template


@pytest.fixture
def make_cluster(make_world, now):
    """make_cluster(set?, profile=…): a cluster with a StatefulSet of that spec, or with none."""

    def make(*sets, profile=NEWEST):
        cluster = Cluster(make_world(SPEC, profile=profile), now)
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
def settled_cluster(make_cluster, stateful_set):
    """settled_cluster(**spec): a cluster in which a StatefulSet "web" of that spec has come to rest."""

    def make(*, profile=NEWEST, broken=frozenset(), **spec):
        cluster = make_cluster(stateful_set(**spec), profile=profile)
        cluster.settle(broken=broken)
        return cluster

    return make
