"""Whose turn it is: by priority and order, after a while, or when something happens; and nobody is lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_manager.scheduler.scheduling_queue import MAX_BACKOFF, MAX_UNSCHEDULABLE_SECONDS, SchedulingQueue

NOBODY: frozenset[str] = frozenset()


@pytest.fixture
def queue():
    return SchedulingQueue()


@pytest.fixture
def kind():
    """Stands for what a pod is: the queue does no more than tell kinds apart."""
    return object()


def taken(queue, now=0.0):
    keys = []
    while (waiting := queue.pop(now)) is not None:
        keys.append(waiting.key)
    return keys


def fill(queue, **priorities):
    for name, priority in priorities.items():
        queue.add(name, f"uid-{name}", priority=priority)


def park(queue, kind, name, *, now=0.0, plugins=NOBODY):
    fill(queue, **{name: 0})
    waiting = queue.pop(now)
    assert waiting.key == name
    queue.add_unschedulable(waiting, kind, plugins=plugins, now=now)


def test_turns_come_by_priority_then_in_order(queue):
    fill(queue, a=1, b=5, c=5, d=-3)
    assert queue.next_key() == "b"
    assert taken(queue) == ["b", "c", "a", "d"]
    assert queue.next_key() == ""


def test_a_pod_that_is_added_again_has_one_turn(queue):
    fill(queue, a=1)
    fill(queue, a=1)
    assert taken(queue) == ["a"]
    fill(queue, a=1)
    assert taken(queue) == []


def test_a_pod_that_was_removed_has_no_turn_and_cannot_be_given_back(queue, kind):
    fill(queue, a=1, b=1)
    assert not queue.remove("uid-a")
    waiting = queue.pop(0)
    assert waiting.key == "b"
    assert queue.remove("uid-b")
    queue.add_unschedulable(waiting, kind, plugins=NOBODY, now=0)
    queue.add_after_error(waiting, 0)
    assert (len(queue), queue.has_any, queue.has_unschedulable) == (0, False, False)


def test_a_pod_that_failed_waits_its_time_whatever_happens(queue):
    fill(queue, a=1)
    queue.add_after_error(queue.pop(10), 10)
    assert queue.move_helped(lambda *_: True) == []
    assert taken(queue, 10.9) == []
    assert queue.next_backoff_end() == 11
    assert taken(queue, 11) == ["a"]


def test_errors_make_a_pod_wait_longer_each_time(queue):
    fill(queue, a=1)
    now, waits = 0.0, []
    for _ in range(6):
        queue.add_after_error(queue.pop(now), now)
        waits.append(queue.next_backoff_end() - now)
        now = queue.next_backoff_end()
    assert waits == [1, 2, 4, 8, MAX_BACKOFF, MAX_BACKOFF]


def test_a_pod_that_found_no_place_has_a_turn_when_something_may_help_it(queue, kind):
    park(queue, kind, "a", plugins=frozenset(("Fit",)))
    assert not queue.has_any
    asked: list[tuple[Any, Any]] = []

    def helps_nobody(info, plugins):
        asked.append((info, plugins))
        return False

    assert queue.move_helped(helps_nobody) == []
    assert asked == [(kind, {"Fit"})]
    assert queue.move_helped(lambda *_: True) == ["a"]
    assert taken(queue) == ["a"]


def test_what_may_help_is_asked_once_for_pods_that_are_alike(queue, kind):
    for name in "abc":
        park(queue, kind, name)
    asked = []

    def helps_all(*_):
        asked.append(1)
        return True

    moved = queue.move_helped(helps_all)
    assert (moved, len(asked)) == (["a", "b", "c"], 1)


def test_pods_are_tried_before_their_time_by_priority_until_one_fails(queue, kind):
    for name, priority in [("a", 1), ("b", 3), ("c", 2)]:
        fill(queue, **{name: priority})
        queue.add_unschedulable(queue.pop(0), kind, plugins=NOBODY, now=0)
    queue.move_helped(lambda *_: True)
    assert queue.pop(0.5).key == "b"
    waiting = queue.pop(0.5)
    assert waiting.key == "c"
    queue.add_unschedulable(waiting, kind, plugins=NOBODY, now=0.5)
    assert queue.pop(0.5) is None
    assert taken(queue, 1) == ["a"]


def test_new_pods_go_before_those_that_wait_a_moment(queue, kind):
    fill(queue, old=9)
    queue.add_unschedulable(queue.pop(0), kind, plugins=NOBODY, now=0)
    queue.move_helped(lambda *_: True)
    fill(queue, new=1)
    assert taken(queue, 0.5) == ["new", "old"]


def test_a_pod_is_tried_again_in_the_end_though_nothing_happened(queue, kind):
    park(queue, kind, "a")
    queue.flush_unschedulable(MAX_UNSCHEDULABLE_SECONDS - 1)
    assert not queue.has_any
    queue.flush_unschedulable(MAX_UNSCHEDULABLE_SECONDS)
    assert taken(queue, MAX_UNSCHEDULABLE_SECONDS) == ["a"]


STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove", "park", "fail", "place", "move"]), st.integers(0, 4)))


@given(STEPS)
def test_whoever_still_wants_a_node_has_a_turn_in_the_end(steps):
    queue, kinds, wants, now = SchedulingQueue(), [object(), object()], set(), 0.0
    for step, number in steps:
        now += 0.3
        uid = f"uid-{number}"
        if step == "add":
            queue.add(str(number), uid, priority=number)
            wants.add(uid)
        elif step == "remove":
            queue.remove(uid)
            wants.discard(uid)
        elif step == "move":
            chosen = kinds[number % 2]
            queue.move_helped(lambda info, _: info is chosen)  # noqa: B023 - called before the next turn
        elif (waiting := queue.pop(now)) is not None:
            assert waiting.uid in wants
            if step == "park":
                queue.add_unschedulable(waiting, kinds[number % 2], plugins=NOBODY, now=now)
            elif step == "fail":
                queue.add_after_error(waiting, now)
            else:
                queue.remove(waiting.uid)
                wants.discard(waiting.uid)
    queue.flush_unschedulable(now + MAX_UNSCHEDULABLE_SECONDS)
    order = [f"uid-{key}" for key in taken(queue, now + MAX_UNSCHEDULABLE_SECONDS)]
    assert sorted(order) == sorted(wants)
    assert len(queue) == len(wants)
