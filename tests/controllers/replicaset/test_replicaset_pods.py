"""ReplicaSets create pods if there are too few, and delete some if there are too many."""

import pytest

from apiserver.api.errors import forbidden, not_found
from controller_manager.reconcile.contract import Batch, Create, Delete, Update
from controller_manager.reconcile.profile import PROFILES
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0
LABELS = {"app": "web"}
QUOTA = forbidden("", "pods", name="web-", why="exceeded quota: small")
TERMINATING = forbidden(
    "", "pods", name="web-", why="namespace is going away", causes=[{"reason": "NamespaceTerminating"}]
)


# -- too few -----------------------------------------------------------------------------------------------------------


def test_missing_pods_are_made_from_the_template_and_told(do, a_set, pods):
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


def test_r1_when_every_creation_fails_one_is_tried_and_the_condition_says_why(do, a_set, status_of, refusing):
    done = do(a_set(8), answers=refusing(Create, error=QUOTA))
    (batch,) = done.of(Batch)
    assert batch.slow_start
    assert len(batch.requests) == 8
    assert done.events == [f"FailedCreate: Error creating: {QUOTA.message}"]
    assert status_of(done)["conditions"] == [
        {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": format_time(NOW),
            "reason": "FailedCreate",
            "message": QUOTA.message,
        }
    ]
    assert done.error is QUOTA


def test_the_condition_of_a_failure_keeps_its_first_words_and_goes_when_all_is_well(do, a_set, status_of, refusing):
    failed = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "before"}
    other = {"type": "Other", "status": "True"}
    old = {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0, "conditions": [failed, other]}
    assert do(a_set(2, status=old), answers=refusing(Create, error=QUOTA)).of(Update) == []
    assert status_of(do(a_set(0, status=old)))["conditions"] == [other]


def test_r2_of_a_thousand_missing_pods_five_hundred_are_made_at_a_time(do, a_set, pods):
    assert len(do(a_set(1000)).of(Create)) == 500
    assert len(do(a_set(1000), pods(*(f"p{i}" for i in range(900)))).of(Create)) == 100


def test_a_template_without_labels_makes_no_pod_and_says_so(do, a_set, status_of):
    done = do(a_set(1, labels={}))
    assert done.of(Create) == []
    assert status_of(done)["conditions"][0]["message"] == "unable to create pods, no labels"
    assert done.error.message == "unable to create pods, no labels"


def test_r15_a_terminating_pod_does_not_count_and_is_replaced_at_once(do, a_set, a_pod, pods, status_of):
    done = do(a_set(2), [*pods("a"), a_pod("b", deleting=True)])
    assert len(done.of(Create)) == 1
    status = status_of(done)
    assert (status["replicas"], status["terminatingReplicas"]) == (1, 1)


def test_old_releases_do_not_count_terminating_pods(do, a_set, a_pod, pods, status_of):
    done = do(a_set(1), [*pods("a"), a_pod("b", deleting=True)], profile=PROFILES["1.30"])
    assert "terminatingReplicas" not in status_of(done)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_r16_an_ended_pod_does_not_count_and_is_replaced_but_not_deleted(do, a_set, a_pod, pods, status_of, phase):
    done = do(a_set(2), [*pods("a"), a_pod("b", phase=phase)])
    assert len(done.of(Create)) == 1
    assert done.of(Delete) == []
    assert status_of(done)["replicas"] == 1


def test_r18_in_a_terminating_namespace_nothing_is_said_and_nothing_fails(do, a_set, status_of, refusing):
    done = do(a_set(8), answers=refusing(Create, error=TERMINATING))
    assert done.events == []
    assert done.error is None
    assert "conditions" not in status_of(done)


# -- too many ----------------------------------------------------------------------------------------------------------


def test_r5_scaling_down_takes_pods_on_no_node_then_pending_then_unready_ones(do, a_set, a_pod, deleted):
    pods = [
        a_pod("ready", ready=60),
        a_pod("unready", ready=None),
        a_pod("pending", ready=None, phase="Pending"),
        a_pod("unassigned", ready=None, phase="Pending", node=""),
        a_pod("old", ready=6000),
    ]
    assert deleted(do(a_set(2), pods)) == ["unassigned", "pending", "unready"]


def test_r6_of_equal_pods_the_one_on_the_most_crowded_node_goes(do, a_set, pods, deleted):
    sibling = a_set(2, name="other", uid="sibling", owner="deployment")
    others = pods("x", "y", owner="sibling", node="full")
    all_pods = [*pods("a", node="empty"), *pods("b", node="full"), *others]
    assert deleted(do([a_set(1, owner="deployment"), sibling], all_pods)) == ["b"]


def test_without_a_common_controller_no_node_is_crowded(do, a_set, pods, deleted):
    all_pods = [*pods("a", node="empty"), *pods("b", "c", node="full", ready=60000)]
    assert deleted(do(a_set(2), all_pods)) == ["a"]


def test_r7_the_cheapest_ready_pod_goes_first_but_any_unready_one_before(do, a_set, a_pod, deleted):
    pods = [a_pod("ten", cost="10"), a_pod("none"), a_pod("less", cost="-5"), a_pod("un", cost="100", ready=None)]
    assert deleted(do(a_set(2), pods)) == ["un", "less"]


def test_r8_a_cost_that_is_no_canonical_int32_is_none(do, a_set, a_pod, deleted):
    pods = [a_pod("a", cost="+10"), a_pod("b", cost="08"), a_pod("c", cost="2147483648"), a_pod("d", cost="1")]
    assert deleted(do(a_set(1), pods)) == ["a", "b", "c"]


@pytest.mark.parametrize(("ages", "goes"), [((60, 65), "a"), ((65, 60), "a"), ((60, 600), "a"), ((600, 60), "b")])
def test_r9_ages_in_one_power_of_two_are_told_apart_by_uid_and_others_by_age(do, a_set, a_pod, deleted, ages, goes):
    pods = [a_pod(name, ready=None, age=age) for name, age in zip("ab", ages, strict=True)]
    assert deleted(do(a_set(1), pods)) == [goes]


@pytest.mark.parametrize(("release", "goes"), [("1.20", "b"), ("1.30", "a"), ("1.35", "a")])
def test_r7_only_releases_that_know_of_costs_heed_them(do, a_set, a_pod, deleted, release, goes):
    pods = [a_pod("a", cost="-5", ready=60_000), a_pod("b", ready=60)]
    assert deleted(do(a_set(1), pods, profile=PROFILES[release])) == [goes]


@pytest.mark.parametrize(("release", "goes"), [("1.20", "b"), ("1.30", "a"), ("1.35", "a")])
def test_r9_old_releases_compare_ages_exactly(do, a_set, a_pod, deleted, release, goes):
    pods = [a_pod("a", ready=None, age=65), a_pod("b", ready=None, age=60)]
    assert deleted(do(a_set(1), pods, profile=PROFILES[release])) == [goes]


def test_deletions_are_guarded_by_uid_told_and_at_most_five_hundred(do, a_set, pods, deleted):
    done = do(a_set(1), pods(*(f"p{i:03}" for i in range(700))))
    assert len(done.of(Delete)) == 500
    assert all(request.uid == f"uid-{request.key.removeprefix('default/')}" for request in done.of(Delete))
    assert "SuccessfulDelete: Deleted pod: p000" in done.events
    assert deleted(do(a_set(0), pods("a", "b"))) == ["a", "b"]


def test_r21_a_pod_that_is_gone_already_is_no_failure(do, a_set, pods, status_of, refusing):
    done = do(a_set(0), pods("a"), refusing(Delete, error=not_found("", "pods", "a")))
    assert (done.events, done.error) == ([], None)
    assert "conditions" not in status_of(done)


def test_a_deletion_that_is_refused_is_told_and_raised_after_the_status(do, a_set, pods, status_of, refusing):
    done = do(a_set(0), pods("a"), refusing(Delete, error=forbidden("", "pods", name="a", why="no")))
    assert done.events == ['FailedDelete: Error deleting: pods "a" is forbidden: no']
    condition = status_of(done)["conditions"][0]
    assert (condition["reason"], condition["message"]) == (
        "FailedDelete",
        'unable to delete pods: pods "a" is forbidden: no',
    )
    assert done.error.code == 403
