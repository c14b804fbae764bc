"""ReplicaSets and ReplicationControllers: what is done about too few pods, too many, and pods that are not theirs."""

import pytest

from apiserver.api.errors import conflict, forbidden, invalid, not_found
from controller_manager.controllers import replicaset, replicationcontroller
from controller_manager.planning.profile import PROFILES
from controller_manager.planning.times import stamp
from controller_manager.runtime.contract import (
    STRATEGIC_PATCH,
    Batch,
    Change,
    Create,
    Delete,
    Get,
    Later,
    Patch,
    Update,
)
from controller_manager.runtime.kinds import POD, REPLICA_SET, REPLICATION_CONTROLLER

SPEC = replicaset.SPEC
NOW = 1_800_000_000.0
KEY = "default/web"
LABELS = {"app": "web"}


def a_set(replicas=3, *, name="web", uid="set", status=None, owner=None, deleting=False, labels=LABELS, **spec):
    meta = {"name": name, "namespace": "default", "uid": uid, "generation": 1, "resourceVersion": "7"}
    if owner:
        meta["ownerReferences"] = [{"kind": "Deployment", "name": owner, "uid": owner, "controller": True}]
    if deleting:
        meta["deletionTimestamp"] = stamp(NOW)
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template} | spec
    return {"metadata": meta, "spec": spec, "status": {"replicas": 0} if status is None else status}


def a_pod(name, *, owner="set", kind="ReplicaSet", labels=LABELS, ready=3600.0, phase="Running", node="n1", **more):
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels, "resourceVersion": "5"}
    meta |= {"creationTimestamp": stamp(NOW - more.get("age", 7200))}
    if owner:
        meta["ownerReferences"] = [{"kind": kind, "name": "web", "uid": owner, "controller": True}]
    if more.get("deleting"):
        meta["deletionTimestamp"] = stamp(NOW)
    if "cost" in more:
        meta["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": more["cost"]}
    status = {"phase": phase}
    if ready is not None:
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(NOW - ready)}]
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
    """A server that refuses requests of these types."""
    return lambda request: error if isinstance(request, kinds) else None


QUOTA = forbidden("", "pods", name="web-", why="exceeded quota: small")
TERMINATING = forbidden(
    "", "pods", name="web-", why="namespace is going away", causes=[{"reason": "NamespaceTerminating"}]
)


@pytest.fixture
def do(reconcile):
    """do(set, pods, answers): what is done about a ReplicaSet."""

    def run(owner, found=(), answers=lambda _: None, **more):
        owners = owner if isinstance(owner, list) else [owner]
        return reconcile(SPEC, KEY, {REPLICA_SET: owners, POD: found}, answers, **more)

    return run


# -- too few -----------------------------------------------------------------------------------------------------------


def test_missing_pods_are_made_from_the_template_and_told(do):
    done = do(a_set(3), pods("a"))
    made = done.of(Create)
    assert len(made) == 2
    assert made[0].obj["metadata"]["generateName"] == "web-"
    assert made[0].obj["metadata"]["labels"] == LABELS
    assert made[0].obj["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web",
            "uid": "set",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert done.events == ["SuccessfulCreate: Created pod: web-00001", "SuccessfulCreate: Created pod: web-00002"]


def test_r1_when_every_creation_fails_one_is_tried_and_the_condition_says_why(do):
    done = do(a_set(8), answers=refusing(Create, error=QUOTA))
    (batch,) = done.of(Batch)
    assert batch.slow_start
    assert len(batch.requests) == 8
    assert done.events == [f"FailedCreate: Error creating: {QUOTA.message}"]
    assert status_of(done)["conditions"] == [
        {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": stamp(NOW),
            "reason": "FailedCreate",
            "message": QUOTA.message,
        }
    ]
    assert done.error is QUOTA


def test_the_condition_of_a_failure_keeps_its_first_words_and_goes_when_all_is_well(do):
    failed = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "before"}
    other = {"type": "Other", "status": "True"}
    old = {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0, "conditions": [failed, other]}
    assert do(a_set(2, status=old), answers=refusing(Create, error=QUOTA)).of(Update) == []
    assert status_of(do(a_set(0, status=old)))["conditions"] == [other]


def test_r2_of_a_thousand_missing_pods_five_hundred_are_made_at_a_time(do):
    assert len(do(a_set(1000)).of(Create)) == 500
    assert len(do(a_set(1000), pods(*(f"p{i}" for i in range(900)))).of(Create)) == 100


def test_a_template_without_labels_makes_no_pod_and_says_so(do):
    done = do(a_set(1, labels={}))
    assert done.of(Create) == []
    assert status_of(done)["conditions"][0]["message"] == "unable to create pods, no labels"
    assert done.error.message == "unable to create pods, no labels"


def test_r15_a_terminating_pod_does_not_count_and_is_replaced_at_once(do):
    done = do(a_set(2), [*pods("a"), a_pod("b", deleting=True)])
    assert len(done.of(Create)) == 1
    status = status_of(done)
    assert (status["replicas"], status["terminatingReplicas"]) == (1, 1)


def test_old_releases_do_not_count_terminating_pods(do):
    done = do(a_set(1), [*pods("a"), a_pod("b", deleting=True)], profile=PROFILES["1.30"])
    assert "terminatingReplicas" not in status_of(done)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_r16_an_ended_pod_does_not_count_and_is_replaced_but_not_deleted(do, phase):
    done = do(a_set(2), [*pods("a"), a_pod("b", phase=phase)])
    assert len(done.of(Create)) == 1
    assert done.of(Delete) == []
    assert status_of(done)["replicas"] == 1


def test_r18_in_a_terminating_namespace_nothing_is_said_and_nothing_fails(do):
    done = do(a_set(8), answers=refusing(Create, error=TERMINATING))
    assert done.events == []
    assert done.error is None
    assert "conditions" not in status_of(done)


# -- too many ----------------------------------------------------------------------------------------------------------


def test_r5_scaling_down_takes_pods_on_no_node_then_pending_then_unready_ones(do):
    found = [
        a_pod("ready", ready=60),
        a_pod("unready", ready=None),
        a_pod("pending", ready=None, phase="Pending"),
        a_pod("unassigned", ready=None, phase="Pending", node=""),
        a_pod("old", ready=6000),
    ]
    assert deleted(do(a_set(2), found)) == ["unassigned", "pending", "unready"]


def test_r6_of_equal_pods_the_one_on_the_most_crowded_node_goes(do):
    sibling = a_set(2, name="other", uid="sibling", owner="deployment")
    others = pods("x", "y", owner="sibling", node="full")
    found = [*pods("a", node="empty"), *pods("b", node="full"), *others]
    assert deleted(do([a_set(1, owner="deployment"), sibling], found)) == ["b"]


def test_without_a_common_controller_no_node_is_crowded(do):
    found = [*pods("a", node="empty"), *pods("b", "c", node="full", ready=60000)]
    assert deleted(do(a_set(2), found)) == ["a"]


def test_r7_the_cheapest_ready_pod_goes_first_but_any_unready_one_before(do):
    found = [a_pod("ten", cost="10"), a_pod("none"), a_pod("less", cost="-5"), a_pod("un", cost="100", ready=None)]
    assert deleted(do(a_set(2), found)) == ["un", "less"]


def test_r8_a_cost_that_is_no_canonical_int32_is_none(do):
    found = [a_pod("a", cost="+10"), a_pod("b", cost="08"), a_pod("c", cost="2147483648"), a_pod("d", cost="1")]
    assert deleted(do(a_set(1), found)) == ["a", "b", "c"]


@pytest.mark.parametrize(("ages", "goes"), [((60, 65), "a"), ((65, 60), "a"), ((60, 600), "a"), ((600, 60), "b")])
def test_r9_ages_in_one_power_of_two_are_told_apart_by_uid_and_others_by_age(do, ages, goes):
    found = [a_pod(name, ready=None, age=age) for name, age in zip("ab", ages, strict=True)]
    assert deleted(do(a_set(1), found)) == [goes]


@pytest.mark.parametrize(("release", "goes"), [("1.20", "b"), ("1.30", "a"), ("1.35", "a")])
def test_r7_only_releases_that_know_of_costs_heed_them(do, release, goes):
    found = [a_pod("a", cost="-5", ready=60_000), a_pod("b", ready=60)]
    assert deleted(do(a_set(1), found, profile=PROFILES[release])) == [goes]


@pytest.mark.parametrize(("release", "goes"), [("1.20", "b"), ("1.30", "a"), ("1.35", "a")])
def test_r9_old_releases_compare_ages_exactly(do, release, goes):
    found = [a_pod("a", ready=None, age=65), a_pod("b", ready=None, age=60)]
    assert deleted(do(a_set(1), found, profile=PROFILES[release])) == [goes]


def test_deletions_are_guarded_by_uid_told_and_at_most_five_hundred(do):
    done = do(a_set(1), pods(*(f"p{i:03}" for i in range(700))))
    assert len(done.of(Delete)) == 500
    assert all(request.uid == f"uid-{request.key.removeprefix('default/')}" for request in done.of(Delete))
    assert "SuccessfulDelete: Deleted pod: p000" in done.events
    assert deleted(do(a_set(0), pods("a", "b"))) == ["a", "b"]


def test_r21_a_pod_that_is_gone_already_is_no_failure(do):
    done = do(a_set(0), pods("a"), refusing(Delete, error=not_found("", "pods", "a")))
    assert (done.events, done.error) == ([], None)
    assert "conditions" not in status_of(done)


def test_a_deletion_that_is_refused_is_told_and_raised_after_the_status(do):
    done = do(a_set(0), pods("a"), refusing(Delete, error=forbidden("", "pods", name="a", why="no")))
    assert done.events == ['FailedDelete: Error deleting: pods "a" is forbidden: no']
    condition = status_of(done)["conditions"][0]
    assert (condition["reason"], condition["message"]) == (
        "FailedDelete",
        'unable to delete pods: pods "a" is forbidden: no',
    )
    assert done.error.code == 403


# -- whose pods --------------------------------------------------------------------------------------------------------


def test_r10_a_pod_whose_labels_changed_is_released_and_replaced(do):
    done = do(
        a_set(2), [*pods("a"), a_pod("b", labels={"app": "other"})], lambda r: {} if isinstance(r, Patch) else None
    )
    (patch,) = done.of(Patch)
    assert (patch.key, patch.content_type) == ("default/b", STRATEGIC_PATCH)
    assert patch.body == {"metadata": {"uid": "uid-b", "ownerReferences": [{"$patch": "delete", "uid": "set"}]}}
    assert (len(done.of(Create)), done.of(Delete)) == (1, [])


def alive(owner, adopted=()):
    """A server that knows the set, and pods once they are adopted."""
    known = {f"default/{pod['metadata']['name']}": pod for pod in adopted}
    return lambda r: owner if isinstance(r, Get) else known[r.key] if isinstance(r, Patch) else None


def test_r11_all_matching_orphans_are_adopted_and_the_excess_deleted(do):
    orphans = [a_pod("a", owner=""), a_pod("b", owner="", ready=60), a_pod("c", owner="", phase="Failed")]
    done = do(a_set(1), orphans, alive(a_set(1), orphans))
    assert [patch.key for patch in done.of(Patch)] == ["default/a", "default/b"]
    assert done.of(Patch)[0].body["metadata"]["ownerReferences"][0]["uid"] == "set"
    assert len(done.of(Get)) == 1
    assert deleted(done) == ["b"]


@pytest.mark.parametrize("live", [a_set(1, deleting=True), a_set(1, uid="another")])
def test_r12_an_orphan_is_not_adopted_by_a_set_that_is_really_going(do, live):
    done = do(a_set(1), pods("a", owner=""), lambda r: live if isinstance(r, Get) else None)
    assert done.of(Patch) == done.of(Create) == []
    assert done.error is not None


def test_a_set_that_is_being_deleted_makes_adopts_and_deletes_nothing(do):
    done = do(a_set(2, deleting=True), [*pods("a", "b", "c"), a_pod("d", owner="")])
    assert [type(request) for request in done.requests()] == [Update]
    assert status_of(done)["replicas"] == 3


def test_r13_a_pod_that_another_controls_is_neither_touched_nor_counted(do):
    done = do(a_set(0), pods("a", "b", owner="somebody"))
    assert [type(request) for request in done.requests()] == [Update]
    assert status_of(done)["replicas"] == 0


@pytest.mark.parametrize(
    "error",
    [not_found("", "pods", "a"), invalid("", "Pod", name="a", errors=[])],
)
def test_r14_a_release_that_finds_nothing_to_release_is_no_error(do, error):
    done = do(a_set(0), pods("a", labels={"app": "other"}), refusing(Patch, error=error))
    assert done.error is None


def test_r17_two_sets_with_one_selector_keep_to_their_own_pods(do):
    other = a_set(2, name="other", uid="other")
    done = do([a_set(2), other], [*pods("a", "b"), *pods("x", "y", owner="other")])
    assert [type(request) for request in done.requests()] == [Update]
    assert status_of(done)["replicas"] == 2


# -- the status --------------------------------------------------------------------------------------------------------


def test_r19_a_ready_pod_is_available_after_its_time_and_the_set_looks_again_then(do):
    done = do(a_set(2, minReadySeconds=5), [a_pod("a", ready=2), a_pod("b", ready=60)])
    status = status_of(done)
    assert (status["readyReplicas"], status["availableReplicas"]) == (2, 1)
    assert done.of(Later) == [Later(3.0)]
    later = do(a_set(2, minReadySeconds=5), [a_pod("a", ready=2), a_pod("b", ready=60)], at=NOW + 3)
    assert status_of(later)["availableReplicas"] == 2
    assert later.of(Later) == []


@pytest.mark.parametrize(("release", "available"), [("1.20", 0), ("1.30", 1), ("1.35", 1)])
def test_r19_a_pod_is_available_with_the_last_second_or_after_it(do, release, available):
    done = do(a_set(1, minReadySeconds=5), [a_pod("a", ready=5)], profile=PROFILES[release])
    assert status_of(done).get("availableReplicas", 0) == available
    later = do(a_set(1, minReadySeconds=5), [a_pod("a", ready=5)], profile=PROFILES[release], at=NOW + 0.5)
    assert status_of(later)["availableReplicas"] == 1
    assert len(done.of(Later)) == 1 - available


def test_a_set_that_cannot_make_pods_still_looks_again_at_those_it_has(do):
    done = do(a_set(2, minReadySeconds=5), pods("a", ready=2), refusing(Create, error=QUOTA))
    assert done.of(Later) == [Later(3.0)]
    assert done.error is QUOTA


def test_r20_pods_without_the_templates_new_labels_stay_and_are_not_fully_labeled(do):
    new = LABELS | {"tier": "front"}
    done = do(a_set(2, labels=new), [*pods("a"), a_pod("b", labels=new | {"more": "x"})])
    assert done.of(Delete) == done.of(Create) == []
    status = status_of(done)
    assert (status["replicas"], status["fullyLabeledReplicas"]) == (2, 1)


def test_r22_a_status_that_lost_a_race_is_written_once_more_on_what_is_there_now(do):
    lost = conflict("apps", "replicasets", name="web", why="stale")
    live = a_set(1) | {"metadata": a_set(1)["metadata"] | {"resourceVersion": "8"}}
    answers = {Get: iter([live]), Update: iter([lost, live])}
    done = do(a_set(1), pods("a"), lambda r: next(answers[type(r)]))
    first, second = done.of(Update)
    assert (first.obj["metadata"]["resourceVersion"], second.obj["metadata"]["resourceVersion"]) == ("7", "8")
    assert first.obj["status"] == second.obj["status"]
    assert done.error is None
    again = do(a_set(1), pods("a"), lambda r: live if isinstance(r, Get) else lost)
    assert (len(again.of(Update)), again.error) == (2, lost)


STEADY = {
    "replicas": 1,
    "fullyLabeledReplicas": 1,
    "readyReplicas": 1,
    "availableReplicas": 1,
    "observedGeneration": 1,
    "terminatingReplicas": 0,
}


def test_the_status_tells_all_numbers_but_zeroes(do):
    assert status_of(do(a_set(1), pods("a"))) == STEADY
    assert status_of(do(a_set(0))) == {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0}


def test_a_set_that_is_as_it_says_writes_nothing(do):
    assert do(a_set(1, status=STEADY), pods("a")).actions == []


def test_a_new_generation_is_observed_though_no_number_changes(do):
    newer = a_set(1, status=STEADY)
    newer["metadata"]["generation"] = 2
    assert status_of(do(newer, pods("a"))) == STEADY | {"observedGeneration": 2}


def test_a_set_that_is_gone_is_nothing_to_do(do):
    assert do([]).actions == []


def test_a_selector_that_cannot_be_understood_is_told_once_and_no_pod_is_touched(do):
    bad = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}
    done = do(a_set(2, selector=bad), pods("a"))
    assert done.events == ['InvalidSelector: Error selecting pods: "Like" is not a valid label selector operator']
    assert [type(request) for request in done.requests()] == [Update]
    assert do(a_set(2, selector=bad, status=status_of(done)), pods("a")).actions == []


# -- what wakes it -----------------------------------------------------------------------------------------------------


def changed(pod, **meta):
    return pod | {"metadata": pod["metadata"] | meta}


OWNED, ORPHAN, READY = a_pod("a", ready=None), a_pod("a", owner=""), a_pod("a")
ADOPTED_ELSEWHERE = a_pod("a", owner="other")
WAKES = [
    ("a pod that comes", None, OWNED, [KEY]),
    ("a pod that goes", OWNED, None, [KEY]),
    ("a pod that comes while it is deleted", None, changed(OWNED, deletionTimestamp="x"), [KEY]),
    ("a pod that becomes ready", OWNED, READY, [KEY]),
    ("a pod that is being deleted", OWNED, changed(OWNED, deletionTimestamp="x"), [KEY]),
    ("a pod that ends", OWNED, a_pod("a", ready=None, phase="Failed"), [KEY]),
    ("a pod with other labels", OWNED, changed(OWNED, labels={}), [KEY]),
    ("a pod that is released", OWNED, ORPHAN, [KEY]),
    ("a pod that is adopted", ORPHAN, OWNED, [KEY]),
    ("a pod that another took", OWNED, ADOPTED_ELSEWHERE, [KEY]),
    ("an orphan that matches", None, ORPHAN, [KEY]),
    ("an orphan that now matches", changed(ORPHAN, labels={}), ORPHAN, [KEY]),
    ("an orphan that became ready", a_pod("a", owner="", ready=None), ORPHAN, []),
    ("an orphan that goes", ORPHAN, None, []),
    ("an orphan that is being deleted", None, changed(ORPHAN, deletionTimestamp="x"), []),
    ("an orphan that does not match", None, changed(ORPHAN, labels={"app": "x"}), []),
    ("a pod that was bound", a_pod("a", node="", ready=None), OWNED, []),
    ("a pod of a former set of that name", None, a_pod("a", owner="former"), []),
    ("a pod of another kind of owner", None, a_pod("a", kind="StatefulSet"), []),
    ("a resync", OWNED, OWNED, []),
]


@pytest.mark.parametrize(("old", "new", "keys"), [row[1:] for row in WAKES], ids=[row[0] for row in WAKES])
def test_wakes_the_sets_that_it_concerns(make_world, old, new, keys):
    world = make_world(SPEC, {REPLICA_SET: [a_set()], POD: []})
    _, watch = SPEC.watches
    assert list(watch.trigger(world, Change(old, new))) == keys


# -- replication controllers -------------------------------------------------------------------------------------------


def a_controller(**more):
    return a_set(**more, selector=LABELS)


def test_a_replication_controller_does_the_same_with_its_plain_selector(reconcile):
    found = [*pods("a", kind="ReplicationController"), a_pod("b", labels={}, kind="ReplicationController")]
    done = reconcile(
        replicationcontroller.SPEC,
        KEY,
        {REPLICATION_CONTROLLER: [a_controller(replicas=2)], POD: found},
        lambda r: {} if isinstance(r, Patch) else None,
    )
    assert [patch.key for patch in done.of(Patch)] == ["default/b"]
    assert done.of(Create)[0].obj["metadata"]["ownerReferences"][0]["kind"] == "ReplicationController"
    assert done.of(Create)[0].obj["metadata"]["ownerReferences"][0]["apiVersion"] == "v1"
    status = {"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    assert status_of(done) == status | {"observedGeneration": 1}


def test_orphans_wake_the_replication_controllers_that_select_them(make_world):
    spec = replicationcontroller.SPEC
    unselective = a_controller(name="none") | {"spec": {"replicas": 1}}
    world = make_world(spec, {REPLICATION_CONTROLLER: [a_controller(), unselective], POD: []})
    assert list(spec.watches[1].trigger(world, Change(None, ORPHAN))) == [KEY]
    assert list(spec.watches[1].trigger(world, Change(None, a_pod("b", owner="", labels={})))) == []


def test_failures_are_tried_again_for_ever():
    assert SPEC.retries is None
