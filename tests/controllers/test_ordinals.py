"""Arithmetic of ordinals: which set a name belongs to, and the order of pods."""

import pytest

from controller_manager.controllers.statefulset.ordinals import (
    HealthCriteria,
    Replica,
    desired_ordinals,
    group_by_ordinal,
    health_of,
    ordinal_of,
    pod_name,
)
from controller_manager.reconcile.profile import NEWEST, PROFILES


@pytest.mark.parametrize(
    ("parent", "name", "expected"),
    [
        ("web", "web-0", 0),
        ("web", "web-12", 12),
        ("web", "web-2147483647", 2**31 - 1),
        ("web", "web-2147483648", None),
        ("web", "web-99999999999999999999", None),
        ("web", "web-01", None),
        ("web", "web-", None),
        ("web", "web", None),
        ("web", "web-x", None),
        ("web", "web-1-0", None),
        ("web-1", "web-1-0", 0),
        ("web", "other-0", None),
        ("web", "web-\u0661", None),
        ("", "-0", 0),
    ],
)
def test_a_name_gives_its_ordinal_in_the_set_of_all_before_the_last_dash(parent, name, expected):
    assert ordinal_of(parent, name) == expected


def test_a_pods_name_is_found_again():
    assert ordinal_of("web", pod_name("web", 7)) == 7


@pytest.mark.parametrize(
    ("spec", "profile", "expected"),
    [
        ({"replicas": 3}, NEWEST, [0, 1, 2]),
        ({}, NEWEST, [0]),
        ({"replicas": 0}, NEWEST, []),
        ({"replicas": 2, "ordinals": {"start": 5}}, NEWEST, [5, 6]),
        ({"replicas": 2, "ordinals": {}}, NEWEST, [0, 1]),
        ({"replicas": 2, "ordinals": {"start": 5}}, PROFILES["1.20"], [0, 1]),
    ],
)
def test_as_many_ordinals_are_wanted_as_replicas(spec, profile, expected):
    assert list(desired_ordinals({"spec": spec}, profile)) == expected


def test_replicas_stand_ascending_and_condemned_pods_descending():
    pods = {number: {"metadata": {"name": f"web-{number}"}} for number in (0, 2, 4, 10, 3)}

    arranged = group_by_ordinal("web", [*pods.values(), {"metadata": {"name": "web-x"}}], range(1, 4))

    assert arranged.replicas == (Replica(1, None), Replica(2, pods[2]), Replica(3, pods[3]))
    assert [replica.ordinal for replica in arranged.condemned] == [10, 4, 0]


@pytest.mark.parametrize("most", [2**31 - 1, 1000])
def test_of_a_great_many_ordinals_only_the_next_ones_are_looked_at(most):
    pods = [{"metadata": {"name": f"web-{number}"}} for number in (0, 2, 900, most + 5)]

    arranged = group_by_ordinal("web", pods, range(most))

    assert [replica.ordinal for replica in arranged.replicas] == [*range(502), 900]
    assert [replica.ordinal for replica in arranged.condemned] == [most + 5][: 1 if most < 2**31 - 6 else 0]
    assert (len(arranged.replicas), arranged.beyond) == (503, most - 503)


SINCE = 1_800_000_000.0


def standing(phase="Running", ready="True", **meta):
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": "2027-01-15T08:00:00Z"}
    return {"metadata": {"name": "web-0"} | meta, "status": {"phase": phase, "conditions": [condition]}}


@pytest.mark.parametrize(
    ("spec", "profile", "after", "available"),
    [
        ({}, NEWEST, 0, True),
        ({"minReadySeconds": 0}, NEWEST, 0, True),
        ({"minReadySeconds": 10}, NEWEST, 9, False),
        ({"minReadySeconds": 10}, NEWEST, 10, True),
        ({"minReadySeconds": 10}, PROFILES["1.20"], 0, True),
    ],
)
def test_a_pod_is_available_when_it_has_been_ready_for_long_enough(spec, profile, after, available):
    health = health_of({"spec": spec}, SINCE + after, profile)
    assert health.is_available(standing()) is available
    assert health.is_unavailable(Replica(0, standing())) is not available


@pytest.mark.parametrize(
    ("pod", "ready"),
    [
        (standing(), True),
        (standing(phase="Pending"), False),
        (standing(ready="False"), False),
    ],
)
def test_a_pod_that_does_not_run_or_is_not_ready_is_neither_ready_nor_available(pod, ready):
    health = health_of({"spec": {}}, SINCE, NEWEST)
    assert health.is_ready(pod) is ready
    assert health.is_available(pod) is ready


def test_a_replica_without_a_pod_or_on_its_way_out_is_unavailable():
    health = health_of({"spec": {}}, SINCE, NEWEST)
    leaving = standing(deletionTimestamp="2027-01-15T08:00:00Z")
    assert health.is_unavailable(Replica(0, None))
    assert health.is_unavailable(Replica(0, leaving))
    assert not health.is_unavailable(Replica(0, standing()))


def test_without_a_least_time_a_pod_is_available_as_soon_as_it_is_ready():
    assert HealthCriteria(SINCE).is_available(standing())
