"""The loop under all controllers: what errors mean for a key and for others, pace, periods, and writes it waits for."""

import asyncio
import logging
from functools import partial

import pytest

from apiserver.api import errors
from controller_manager.metrics import QueueTally
from controller_manager.runtime.awaited import EXPIRES, SETTLES
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.contract import (
    Again,
    Batch,
    Create,
    Delayed,
    Delete,
    Later,
    Spec,
    Wake,
    Watch,
    itself,
)
from controller_manager.runtime.controller import Controller, Means
from controller_manager.runtime.kinds import EVERYTHING, POD
from controller_manager.runtime.meters import Measure, Meter
from controller_manager.runtime.ratelimit import ItemBackoff
from controller_manager.runtime.requests import lost
from controller_manager.runtime.workqueue import WorkQueue

pytestmark = pytest.mark.looptime


def pod(name: str, *, revision: int = 1, **meta):
    return {"metadata": {"namespace": "a", "name": name, "uid": f"uid-{name}", "resourceVersion": str(revision)} | meta}


class Stage:
    """A controller of pods whose plan a test gives; it tells which keys ran when."""

    def __init__(self, clock, plan, *, server=None, **spec) -> None:
        self.ran: list[tuple[str, float]] = []
        self.caches = Caches()
        self.measured: list[Measure] = []

        def wrapped(key, now):
            self.ran.append((key, round(now - clock.START, 3)))
            yield from plan(key)

        self.spec = Spec(
            name="stage",
            watches=spec.pop("watches", (Watch(POD, itself),)),
            observe=spec.pop("observe", lambda _, key: key),
            plan=wrapped,
            **spec,
        )
        self.caches.provide(self.spec)
        self.queue = WorkQueue(ItemBackoff(), QueueTally())
        means = Means(
            self.caches,
            server=server,
            recorder=None,
            clock=clock,
            count=lambda measure, _: self.measured.append(measure),
        )
        self.controller = Controller(self.spec, self.queue, means)

    async def run(self, seconds: float) -> list[tuple[str, float]]:
        task = asyncio.ensure_future(self.controller.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.ran

    def times(self, key: str) -> list[float]:
        return [at for name, at in self.ran if name == key]


@pytest.fixture
def make_stage(loop_clock):
    """make_stage(plan, …): a controller of that plan; more is of its SPEC."""
    return partial(Stage, loop_clock)


def nothing(_key):
    yield from ()


def failing(error):
    def plan(key):
        yield from ()
        if key.startswith("a/bad"):
            raise error

    return plan


async def test_what_comes_changes_or_goes_runs_its_key(make_stage):
    stage = make_stage(nothing)
    cache = stage.caches[POD]
    cache.put(pod("x"))
    asyncio.get_running_loop().call_later(5, cache.put, pod("x", revision=2))
    asyncio.get_running_loop().call_later(9, cache.remove, pod("x", revision=3))
    assert await stage.run(20) == [("a/x", 0), ("a/x", 5), ("a/x", 9)]


async def test_a_trigger_may_ask_for_later(make_stage):
    stage = make_stage(nothing, watches=(Watch(POD, lambda *_: [Delayed("k", 7.0)]),))
    stage.caches[POD].put(pod("x"))
    assert await stage.run(20) == [("k", 7)]


async def test_a_failing_key_backs_off_alone_for_ever(make_stage):
    stage = make_stage(failing(errors.unavailable("away")), workers=1)
    stage.queue.add("a/bad")
    loop = asyncio.get_running_loop()
    for at in (1, 2, 3):
        loop.call_later(at, stage.queue.add, "a/good")
    await stage.run(4000)
    assert stage.times("a/good") == [1, 2, 3]
    gaps = [round(b - a, 3) for a, b in zip(stage.times("a/bad"), stage.times("a/bad")[1:], strict=False)]
    assert gaps[:4] == [0.005, 0.01, 0.02, 0.04]
    assert max(gaps) == 1000


@pytest.mark.parametrize(
    "error",
    [
        errors.conflict("", "pods", name="bad", why="modified"),
        errors.not_found("", "pods", "bad"),
        errors.expired("too old"),
        errors.invalid("", "Pod", name="bad", errors=[]),
        errors.too_many_requests("slow down", 0),
        errors.internal("broken"),
        errors.unavailable("away"),
        lost("the connection was reset"),
    ],
    ids=lambda error: f"{error.code} {error.reason}",
)
async def test_whatever_the_server_says_its_key_is_tried_again_alone_and_starts_anew_once_it_goes_well(
    make_stage, error
):
    answers = [error] * 4 + [None] + [error] * 2

    def plan(key):
        yield from ()
        if key == "a/bad" and answers and (answer := answers.pop(0)):
            raise answer

    stage = make_stage(plan, workers=1)
    stage.queue.add("a/bad")
    stage.queue.add("a/good")
    asyncio.get_running_loop().call_later(10, stage.queue.add, "a/bad")
    await stage.run(20)
    assert stage.times("a/bad") == [0, 0.005, 0.015, 0.035, 0.075, 10, 10.005, 10.015]
    assert stage.times("a/good") == [0]


async def test_a_plan_that_breaks_is_logged_and_stops_nobody(make_stage, caplog):
    def plan(key):
        yield from ()
        if key == "a/bad":
            raise KeyError("spec")

    stage = make_stage(plan, workers=1)
    stage.queue.add("a/bad")
    stage.queue.add("a/good")
    await stage.run(0.001)
    assert [key for key, _ in stage.ran] == ["a/bad", "a/good"]
    assert any(record.levelno == logging.ERROR and record.exc_info for record in caplog.records)


async def test_after_so_many_retries_a_key_waits_for_the_next_change(make_stage, caplog):
    stage = make_stage(failing(errors.unavailable("away")), retries=3)
    stage.queue.add("a/bad")
    asyncio.get_running_loop().call_later(100, stage.queue.add, "a/bad")
    await stage.run(1000)
    assert len(stage.times("a/bad")) == 8
    assert "failed 3 times and waits for a change" in caplog.text


async def test_a_refusal_since_the_namespace_goes_is_forgotten(make_stage):
    refusal = errors.forbidden("", "pods", name="x", why="it goes", causes=[{"reason": "NamespaceTerminating"}])
    stage = make_stage(failing(refusal))
    stage.queue.add("a/bad")
    await stage.run(1000)
    assert len(stage.ran) == 1


async def test_a_server_that_says_when_to_come_back_is_obeyed(make_stage):
    stage = make_stage(failing(errors.too_many_requests("slow down", 17)))
    stage.queue.add("a/bad")
    assert await stage.run(40) == [("a/bad", 0), ("a/bad", 17), ("a/bad", 34)]


async def test_later_and_again_run_a_key_once_more(make_stage):
    def plan(key):
        if key == "later":
            yield Later(50)
            yield Later(30)
        else:
            yield Again()

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
            yield Wake(["one", "two"])

    stage = make_stage(plan)
    stage.queue.add("owner")
    assert [key for key, _ in await stage.run(1)] == ["owner", "one", "two"]


async def test_what_follows_everything_hears_of_kinds_that_come_later(make_stage):
    stage = make_stage(nothing, watches=(Watch(EVERYTHING, itself),))
    stage.caches.cache(POD).put(pod("x"))
    assert await stage.run(1) == [("a/x", 0)]


async def test_a_burst_of_changes_is_one_run_where_a_controller_has_a_pace(make_stage):
    stage = make_stage(nothing, pace=1.0)
    loop = asyncio.get_running_loop()
    for at in range(20):
        loop.call_later(10 + at / 10, stage.queue.add, "k")
    await stage.run(30)
    assert stage.times("k") == [10, 11, 12]


async def test_periodic_keys_run_at_the_start_and_after_every_period(make_stage):
    stage = make_stage(nothing, every=20.0, periodic=("tick",))
    await stage.run(50)
    assert stage.times("tick") == [0, 20, 40]


async def test_what_is_not_there_is_not_planned(make_stage):
    stage = make_stage(nothing, observe=lambda *_: None)
    stage.queue.add("k")
    assert await stage.run(10) == []


# -- a key's own writes


class Unheard:
    """A server of whose changes nobody hears."""

    async def perform(self, _request):
        return pod("y", revision=12)


async def test_a_key_that_goes_on_unseen_is_counted_where_that_is_asked_for(make_stage):
    leaks = Meter("leaks", "What was not seen.", ("namespace", "name"))

    def once(_key):
        if len(stage.ran) == 1:
            yield Create(POD, {})

    for told in (leaks, None):
        stage = make_stage(once, server=Unheard(), leaks=told)
        stage.queue.add("a/x")
        asyncio.get_running_loop().call_later(10, stage.queue.add, "a/x")
        await stage.run(400)
        first, second = stage.times("a/x")
        assert second - first == EXPIRES
        assert [measure.labels for measure in stage.measured] == ([("a", "x")] if told else [])


class Deaf:
    """A server that hears everything and whose answers are lost."""

    def __init__(self) -> None:
        self.heard = []

    async def perform(self, request):
        self.heard.append(request)
        raise lost("the server closed the connection")

    async def perform_all(self, requests):
        self.heard += requests
        return [lost("the server closed the connection") for _ in requests]


@pytest.mark.parametrize("asking", [Delete(POD, "a/x"), Batch([Delete(POD, "a/x")])])
async def test_a_key_whose_answer_was_lost_runs_when_the_cache_knows(make_stage, asking):
    server = Deaf()

    def plan(key):
        if len(server.heard) < 2:
            yield asking
            raise lost("it may have been heard")

    stage = make_stage(plan, server=server)
    stage.caches[POD].replace([pod("x")], 10)
    asyncio.get_running_loop().call_later(5.0, lambda: stage.caches[POD].attach(5.0))
    ran = await stage.run(10)
    assert [at for _, at in ran] == pytest.approx([0.0, 5.0 + SETTLES, 5.6 + SETTLES], abs=0.4)
