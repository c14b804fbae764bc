"""Ordinals by their arithmetic: those that are reserved are skipped, and others come in their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_manager.controllers.statefulset.ordinals import Replica, group_by_ordinal
from controller_manager.kruise.statefulset.reserved_ordinals import Ordinals, reserved_ordinals, usable_ordinals


def ordinals(replicas, given=(), start=0):
    return usable_ordinals({"spec": {"replicas": replicas, "reserveOrdinals": given, "ordinals": {"start": start}}})


@pytest.mark.parametrize(
    ("replicas", "given", "start", "expected"),
    [
        (3, [], 0, [0, 1, 2]),
        (3, [1], 0, [0, 2, 3]),
        (3, [1, 2], 0, [0, 3, 4]),
        (3, [7], 0, [0, 1, 2]),
        (3, [3], 0, [0, 1, 2]),
        (3, ["0-1", 3], 0, [2, 4, 5]),
        (3, ["1-3", "2-5", 4], 0, [0, 6, 7]),
        (4, [1, 3], 2, [2, 4, 5, 6]),
        (2, ["0-9"], 5, [10, 11]),
        (2, [-1], 0, [0, 1]),
        (0, [0], 0, []),
        (2, [2, 0], 0, [1, 3]),
        (1, [], -3, [0]),
    ],
)
def test_what_is_reserved_is_skipped_and_the_rest_goes_on(replicas, given, start, expected):
    chosen = ordinals(replicas, given, start)
    assert list(chosen) == expected
    assert len(chosen) == len(expected)
    assert [number for number in range(-2, 20) if number in chosen] == expected


def test_a_set_that_says_nothing_wants_one_pod():
    assert list(usable_ordinals({"spec": {}})) == [0]


@pytest.mark.parametrize("wrong", ["3", "3-1", "a-b", "1-", "1-2-3", "", "-1", "1 - 2", "\u0661-3", "0-" + "9" * 5000])
def test_nothing_is_reserved_where_something_cannot_be_understood(wrong):
    assert reserved_ordinals([0, wrong, "4-5"]) == []


def test_whatever_is_reserved_it_is_not_counted_one_by_one():
    chosen = ordinals(3, ["0-2147483640", "1-2147483641"])
    assert list(chosen) == [2147483642, 2147483643, 2147483644]
    assert list(ordinals(3, ["1-2147483646"])) == [0, 2147483647]
    assert list(ordinals(3, ["0-999999999999999999"])) == []


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (1, 3), (2, 4), (3, 5), (4, 6), (9, 6)])
def test_so_many_of_the_first_ordinals_stay_below(number, expected):
    assert Ordinals((range(1), range(3, 6))).at(number) == expected


def test_pods_of_reserved_ordinals_are_condemned():
    pods = {number: {"metadata": {"name": f"web-{number}"}} for number in (0, 1, 4)}
    arranged = group_by_ordinal("web", pods.values(), ordinals(3, [1]))
    assert arranged.replicas == (Replica(0, pods[0]), Replica(2, None), Replica(3, None))
    assert [replica.ordinal for replica in arranged.condemned] == [4, 1]


TAKEN = st.lists(
    st.one_of(st.integers(0, 12), st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda t: f"{t[0]}-{sum(t)}")),
    max_size=5,
)


@given(replicas=st.integers(0, 8), given=TAKEN, start=st.integers(0, 9))
def test_there_are_as_many_as_wanted_none_of_them_reserved_and_none_left_out(replicas, given, start):
    taken = {number for span in reserved_ordinals(given) for number in span}
    free = [number for number in range(start, 60) if number not in taken]
    chosen = ordinals(replicas, given, start)
    assert list(chosen) == free[:replicas]
    assert all(chosen.at(number) == free[number] for number in range(replicas))
