"""A key waits until the caches have seen its own writes."""

import asyncio
import contextlib
import dataclasses
from typing import Any

import pytest
from running_controller import Server, creations, pod

from apiserver.api import errors
from controller_manager.reconcile.contract import Batch, Create, Delete, Watch
from controller_manager.reconcile.kinds import CONFIG_MAP, POD
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric
from controller_manager.runtime.controller import Controller
from controller_manager.runtime.expectations import SETTLE_SECONDS, TIMEOUT
from controller_manager.runtime.requests import connection_lost

pytestmark = pytest.mark.looptime


class UnwatchedServer:
    """A server whose changes reach no cache."""

    async def perform(self, _request):
        return pod("y", revision=12)


async def test_a_key_that_goes_on_unseen_is_counted_where_that_is_asked_for(make_stage):
    leaks = MetricDef("leaks", "What was not seen.", ("namespace", "name"))

    def once(_key):
        if len(stage.ran) == 1:
            yield Create(POD, {})

    for metric in (leaks, None):
        counted: list[Any] = []
        stage = make_stage(once, server=UnwatchedServer(), expectation_timeouts=metric)
        means = dataclasses.replace(
            stage.controller._dependencies, record_measurement=lambda *each, into=counted: into.append(each)
        )
        stage.controller = Controller(stage.spec, stage.queue, means)
        stage.queue.add("a/x")
        asyncio.get_running_loop().call_later(10, stage.queue.add, "a/x")
        await stage.run(400)
        first, second = stage.times("a/x")
        assert second - first == TIMEOUT
        assert counted == ([(RecordMetric(leaks, labels=("a", "x")), 0.0)] if metric else [])


class UnansweringServer:
    """A server that carries out all requests, but whose answers are lost."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def perform(self, request):
        self.heard.append(request)
        raise connection_lost("the server closed the connection")

    async def perform_all(self, requests):
        self.heard += requests
        return [connection_lost("the server closed the connection") for _ in requests]


@pytest.mark.parametrize("asking", [Delete(POD, "a/x"), Batch([Delete(POD, "a/x")])])
async def test_a_key_whose_answer_was_lost_runs_when_the_cache_knows(make_stage, asking):
    server = UnansweringServer()

    def plan(key):
        if len(server.heard) < 2:
            yield asking
            raise connection_lost("it may have been heard")

    stage = make_stage(plan, server=server)
    stage.caches[POD].replace([pod("x")], 10)
    asyncio.get_running_loop().call_later(5.0, lambda: stage.caches[POD].attach(5.0))
    ran = await stage.run(10)
    assert [at for _, at in ran] == pytest.approx([0.0, 5.0 + SETTLE_SECONDS, 5.6 + SETTLE_SECONDS], abs=0.4)


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
    loop.call_later(2, cache.advance_to, 11)
    loop.call_later(3, cache.advance_to, 12)
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


@pytest.mark.parametrize(("seen", "again"), [(False, [("k", 0), ("k", 2)]), (True, [("k", 0)])])
async def test_a_key_runs_again_when_a_list_may_have_hidden_what_became_of_its_write(make_stage, seen, again):
    """The object it made was deleted while the watch was broken: caches never see it come or go; nothing triggers."""

    def plan(_key):
        if len(stage.ran) == 1:
            yield creations(1)[0]

    stage = make_stage(plan, server=Server(revision=12), watches=(Watch(POD), Watch(CONFIG_MAP)))
    cache = stage.caches[POD]
    cache.replace([], 10)
    stage.queue.add("k")
    loop = asyncio.get_running_loop()
    if seen:
        loop.call_later(0.5, cache.put, pod("p0", revision=12))
        loop.call_later(0.6, cache.remove, pod("p0", revision=13))
    loop.call_later(1, stage.caches[CONFIG_MAP].replace, [], 14)
    loop.call_later(2, cache.replace, [], 15)
    loop.call_later(3, cache.replace, [], 16)
    assert await stage.run(20) == again
