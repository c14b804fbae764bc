"""Spreading pods over subsets: the vectors of rows U1 to U10 and U12, and upstream's own."""

import pytest

from apiserver.api.united_deployments import share_of
from controller_manager.kruise.uniteddeployment.allocation import (
    UNLIMITED,
    AllocationError,
    Bounds,
    SubsetState,
    allocate,
    allocate_adaptive,
    allocate_elastic,
    allocate_specified,
    allocate_with_reservation,
)


def states(*replicas: int) -> dict[str, SubsetState]:
    return {f"t{index}": SubsetState(number) for index, number in enumerate(replicas, 1)}


def named(*sizes: int) -> dict[str, int]:
    return {f"t{index}": size for index, size in enumerate(sizes, 1)}


def bounds(least: list[int], most: list[int | None]) -> list[Bounds]:
    both = enumerate(zip(least, most, strict=True), 1)
    return [Bounds(f"t{index}", low, UNLIMITED if high is None else high) for index, (low, high) in both]


# -- subsets that ask for a number, and those that do not --------------------------------------------------------------


def test_what_cannot_be_divided_goes_to_the_end_of_the_order():
    """U1."""
    assert allocate_specified(10, ["a", "b", "c"], requested={}, states={}) == {"a": 3, "b": 3, "c": 4}


@pytest.mark.parametrize(
    ("total", "current", "requested", "expected"),
    [
        pytest.param(5, (1, 4, 2, 2), {}, (1, 2, 1, 1), id="U2-down"),
        pytest.param(17, (1, 4, 2, 2), {}, (4, 5, 4, 4), id="U2-up"),
        pytest.param(9, (2, 4, 2, 2), {}, (2, 3, 2, 2), id="U3"),
        pytest.param(27, (1, 4, 2, 2), {"t1": 4, "t3": 4}, (4, 10, 4, 9), id="U4"),
        pytest.param(None, (4, 2, 2, 2), named(1, 2, 3, 4), (1, 2, 3, 4), id="U7"),
        pytest.param(0, (2,), {}, (0,), id="nothing is left"),
        pytest.param(19, (0, 10), {}, (9, 10), id="an odd number goes to who has most"),
        pytest.param(21, (0, 10), {}, (10, 11), id="and so does an odd one more"),
        pytest.param(8, (2, 4, 2, 2), {"t1": 4, "t3": 4}, (4, 0, 4, 0), id="all is asked for by some"),
        pytest.param(16, (2, 4, 2, 2), named(4, 4, 4, 4), (4, 4, 4, 4), id="all is asked for by all"),
        pytest.param(10, (4, 2, 2, 2), {"t1": 1, "t2": 2, "t3": 3}, (1, 2, 3, 4), id="one is left over"),
    ],
)
def test_the_rest_is_spread_evenly_and_few_pods_move(total, current, requested, expected):
    names = [f"t{index}" for index in range(1, len(current) + 1)]
    assert allocate_specified(total, names, requested=requested, states=states(*current)) == named(*expected)


@pytest.mark.parametrize(
    ("total", "requested", "why"),
    [
        (14, named(10, 11), "specified subsets' replica (21) is greater than UnitedDeployment replica (14)"),
        (14, named(6, 6), "specified subsets' replica (12) is less than UnitedDeployment replica (14)"),
        (3, {"t1": 4}, "specified subsets' replica (4) is greater than UnitedDeployment replica (3)"),
        (None, {"t1": 4}, "all subsets must be specified when UnitedDeployment replica is unspecified"),
    ],
)
def test_what_does_not_add_up_is_told(total, requested, why):
    """U5."""
    with pytest.raises(AllocationError) as raised:
        allocate_specified(total, ["t1", "t2"], requested=requested, states={})
    assert str(raised.value) == why


@pytest.mark.parametrize(
    ("share", "total", "expected"), [("33%", 10, 3), ("25%", 10, 3), ("5%", 10, 1), ("4%", 10, 0), (7, None, 7)]
)
def test_half_a_pod_is_a_whole_one(share, total, expected):
    """U6."""
    assert share_of(share, total) == expected


@pytest.mark.parametrize(
    ("share", "total", "why"),
    [
        (-1, 5, "subset replicas (-1) should not be less than 0"),
        ("5%", None, "subsetReplicas (5%) should not be string when unitedDeployment replicas is empty"),
        ("5", 5, "subset replicas (5) only support integer value or percentage value with a suffix '%'"),
        ("101%", 5, "subset replicas (101%) should be in range [0, 100]"),
        (
            "x%",
            5,
            'subset replicas (x%) should be correct percentage integer: strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            "9999999999%",
            5,
            (
                "subset replicas (9999999999%) should be correct percentage integer: "
                'strconv.ParseInt: parsing "9999999999": value out of range'
            ),
        ),
    ],
)
def test_what_is_no_share_is_told(share, total, why):
    with pytest.raises(ValueError, match="subset") as raised:
        share_of(share, total)
    assert str(raised.value) == why


# -- subsets between bounds --------------------------------------------------------------------------------------------

FIVE = bounds([2] * 5, [5, 5, 5, 5, None])


@pytest.mark.parametrize(
    ("total", "expected"), [(10, (2, 2, 2, 2, 2)), (14, (5, 3, 2, 2, 2)), (5, (2, 2, 1, 0, 0)), (0, (0, 0, 0, 0, 0))]
)
def test_minima_come_first_and_then_maxima_in_order(total, expected):
    """U8."""
    assert allocate_elastic(total, FIVE) == named(*expected)


def test_scaling_in_takes_back_what_was_filled_last():
    """U9."""
    assert [allocate_elastic(total, FIVE) for total in (14, 13, 11, 10, 9, 5)] == [
        named(5, 3, 2, 2, 2),
        named(5, 2, 2, 2, 2),
        named(3, 2, 2, 2, 2),
        named(2, 2, 2, 2, 2),
        named(2, 2, 2, 2, 1),
        named(2, 2, 1, 0, 0),
    ]


def spec(total, *subsets, **strategy):
    return {"replicas": total, "topology": {"subsets": list(subsets), "scheduleStrategy": strategy}}


def test_a_minimum_above_its_maximum_is_told():
    with pytest.raises(AllocationError) as raised:
        allocate(spec(10, {"name": "a", "maxReplicas": 4}, {"name": "b", "minReplicas": 3, "maxReplicas": "20%"}), {})
    assert str(raised.value) == "subset[1].maxReplicas(2) must be more than or equal to minReplicas(3)"


# -- pods that find no node --------------------------------------------------------------------------------------------


def adaptively(total, least, most, *, pods, pending):
    """As upstream's tests have it: a negative number is a subset that is unschedulable and has no pod that waits."""
    by_subset = {
        f"t{index}": SubsetState(number, number - max(waiting, 0), unschedulable=waiting != 0)
        for index, (number, waiting) in enumerate(zip(pods, pending, strict=True), 1)
    }
    return allocate_adaptive(total, bounds(least, most), by_subset)


@pytest.mark.parametrize(("pending", "expected"), [(2, (3, 7)), (3, (3, 7)), (4, (3, 7)), (5, (3, 7)), (0, (5, 5))])
def test_a_subset_keeps_what_is_ready_and_its_minimum(pending, expected):
    """U10."""
    assert adaptively(10, [3, 0], [5, None], pods=[5, 5], pending=[pending, 0]) == named(*expected)


@pytest.mark.parametrize(
    ("total", "least", "most", "pods", "pending", "expected"),
    [
        pytest.param(4, [1, 0], [2, None], [1, 1], [0, 0], (2, 2), id="scale up"),
        pytest.param(3, [1, 0], [2, None], [2, 2], [0, 0], (2, 1), id="scale down"),
        pytest.param(1, [1, 0], [2, None], [2, 1], [0, 0], (1, 0), id="scale down further"),
        pytest.param(3, [1, 0], [2, None], [1, 3], [1, 0], (1, 2), id="minimum that is pending"),
        pytest.param(3, [0, 0], [2, None], [1, 3], [1, 0], (0, 3), id="no minimum and all pending"),
        pytest.param(4, [0] * 4, [2, None, None, None], [0] * 4, [0] * 4, (2, 2, 0, 0), id="start"),
        pytest.param(4, [0] * 4, [2, None, None, None], [2, 2, 0, 0], [0, 2, 0, 0], (2, 0, 2, 0), id="second"),
        pytest.param(4, [0] * 4, [2, None, None, None], [2, 0, 2, 0], [0, -1, 2, 0], (2, 0, 0, 2), id="third"),
        pytest.param(8, [0] * 4, [2, None, None, None], [2, 0, 0, 2], [0, -1, -1, 0], (2, 0, 0, 6), id="more"),
        pytest.param(8, [0] * 4, [2, None, None, None], [2, 0, 0, 2], [0, 0, 0, 0], (2, 4, 0, 2), id="U11-more"),
        pytest.param(4, [0] * 4, [None] * 4, [2, 0, 0, 6], [0, 0, 0, 0], (2, 0, 0, 2), id="fewer"),
    ],
)
def test_pods_go_where_they_find_nodes(total, least, most, pods, pending, expected):
    assert adaptively(total, least, most, pods=pods, pending=pending) == named(*expected)


def test_an_unschedulable_subset_keeps_no_more_than_its_maximum():
    """Upstream leaves seven there."""
    assert adaptively(10, [0, 0], [5, None], pods=[8, 2], pending=[1, 0]) == named(5, 5)


# -- pods that find no node and stay -----------------------------------------------------------------------------------


def reservedly(total, least, most, *, pods, kept):
    """As upstream's tests have it: a negative number is a subset whose reserved pods all run again."""
    by_subset = {
        f"t{index}": SubsetState(number, number - max(held, 0), held > 0, held != 0, max(held, 0))
        for index, (number, held) in enumerate(zip(pods, kept, strict=True), 1)
    }
    return allocate_with_reservation(total, bounds(least, most), by_subset)


FOUR = [2, 2, 2, None]
TWICE = [4, 4, 4, None]


@pytest.mark.parametrize(
    ("total", "least", "most", "pods", "kept", "expected"),
    [
        pytest.param(8, 1, FOUR, [0, 0, 0, 0], [0, 0, 0, 0], (2, 2, 2, 2), id="start"),
        pytest.param(8, 1, FOUR, [2, 2, 2, 2], [0, 2, 2, 0], (2, 2, 2, 6), id="two find no nodes"),
        pytest.param(8, 1, FOUR, [2, 2, 2, 6], [0, 1, 1, 0], (2, 2, 2, 4), id="one pod of each starts"),
        pytest.param(8, 1, FOUR, [2, 2, 2, 4], [0, -1, 1, 0], (2, 2, 2, 3), id="U12-one has recovered"),
        pytest.param(8, 1, FOUR, [2, 2, 2, 3], [0, 0, -1, 0], (2, 2, 2, 2), id="U12-all have recovered"),
        pytest.param(16, 2, TWICE, [2, 2, 2, 6], [0, 1, 1, 0], (4, 2, 2, 10), id="scaled up meanwhile"),
        pytest.param(8, 1, FOUR, [4, 2, 2, 10], [0, 1, 1, 0], (2, 2, 2, 4), id="scaled back meanwhile"),
        pytest.param(16, 2, TWICE, [4, 2, 2, 10], [0, -1, -1, 0], (4, 4, 4, 8), id="new pods are not counted on"),
        pytest.param(16, 2, TWICE, [4, 4, 4, 8], [0, 2, 2, 0], (4, 4, 4, 8), id="until they are known to run"),
        pytest.param(16, 2, TWICE, [4, 4, 4, 8], [0, -1, -1, 0], (4, 4, 4, 4), id="then their stand-ins go"),
        pytest.param(2, 0, [None] * 3, [0, 0, 0], [0, 0, 0], (2, 0, 0), id="without limits"),
        pytest.param(2, 0, [None] * 3, [2, 0, 0], [2, 0, 0], (2, 2, 0), id="first finds no nodes"),
        pytest.param(2, 0, [None] * 3, [2, 2, 0], [2, 2, 0], (2, 2, 2), id="second neither"),
        pytest.param(4, 0, [None] * 3, [2, 2, 2], [2, 2, 0], (2, 2, 4), id="more come to the third"),
        pytest.param(4, 0, [None] * 3, [2, 2, 4], [4, -1, 0], (2, 4, 2), id="second recovers and gets more"),
        pytest.param(4, 0, [None] * 3, [2, 4, 2], [4, 2, 0], (2, 4, 2), id="which are reserved at first"),
        pytest.param(4, 0, [None] * 3, [2, 4, 2], [4, -1, 0], (2, 4, 0), id="and then are not"),
        pytest.param(2, 0, [None] * 3, [2, 2, 2], [2, 1, 0], (2, 2, 1), id="one of the second starts"),
        pytest.param(2, 0, [None] * 3, [2, 2, 1], [0, 1, 0], (2, 0, 0), id="first recovers"),
        pytest.param(2, 0, [None] * 3, [2, 2, 0], [0, 0, 0], (2, 0, 0), id="scaled in"),
        pytest.param(4, 0, [None] * 3, [2, 2, 4], [-1, 2, 0], (4, 2, 2), id="scaled out and recovered"),
    ],
)
def test_stand_ins_come_and_go(total, least, most, pods, kept, expected):
    assert reservedly(total, [least] * len(most), most, pods=pods, kept=kept) == named(*expected)


@pytest.mark.parametrize(
    ("pods", "kept", "expected"),
    [
        ([0, 0, 0], [0, 0, 0], (1, 1, 0)),
        ([1, 1, 0], [1, 1, 0], (1, 1, 2)),
        ([1, 1, 2], [-1, 1, 0], (2, 1, 1)),
        ([2, 1, 1], [1, 1, 0], (2, 1, 1)),
        ([2, 1, 1], [0, 1, 0], (2, 1, 0)),
        ([2, 1, 0], [0, -1, 0], (1, 1, 0)),
    ],
)
def test_minima_are_heeded_by_stand_ins(pods, kept, expected):
    assert reservedly(2, [1, 1, 0], [None] * 3, pods=pods, kept=kept) == named(*expected)


def test_a_raised_minimum_is_heeded_where_nothing_can_be_scheduled():
    """Upstream takes it back to what the subset has."""
    assert reservedly(4, [3, 0], [None, None], pods=[1, 3], kept=[1, 0]) == named(3, 4)


# -- which way counts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({}, (2, 8)),
        ({"type": "Fixed"}, (2, 8)),
        ({"type": "Adaptive"}, (1, 9)),
        ({"type": "Adaptive", "adaptive": {"reserveUnschedulablePods": True}}, (2, 9)),
        ({"type": "Fixed", "adaptive": {"reserveUnschedulablePods": True}}, (2, 8)),
    ],
)
def test_the_schedule_strategy_says_which_way_counts(strategy, expected):
    by_subset = {"a": SubsetState(2, 1, unschedulable=True, was_unschedulable=True, reserved=1), "b": SubsetState(8, 8)}
    subsets = {"name": "a", "minReplicas": 0, "maxReplicas": 2}, {"name": "b"}
    assert allocate(spec(10, *subsets, **strategy), by_subset) == dict(zip("ab", expected, strict=True))


def test_shares_that_mean_nothing_are_not_heeded():
    assert allocate(spec(4, {"name": "a", "replicas": "x"}, {"name": "b", "replicas": 1}), {}) == {"a": 3, "b": 1}
    assert allocate(spec(4, {"name": "a", "minReplicas": "x"}, {"name": "b"}), {}) == {"a": 4, "b": 0}
