"""The sizes that a rollout gives to each ReplicaSet: rows D1 to D7 and D13 to D20, as numbers."""

import pytest

from controller_manager.controllers.deployment.proportional_scaling import active_or_latest, scaled_sizes
from controller_manager.controllers.deployment.replica_sets import Resize, partition_sets, terminating_replicas
from controller_manager.controllers.deployment.rolling import (
    RolloutLimits,
    clean_up_unhealthy,
    fenceposts,
    limits_of,
    max_pods,
    min_available,
    new_replica_set_size,
    next_size,
    scale_down_available,
)


def named(resizes):
    return {resize.replica_set["metadata"]["name"]: resize.size for resize in resizes}


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "limits"),
    [
        pytest.param("0%", "0%", 10, RolloutLimits(0, 1), id="D1"),
        pytest.param("0%", "0%", 0, RolloutLimits(0, 1), id="D1-of-none"),
        pytest.param(0, 0, 3, RolloutLimits(0, 1), id="D1-as-numbers"),
        pytest.param("39%", "39%", 10, RolloutLimits(4, 3), id="D2"),
        pytest.param(None, "39%", 10, RolloutLimits(0, 3), id="D2-no-surge"),
        pytest.param("39%", None, 10, RolloutLimits(4, 0), id="D2-none-unavailable"),
        pytest.param("25%", "25%", 1, RolloutLimits(1, 0), id="default-of-one"),
    ],
)
def test_limits_are_rounded_away_from_harm_and_never_stand_still(surge, unavailable, desired, limits):
    assert fenceposts(surge, unavailable, desired) == limits


@pytest.mark.parametrize("unavailable", ["100%", 10])
def test_d3_no_more_pods_may_be_unavailable_than_there_are(make_deployment, unavailable):
    deployment = make_deployment(replicas=3, unavailable=unavailable, surge=0)
    assert limits_of(deployment) == RolloutLimits(0, 3)
    assert min_available(deployment) == 0


def test_what_does_not_roll_has_no_limits(make_deployment):
    deployment = make_deployment(strategy={"type": "Recreate"})
    assert (limits_of(deployment), max_pods(deployment), min_available(deployment)) == (RolloutLimits(0, 0), 10, 10)


def test_of_no_pods_none_may_be_unavailable(make_deployment):
    assert limits_of(make_deployment(replicas=0, surge=0, unavailable=0)) == RolloutLimits(0, 0)


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        pytest.param(10, None, 3, id="D4-as-many-as-fit"),
        pytest.param(13, None, 0, id="D5-no-room"),
        pytest.param(8, 3, 5, id="room-for-two"),
        pytest.param(0, 4, 10, id="no-more-than-desired"),
        pytest.param(0, 12, 10, id="too-many"),
        pytest.param(15, 4, 4, id="over-the-top-stays"),
    ],
)
def test_the_new_replica_set_takes_the_room_that_is_left(make_deployment, make_set, old, new, size):
    deployment = make_deployment("web:2", surge=3, unavailable=2)
    replica_sets = [make_set(1, old), *([] if new is None else [make_set(2, new)])]
    sets = partition_sets(deployment, replica_sets)
    assert next_size(deployment, sets) == size
    if new is None:
        assert new_replica_set_size(deployment, sets) == size


def test_a_new_replica_set_grows_to_the_desired_size_where_there_is_room_for_more(make_deployment, make_set):
    deployment = make_deployment("web:2", surge=5, unavailable=0)
    assert new_replica_set_size(deployment, partition_sets(deployment, [make_set(2, 8)])) == 10


def test_to_recreate_is_to_start_at_full_size(make_deployment, make_set):
    deployment = make_deployment("web:2", strategy={"type": "Recreate"})
    assert new_replica_set_size(deployment, partition_sets(deployment, [make_set(1, 10)])) == 10


@pytest.mark.parametrize(
    ("old", "new", "unhealthy", "surplus"),
    [  # (size, available) of each; ten pods, three more, two fewer
        pytest.param([(10, 10)], (3, 0), {}, {"web-1": 8}, id="D4"),
        pytest.param([(8, 8)], (5, 0), None, {}, id="D6-stuck"),
        pytest.param([(5, 0)], (8, 8), {"web-1": 0}, {}, id="D7-after-undo"),
        pytest.param([(8, 8), (5, 2)], (0, 0), {"web-2": 2}, {"web-1": 6}, id="D5-unhealthy-first"),
        pytest.param([(5, 5), (5, 5)], (3, 3), {}, {"web-1": 0}, id="oldest-first"),
        pytest.param([(3, 1), (8, 6)], (0, 0), {"web-1": 1, "web-2": 7}, {}, id="no-more-than-the-budget"),
        pytest.param([(8, 10)], (4, 3), None, {"web-1": 5}, id="pods-have-yet-to-go"),
        pytest.param([(5, 0), (8, 10)], (0, 0), {"web-1": 0}, {}, id="budget-spent-before-those"),
    ],
)
def test_old_replica_sets_lose_what_is_broken_and_then_what_is_not_needed(
    make_deployment, make_set, old, new, unhealthy, surplus
):
    deployment = make_deployment("web:9", surge=3, unavailable=2)
    replica_sets = [make_set(number, *size) for number, size in enumerate(old, 1)]
    sets = partition_sets(deployment, [*replica_sets, make_set(9, *new)])
    first = clean_up_unhealthy(deployment, sets)
    assert (None if first is None else named(first)) == unhealthy
    assert named(scale_down_available(deployment, sets)) == surplus


def test_a_set_that_was_shrunk_is_not_counted_on_for_more_pods_than_it_wants(make_deployment, make_set):
    deployment = make_deployment("web:9", surge=3, unavailable=2)
    sets = partition_sets(deployment, [make_set(1, 0, 2), make_set(2, 3, 3), make_set(9, 8, 6)])
    assert named(scale_down_available(deployment, sets)) == {"web-2": 2}


@pytest.mark.parametrize(
    ("available", "observed", "waits", "surplus"),
    [  # of the new set, which wants eight; the old one has five, all available
        pytest.param(8, 2, False, {"web-1": 0}, id="told"),
        pytest.param(6, 2, False, {"web-1": 2}, id="told-that-some-are-missing"),
        pytest.param(10, 2, False, {"web-1": 0}, id="its-pods-have-yet-to-go"),
        pytest.param(8, 1, True, {}, id="not-told"),
    ],
)
def test_a_set_is_not_counted_on_before_it_has_told_how_it_is_at_the_size_that_it_has(
    make_deployment, make_set, available, observed, waits, surplus
):
    deployment = make_deployment("web:9", surge=3, unavailable=2)
    back = make_set(9, 8, available, status={"observedGeneration": observed})
    back["metadata"]["generation"] = 2
    sets = partition_sets(deployment, [make_set(1, 5, 5), back])
    assert clean_up_unhealthy(deployment, sets) == (None if waits else [])
    assert named(scale_down_available(deployment, sets)) == surplus


def test_of_sets_with_the_same_template_the_oldest_is_new(make_deployment, make_set):
    twin = make_set(2, 3) | {"spec": make_set(1, 3)["spec"]}
    sets = partition_sets(make_deployment("web:1"), [twin, make_set(1, 2)])
    assert sets.new is not None
    assert sets.new["metadata"]["name"] == "web-1"
    assert [old["metadata"]["name"] for old in sets.old] == ["web-2"]


def test_of_the_same_age_the_name_decides(make_deployment, make_set):
    one, other = make_set(1, 1), make_set(2, 1)
    other["metadata"]["creationTimestamp"] = one["metadata"]["creationTimestamp"]
    assert [old["metadata"]["name"] for old in partition_sets(make_deployment("web:9"), [other, one]).old] == [
        "web-1",
        "web-2",
    ]


@pytest.mark.parametrize(
    ("statuses", "total"),
    [
        ([], 0),
        ([{"terminatingReplicas": 2}, {"terminatingReplicas": 1}], 3),
        ([{"terminatingReplicas": 2}, {"observedGeneration": 0}], 2),
        ([{"terminatingReplicas": 2}, {"observedGeneration": 1}], None),
    ],
)
def test_terminating_pods_are_summed_unless_one_that_was_seen_does_not_tell(statuses, total):
    assert terminating_replicas([{"status": status} for status in statuses]) == total


# -- resizing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "desired", "before", "after"),
    [  # replicas and surge; sizes of web-1, web-2 …, the last one new
        pytest.param((10, 0), (5, 5), [3, 2], [6, 4], id="D13"),
        pytest.param((20, 2), (10, 12), [6, 6], [11, 11], id="D14"),
        pytest.param((50, 6), (10, 13), [8, 5], [34, 22], id="D15"),
        pytest.param((2, 0), (3, 3), [1, 1, 1], [0, 1, 1], id="D16"),
        pytest.param((0, 3), (10, 13), [8, 5], [0, 0], id="D17"),
        pytest.param((5, 3), (10, 13), [8, 5], [5, 3], id="smaller"),
        pytest.param((20, 3), None, [8, 5], [14, 9], id="never-told-goes-by-the-status"),
        pytest.param((10, 3), (12, 15), [8, 5], [8, 5], id="nothing-to-add"),
    ],
)
def test_each_set_keeps_its_part_of_a_new_size(make_deployment, make_set, limits, desired, before, after):
    replicas, surge = limits
    last = len(before)
    deployment = make_deployment(f"web:{last}", replicas=replicas, surge=surge, unavailable=1, status={"replicas": 13})
    replica_sets = [make_set(number, size, desired=desired) for number, size in enumerate(before, 1)]
    sizes = named(scaled_sizes(deployment, partition_sets(deployment, replica_sets)))
    assert sizes == {f"web-{number}": size for number, size in enumerate(after, 1)}


def test_a_tie_goes_to_the_newer_set_when_growing_and_to_the_older_when_shrinking(make_deployment, make_set):
    for replicas, order in ((9, ["web-2", "web-1"]), (5, ["web-1", "web-2"])):
        deployment = make_deployment("web:2", replicas=replicas, surge=1)
        sets = partition_sets(deployment, [make_set(1, 4, desired=(7, 8)), make_set(2, 4, desired=(7, 8))])
        assert list(named(scaled_sizes(deployment, sets))) == order


def test_nobody_knows_the_whole_where_neither_annotation_nor_status_tells(make_deployment, make_set):
    deployment = make_deployment("web:2", replicas=20, surge=0)
    assert named(scaled_sizes(deployment, partition_sets(deployment, [make_set(1, 8), make_set(2, 5)]))) == {
        "web-1": 15,
        "web-2": 5,
    }


def test_d17_a_deployment_of_no_pods_grows_in_its_newest_set_alone(make_deployment, make_set):
    deployment = make_deployment("web:2", replicas=6)
    assert named(scaled_sizes(deployment, partition_sets(deployment, [make_set(1, 0), make_set(2, 0)]))) == {"web-2": 6}
    deployment = make_deployment("web:3", replicas=6)
    assert named(scaled_sizes(deployment, partition_sets(deployment, [make_set(1, 0), make_set(2, 0)]))) == {"web-2": 6}


def test_d19_what_is_old_goes_where_the_new_set_has_all(make_deployment, make_set):
    deployment = make_deployment("web:2")
    sets = partition_sets(deployment, [make_set(1, 3, desired=(8, 11)), make_set(2, 10, desired=(10, 13))])
    assert scaled_sizes(deployment, sets) == [Resize(sets.old[0], 0)]


def test_d20_old_pods_stay_where_the_new_ones_are_broken(make_deployment, make_set):
    deployment = make_deployment("web:2")
    sets = partition_sets(deployment, [make_set(1, 3, desired=(8, 11)), make_set(2, 10, 4, desired=(10, 13))])
    assert named(scaled_sizes(deployment, sets)) == {"web-2": 10, "web-1": 3}


def test_what_does_not_roll_is_not_resized_in_parts(make_deployment, make_set):
    deployment = make_deployment("web:2", replicas=20, strategy={"type": "Recreate"})
    assert scaled_sizes(deployment, partition_sets(deployment, [make_set(1, 3), make_set(2, 5)])) == []


def test_without_sets_there_is_nothing_to_resize(make_deployment):
    deployment = make_deployment()
    assert active_or_latest(partition_sets(deployment, [])) is None
    assert scaled_sizes(deployment, partition_sets(deployment, [])) == []


def test_a_set_of_the_right_size_gets_its_annotation_lest_it_be_resized_for_ever(make_deployment, make_set):
    deployment = make_deployment(replicas=10)
    sets = partition_sets(deployment, [make_set(1, 10, desired=(5, 7))])
    assert sets.new is not None
    assert scaled_sizes(deployment, sets) == [Resize(sets.new, 10)]
    sets = partition_sets(deployment, [make_set(1, 10, desired=(10, 13))])
    assert scaled_sizes(deployment, sets) == []
