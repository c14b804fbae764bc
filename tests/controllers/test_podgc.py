"""Pod garbage collection: too many ended pods, pods of missing and lost nodes, and pods that never had one."""

import pytest
from triggers import woken

from apiserver.api.errors import conflict, not_found, unavailable
from controller_manager.controllers.podgc import SPEC
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    Change,
    DelayedKey,
    Delete,
    Get,
    Patch,
    RequeueAfter,
    Settings,
)
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0
SWEEP = ""


def a_pod(name, *, node="n1", phase="Running", age=60.0, reason=None, deleting=False, conditions=()):
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": format_time(NOW - age)}
    if deleting:
        meta["deletionTimestamp"] = format_time(NOW)
    status = {"phase": phase, "conditions": list(conditions)} | ({"reason": reason} if reason else {})
    return {"metadata": meta, "spec": {"nodeName": node} if node else {}, "status": status}


def a_node(name="n1", *, ready=True, taint=None):
    taints = [{"key": taint, "effect": "NoExecute"}] if taint else None
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return {"metadata": {"name": name, "uid": name}, "spec": {"taints": taints}, "status": {"conditions": conditions}}


def calm(request):
    return {} if isinstance(request, Patch) else None


@pytest.fixture
def do(reconcile):
    """do(key, pods, node, answers): the outcome of a reconcile of the key."""

    def run(key, pods, node=None, answers=calm, *, threshold=12500):
        settings = Settings(terminated_pod_gc_threshold=threshold)
        return reconcile(SPEC, key, {POD: pods, NODE: [node or a_node()]}, answers, settings=settings)

    return run


def deleted(done):
    assert all(request.grace_period_seconds == 0 for request in done.of(Delete))
    return [request.key.removeprefix("default/") for request in done.of(Delete)]


def test_ended_pods_beyond_the_threshold_go_the_evicted_and_the_oldest_first(do):
    ended = [
        a_pod("b", phase="Succeeded", age=100),
        a_pod("a", phase="Failed", age=100),
        a_pod("oldest", phase="Succeeded", age=900),
        a_pod("young", phase="Failed", age=1),
        a_pod("evicted", phase="Failed", reason="Evicted", age=2),
        a_pod("running"),
        a_pod("unknown", phase="Unknown"),
    ]
    done = do(SWEEP, ended, threshold=2)
    assert deleted(done) == ["evicted", "oldest", "a"]
    assert done.of(Patch) == []
    assert done.of(Delete)[0].uid == "uid-evicted"


@pytest.mark.parametrize("threshold", [0, -1, 2, 3])
def test_up_to_the_threshold_and_without_one_ended_pods_stay(do, threshold):
    ended = [a_pod(name, phase="Failed") for name in "ab"]
    assert do(SWEEP, ended, threshold=threshold).actions == []


def test_a_terminating_pod_on_no_node_fails_and_goes(do):
    done = do(SWEEP, [a_pod("p", node="", phase="Pending", deleting=True), a_pod("waiting", node="", phase="Pending")])
    (patch,) = done.of(Patch)
    assert (patch.key, patch.subresource, patch.content_type) == ("default/p", "status", STRATEGIC_PATCH)
    assert patch.body == {"metadata": {"uid": "uid-p"}, "status": {"phase": "Failed"}}
    assert deleted(done) == ["p"]


@pytest.mark.parametrize(
    ("node", "goes"),
    [
        (a_node(ready=False, taint="node.kubernetes.io/out-of-service"), True),
        (a_node(ready=True, taint="node.kubernetes.io/out-of-service"), False),
        (a_node(ready=False, taint="node.kubernetes.io/unreachable"), False),
        (a_node(ready=False), False),
    ],
)
def test_a_terminating_pod_goes_when_its_node_is_out_of_service(do, node, goes):
    done = do(SWEEP, [a_pod("p", deleting=True), a_pod("stays")], node)
    assert deleted(done) == (["p"] if goes else [])
    assert len(done.of(Patch)) == goes


def test_a_pod_that_should_go_for_two_reasons_goes_once(do):
    both = a_pod("p", node="", phase="Failed", deleting=True)
    assert deleted(do(SWEEP, [both, a_pod("q", phase="Failed", age=1)], threshold=1)) == ["p"]


MISSING = not_found("", "nodes", "gone")


def on_missing_node(request):
    return MISSING if isinstance(request, Get) else calm(request)


def test_the_pods_of_a_node_that_is_gone_fail_as_disrupted_and_go(do):
    pods = [a_pod("p", node="gone"), a_pod("ended", node="gone", phase="Succeeded"), a_pod("other")]
    done = do("gone", pods, answers=on_missing_node)
    assert done.of(Get) == [Get(NODE, "gone")]
    (patch,) = done.of(Patch)
    assert patch.body == {
        "metadata": {"uid": "uid-p"},
        "status": {
            "phase": "Failed",
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "lastProbeTime": None,
                    "lastTransitionTime": format_time(NOW),
                }
            ],
        },
    }
    assert sorted(deleted(done)) == ["ended", "p"]


def test_a_disruption_keeps_the_time_since_when_it_is_one(do):
    since = format_time(NOW - 500)
    before = {"type": "DisruptionTarget", "status": "True", "reason": "Eviction", "lastTransitionTime": since}
    done = do("gone", [a_pod("p", node="gone", conditions=[before])], answers=on_missing_node)
    (condition,) = done.of(Patch)[0].body["status"]["conditions"]
    assert (condition["reason"], condition["lastTransitionTime"]) == ("DeletionByPodGC", since)


def test_a_node_that_is_there_after_all_keeps_its_pods(do):
    assert do("n1", [a_pod("p")]).actions == []
    assert do("empty", [a_pod("p")]).actions == []
    done = do("late", [a_pod("p", node="late")], answers=lambda _: a_node("late"))
    assert done.actions == [Get(NODE, "late"), RequeueAfter(40.0)]


def test_a_node_that_cannot_be_asked_for_keeps_its_pods_for_now(do):
    done = do("gone", [a_pod("p", node="gone")], answers=lambda _: unavailable("away"))
    assert deleted(done) == []
    assert done.error.code == 503


@pytest.mark.parametrize(
    ("refused", "error", "gone", "raised"),
    [
        (Patch, not_found("", "pods", "p"), ["ended"], False),
        (Patch, unavailable("away"), ["ended"], True),
        (Delete, not_found("", "pods", "p"), ["p", "ended"], False),
        (Delete, conflict("", "pods", name="p", why="another"), ["p", "ended"], False),
        (Delete, unavailable("away"), ["p", "ended"], True),
    ],
)
def test_one_pod_that_cannot_be_cleared_away_does_not_stop_the_others(do, refused, error, gone, raised):
    def answers(request):
        return error if isinstance(request, refused) and request.key == "default/p" else on_missing_node(request)

    done = do("gone", [a_pod("p", node="gone"), a_pod("ended", node="gone", phase="Failed")], answers=answers)
    assert deleted(done) == gone
    assert done.error is (error if raised else None)


@pytest.mark.parametrize(
    ("kind", "old", "new", "keys"),
    [
        (POD, None, a_pod("p", node="gone"), [DelayedKey("gone", 40.0)]),
        (POD, a_pod("p", node="gone"), a_pod("p", node="gone"), [DelayedKey("gone", 40.0)]),
        (POD, None, a_pod("p"), []),
        (POD, None, a_pod("p", node=""), []),
        (POD, a_pod("p", node="gone"), None, []),
        (NODE, a_node(), None, [DelayedKey("n1", 40.0)]),
        (NODE, None, a_node(), []),
        (NODE, a_node(), a_node(ready=False), []),
    ],
)
def test_a_missing_node_is_in_quarantine_for_forty_seconds(make_world, kind, old, new, keys):
    world = make_world(SPEC, {NODE: [a_node()], POD: []})
    assert woken(SPEC, world, kind, Change(old, new)) == keys


def test_a_sweep_is_every_twenty_seconds():
    assert (SPEC.sync_period, SPEC.periodic_keys) == (20.0, (SWEEP,))
