"""Ephemeral volumes: a claim of the pod's own for each, made again when it is lost."""

import pytest

from apiserver.api.errors import already_exists
from controller_manager.controllers.volume.ephemeral import SPEC, claim_deleted, pod_added
from controller_manager.reconcile.contract import Change, Create, RecordEvent
from controller_manager.reconcile.kinds import CLAIM, POD

TEMPLATE = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "ignored"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
OWNER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "name": "web",
    "uid": "uid-web",
    "controller": True,
    "blockOwnerDeletion": True,
}


@pytest.fixture
def pod(make):
    pod = make.pod("web", "data")
    pod["spec"]["volumes"] += [{"name": name, "ephemeral": {"volumeClaimTemplate": TEMPLATE}} for name in ("a", "b")]
    return pod


@pytest.fixture
def own(make):
    """own(name): a claim of the pod's own."""

    def claim(name, owner=OWNER):
        claim = make.claim(name)
        claim["metadata"]["ownerReferences"] = [owner]
        return claim

    return claim


def test_each_ephemeral_volume_gets_a_claim_that_belongs_to_the_pod(reconcile, pod):
    done = reconcile(SPEC, "shop/web", {POD: [pod]})
    assert [request.obj["metadata"]["name"] for request in done.of(Create)] == ["web-a", "web-b"]
    assert done.of(Create)[0].obj == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "web-a",
            "namespace": "shop",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
            "ownerReferences": [OWNER],
        },
        "spec": TEMPLATE["spec"],
    }


def test_claims_that_are_there_are_left_alone(reconcile, pod, own):
    done = reconcile(SPEC, "shop/web", {POD: [pod], CLAIM: [own("web-a"), own("web-b")]})
    assert done.actions == []


def test_somebody_elses_claim_is_not_taken(reconcile, pod, own):
    done = reconcile(SPEC, "shop/web", {POD: [pod], CLAIM: [own("web-a", OWNER | {"uid": "former"})]})
    why = "PVC shop/web-a was not created for pod shop/web (pod is not owner)"
    assert done.events == [f"FailedBinding: ephemeral volume a: {why}"]
    assert done.error.message == why
    assert done.of(Create) == []


def test_a_refusal_is_told_and_tried_again(reconcile, pod):
    taken = already_exists("", "persistentvolumeclaims", "web-a")
    done = reconcile(SPEC, "shop/web", {POD: [pod]}, lambda _: taken)
    assert done.events == [f"FailedBinding: ephemeral volume a: create PVC web-a: {taken.message}"]
    assert done.of(RecordEvent)[0].type == "Warning"
    assert done.error.code == 409


def test_pods_that_go_get_nothing(make_world, pod):
    pod["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    world = make_world(SPEC, {POD: [pod]})
    assert SPEC.observe(world, "shop/web") is None
    assert SPEC.observe(world, "shop/none") is None


def test_new_pods_and_lost_claims_wake_pods(make_world, make, pod):
    world = make_world(SPEC, {POD: [pod, make.pod("plain", "web-a")]})
    assert list(pod_added(world, Change(None, pod))) == ["shop/web"]
    for change in (Change(pod, pod), Change(pod, None), Change(None, make.pod("plain", "data"))):
        assert list(pod_added(world, change)) == []
    claim = make.claim("web-a")
    assert list(claim_deleted(world, Change(claim, None))) == ["shop/web"]
    assert list(claim_deleted(world, Change(None, claim))) == []
