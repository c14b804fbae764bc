"""Pods are thrown out by NoExecute taints, as soon as they tolerate them no longer."""

import pytest
from triggers import trigger_of

from apiserver.api.errors import not_found
from controller_manager.controllers.tainteviction import SPEC
from controller_manager.reconcile.contract import Change, Delete, Patch, RequeueAfter
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.taints import tolerated_for, tolerates
from controller_manager.reconcile.times import format_time

KEY = "default/web"
TAINT = {"key": "example.com/closed", "effect": "NoExecute"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


def toleration(seconds=None, **more):
    fields = {"key": TAINT["key"], "operator": "Exists", "effect": "NoExecute"} | more
    return fields if seconds is None else fields | {"tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("given", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "a", "operator": "Equal", "value": "1"}, True),
        ({"key": "a", "value": "1"}, True),
        ({"key": "a", "value": "2"}, False),
        ({"key": "a"}, False),
        ({"key": "a", "operator": "Lt", "value": "1"}, False),
    ],
)
def test_a_toleration_is_for_a_taint_or_not(given, tolerated):
    assert tolerates(given, {"key": "a", "value": "1", "effect": "NoExecute"}) is tolerated


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0),
        ([toleration()], None),
        ([toleration(300)], 300),
        ([toleration(-5)], 0),
        ([toleration(300), toleration(5)], 300),
        ([toleration(300, key="other")], 0),
    ],
)
def test_a_pod_stays_as_long_as_its_tolerations_say(tolerations, seconds):
    assert tolerated_for(tolerations, [TAINT]) == seconds


def test_a_node_that_is_lost_is_tolerated_for_five_minutes_where_nothing_is_said():
    assert tolerated_for([], [UNREACHABLE]) == 300
    assert tolerated_for([toleration(10, key=UNREACHABLE["key"])], [UNREACHABLE]) == 10
    assert tolerated_for([toleration(key=UNREACHABLE["key"])], [UNREACHABLE]) is None
    assert tolerated_for([], [UNREACHABLE, TAINT]) == 0


def test_of_several_taints_the_least_tolerated_counts():
    other = {"key": "other", "effect": "NoExecute"}
    assert tolerated_for([toleration(300), toleration(60, key="other")], [TAINT, other]) == 60
    assert tolerated_for([toleration(300)], [TAINT, other]) == 0


@pytest.fixture
def look(make_pod, make_node, reconcile, now):
    def run(
        after=0, *, tolerations=(), taints=(TAINT,), answers=lambda r: {} if isinstance(r, Patch) else None, **meta
    ):
        pod = make_pod(spec={"tolerations": list(tolerations)}, meta=meta)
        return reconcile(SPEC, KEY, {POD: [pod], NODE: [make_node(taints=list(taints))]}, answers, at=now + after)

    return run


def test_a_pod_that_does_not_tolerate_goes_at_once_and_says_why(look, now):
    done = look()
    patch, delete = done.requests()
    assert delete == Delete(POD, KEY, uid="uid-web")
    assert patch.body["status"]["conditions"] == [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": format_time(now),
        }
    ]
    assert done.events == ["TaintManagerEviction: Marking for deletion Pod default/web"]


def test_a_pod_that_tolerates_for_ever_stays(look):
    assert look(tolerations=[toleration()]).actions == []


def test_a_pod_stays_from_when_the_taint_was_added(look, now):
    taints = [TAINT | {"timeAdded": format_time(now + 10)}]
    given = {"tolerations": [toleration(300)], "taints": taints}
    assert look(20, **given).actions == [RequeueAfter(290)]
    assert look(309, **given).actions == [RequeueAfter(1)]
    assert look(310, **given).requests()


def test_a_pod_that_came_after_the_taint_stays_from_when_it_came(look, now):
    taints = [TAINT | {"timeAdded": format_time(now - 1000)}]
    assert look(20, tolerations=[toleration(300)], taints=taints).actions == [RequeueAfter(280)]


def test_a_taint_that_tells_no_time_is_remembered(make_pod, make_node, make_world, rehearse, now):
    pod = make_pod(spec={"tolerations": [toleration(300)]})
    world = make_world(SPEC, {POD: [pod], NODE: [make_node(taints=[TAINT])]})
    assert rehearse(SPEC.reconcile(SPEC.observe(world, KEY), now + 100)).actions == [RequeueAfter(300)]
    assert rehearse(SPEC.reconcile(SPEC.observe(world, KEY), now + 150)).actions == [RequeueAfter(250)]
    world[NODE].put(make_node())
    world[NODE].put(make_node(taints=[TAINT]))
    assert rehearse(SPEC.reconcile(SPEC.observe(world, KEY), now + 200)).actions == [RequeueAfter(300)]


def test_a_pod_that_is_gone_meanwhile_is_no_failure(look):
    assert look(answers=lambda _: not_found("", "pods", "web")).error is None


@pytest.mark.parametrize("given", [{"taints": []}, {"taints": [TAINT | {"effect": "NoSchedule"}]}])
def test_without_such_a_taint_nothing_happens(look, given):
    assert look(**given).actions == []


def test_pods_that_go_already_are_left_alone(look):
    assert look(deletionTimestamp="2027-01-15T08:00:30Z").actions == []


def test_pods_and_nodes_wake_it_where_there_are_such_taints(make_pod, make_node, make_world):
    pod, plain, tainted = make_pod(), make_node(), make_node(taints=[TAINT])
    of_pod, of_node = trigger_of(SPEC, POD), trigger_of(SPEC, NODE)
    world = make_world(SPEC, {POD: [pod], NODE: [tainted]})
    assert list(of_pod(world, Change(None, pod))) == [KEY]
    assert list(of_pod(world, Change(pod, pod))) == []
    assert list(of_pod(world, Change(pod, pod | {"spec": pod["spec"] | {"tolerations": [toleration()]}}))) == [KEY]
    assert list(of_pod(make_world(SPEC, {NODE: [plain]}), Change(None, pod))) == []
    assert list(of_node(world, Change(plain, tainted))) == [KEY]
    assert list(of_node(world, Change(tainted, tainted))) == []
    assert list(of_node(world, Change(tainted, plain))) == [KEY]
