"""The loop under all controllers: which keys run, and when."""

import asyncio

import pytest
from running_controller import nothing, pod

from apiserver.api.meta import labels_of
from controller_manager.reconcile.contract import (
    DelayedKey,
    Enqueue,
    Requeue,
    RequeueAfter,
    Watch,
    enqueue_self,
    key_of,
)
from controller_manager.reconcile.kinds import EVERYTHING, POD
from controller_manager.runtime.controller import Controller

pytestmark = pytest.mark.looptime


async def test_what_comes_changes_or_goes_runs_its_key(make_stage):
    stage = make_stage(nothing)
    cache = stage.caches[POD]
    cache.put(pod("x"))
    asyncio.get_running_loop().call_later(5, cache.put, pod("x", revision=2))
    asyncio.get_running_loop().call_later(9, cache.remove, pod("x", revision=3))
    assert await stage.run(20) == [("a/x", 0), ("a/x", 5), ("a/x", 9)]


async def test_a_trigger_may_ask_for_later(make_stage):
    stage = make_stage(nothing, watches=(Watch(POD, lambda *_: [DelayedKey("k", 7.0)]),))
    stage.caches[POD].put(pod("x"))
    assert await stage.run(20) == [("k", 7)]


async def test_what_is_only_looked_at_runs_nothing(make_stage, caplog):
    stage = make_stage(nothing, watches=(Watch(POD),))
    stage.caches[POD].put(pod("x"))
    assert await stage.run(20) == []
    assert caplog.records == []


async def test_later_and_again_run_a_key_once_more(make_stage):
    def plan(key):
        if key == "later":
            yield RequeueAfter(50)
            yield RequeueAfter(30)
        else:
            yield Requeue()

    stage = make_stage(plan)
    stage.queue.add("later")
    await stage.run(65)
    assert stage.times("later") == [0, 30, 60]
    again = make_stage(plan)
    again.queue.add("again")
    await again.run(0.02)
    assert again.times("again")[:3] == [pytest.approx(65), pytest.approx(65.005), pytest.approx(65.015)]


async def test_a_plan_may_have_other_keys_run(make_stage):
    def plan(key):
        if key == "owner":
            yield Enqueue(["one", "two"])

    stage = make_stage(plan)
    stage.queue.add("owner")
    assert [key for key, _ in await stage.run(1)] == ["owner", "one", "two"]


async def test_what_follows_everything_hears_of_kinds_that_come_later(make_stage):
    stage = make_stage(nothing, watches=(Watch(EVERYTHING, enqueue_self),))
    stage.caches.get_or_create(POD).put(pod("x"))
    assert await stage.run(1) == [("a/x", 0)]


async def test_a_burst_of_changes_is_one_run_where_a_controller_has_a_pace(make_stage):
    stage = make_stage(nothing, min_interval=1.0)
    loop = asyncio.get_running_loop()
    for at in range(20):
        loop.call_later(10 + at / 10, stage.queue.add, "k")
    await stage.run(30)
    assert stage.times("k") == [10, 11, 12]


async def test_periodic_keys_run_at_the_start_and_after_every_period(make_stage):
    stage = make_stage(nothing, sync_period=20.0, periodic_keys=("tick",))
    await stage.run(50)
    assert stage.times("tick") == [0, 20, 40]


async def test_what_is_not_there_is_not_planned(make_stage):
    stage = make_stage(nothing, observe=lambda *_: None)
    stage.queue.add("k")
    assert await stage.run(10) == []


async def test_workers_are_as_many_as_are_asked_for(loop_clock, make_stage):
    stage = make_stage(nothing, workers=3)
    means = stage.controller._dependencies
    for more, expected in (({}, 3), ({"workers": 0}, 3), ({"workers": 7}, 7)):
        assert Controller(stage.spec, stage.queue, means, **more)._workers == expected


async def test_periodic_keys_without_a_period_run_once(make_stage):
    stage = make_stage(nothing, periodic_keys=("tick",))
    await stage.run(1000)
    assert stage.times("tick") == [0]


async def test_nothing_comes_later_once_a_controller_has_ended(make_stage):
    def plan(_key):
        yield RequeueAfter(5)

    stage = make_stage(plan)
    stage.queue.add("k")
    await stage.run(1)
    await asyncio.sleep(10)
    assert len(stage.queue) == 0


def relabelled(_listers, change):
    """A trigger for pods whose labels differ."""
    if change.old is not None and change.new is not None and labels_of(change.old) == labels_of(change.new):
        return ()
    return (key_of(change.obj),)


async def test_a_list_runs_the_key_of_a_changed_object_although_its_trigger_sees_no_difference(make_stage):
    """The object may have been otherwise in between, and the key may have made it so."""
    stage = make_stage(nothing, watches=(Watch(POD, relabelled),))
    cache = stage.caches[POD]
    loop = asyncio.get_running_loop()
    cache.replace([pod("x", labels={"app": "a"}), pod("y", labels={"app": "a"})], 1)
    loop.call_later(5, cache.replace, [pod("x", labels={"app": "a"}, revision=3), pod("y", labels={"app": "a"})], 3)
    assert await stage.run(20) == [("a/x", 0), ("a/y", 0), ("a/x", 5)]


async def test_a_watch_runs_only_the_keys_that_a_trigger_names(make_stage):
    stage = make_stage(nothing, watches=(Watch(POD, relabelled),))
    cache = stage.caches[POD]
    loop = asyncio.get_running_loop()
    cache.put(pod("x", labels={"app": "a"}))
    loop.call_later(5, cache.put, pod("x", labels={"app": "a"}, revision=2))
    loop.call_later(9, cache.put, pod("x", labels={"app": "b"}, revision=3))
    loop.call_later(12, cache.resync)
    assert await stage.run(20) == [("a/x", 0), ("a/x", 9)]


async def test_a_list_runs_the_former_owner_as_well_as_what_comes(make_stage):
    def labels(_listers, change):
        return [labels_of(state)["app"] for state in (change.old, change.new) if state is not None]

    stage = make_stage(nothing, watches=(Watch(POD, labels),))
    cache = stage.caches[POD]
    cache.replace([pod("x", labels={"app": "a"})], 1)
    asyncio.get_running_loop().call_later(5, cache.replace, [pod("x", labels={"app": "b"}, revision=3)], 3)
    assert await stage.run(20) == [("a", 0), ("a", 5), ("b", 5)]
