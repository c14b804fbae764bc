"""ReplicationControllers: as ReplicaSets, with a plain selector."""

import pytest
from triggers import woken

from controller_manager.controllers.replicaset import replicationcontroller
from controller_manager.reconcile.contract import Change, Create, Patch
from controller_manager.reconcile.kinds import POD, REPLICATION_CONTROLLER

KEY = "default/web"
LABELS = {"app": "web"}


@pytest.fixture
def a_controller(a_set):
    return lambda **more: a_set(**more, selector=LABELS)


def test_a_replication_controller_does_the_same_with_its_plain_selector(
    reconcile, a_controller, a_pod, pods, status_of
):
    all_pods = [*pods("a", kind="ReplicationController"), a_pod("b", labels={}, kind="ReplicationController")]
    done = reconcile(
        replicationcontroller.SPEC,
        KEY,
        {REPLICATION_CONTROLLER: [a_controller(replicas=2)], POD: all_pods},
        lambda r: {} if isinstance(r, Patch) else None,
    )
    assert [patch.key for patch in done.of(Patch)] == ["default/b"]
    assert done.of(Create)[0].obj["metadata"]["ownerReferences"][0]["kind"] == "ReplicationController"
    assert done.of(Create)[0].obj["metadata"]["ownerReferences"][0]["apiVersion"] == "v1"
    status = {"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    assert status_of(done) == status | {"observedGeneration": 1}


def test_orphans_wake_the_replication_controllers_that_select_them(make_world, a_controller, a_pod):
    spec = replicationcontroller.SPEC
    unselective = a_controller(name="none") | {"spec": {"replicas": 1}}
    world = make_world(spec, {REPLICATION_CONTROLLER: [a_controller(), unselective], POD: []})
    assert woken(spec, world, POD, Change(None, a_pod("a", owner=""))) == [KEY]
    assert woken(spec, world, POD, Change(None, a_pod("b", owner="", labels={}))) == []
