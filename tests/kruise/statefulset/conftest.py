"""A cluster in memory with an Advanced StatefulSet: a server's store, caches that lag behind, real kubelets."""

import pytest
from fake_server import FakeServer
from set_cluster import SetCluster

from controller_manager.controllers.statefulset.ordinals import ordinal_of
from controller_manager.kruise.statefulset.controller import SPEC
from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CLAIM, CONTROLLER_REVISION, POD
from controller_manager.reconcile.pods import is_available

KINDS = (ADVANCED_STATEFUL_SET, POD, CLAIM, CONTROLLER_REVISION)


class Server(FakeServer):
    """A server whose claims go with all their owners, and whose controllers say which object they patch."""

    def collect(self):
        """Delete claims whose owners are gone, as the garbage collector does."""
        there = {uid for kind in (ADVANCED_STATEFUL_SET, POD) for uid in map(uid_of, self.objects[kind].values())}
        for key, claim in list(self.objects[CLAIM].items()):
            owners = claim["metadata"].get("ownerReferences") or ()
            if owners and not any(owner["uid"] in there for owner in owners):
                self.drop(CLAIM, key)

    def patch(self, request, current):
        assert request.body["metadata"]["uid"] == uid_of(current)
        return super().patch(request, current)


def uid_of(obj):
    return obj["metadata"]["uid"]


class Cluster(SetCluster):
    """A cluster in memory with an Advanced StatefulSet, and what people do to its pods."""

    most = 600

    def event_text(self, event):
        return f"{event.type} {super().event_text(event)}"

    def rest(self):
        """Let all the time pass that anything waits for, and some more."""
        self.settle()
        for _ in range(60):
            self.tick(60 if self.timer == float("inf") else max(self.timer - self.now, 0))
            if not self.settle():
                return
        raise AssertionError("the cluster does not come to rest")

    def collect(self):
        """Let the garbage collector delete claims."""
        self.server.collect()

    def give_up(self, name):
        """Label a pod as one that is to be deleted."""
        self.mark(name, labels={"apps.kruise.io/specified-delete": "true"})

    def evict(self, name):
        """Let a pod fail, so that it does not run any more."""
        pod = self.pod(name)
        self.server.store(POD, pod | {"status": pod["status"] | {"phase": "Failed", "reason": "Evicted"}})

    def all(self, kind):
        return list(self.server.objects[kind].values())

    def pod(self, name):
        return self.server.objects[POD][f"ns/{name}"]

    @property
    def pods(self):
        """All pods, by ordinal."""
        by_ordinal = {ordinal_of("web", pod["metadata"]["name"]): pod for pod in self.all(POD)}
        return dict(sorted(by_ordinal.items()))

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
def new_cluster(make_world, now):
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
        cluster = Cluster(ADVANCED_STATEFUL_SET, SPEC, make_world(SPEC), Server(KINDS, now))
        cluster.server.store(ADVANCED_STATEFUL_SET, {"metadata": {"name": "web"}, "spec": defaulted | spec})
        return cluster

    return make


@pytest.fixture
def settled_cluster(new_cluster):
    """settled_cluster(rolling={…}, parallel=…, **spec): the same, after it has come to rest."""

    def make(**spec):
        cluster = new_cluster(**spec)
        cluster.rest()
        return cluster

    return make
