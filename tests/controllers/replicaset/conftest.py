"""ReplicaSets and their pods, and reconciles of them."""

import pytest

from controller_manager.controllers.replicaset.controller import SPEC
from controller_manager.reconcile.contract import Delete, Update
from controller_manager.reconcile.kinds import POD, REPLICA_SET
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0
KEY = "default/web"
LABELS = {"app": "web"}


def a_set(replicas=3, *, name="web", uid="set", status=None, owner=None, deleting=False, labels=LABELS, **spec):
    meta = {"name": name, "namespace": "default", "uid": uid, "generation": 1, "resourceVersion": "7"}
    if owner:
        meta["ownerReferences"] = [{"kind": "Deployment", "name": owner, "uid": owner, "controller": True}]
    if deleting:
        meta["deletionTimestamp"] = format_time(NOW)
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template} | spec
    return {"metadata": meta, "spec": spec, "status": {"replicas": 0} if status is None else status}


def a_pod(name, *, owner="set", kind="ReplicaSet", labels=LABELS, ready=3600.0, phase="Running", node="n1", **more):
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels, "resourceVersion": "5"}
    meta |= {"creationTimestamp": format_time(NOW - more.get("age", 7200))}
    if owner:
        meta["ownerReferences"] = [{"kind": kind, "name": "web", "uid": owner, "controller": True}]
    if more.get("deleting"):
        meta["deletionTimestamp"] = format_time(NOW)
    if "cost" in more:
        meta["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": more["cost"]}
    status = {"phase": phase}
    if ready is not None:
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": format_time(NOW - ready)}]
    return {"metadata": meta, "spec": {"nodeName": node}, "status": status}


def pods(*names, **more):
    return [a_pod(name, **more) for name in names]


def deleted(done):
    return [request.key.removeprefix("default/") for request in done.of(Delete)]


def status_of(done):
    (write,) = done.of(Update)
    assert write.subresource == "status"
    return write.obj["status"]


def refusing(*kinds, error):
    return lambda request: error if isinstance(request, kinds) else None


@pytest.fixture(name="a_set")
def _a_set():
    """a_set(replicas, status=…, owner=…, labels=…, **of the spec): the ReplicaSet "web"."""
    return a_set


@pytest.fixture(name="a_pod")
def _a_pod():
    """a_pod(name, owner=…, labels=…, ready=seconds or None, age=…, cost=…, deleting=…): a pod of it."""
    return a_pod


@pytest.fixture(name="pods")
def _pods():
    """pods(*names, **as of a_pod)."""
    return pods


@pytest.fixture(name="deleted")
def _deleted():
    """deleted(done): the names of the pods that were deleted."""
    return deleted


@pytest.fixture(name="status_of")
def _status_of():
    """status_of(done): the one status that was written."""
    return status_of


@pytest.fixture(name="refusing")
def _refusing():
    """refusing(*types, error): a server that refuses requests of these types."""
    return refusing


@pytest.fixture
def do(reconcile):
    """do(set, pods, answers): the outcome of a reconcile of a ReplicaSet."""

    def run(owner, pods=(), answers=lambda _: None, **more):
        owners = owner if isinstance(owner, list) else [owner]
        return reconcile(SPEC, KEY, {REPLICA_SET: owners, POD: pods}, answers, **more)

    return run
