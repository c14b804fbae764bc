"""Disruption budgets: the pods that may go, the scales that say how many there should be, and a missing scale."""

import pytest
from triggers import woken

from apiserver.api.errors import conflict, not_found, unavailable, unknown_path
from controller_manager.controllers.disruption import budgets
from controller_manager.controllers.disruption.controller import SPEC
from controller_manager.reconcile.contract import Change, Get, RequeueAfter, Update
from controller_manager.reconcile.kinds import (
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    Kind,
    Served,
)
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0
KEY = "default/b"
LABELS = {"app": "web"}
SELECTOR = {"matchLabels": LABELS}
JOB = Kind("batch", "v1", "Job", "jobs")


def a_budget(name="b", *, status=None, selector=SELECTOR, **spec):
    meta = {"name": name, "namespace": "default", "uid": name, "generation": 2, "resourceVersion": "7"}
    return {"metadata": meta, "spec": {"selector": selector} | spec, "status": status or {}}


def a_pod(name, *, owner="ReplicaSet/rs", ready=True, labels=LABELS, **more):
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels, "resourceVersion": "5"}
    if owner:
        kind, _, uid = owner.partition("/")
        group = "v1" if kind == "ReplicationController" else "batch/v1" if kind == "Job" else "apps/v1"
        meta["ownerReferences"] = [
            {"apiVersion": group, "kind": kind, "name": uid, "uid": more.get("uid", uid), "controller": True}
        ]
    if more.get("deleting"):
        meta["deletionTimestamp"] = format_time(NOW)
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}, *more.get("conditions", ())]
    return {"metadata": meta, "spec": {}, "status": {"phase": more.get("phase", "Running"), "conditions": conditions}}


def a_workload(name, replicas, owner=None):
    meta = {"name": name, "namespace": "default", "uid": name}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "uid": owner}]
        meta["ownerReferences"][0]["controller"] = True
    return {"metadata": meta, "spec": {"replicas": replicas}}


def pods(count, **more):
    return [a_pod(f"p{i}", **more) for i in range(count)]


@pytest.fixture
def do(make_world, reconcile):
    """do(budget, pods, {kind: objects}): the outcome of a reconcile of the budget."""

    def run(budget, pods=(), others=None, answers=lambda _: None, key=KEY, **more):
        objects = {DISRUPTION_BUDGET: [budget], POD: pods} | (others or {})
        world = make_world(SPEC, objects)
        world.served = Served({JOB: frozenset(("get",))}, (JOB,))
        return reconcile(SPEC, key, world, answers, **more)

    return run


def status_of(done):
    (write,) = done.of(Update)
    assert write.subresource == "status"
    return write.obj["status"]


def numbers(done):
    status = status_of(done)
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    return [status[name] for name in names]


# -- the numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        ({"minAvailable": 2}, 7, 2),
        ({"minAvailable": "50%"}, 5, 3),  # rounded up
        ({"minAvailable": "100%"}, 5, 5),
        ({"minAvailable": "0%"}, 5, 0),
        ({"maxUnavailable": 1}, 5, 4),
        ({"maxUnavailable": 9}, 5, 0),
        ({"maxUnavailable": "30%"}, 5, 3),  # 1.5 is 2
        ({"maxUnavailable": 0}, 5, 5),
        ({"maxUnavailable": 1, "minAvailable": None}, 5, 4),
        ({}, 0, 0),
    ],
)
def test_a_budget_asks_for_a_number_or_for_a_share_of_what_the_controllers_want(spec, expected, desired):
    assert budgets.expected_pods(spec, 7, 5) == budgets.ExpectedPods(expected, desired)


def test_ready_pods_beyond_those_wanted_may_be_disrupted(do):
    done = do(a_budget(minAvailable=2), [*pods(4), a_pod("x", ready=False), a_pod("y", deleting=True)])
    assert status_of(done) == {
        "disruptionsAllowed": 2,
        "currentHealthy": 4,
        "desiredHealthy": 2,
        "expectedPods": 6,
        "observedGeneration": 2,
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "True",
                "reason": "SufficientPods",
                "message": "",
                "observedGeneration": 2,
                "lastTransitionTime": format_time(NOW),
            }
        ],
    }
    assert done.events == []


def test_too_few_healthy_pods_allow_no_disruption(do):
    done = do(a_budget(minAvailable=2), [*pods(2), a_pod("x", ready=False)])
    assert numbers(done) == [3, 2, 2, 0]
    condition = status_of(done)["conditions"][0]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")


@pytest.mark.parametrize(
    ("kind", "owner", "others"),
    [
        (REPLICA_SET, "ReplicaSet/rs", {}),
        (STATEFUL_SET, "StatefulSet/rs", {}),
        (REPLICATION_CONTROLLER, "ReplicationController/rs", {}),
    ],
)
def test_the_scale_is_that_of_the_pods_controller(do, kind, owner, others):
    done = do(a_budget(maxUnavailable=1), pods(2, owner=owner), {kind: [a_workload("rs", 5)]} | others)
    assert numbers(done) == [5, 4, 2, 0]


def test_the_scale_of_a_deployments_replica_sets_is_the_deployments_and_counts_once(do):
    sets = [a_workload("old", 2, "web"), a_workload("new", 3, "web")]
    pods = [a_pod("a", owner="ReplicaSet/old"), a_pod("b", owner="ReplicaSet/new"), a_pod("c", owner="StatefulSet/db")]
    others = {REPLICA_SET: sets, DEPLOYMENT: [a_workload("web", 4)], STATEFUL_SET: [a_workload("db", 3)]}
    assert numbers(do(a_budget(minAvailable="50%"), pods, others)) == [7, 4, 3, 0]


def test_a_replica_set_whose_deployment_is_gone_counts_for_itself(do):
    others = {REPLICA_SET: [a_workload("rs", 3, "gone")]}
    assert numbers(do(a_budget(maxUnavailable=1), pods(3), others)) == [3, 2, 3, 1]


def test_a_budget_that_nothing_has_changed_for_writes_nothing(do):
    before = status_of(do(a_budget(minAvailable=1), pods(2)))
    assert do(a_budget(minAvailable=1, status=before), pods(2)).actions == []


def test_the_last_transition_moves_only_with_the_condition(do):
    before = status_of(do(a_budget(minAvailable=1), pods(2)))
    later = status_of(do(a_budget(minAvailable=1, status=before), pods(3), at=NOW + 60))
    assert later["conditions"] == before["conditions"]
    used = status_of(do(a_budget(minAvailable=3, status=before), pods(3), at=NOW + 60))
    assert used["conditions"][0]["lastTransitionTime"] == format_time(NOW + 60)


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [(None, 0), ({}, 2), ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, 2)],
)
def test_an_empty_selector_selects_all_pods_and_a_missing_one_none(do, selector, allowed):
    assert numbers(do(a_budget(minAvailable=0, selector=selector), pods(2)))[3] == allowed


def test_a_budget_without_pods_allows_nothing_and_says_so(do):
    done = do(a_budget(minAvailable=0))
    assert numbers(done) == [0, 0, 0, 0]
    assert done.events == ["NoPods: No matching pods found"]


def test_a_budget_that_is_gone_is_nothing_to_do(do):
    assert do(a_budget("other"), pods(2)).actions == []


# -- evictions that were allowed ---------------------------------------------------------------------------------------


def test_pods_whose_eviction_was_allowed_are_as_good_as_gone_for_two_minutes(do):
    allowed = {"p0": format_time(NOW - 20), "p1": format_time(NOW - 60), "gone": format_time(NOW - 1)}
    done = do(a_budget(minAvailable=1, status={"disruptedPods": allowed}), pods(4))
    assert numbers(done) == [4, 1, 2, 1]
    assert status_of(done)["disruptedPods"] == {"p0": format_time(NOW - 20), "p1": format_time(NOW - 60)}
    assert done.of(RequeueAfter) == [RequeueAfter(60.0)]


def test_an_evicted_pod_that_is_being_deleted_needs_no_note(do):
    status = {"disruptedPods": {"x": format_time(NOW)}}
    done = do(a_budget(minAvailable=1, status=status), [*pods(2), a_pod("x", deleting=True)])
    assert "disruptedPods" not in status_of(done)
    assert numbers(done) == [3, 1, 2, 1]


def test_a_pod_that_was_not_deleted_in_time_counts_again_and_is_reported(do):
    status = {"disruptedPods": {"p0": format_time(NOW - 120)}}
    done = do(a_budget(minAvailable=1, status=status), pods(2))
    assert done.events == ["NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't"]
    assert numbers(done) == [2, 1, 2, 1]
    assert done.of(RequeueAfter) == []


# -- what cannot be known ----------------------------------------------------------------------------------------------

UNKNOWN = [
    ("a controller that is gone", "ReplicaSet/rs", None, 'found no controllers for pod "p0"'),
    ("a kind that nobody serves", "Thing/t", None, 'no matches for kind "Thing" in version "apps/v1"'),
    ("a kind without scale", "Job/j", unknown_path(), "jobs.batch does not implement the scale subresource"),
    ("an object that is gone", "Job/j", not_found("batch", "jobs", "j"), 'found no controllers for pod "p0"'),
    (
        "another object of that name",
        "Job/j",
        {"metadata": {"uid": "other"}, "spec": {}},
        'found no controllers for pod "p0"',
    ),
]


@pytest.mark.parametrize(("owner", "answer", "why"), [row[1:] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
def test_without_a_scale_nobody_may_evict_and_the_reason_is_told(do, owner, answer, why):
    before = {"disruptionsAllowed": 3, "currentHealthy": 3, "desiredHealthy": 0, "expectedPods": 3}
    done = do(a_budget(maxUnavailable=1, status=before), pods(1, owner=owner), answers=lambda r: _of(r, answer))
    assert done.events == [
        f"CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: {why}",
    ]
    assert numbers(done) == [3, 0, 3, 0]
    condition = status_of(done)["conditions"][0]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", why)
    assert done.error is None


def _of(request, answer):
    return answer if isinstance(request, Get) else None


def test_a_custom_controller_is_asked_for_its_scale(do):
    scale = {"metadata": {"uid": "j"}, "spec": {"replicas": 6}}
    done = do(a_budget(maxUnavailable=1), pods(2, owner="Job/j"), answers=lambda r: _of(r, scale))
    assert done.of(Get) == [Get(JOB, "default/j", "scale")]
    assert numbers(done) == [6, 5, 2, 0]


def test_a_scale_that_could_not_be_asked_for_is_asked_for_again(do):
    done = do(a_budget(maxUnavailable=1), pods(1, owner="Job/j"), answers=lambda r: _of(r, unavailable("away")))
    assert status_of(done)["conditions"][0]["reason"] == "SyncFailed"
    assert done.error.code == 503


def test_pods_that_nobody_controls_are_reported_if_a_scale_is_needed(do):
    all_pods = [a_pod("alone", owner=""), *pods(2)]
    done = do(a_budget(maxUnavailable=1), all_pods, {REPLICA_SET: [a_workload("rs", 2)]})
    assert numbers(done) == [2, 1, 3, 2]
    (event,) = done.events
    assert event == (
        "UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:"
        "map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. "
        "As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "
        'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
    )
    assert do(a_budget(minAvailable=1), all_pods).events == []


def test_a_selector_is_printed_as_go_prints_it():
    expressions = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    assert budgets.format_selector({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": expressions}) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},"
        "LabelSelectorRequirement{Key:old,Operator:DoesNotExist,Values:[],},},}"
    )


def test_a_selector_that_cannot_be_understood_is_told_and_allows_nothing(do):
    bad = {"matchExpressions": [{"key": "app", "operator": "Like"}]}
    done = do(a_budget(minAvailable=0, selector=bad), pods(2))
    assert done.events == ['NoPods: Failed to get pods: "Like" is not a valid label selector operator']
    assert status_of(done)["conditions"][0]["reason"] == "SyncFailed"
    assert done.error is None


def test_an_invalid_percentage_is_reported(do):
    done = do(a_budget(minAvailable="half"), pods(1), {REPLICA_SET: [a_workload("rs", 2)]})
    assert status_of(done)["conditions"][0]["reason"] == "SyncFailed"
    assert done.events[0].startswith("CalculateExpectedPodCountFailed: Failed to calculate")


def test_a_status_that_lost_a_race_is_no_failure_of_the_budget(do):
    lost = conflict("policy", "poddisruptionbudgets", name="b", why="stale")
    done = do(a_budget(minAvailable=1), pods(2), answers=lambda r: lost if isinstance(r, Update) else None)
    assert len(done.of(Update)) == 1
    assert done.error is lost


# -- disturbed pods ----------------------------------------------------------------------------------------------------

POD_KEY = "pods/default/p"


def a_target(since=NOW, *, status="True", reason="EvictionByEvictionAPI", **more):
    target = {"type": "DisruptionTarget", "status": status, "reason": reason, "lastTransitionTime": format_time(since)}
    return a_pod("p", conditions=[target], **more)


def test_a_pod_that_is_not_deleted_is_no_target_after_two_minutes(do):
    pod = a_target(NOW - 120)
    (write,) = do(a_budget(minAvailable=1), [pod], key=POD_KEY).of(Update)
    assert (write.kind, write.subresource) == (POD, "status")
    assert write.obj["status"]["conditions"] == [
        {"type": "Ready", "status": "True"},
        {"type": "DisruptionTarget", "status": "False", "lastProbeTime": None, "lastTransitionTime": format_time(NOW)},
    ]
    assert do(a_budget(minAvailable=1), [a_target(NOW - 30)], key=POD_KEY).actions == [RequeueAfter(90.0)]


@pytest.mark.parametrize(
    "pod",
    [
        a_pod("p"),
        a_target(NOW - 500, status="False"),
        a_target(NOW - 500, reason="TerminationByKubelet"),
        a_target(NOW - 500, deleting=True),
        a_target(NOW - 500, phase="Failed"),
    ],
)
def test_other_pods_are_left_alone(do, pod):
    assert do(a_budget(minAvailable=1), [pod], key=POD_KEY).actions == []


def test_a_pod_under_several_budgets_is_reported(make_world, reconcile):
    bad = a_budget("a", selector={"matchExpressions": [{"key": "app", "operator": "Like"}]})
    world = make_world(SPEC, {DISRUPTION_BUDGET: [bad, a_budget("y"), a_budget("x", selector={})], POD: [a_pod("p")]})
    done = reconcile(SPEC, POD_KEY, world)
    assert done.events == [
        'MultiplePodDisruptionBudgets: Pod "default"/"p" matches multiple PodDisruptionBudgets.  Chose "x" arbitrarily.'
    ]


# -- what wakes it -----------------------------------------------------------------------------------------------------

OTHER = a_pod("p", labels={"app": "x"})
WAKES = [
    ("a pod that comes", None, a_pod("p"), [KEY]),
    ("a pod that goes", a_pod("p"), None, [KEY]),
    ("a pod that becomes ready", a_pod("p", ready=False), a_pod("p"), [KEY]),
    ("a pod that is being deleted", a_pod("p"), a_pod("p", deleting=True), [KEY]),
    ("a pod that is selected no more", a_pod("p"), OTHER, [KEY]),
    ("a pod that is selected now", OTHER, a_pod("p"), [KEY]),
    ("a target of a disruption", a_pod("p"), a_target(), [POD_KEY, KEY]),
    ("a pod that nothing selects", None, OTHER, []),
    ("a pod in which nothing counts", a_pod("p"), a_pod("p", phase="Pending"), []),
    ("a resync", OTHER, OTHER, []),
]


@pytest.mark.parametrize(("old", "new", "keys"), [row[1:] for row in WAKES], ids=[row[0] for row in WAKES])
def test_wakes_the_budgets_that_it_concerns(make_world, old, new, keys):
    unselective = a_budget("none", selector=None)
    world = make_world(SPEC, {DISRUPTION_BUDGET: [a_budget(), unselective], POD: []})
    assert woken(SPEC, world, POD, Change(old, new)) == keys


def test_a_pod_that_two_budgets_select_wakes_both_and_itself(make_world):
    world = make_world(SPEC, {DISRUPTION_BUDGET: [a_budget("x"), a_budget("y")], POD: []})
    assert sorted(woken(SPEC, world, POD, Change(None, a_pod("p")))) == ["default/x", "default/y", POD_KEY]
