"""Pods as controllers count and rank them: tables of given → expected."""

from math import log2

import pytest
from hypothesis import given as forall
from hypothesis import strategies as st

from controller_manager.reconcile import pods
from controller_manager.reconcile.profile import NEWEST, PROFILES
from controller_manager.reconcile.times import format_time, parse_time

NOW = 1_800_000_000.0
OLD = PROFILES["1.20"]


def a_pod(
    uid="a", *, phase="Running", node="n1", ready=3600.0, age=7200.0, restarts=0, cost=None, deleting=False, **more
):
    """A pod that became ready, and was made, so many seconds ago; ready=None is not ready, ready=0 tells no time."""
    meta = {"name": uid, "uid": uid, "namespace": "default", "annotations": {}}
    if age is not None:
        meta["creationTimestamp"] = format_time(NOW - age)
    if cost is not None:
        meta["annotations"][pods.DELETION_COST] = cost
    if deleting:
        meta["deletionTimestamp"] = format_time(NOW)
    status = {"phase": phase, "containerStatuses": [{"name": "c", "restartCount": restarts}]}
    if ready is not None:
        since = {"lastTransitionTime": format_time(NOW - ready)} if ready else {}
        status["conditions"] = [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"} | since]
    return {"metadata": meta, "spec": {"nodeName": node} | more, "status": status}


@pytest.mark.parametrize(
    ("given", "active", "ready"),
    [
        (a_pod(), True, True),
        (a_pod(ready=None), True, False),
        (a_pod(phase="Pending", ready=None), True, False),
        (a_pod(phase="Succeeded", ready=None), False, False),
        (a_pod(phase="Failed"), False, True),
        (a_pod(deleting=True), False, True),
        ({"metadata": {}, "spec": {}}, True, False),
        ({"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}, True, False),
    ],
)
def test_a_pod_is_active_until_it_ends_or_is_deleted_and_ready_by_its_condition(given, active, ready):
    assert pods.is_active(given) is active
    assert pods.is_ready(given) is ready


@pytest.mark.parametrize(
    ("ready", "minimum", "available", "rest"),
    [
        (None, 0, False, None),
        (10, 0, True, None),
        (10, 5, True, None),
        (10, 10, True, None),
        (10, 11, False, 1.0),
        (0, 0, True, None),
        (0, 5, False, None),
        (None, 5, False, None),
    ],
)
def test_a_pod_is_available_when_it_has_been_ready_for_the_minimum_time(ready, minimum, available, rest):
    pod = a_pod(ready=ready)
    assert pods.is_available(pod, NOW, minimum=minimum) is available
    assert pods.available_in(pod, NOW, minimum=minimum) == rest


def test_the_next_look_at_availability_is_when_the_first_pod_gets_there():
    given = [a_pod(ready=2), a_pod(ready=7), a_pod(ready=None), a_pod(ready=60)]
    assert pods.soonest_available(given, NOW, minimum=10) == 3.0
    assert pods.soonest_available(given[2:], NOW, minimum=10) is None


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        (None, 0),
        ("", 0),
        ("0", 0),
        ("10", 10),
        ("-10", -10),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("+10", 0),  # R8: not canonical, or beyond int32
        ("08", 0),
        ("2147483648", 0),
        ("-2147483649", 0),
        ("1.5", 0),
        ("1_0", 0),
        ("\u0661", 0),
        ("9" * 5000, 0),
        ("-08", -8),
    ],
)
def test_the_deletion_cost_is_a_canonical_int32_or_nothing(text, cost):
    assert pods.deletion_cost(a_pod(cost=text)) == cost


FIRST = [
    ("one that is on no node", a_pod("b", node=""), a_pod("a", cost="-5")),
    ("one that is pending", a_pod("b", phase="Pending"), a_pod("a", phase="Unknown")),
    ("one whose phase is unknown", a_pod("b", phase="Unknown"), a_pod("a")),
    ("one that is not ready, whatever the other costs", a_pod("b", ready=None, cost="100"), a_pod("a", cost="-5")),
    ("the cheaper one", a_pod("b", cost="-5"), a_pod("a")),
    ("one of several on its node", a_pod("b", node="full"), a_pod("a", ready=5)),
    ("one that does not tell since when it is ready", a_pod("b", ready=0), a_pod("a", ready=1)),
    ("one that became ready later, by powers of two", a_pod("b", ready=60), a_pod("a", ready=600)),
    ("in the same power of two the smaller uid", a_pod("a", ready=65), a_pod("b", ready=60, restarts=9)),
    ("one whose readiness lies in the future", a_pod("b", ready=-10), a_pod("a", ready=10)),
    ("the more restarted one", a_pod("b", restarts=3), a_pod("a", restarts=2)),
    ("one without a time of creation", a_pod("b", age=None), a_pod("a", age=1)),
    ("the younger one, by powers of two", a_pod("b", age=4000, ready=60), a_pod("a", age=40_000, ready=60)),
    ("of two equally ready ones of an age the smaller uid", a_pod("a", age=65), a_pod("b", age=60)),
]


@pytest.mark.parametrize(("first", "second"), [row[1:] for row in FIRST], ids=[row[0] for row in FIRST])
def test_of_two_pods_goes_first(first, second):
    neighbours = [a_pod("x", node="full"), a_pod("y", node="full"), a_pod("z", node="full", phase="Failed")]
    related = [first, second, *neighbours]
    for given in ([first, second], [second, first]):
        assert pods.in_deletion_order(given, NOW, related=related) == [first, second]


SIDECARS = {"initContainers": [{"name": "once"}, {"name": "side", "restartPolicy": "Always"}]}


def test_equal_restarts_of_containers_are_told_apart_by_those_of_sidecars():
    calm, once, side = (a_pod(uid, **SIDECARS) for uid in "abc")
    once["status"]["initContainerStatuses"] = [{"name": "once", "restartCount": 9}, {"name": "side", "restartCount": 0}]
    side["status"]["initContainerStatuses"] = [{"name": "once", "restartCount": 0}, {"name": "side", "restartCount": 1}]
    assert pods.in_deletion_order([calm, once, side], NOW, related=[]) == [side, calm, once]


@pytest.mark.parametrize(
    ("profile", "first", "second"),
    [
        (OLD, a_pod("b", ready=60), a_pod("a", ready=65)),  # ages are compared exactly
        (OLD, a_pod("b", ready=60, cost="9"), a_pod("a", ready=65, cost="-9")),  # nobody knows of costs
        (OLD, a_pod("b", age=60), a_pod("a", age=65)),
        (NEWEST, a_pod("a", age=65), a_pod("b", age=60)),
    ],
)
def test_an_old_release_compares_ages_exactly_and_knows_no_cost(profile, first, second):
    given = [second, first]
    assert pods.in_deletion_order(given, NOW, related=[], profile=profile) == [first, second]


def test_pods_that_became_ready_together_stand_together():
    """Upstream's comparison is no order here: a < b by uid, b < c by uid, and c < a by restarts."""
    calm, other, restarted = a_pod("a", ready=60), a_pod("b", ready=65), a_pod("c", ready=60, restarts=5)
    for given in ([calm, other, restarted], [restarted, calm, other], [other, restarted, calm]):
        assert pods.in_deletion_order(given, NOW, related=[]) == [restarted, calm, other]


def goes_before(one, other, crowds):
    """Upstream's comparison of two pods, criterion after criterion, as controller_utils.go has it."""
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}
    node, phase = (lambda pod: pod["spec"]["nodeName"]), (lambda pod: phases[pod["status"]["phase"]])
    criteria = [
        lambda pod: bool(node(pod)),
        phase,
        pods.is_ready,
        pods.deletion_cost,
        lambda pod: -crowds[node(pod)],
    ]
    for criterion in criteria:
        if criterion(one) != criterion(other):
            return criterion(one) < criterion(other)
    if pods.is_ready(one) and (is_younger := younger(one, other, pods.ready_since)) is not None:
        return is_younger
    restarts = [pod["status"]["containerStatuses"][0]["restartCount"] for pod in (one, other)]
    if restarts[0] != restarts[1]:
        return restarts[0] > restarts[1]
    return younger(one, other, lambda pod: parse_time(pod["metadata"].get("creationTimestamp", "1970-01-01T00:00:00Z")))


def younger(one, other, time):
    """Return whether one pod is younger by powers of two, None if both have the same time."""
    first, second = time(one), time(other)
    if first == second:
        return None
    if not first or not second:
        return not first
    buckets = [int(log2((NOW - at) * 1e9)) if at < NOW else -1 for at in (first, second)]
    return buckets[0] < buckets[1] if buckets[0] != buckets[1] else one["metadata"]["uid"] < other["metadata"]["uid"]


AGES = st.sampled_from([None, -5, 1, 2, 60, 65, 120, 4000])
SOME_PODS = st.builds(
    a_pod,
    phase=st.sampled_from(["Pending", "Unknown", "Running"]),
    node=st.sampled_from(["", "n1", "n2"]),
    ready=AGES | st.just(0),
    age=AGES,
    restarts=st.integers(0, 2),
    cost=st.sampled_from([None, "-1", "0", "1", "+1"]),
)


@forall(st.tuples(SOME_PODS, SOME_PODS))
def test_of_any_two_pods_the_one_goes_first_that_upstream_takes_first(two):
    two = [pod | {"metadata": pod["metadata"] | {"uid": uid}} for pod, uid in zip(two, "ab", strict=True)]
    crowds = {"": 0, "n1": 0, "n2": 0}
    for pod in two:
        crowds[pod["spec"]["nodeName"]] += 1
    first, second = pods.in_deletion_order(two, NOW, related=two)
    assert not goes_before(second, first, crowds)


@forall(st.lists(SOME_PODS, max_size=8))
def test_the_order_does_not_depend_on_the_order_before(some):
    some = [pod | {"metadata": pod["metadata"] | {"uid": str(i)}} for i, pod in enumerate(some)]
    ordered = pods.in_deletion_order(some, NOW, related=some)
    assert pods.in_deletion_order(some[::-1], NOW, related=some) == ordered
    assert len(ordered) == len(some)


REFERENCE = {"kind": "ReplicaSet", "uid": "u", "controller": True}


def test_a_pod_is_made_of_what_its_template_says_and_nothing_else():
    template = {
        "metadata": {
            "name": "ignored",
            "labels": {"app": "web"},
            "annotations": {"note": "x"},
            "finalizers": ["example.com/wait"],
            "creationTimestamp": None,
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    owner = {"metadata": {"name": "web-1", "namespace": "shop"}}
    assert pods.pod_from_template(template, owner, REFERENCE) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-1-",
            "namespace": "shop",
            "labels": {"app": "web"},
            "annotations": {"note": "x"},
            "finalizers": ["example.com/wait"],
            "ownerReferences": [REFERENCE],
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


@pytest.mark.parametrize(("length", "dash"), [(252, "-"), (253, "")])
def test_the_prefix_of_a_pods_name_loses_its_dash_where_it_would_be_too_long(length, dash):
    owner = {"metadata": {"name": "a" * length, "namespace": "default"}}
    made = pods.pod_from_template({"metadata": {}, "spec": {}}, owner, REFERENCE)
    assert made["metadata"]["generateName"] == "a" * length + dash
