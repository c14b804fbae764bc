"""The status of a Deployment: rows D24, D31 to D33 and D45, as values."""

import pytest

from controller_manager.controllers.deployment.replica_sets import partition_sets
from controller_manager.controllers.deployment.status import (
    calculate_status,
    is_complete,
    progress_check_in,
    rollout_status,
    with_collision,
    with_pause_condition,
)
from controller_manager.reconcile.profile import NEWEST, PROFILES
from controller_manager.reconcile.times import format_time


def progressing(status="True", reason="ReplicaSetUpdated", *, updated=0.0, transition=0.0):
    return {
        "type": "Progressing",
        "status": status,
        "reason": reason,
        "message": "told before",
        "lastUpdateTime": format_time(updated),
        "lastTransitionTime": format_time(transition),
    }


def condition_of(status, type_="Progressing"):
    return next((condition for condition in status["conditions"] if condition["type"] == type_), None)


def condition_text(status, type_="Progressing"):
    condition = condition_of(status, type_)
    return condition and f"{condition['status']}/{condition['reason']}: {condition['message']}"


def test_counts_are_those_of_the_sets_and_zero_is_left_out(make_deployment, make_set, now):
    deployment = make_deployment("web:2", status={"collisionCount": 0})
    sets = partition_sets(deployment, [make_set(1, 8, 7, pods=9), make_set(2, 3, 0)])
    status = calculate_status(deployment, sets, now, profile=NEWEST)
    assert {name: value for name, value in status.items() if name != "conditions"} == {
        "observedGeneration": 3,
        "replicas": 12,
        "updatedReplicas": 3,
        "readyReplicas": 7,
        "availableReplicas": 7,
        "unavailableReplicas": 4,
        "terminatingReplicas": 0,
        "collisionCount": 0,
    }


@pytest.mark.parametrize(("release", "count"), [("1.35", 3), ("1.30", None), ("1.20", None)])
def test_terminating_pods_are_counted_by_releases_that_do(make_deployment, make_set, now, release, count):
    deployment = make_deployment("web:2")
    sets = partition_sets(deployment, [make_set(1, 1, status={"terminatingReplicas": 3})])
    assert calculate_status(deployment, sets, now, profile=PROFILES[release]).get("terminatingReplicas") == count


@pytest.mark.parametrize(
    ("available", "strategy", "words"),
    [
        (8, "RollingUpdate", "True/MinimumReplicasAvailable: Deployment has minimum availability."),
        (7, "RollingUpdate", "False/MinimumReplicasUnavailable: Deployment does not have minimum availability."),
        (9, "Recreate", "False/MinimumReplicasUnavailable: Deployment does not have minimum availability."),
        (10, "Recreate", "True/MinimumReplicasAvailable: Deployment has minimum availability."),
    ],
)
def test_availability_is_a_condition(make_deployment, make_set, now, available, strategy, words):
    rolling = {"maxSurge": 3, "maxUnavailable": 2} if strategy == "RollingUpdate" else None
    deployment = make_deployment("web:1", strategy={"type": strategy, "rollingUpdate": rolling})
    status = calculate_status(deployment, partition_sets(deployment, [make_set(1, 10, available)]), now, profile=NEWEST)
    assert condition_text(status, "Available") == words


@pytest.mark.parametrize(
    ("old", "sets", "seconds", "words"),
    [
        pytest.param(
            {"conditions": [progressing()], "replicas": 10, "updatedReplicas": 10, "availableReplicas": 9},
            [(2, 10, 10)],
            5,
            'True/NewReplicaSetAvailable: ReplicaSet "web-2" has successfully progressed.',
            id="complete",
        ),
        pytest.param(
            {"conditions": [progressing()], "replicas": 13, "updatedReplicas": 3, "availableReplicas": 10},
            [(1, 8, 8), (2, 5, 0)],
            5,
            'True/ReplicaSetUpdated: ReplicaSet "web-2" is progressing.',
            id="more-new-ones",
        ),
        pytest.param(
            {"conditions": [progressing()], "replicas": 13, "updatedReplicas": 5, "availableReplicas": 8},
            [(1, 7, 7), (2, 5, 0)],
            5,
            'True/ReplicaSetUpdated: ReplicaSet "web-2" is progressing.',
            id="fewer-old-ones",
        ),
        pytest.param(
            {
                "conditions": [progressing()],
                "replicas": 13,
                "updatedReplicas": 5,
                "availableReplicas": 8,
                "readyReplicas": 8,
            },
            [(1, 8, 8), (2, 5, 0)],
            600,
            "True/ReplicaSetUpdated: told before",
            id="not-yet-too-long",
        ),
        pytest.param(
            {
                "conditions": [progressing()],
                "replicas": 13,
                "updatedReplicas": 5,
                "readyReplicas": 8,
                "availableReplicas": 8,
            },
            [(1, 8, 8), (2, 5, 0)],
            601,
            'False/ProgressDeadlineExceeded: ReplicaSet "web-2" has timed out progressing.',
            id="D6-timed-out",
        ),
        pytest.param(
            {"conditions": [progressing()], "replicas": 10, "readyReplicas": 10, "availableReplicas": 10},
            [(1, 10, 10)],
            601,
            'False/ProgressDeadlineExceeded: Deployment "web" has timed out progressing.',
            id="timed-out-without-a-new-set",
        ),
        pytest.param(
            {"conditions": [progressing("False", "ProgressDeadlineExceeded")], "replicas": 13, "updatedReplicas": 5}
            | {"readyReplicas": 8, "availableReplicas": 8},
            [(1, 8, 8), (2, 5, 0)],
            5,
            "False/ProgressDeadlineExceeded: told before",
            id="stays-timed-out",
        ),
        pytest.param(
            {"conditions": [progressing("False", "ProgressDeadlineExceeded")], "replicas": 10, "updatedReplicas": 10},
            [(2, 10, 10)],
            900,
            'True/NewReplicaSetAvailable: ReplicaSet "web-2" has successfully progressed.',
            id="D32-late-is-better-than-never",
        ),
        pytest.param(
            {"conditions": [progressing(reason="NewReplicaSetAvailable")], "replicas": 10, "updatedReplicas": 10}
            | {"availableReplicas": 10, "readyReplicas": 10},
            [(2, 10, 3)],
            100_000,
            "True/NewReplicaSetAvailable: told before",
            id="D33-crashes-later",
        ),
        pytest.param(
            {"conditions": [progressing("Unknown", "DeploymentResumed")], "replicas": 13, "updatedReplicas": 5}
            | {"readyReplicas": 8, "availableReplicas": 8},
            [(1, 8, 8), (2, 5, 0)],
            601,
            'False/ProgressDeadlineExceeded: ReplicaSet "web-2" has timed out progressing.',
            id="resumed-and-stuck",
        ),
        pytest.param({"replicas": 10}, [(1, 10, 0), (2, 0, 0)], 900, None, id="never-told-never-too-late"),
    ],
)
def test_progress_is_a_condition(make_deployment, make_set, old, sets, seconds, words):
    deployment = make_deployment("web:2", status=old)
    made = partition_sets(deployment, [make_set(number, size, available) for number, size, available in sets])
    assert condition_text(rollout_status(deployment, made, seconds, profile=NEWEST)) == words


@pytest.mark.parametrize(("status", "transition"), [("True", 0.0), ("Unknown", 700.0)])
def test_d31_every_pod_that_gets_available_puts_the_deadline_off(make_deployment, make_set, status, transition):
    old = {"conditions": [progressing(status)], "replicas": 13, "updatedReplicas": 5, "availableReplicas": 8}
    deployment = make_deployment("web:2", status=old)
    condition = condition_of(
        rollout_status(
            deployment, partition_sets(deployment, [make_set(1, 8), make_set(2, 5, 1)]), 700.0, profile=NEWEST
        )
    )
    assert condition["lastUpdateTime"] == format_time(700.0)
    assert condition["lastTransitionTime"] == format_time(transition)


@pytest.mark.parametrize("deadline", [None, 2**31 - 1])
def test_d45_without_a_deadline_there_is_no_word_of_progress(make_deployment, make_set, deadline, now):
    old = {"conditions": [progressing()]}
    deployment = make_deployment("web:2", status=old, progressDeadlineSeconds=deadline)
    status = rollout_status(deployment, partition_sets(deployment, [make_set(2, 10)]), now, profile=NEWEST)
    assert condition_of(status) is None
    assert progress_check_in(deployment, status, now) is None


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        ((), None),
        ((1,), "True/FailedCreate: of 1"),
        ((1, 2), "True/FailedCreate: of 2"),
        ((2,), "True/FailedCreate: of 2"),
    ],
)
def test_d24_pods_that_cannot_be_made_are_reported_and_the_new_set_first(
    make_deployment, make_set, now, failing, words
):
    sets = []
    for number in (1, 2):
        failure = {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate",
            "message": f"of {number}",
            "lastTransitionTime": format_time(60),
        }
        sets.append(make_set(number, 5, status={"conditions": [failure]} if number in failing else {}))
    stale = {"type": "ReplicaFailure", "status": "True", "reason": "FailedDelete", "message": "long ago"}
    deployment = make_deployment("web:2", status={"conditions": [stale]})
    status = rollout_status(deployment, partition_sets(deployment, sets), now, profile=NEWEST)
    assert condition_text(status, "ReplicaFailure") == words
    if words:
        assert condition_of(status, "ReplicaFailure")["lastUpdateTime"] == format_time(60)


@pytest.mark.parametrize(
    ("paused", "reason", "deadline", "words"),
    [
        (True, None, 600, "Unknown/DeploymentPaused: Deployment is paused"),
        (True, "ReplicaSetUpdated", 600, "Unknown/DeploymentPaused: Deployment is paused"),
        (True, "DeploymentPaused", 600, None),
        (True, "ProgressDeadlineExceeded", 600, None),
        (True, "ReplicaSetUpdated", None, None),
        (False, "DeploymentPaused", 600, "Unknown/DeploymentResumed: Deployment is resumed"),
        (False, "DeploymentResumed", 600, None),
        (False, "ReplicaSetUpdated", 600, None),
        (False, None, 600, None),
    ],
)
def test_a_pause_stops_the_clock_unless_it_has_run_out(make_deployment, now, paused, reason, deadline, words):
    old = {"conditions": [progressing(reason=reason)]} if reason else {}
    deployment = make_deployment(status=old, paused=paused, progressDeadlineSeconds=deadline)
    noted = with_pause_condition(deployment, now)
    if words is None:
        assert noted is deployment
    else:
        assert condition_text(noted["status"]) == words


@pytest.mark.parametrize(
    ("changed", "complete"),
    [
        ({}, True),
        ({"updatedReplicas": 9}, False),
        ({"replicas": 11}, False),
        ({"availableReplicas": 9}, False),
        ({"observedGeneration": 2}, False),
        ({"observedGeneration": 4}, True),
    ],
)
def test_a_rollout_is_complete_when_all_pods_are_new_and_available(make_deployment, changed, complete):
    status = {"updatedReplicas": 10, "replicas": 10, "availableReplicas": 10, "observedGeneration": 3}
    assert is_complete(make_deployment(), status | changed) is complete


@pytest.mark.parametrize(
    ("reason", "seconds", "wait"),
    [
        ("ReplicaSetUpdated", 100.0, 501.0),
        ("ReplicaSetUpdated", 599.5, 1.5),
        ("ReplicaSetUpdated", 600.0, 1.0),
        ("DeploymentResumed", 0.0, 601.0),
        ("ProgressDeadlineExceeded", 100.0, None),
        ("NewReplicaSetAvailable", 100.0, None),
        (None, 100.0, None),
    ],
)
def test_a_standstill_is_looked_at_again_after_its_deadline(make_deployment, reason, seconds, wait):
    old = {"conditions": [progressing(reason=reason)]} if reason else {}
    assert progress_check_in(make_deployment(status=old), old, seconds) == wait


def test_what_is_complete_is_not_looked_at_again(make_deployment):
    done = {"updatedReplicas": 10, "replicas": 10, "availableReplicas": 10, "observedGeneration": 3}
    assert progress_check_in(make_deployment(status=done | {"conditions": [progressing()]}), done, 0.0) is None


@pytest.mark.parametrize(("before", "after"), [({}, 1), ({"collisionCount": 0}, 1), ({"collisionCount": 4}, 5)])
def test_collisions_are_counted(make_deployment, before, after):
    assert with_collision(make_deployment(status=before))["status"]["collisionCount"] == after
