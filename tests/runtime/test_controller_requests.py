"""The actions that a reconcile yields: requests and their answers, batches, Events and measurements."""

import asyncio
import dataclasses

import pytest
from running_controller import Server, creations, pod

from apiserver.api import errors
from controller_manager.reconcile.contract import Batch, Create, RecordEvent, RequeueAfter, Watch
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric
from controller_manager.runtime.controller import Controller

pytestmark = pytest.mark.looptime


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
    names = [answer["metadata"]["name"] if isinstance(answer, dict) else answer for answer in answers]
    expected = [f"p{each}" for each in range(tried)] + [None] * (number - tried)
    assert [name for name in names if isinstance(name, str)] == [
        name for name in expected if name and name not in refused
    ]
    assert names[tried:] == [None] * (number - tried)
    assert sum(isinstance(name, Exception) for name in names) == len(refused)


async def test_a_plan_gets_the_answer_or_the_refusal_of_each_request_where_it_asks(make_stage):
    outcomes = []

    def plan(_key):
        outcomes.append((yield Create(POD, {"metadata": {"name": "good"}})))
        try:
            yield Create(POD, {"metadata": {"name": "bad"}})
        except errors.ApiError as error:
            outcomes.append(error)
        outcomes.append((yield RequeueAfter(100)))

    stage = make_stage(plan, server=Server("bad"))
    stage.queue.add("k")
    await stage.run(1)
    assert outcomes[0] == pod("good", revision=5)
    assert outcomes[1].reason == "AlreadyExists"
    assert outcomes[2] is None


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


async def test_what_a_plan_measures_is_counted_with_the_time_since_it_began(make_stage):
    counted, measure = [], RecordMetric(MetricDef("took", "Seconds.", ()))

    class SlowServer(Server):
        async def perform_all(self, requests):
            await asyncio.sleep(3)
            return await super().perform_all(requests)

    def plan(_key):
        yield creations(1)[0]
        yield measure

    stage = make_stage(plan, server=SlowServer(), watches=(Watch(POD),))
    means = dataclasses.replace(
        stage.controller._dependencies, record_measurement=lambda *arguments: counted.append(arguments)
    )
    stage.controller = Controller(stage.spec, stage.queue, means)
    asyncio.get_running_loop().call_later(7, stage.queue.add, "k")
    await stage.run(12)
    assert counted == [(measure, 3.0)]


async def test_a_plans_events_are_recorded_as_its_controllers_own(make_stage):
    recorded, event = [], RecordEvent(pod("x"), "Done", "it is done")

    class Recorder:
        def record(self, event, source):
            recorded.append((event, source))

    def plan(_key):
        assert (yield event) is None

    stage = make_stage(plan, source="stage-controller")
    means = dataclasses.replace(stage.controller._dependencies, recorder=Recorder())
    stage.controller = Controller(stage.spec, stage.queue, means)
    stage.queue.add("k")
    await stage.run(1)
    assert recorded == [(event, "stage-controller")]
