"""The Deployments that a change of a ReplicaSet or a pod enqueues."""

import pytest
from triggers import trigger_of

from controller_manager.controllers.deployment.controller import SPEC
from controller_manager.reconcile.contract import Change
from controller_manager.reconcile.controller_ref import owner_reference
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET

KEY = "default/web"


@pytest.fixture
def woken(make_world):
    """woken(kind, old, new, objects): the keys."""

    def of(kind, old, new, objects):
        return sorted(trigger_of(SPEC, kind)(make_world(SPEC, objects), Change(old, new)))

    return of


def later(obj, **meta):
    return obj | {"metadata": obj["metadata"] | {"resourceVersion": "999"} | meta}


def pod(owner, phase="Running", name="web-1-x"):
    reference = owner_reference(REPLICA_SET, owner)
    meta = {"name": name, "namespace": "default", "uid": name, "ownerReferences": [reference]}
    return {"metadata": meta, "status": {"phase": phase}}


def test_a_deployment_wakes_itself(woken, make_deployment):
    deployment = make_deployment()
    assert woken(DEPLOYMENT, None, deployment, {}) == [KEY]
    assert woken(DEPLOYMENT, deployment, None, {}) == [KEY]


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param(None, {}, [KEY], id="owned-came"),
        pytest.param({}, None, [KEY], id="owned-went"),
        pytest.param({}, {"later": True}, [KEY], id="owned-changed"),
        pytest.param({}, {}, [], id="resync"),
        pytest.param(None, {"owner": "uid-former"}, [], id="D38-owner-of-the-same-name"),
        pytest.param(None, {"owner": None}, [KEY], id="orphan-came"),
        pytest.param({"owner": None}, None, [], id="orphan-went"),
        pytest.param({"owner": None}, {"owner": None, "later": True}, [], id="orphan-changed"),
        pytest.param({"owner": None, "app": "x"}, {"owner": None, "later": True}, [KEY], id="orphan-relabelled"),
        pytest.param({}, {"owner": None, "later": True}, [KEY], id="released"),
        pytest.param({}, {"owner": None, "app": "x", "later": True}, [KEY], id="D37-released-by-its-labels"),
        pytest.param({"owner": None}, {"later": True}, [KEY], id="adopted"),
        pytest.param({}, {"owner": "uid-former", "later": True}, [KEY], id="taken-over"),
        pytest.param(None, {"owner": None, "going": True}, [], id="orphan-came-while-it-goes"),
        pytest.param(None, {"going": True}, [KEY], id="owned-came-while-it-goes"),
    ],
)
def test_a_replica_set_wakes_its_deployment_or_those_that_could_adopt_it(
    woken, make_deployment, make_set, old, new, keys
):
    def made(facts):
        if facts is None:
            return None
        replica_set = make_set(1, 3, owner=facts.get("owner", "uid-web"))
        if "app" in facts:
            replica_set["metadata"]["labels"] = {"app": facts["app"]}
        if "going" in facts:
            replica_set["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
        return later(replica_set) if "later" in facts else replica_set

    assert woken(REPLICA_SET, made(old), made(new), {DEPLOYMENT: [make_deployment()]}) == keys


@pytest.mark.parametrize("selector", [{}, None, {"matchExpressions": [{"key": "app", "operator": "Odd"}]}])
def test_an_orphan_wakes_nobody_who_selects_everything_nothing_or_nonsense(woken, make_deployment, make_set, selector):
    deployments = [make_deployment(selector=selector)]
    assert woken(REPLICA_SET, None, make_set(1, 3, owner=None), {DEPLOYMENT: deployments}) == []


def test_an_orphan_without_labels_wakes_nobody(woken, make_deployment, make_set):
    orphan = make_set(1, 3, owner=None)
    orphan["metadata"]["labels"] = {}
    exists = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    assert woken(REPLICA_SET, None, orphan, {DEPLOYMENT: [make_deployment(selector=exists)]}) == []


def test_a_set_of_another_kind_of_owner_is_no_concern(woken, make_deployment, make_set):
    foreign = make_set(1, 3)
    foreign["metadata"]["ownerReferences"][0]["kind"] = "Rollout"
    assert woken(REPLICA_SET, None, foreign, {DEPLOYMENT: [make_deployment()]}) == []


# -- pods --------------------------------------------------------------------------------------------------------------

RECREATE = {"type": "Recreate"}


@pytest.mark.parametrize(
    ("strategy", "others", "keys"),
    [
        pytest.param(RECREATE, [], [KEY], id="D28-the-last"),
        pytest.param(RECREATE, ["Running"], [], id="not-the-last"),
        pytest.param(RECREATE, ["Unknown"], [], id="D27-unknown-may-run"),
        pytest.param(RECREATE, ["Failed", "Succeeded"], [KEY], id="D27-the-others-have-ended"),
        pytest.param({"type": "RollingUpdate"}, [], [], id="rolling"),
    ],
)
def test_a_pod_that_goes_wakes_a_deployment_that_waits_for_it(woken, make_deployment, make_set, strategy, others, keys):
    old = make_set(1, 0)
    left = [pod(old, phase, f"web-1-{number}") for number, phase in enumerate(others)]
    world = {DEPLOYMENT: [make_deployment("web:2", strategy=strategy)], REPLICA_SET: [old], POD: left}
    assert woken(POD, pod(old), None, world) == keys


def test_a_pod_that_comes_or_changes_wakes_nobody(woken, make_deployment, make_set):
    old = make_set(1, 1)
    world = {DEPLOYMENT: [make_deployment("web:2", strategy=RECREATE)], REPLICA_SET: [old]}
    assert woken(POD, None, pod(old), world) == []
    assert woken(POD, pod(old), later(pod(old)), world) == []


def test_a_pod_whose_set_or_deployment_is_gone_wakes_nobody(woken, make_deployment, make_set):
    old = make_set(1, 0)
    assert woken(POD, pod(old), None, {DEPLOYMENT: [make_deployment(strategy=RECREATE)]}) == []
    assert woken(POD, pod(old), None, {REPLICA_SET: [old]}) == []
