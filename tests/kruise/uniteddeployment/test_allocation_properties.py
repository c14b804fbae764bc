"""Invariants of spreading pods over subsets."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller_manager.kruise.uniteddeployment.allocation import (
    NEW_SUBSET,
    UNLIMITED,
    Bounds,
    SubsetState,
    allocate_adaptive,
    allocate_elastic,
    allocate_specified,
    allocate_with_reservation,
)

SIZE = st.integers(0, 40)
NAMES = [f"s{index}" for index in range(6)]


@st.composite
def topologies(draw):
    """Draw bounds with at least one that has no maximum, as validation demands."""
    drawn = []
    for name in NAMES[: draw(st.integers(1, 6))]:
        least = draw(st.integers(0, 12))
        most = draw(st.one_of(st.just(UNLIMITED), st.integers(least, least + 12)))
        drawn.append(Bounds(name, least, most))
    free = draw(st.integers(0, len(drawn) - 1))
    drawn[free] = Bounds(drawn[free].name, drawn[free].minimum)
    return drawn


@st.composite
def states(draw):
    """Some subsets have no workload."""
    by_subset = {}
    for name in NAMES:
        if draw(st.booleans()):
            replicas = draw(SIZE)
            held = draw(st.integers(0, replicas))
            unschedulable = held > 0
            was_unschedulable = draw(st.booleans())
            by_subset[name] = SubsetState(
                replicas, draw(st.integers(0, replicas)), unschedulable, was_unschedulable, held
            )
    return by_subset


@given(SIZE, st.lists(SIZE, min_size=1, max_size=6), st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6)))
def test_specified_parts_are_the_total_and_each_gets_what_it_asks_for(rest, current, requested):
    names = NAMES[: len(current)]
    requested = {name: number for name, number in requested.items() if name in names}
    total = sum(requested.values()) + (rest if len(requested) < len(names) else 0)
    now = {name: SubsetState(number) for name, number in zip(names, current, strict=True)}
    sizes = allocate_specified(total, names, requested=requested, states=now)
    assert sum(sizes.values()) == total
    assert requested.items() <= sizes.items()
    others = [size for name, size in sizes.items() if name not in requested]
    assert not others or max(others) - min(others) <= 1
    again = allocate_specified(
        total, names, requested=requested, states={name: SubsetState(size) for name, size in sizes.items()}
    )
    assert again == sizes


@given(SIZE, SIZE, st.integers(1, 6))
def test_where_pods_are_even_no_more_of_them_move_than_come_or_go(before, after, number):
    names = NAMES[:number]
    first = allocate_specified(before, names, requested={}, states={})
    now = {name: SubsetState(size) for name, size in first.items()}
    second = allocate_specified(after, names, requested={}, states=now)
    assert sum(abs(second[name] - first[name]) for name in names) == abs(after - before)


@given(SIZE, SIZE, topologies())
def test_elastic_parts_are_the_total_between_their_bounds_and_none_moves_needlessly(before, after, bounds):
    first, second = allocate_elastic(before, bounds), allocate_elastic(after, bounds)
    enough = before >= sum(each.minimum for each in bounds)
    assert sum(first.values()) == before
    assert all(first[each.name] <= each.maximum for each in bounds)
    assert all(first[each.name] >= each.minimum for each in bounds) == enough
    assert sum(abs(second[each.name] - first[each.name]) for each in bounds) == abs(after - before)


@given(SIZE, SIZE, topologies(), states())
def test_adaptive_parts_keep_their_bounds_and_what_is_ready(total, other, bounds, now):
    sizes = allocate_adaptive(total, bounds, now)
    stuck = [each for each in bounds if now.get(each.name, NEW_SUBSET).unschedulable]
    kept = {each.name: min(max(now.get(each.name, NEW_SUBSET).ready, each.minimum), each.maximum) for each in bounds}
    room = sum(kept[each.name] if each in stuck else each.maximum for each in bounds)
    assert sum(sizes.values()) == min(total, room)
    assert all(sizes[each.name] <= each.maximum for each in bounds)
    if total >= sum(kept.values()):
        assert all(sizes[name] >= number for name, number in kept.items())
        assert all(sizes[each.name] == kept[each.name] for each in stuck)
    then = {name: SubsetState(sizes.get(name, 0), old.ready, old.unschedulable) for name, old in now.items()}
    assert allocate_adaptive(total, bounds, then) == sizes
    moved = sum(abs(allocate_adaptive(other, bounds, now)[each.name] - sizes[each.name]) for each in bounds)
    assert moved <= abs(other - total)


@given(SIZE, topologies(), states())
def test_what_is_expected_to_run_is_the_total_wherever_there_is_room(total, bounds, now):
    sizes = allocate_with_reservation(total, bounds, now)
    runs, room = 0, 0
    for each in bounds:
        state = now.get(each.name, NEW_SUBSET)
        free = not (state.unschedulable or state.was_unschedulable)
        runs += sizes[each.name] if free else min(sizes[each.name], state.replicas - state.reserved)
        limit = each.maximum if not state.unschedulable else max(each.minimum, min(state.replicas, each.maximum))
        room += limit if free else min(limit, state.replicas - state.reserved)
        assert sizes[each.name] <= limit
    assert runs == min(total, room)


@given(SIZE, topologies())
def test_without_doubts_stand_ins_are_not_needed(total, bounds):
    assert allocate_with_reservation(total, bounds, {}) == allocate_elastic(total, bounds)


# -- over time: subsets whose nodes have room for so many pods ---------------------------------------------------------

ROOMS = st.lists(st.integers(0, 20), min_size=6, max_size=6)
ROUNDS = 30


def limits(bounds, rooms):
    return {each.name: min(each.maximum, room) for each, room in zip(bounds, rooms, strict=False)}


@given(SIZE, topologies(), ROOMS)
def test_pods_come_to_rest_where_there_is_room_for_them(total, bounds, rooms):
    """A subset that had a pod without a node is unschedulable from then on: the period does not end here."""
    bounds = [Bounds(each.name, 0, each.maximum) for each in bounds]
    room = dict(zip(NAMES, rooms, strict=True))
    sizes, stuck = dict.fromkeys(NAMES, 0), set()
    for _ in range(ROUNDS):
        before = sizes
        now = {name: SubsetState(size, min(size, room[name]), name in stuck) for name, size in sizes.items()}
        sizes = allocate_adaptive(total, bounds, now)
        stuck |= {name for name, size in sizes.items() if size > room[name]}
    assert sizes == before
    limit = sum(limits(bounds, rooms).values())
    assert sum(min(size, room[name]) for name, size in sizes.items()) == min(total, limit)


@given(SIZE, SIZE, topologies(), ROOMS)
def test_stand_ins_come_to_rest_and_go_once_there_is_room(first, second, bounds, rooms):
    room = dict(zip(NAMES, rooms, strict=True))
    state: dict[Any, Any] = {}
    for total in (first, second):
        state = settled(total, bounds, room, state)
        runs = sum(min(size, room[name]) for name, (size, _, _) in state.items())
        assert runs >= min(total, sum(limits(bounds, rooms).values()))
    plenty = dict.fromkeys(NAMES, 1000)
    state = settled(second, bounds, plenty, state)
    assert {name: size for name, (size, _, _) in state.items()} == allocate_elastic(second, bounds)


def settled(total, bounds, room, state):
    """name → (size, doubted, unproven): pods that come to a doubted subset are reserved for one more round."""
    state = {each.name: state.get(each.name, (0, False, 0)) for each in bounds}
    for _ in range(ROUNDS):
        before = state
        held = {name: max(size - room[name], unproven, 0) for name, (size, _, unproven) in state.items()}
        now = {
            name: SubsetState(size, size - held[name], held[name] > 0, was_unschedulable, held[name])
            for name, (size, was_unschedulable, _) in state.items()
        }
        sizes = allocate_with_reservation(total, bounds, now)
        state = {}
        for name, (size, was_unschedulable, _) in before.items():
            more = max(sizes[name] - size, 0)
            doubts = held[name] > 0 or (was_unschedulable and more > 0)
            state[name] = (sizes[name], doubts, more if doubts else 0)
    assert state == before
    return state
