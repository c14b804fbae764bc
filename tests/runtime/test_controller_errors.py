"""Errors of a run: their effect on its key, on other keys, and in the log."""

import asyncio
import logging

import pytest
from running_controller import failing

from apiserver.api import errors
from controller_manager.runtime.requests import connection_lost

pytestmark = pytest.mark.looptime


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
        connection_lost("the connection was reset"),
    ],
    ids=lambda error: str(error.code),
)
async def test_whatever_the_server_says_its_key_is_tried_again_alone_and_starts_afresh_once_it_goes_well(
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


async def test_a_server_that_says_when_to_come_back_is_obeyed(make_stage):
    stage = make_stage(failing(errors.too_many_requests("slow down", 17)))
    stage.queue.add("a/bad")
    assert await stage.run(40) == [("a/bad", 0), ("a/bad", 17), ("a/bad", 34)]


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


@pytest.mark.parametrize(("code", "level"), [(404, "DEBUG"), (409, "DEBUG"), (500, "WARNING"), (403, "WARNING")])
async def test_what_happens_every_day_is_logged_quietly(make_stage, caplog, code, level):
    caplog.set_level("DEBUG")
    stage = make_stage(failing(errors.ApiError(code, "", "so it is")))
    stage.queue.add("a/bad")
    await stage.run(0.001)
    [record] = [each for each in caplog.records if "is tried again" in each.getMessage()]
    assert record.levelname == level
    assert record.getMessage() == "stage a/bad failed and is tried again: so it is"
