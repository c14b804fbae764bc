"""The loop under all controllers: what errors mean for a key and for others, pace, periods, and writes it waits for."""

import asyncio
import contextlib
import dataclasses
import logging
from functools import partial

import pytest

from apiserver.api import errors
from controller_manager.metrics import QueueTally
from controller_manager.reconcile.contract import (
    Batch,
    Create,
    Delayed,
    Delete,
    Enqueue,
    RecordEvent,
    Requeue,
    RequeueAfter,
    Spec,
    Watch,
    enqueue_self,
)
from controller_manager.reconcile.kinds import EVERYTHING, POD
from controller_manager.reconcile.metric_defs import Measure, Meter
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.controller import Controller, Dependencies
from controller_manager.runtime.expectations import EXPIRES, SETTLES
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

        def wrapped(key, now):
            self.ran.append((key, round(now - clock.START, 3)))
            yield from plan(key)

        self.spec = Spec(
            name="stage",
            watches=spec.pop("watches", (Watch(POD, enqueue_self),)),
            observe=spec.pop("observe", lambda _, key: key),
            reconcile=wrapped,
            **spec,
        )
        self.caches.provide(self.spec)
        self.queue = WorkQueue(ItemBackoff(), QueueTally())
        means = Dependencies(
            self.caches,
            server=server,
            recorder=None,
            clock=clock,
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


async def test_what_is_only_looked_at_runs_nothing(make_stage, caplog):
    stage = make_stage(nothing, watches=(Watch(POD),))
    stage.caches[POD].put(pod("x"))
    assert await stage.run(20) == []
    assert caplog.records == []


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
    ids=lambda error: str(error.code),
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
    await stage.run(0.007)
    assert [key for key, _ in stage.ran] == ["a/bad", "a/good", "a/bad"]
    assert stage.times("a/bad") == [0, 0.005]
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
    stage.caches.cache(POD).put(pod("x"))
    assert await stage.run(1) == [("a/x", 0)]


async def test_a_burst_of_changes_is_one_run_where_a_controller_has_a_pace(make_stage):
    stage = make_stage(nothing, min_interval=1.0)
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
        stage, counted = make_stage(once, server=Unheard(), expectation_timeouts=told), []
        means = dataclasses.replace(stage.controller._dependencies, count=lambda *each, into=counted: into.append(each))
        stage.controller = Controller(stage.spec, stage.queue, means)
        stage.queue.add("a/x")
        asyncio.get_running_loop().call_later(10, stage.queue.add, "a/x")
        await stage.run(400)
        first, second = stage.times("a/x")
        assert second - first == EXPIRES
        assert counted == ([(Measure(leaks, labels=("a", "x")), 0.0)] if told else [])


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


# -- requests of a plan, and what it is told


class Server:
    """A server that refuses certain names, and tells what it was asked at once."""

    def __init__(self, *refused, revision=5):
        self.refused = refused
        self.revision = revision
        self.rounds = []

    def _answer(self, request):
        name = request.obj["metadata"]["name"]
        if name in self.refused:
            return errors.already_exists("", "pods", name)
        return pod(name, revision=self.revision)

    async def perform(self, request):
        [answer] = await self.perform_all([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def perform_all(self, requests):
        self.rounds.append([request.obj["metadata"]["name"] for request in requests])
        return [self._answer(request) for request in requests]


def creations(number):
    return [Create(POD, {"metadata": {"name": f"p{each}"}}) for each in range(number)]


@pytest.mark.parametrize(
    ("number", "refused", "slow", "rounds", "tried"),
    [
        (0, (), True, [], 0),
        (1, (), True, [1], 1),
        (8, (), True, [1, 2, 4, 1], 8),
        (15, (), True, [1, 2, 4, 8], 15),
        (8, ("p0",), True, [1], 1),
        (8, ("p2",), True, [1, 2], 3),
        (8, ("p7",), True, [1, 2, 4, 1], 8),
        (8, ("p0",), False, [8], 8),
        (0, (), False, [], 0),
    ],
)
async def test_a_batch_is_asked_at_once_or_in_rounds_that_double_until_one_fails(
    make_stage, number, refused, slow, rounds, tried
):
    answers, server = [], Server(*refused)

    def plan(_key):
        how = {"slow_start": True} if slow else {}
        answers.extend((yield Batch(creations(number), **how)))

    stage = make_stage(plan, server=server)
    stage.queue.add("k")
    await stage.run(1)
    assert [len(each) for each in server.rounds] == rounds
    told = [answer["metadata"]["name"] if isinstance(answer, dict) else answer for answer in answers]
    expected = [f"p{each}" for each in range(tried)] + [None] * (number - tried)
    assert [name for name in told if isinstance(name, str)] == [
        name for name in expected if name and name not in refused
    ]
    assert told[tried:] == [None] * (number - tried)
    assert sum(isinstance(name, Exception) for name in told) == len(refused)


async def test_a_plan_gets_the_answer_or_the_refusal_of_each_request_where_it_asks(make_stage):
    told = []

    def plan(_key):
        told.append((yield Create(POD, {"metadata": {"name": "good"}})))
        try:
            yield Create(POD, {"metadata": {"name": "bad"}})
        except errors.ApiError as error:
            told.append(error)
        told.append((yield RequeueAfter(100)))

    stage = make_stage(plan, server=Server("bad"))
    stage.queue.add("k")
    await stage.run(1)
    assert told[0] == pod("good", revision=5)
    assert told[1].reason == "AlreadyExists"
    assert told[2] is None


async def test_a_plan_that_does_not_catch_a_refusal_is_closed_and_run_again(make_stage):
    closed = []

    def plan(_key):
        try:
            yield Create(POD, {"metadata": {"name": "bad"}})
            closed.append("went on")
        finally:
            closed.append("closed")

    stage = make_stage(plan, server=Server("bad"))
    stage.queue.add("k")
    await stage.run(0.007)
    assert closed == ["closed"] * 2
    assert stage.times("k") == [0, 0.005]


async def test_a_plan_is_closed_before_it_runs_again_also_where_its_action_breaks(make_stage):
    events = []

    class Recorder:
        def record(self, *_):
            raise KeyError("regarding")

    def plan(_key):
        events.append("begins")
        try:
            yield RecordEvent(pod("x"), "Done", "it is done")
        finally:
            events.append("closed")

    stage = make_stage(plan)
    means = dataclasses.replace(stage.controller._dependencies, recorder=Recorder())
    stage.controller = Controller(stage.spec, stage.queue, means)
    stage.queue.add("k")
    await stage.run(0.007)
    assert events == ["begins", "closed"] * 2


@pytest.mark.parametrize("asking", [creations(1)[0], Batch(creations(1))], ids=["alone", "in a batch"])
async def test_a_key_runs_again_when_the_cache_has_seen_what_it_wrote(make_stage, asking):
    def plan(_key):
        if len(stage.ran) == 1:
            yield asking

    stage = make_stage(plan, server=Server(revision=12), watches=(Watch(POD),))
    cache = stage.caches[POD]
    cache.replace([], 10)
    loop = asyncio.get_running_loop()
    stage.queue.add("k")
    loop.call_later(1, stage.queue.add, "k")
    loop.call_later(2, cache.advance, 11)
    loop.call_later(3, cache.advance, 12)
    assert await stage.run(20) == [("k", 0), ("k", 3)]


async def test_a_refused_write_is_not_awaited(make_stage):
    def plan(_key):
        if len(stage.ran) == 1:
            with contextlib.suppress(errors.ApiError):
                yield Create(POD, {"metadata": {"name": "bad"}})

    stage = make_stage(plan, server=Server("bad", revision=12), watches=(Watch(POD),))
    stage.queue.add("k")
    asyncio.get_running_loop().call_later(1, stage.queue.add, "k")
    assert await stage.run(20) == [("k", 0), ("k", 1)]


@pytest.mark.parametrize("goes", [True, False], ids=["it went", "it changed"])
async def test_what_is_made_under_a_name_does_not_wait_for_what_its_former_bearer_wrote(make_stage, goes):
    def plan(_key):
        if len(stage.ran) == 1:
            yield creations(1)[0]

    stage = make_stage(plan, server=Server(revision=900))
    cache = stage.caches[POD]
    cache.put(pod("x"))
    change = cache.remove if goes else cache.put
    asyncio.get_running_loop().call_later(1, change, pod("x", revision=2))
    assert await stage.run(20) == [("a/x", 0)] + [("a/x", 1)] * goes


async def test_a_key_waits_for_what_it_wrote_when_another_object_of_its_name_goes(make_stage):
    """One of a kind that it only looks at, as ReplicaSets look at Pods."""

    def plan(_key):
        if len(stage.ran) == 1:
            yield creations(1)[0]

    stage = make_stage(plan, server=Server(revision=900), watches=(Watch(POD, lambda *_: ["a/x"]),))
    cache = stage.caches[POD]
    cache.put(pod("x"))
    asyncio.get_running_loop().call_later(1, cache.remove, pod("x", revision=2))
    assert await stage.run(20) == [("a/x", 0)]


async def test_a_key_that_failed_has_its_first_failure_once_more_after_its_object_is_gone(make_stage):
    there = [True]
    observe = lambda _, key: key if there else None  # noqa: E731 - the stage takes a function
    stage = make_stage(failing(errors.unavailable("away")), observe=observe)
    loop = asyncio.get_running_loop()
    stage.queue.add("a/bad")
    loop.call_later(0.1, there.clear)
    loop.call_later(10, there.append, True)
    loop.call_later(10, stage.queue.add, "a/bad")
    await stage.run(10.012)
    assert stage.times("a/bad") == [0, 0.005, 0.015, 0.035, 0.075, 10, 10.005]


async def test_what_is_gone_waits_for_nothing_and_has_no_pace(make_stage):
    there = [True]

    def plan(_key):
        yield creations(1)[0]

    observe = lambda _, key: key if there else None  # noqa: E731 - the stage takes a function
    stage = make_stage(plan, server=Server(revision=0), observe=observe, min_interval=10.0, watches=(Watch(POD),))
    loop = asyncio.get_running_loop()
    stage.queue.add("k")
    loop.call_later(11, there.clear)
    loop.call_later(12, stage.queue.add, "k")
    loop.call_later(13, there.append, True)
    loop.call_later(14, stage.queue.add, "k")
    assert await stage.run(16) == [("k", 0), ("k", 14)]


async def test_workers_are_as_many_as_are_asked_for(loop_clock, make_stage):
    stage = make_stage(nothing, workers=3)
    means = stage.controller._dependencies
    for more, expected in (({}, 3), ({"workers": 0}, 3), ({"workers": 7}, 7)):
        assert Controller(stage.spec, stage.queue, means, **more)._workers == expected


async def test_periodic_keys_without_a_period_run_once(make_stage):
    stage = make_stage(nothing, periodic=("tick",))
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


async def test_what_a_plan_measures_is_counted_with_the_time_since_it_began(make_stage):
    counted, measure = [], Measure(Meter("took", "Seconds.", ()))

    class Slow(Server):
        async def perform_all(self, requests):
            await asyncio.sleep(3)
            return await super().perform_all(requests)

    def plan(_key):
        yield creations(1)[0]
        yield measure

    stage = make_stage(plan, server=Slow(), watches=(Watch(POD),))
    means = dataclasses.replace(stage.controller._dependencies, count=lambda *told: counted.append(told))
    stage.controller = Controller(stage.spec, stage.queue, means)
    asyncio.get_running_loop().call_later(7, stage.queue.add, "k")
    await stage.run(12)
    assert counted == [(measure, 3.0)]


@pytest.mark.parametrize(("code", "level"), [(404, "DEBUG"), (409, "DEBUG"), (500, "WARNING"), (403, "WARNING")])
async def test_what_happens_every_day_is_logged_quietly(make_stage, caplog, code, level):
    caplog.set_level("DEBUG")
    stage = make_stage(failing(errors.ApiError(code, "", "so it is")))
    stage.queue.add("a/bad")
    await stage.run(0.001)
    [record] = [each for each in caplog.records if "is tried again" in each.getMessage()]
    assert record.levelname == level
    assert record.getMessage() == "stage a/bad failed and is tried again: so it is"


async def test_a_refusal_since_the_namespace_goes_makes_the_next_failure_the_first(make_stage):
    refusal = errors.forbidden("", "pods", name="x", why="it goes", causes=[{"reason": "NamespaceTerminating"}])
    answers = [errors.internal("broken")] * 3 + [refusal] + [errors.internal("broken")] * 2

    def plan(_key):
        yield from ()
        if answers:
            raise answers.pop(0)

    stage = make_stage(plan)
    stage.queue.add("a/x")
    asyncio.get_running_loop().call_later(10, stage.queue.add, "a/x")
    await stage.run(20)
    assert stage.times("a/x") == [0, 0.005, 0.015, 0.035, 10, 10.005, 10.015]


async def test_a_plans_events_are_recorded_as_its_controllers_own(make_stage):
    recorded, event = [], RecordEvent(pod("x"), "Done", "it is done")

    class Recorder:
        def record(self, emit, source):
            recorded.append((emit, source))

    def plan(_key):
        assert (yield event) is None

    stage = make_stage(plan, source="stage-controller")
    means = dataclasses.replace(stage.controller._dependencies, recorder=Recorder())
    stage.controller = Controller(stage.spec, stage.queue, means)
    stage.queue.add("k")
    await stage.run(1)
    assert recorded == [(event, "stage-controller")]
