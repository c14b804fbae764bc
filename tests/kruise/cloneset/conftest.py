"""A cluster in memory with a CloneSet: a server's store, caches that lag behind, nodes with real kubelets."""

import pytest
from fake_server import FakeServer
from set_cluster import SetCluster

from controller_manager.kruise.cloneset.controller import SPEC
from controller_manager.reconcile.kinds import CLAIM, CLONE_SET, CONTROLLER_REVISION, NODE, POD
from controller_manager.reconcile.pods import is_active, is_available

KINDS = (CLONE_SET, POD, CLAIM, CONTROLLER_REVISION, NODE)


class Server(FakeServer):
    """A server whose claims go with their pods, and stay as long as they are used."""

    def collect(self):
        """Delete claims as the garbage collector does, but keep them as long as they are used."""
        pods = {pod["metadata"]["uid"] for pod in self.objects[POD].values()}
        for key, claim in list(self.objects[CLAIM].items()):
            owners = [owner for owner in claim["metadata"].get("ownerReferences", ()) if owner["kind"] == "Pod"]
            is_orphan = bool(owners) and not any(owner["uid"] in pods for owner in owners)
            if is_orphan or ("deletionTimestamp" in claim["metadata"] and not self._is_used(claim)):
                self.drop(CLAIM, key)

    def lingers(self, kind, current):
        return super().lingers(kind, current) or (kind is CLAIM and self._is_used(current))

    def _is_used(self, claim):
        names = [
            volume.get("persistentVolumeClaim", {}).get("claimName")
            for pod in self.objects[POD].values()
            for volume in pod["spec"].get("volumes", ())
        ]
        return claim["metadata"]["name"] in names


class Cluster(SetCluster):
    """A cluster in memory with a CloneSet, and what people do to its pods."""

    def tidy(self):
        self.server.collect()

    def pod_changes(self, name, change):
        """Change a pod."""
        self.server.store(POD, change(self.server.objects[POD][f"ns/{name}"]))

    def label(self, name, **labels):
        """Label a pod; the names of labels are of apps.kruise.io."""
        self.mark(name, labels={f"apps.kruise.io/{key.replace('_', '-')}": value for key, value in labels.items()})

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
        """Return the number of active pods by image."""
        counts: dict[str, int] = {}
        for pod in self.pods:
            image = pod["spec"]["containers"][0]["image"]
            counts[image] = counts.get(image, 0) + 1
        return counts

    @property
    def claims(self):
        return sorted(claim["metadata"]["name"] for claim in self.server.objects[CLAIM].values())

    @property
    def available(self):
        """Return the number of active pods that have been ready for minReadySeconds."""
        minimum = self.set["spec"].get("minReadySeconds", 0)
        return sum(is_available(pod, self.now, minimum=minimum) for pod in self.pods)

    def condition(self, type_):
        return next((each for each in self.status.get("conditions", ()) if each["type"] == type_), None)


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
        cluster = Cluster(CLONE_SET, SPEC, make_world(SPEC), Server(KINDS, now))
        cluster.server.store(CLONE_SET, clone_set(**spec))
        return cluster

    return make


@pytest.fixture
def settled_cluster(new_cluster):
    """settled_cluster(rolling={…}, **spec): the same, after it has come to rest."""

    def make(**spec):
        cluster = new_cluster(**spec)
        cluster.settle()
        cluster.tick(100)
        return cluster

    return make
