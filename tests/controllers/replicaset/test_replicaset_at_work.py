"""ReplicaSets in the manager's loop: keys that wait for a late watch, for how long, and what is forgotten."""

import asyncio
from itertools import count
from typing import Any

import pytest

from apiserver.api.errors import ApiError, unavailable
from controller_manager.controllers.replicaset import controller as replicaset
from controller_manager.metrics import QueueTally
from controller_manager.reconcile.contract import Create, Delete, Update
from controller_manager.reconcile.kinds import POD, REPLICA_SET
from controller_manager.reconcile.times import format_time
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.controller import Controller, Dependencies
from controller_manager.runtime.ratelimit import ItemBackoff
from controller_manager.runtime.workqueue import WorkQueue

pytestmark = pytest.mark.looptime
KEY = "default/web"
KINDS = {"Pod": POD, "ReplicaSet": REPLICA_SET}
LABELS = {"app": "web"}


class Stage:
    """A store that does what it is asked, and whose news reach the caches at once, or only when they are let through.

    Attributes:
        late: whether news wait.
        requests: every request, with the time at which it came.
        refusal: what is answered instead.
        news: what the caches have not heard of.
    """

    def __init__(self, clock) -> None:
        self.clock = clock
        self.late = False
        self.requests: list[Any] = []
        self.refusal = None
        self.caches = Caches()
        self.caches.prepare_for(replicaset.SPEC)
        self._numbers = count(100)
        self.news: list[Any] = []
        means = Dependencies(self.caches, self, self, clock)
        self.controller = Controller(replicaset.SPEC, WorkQueue(ItemBackoff(), QueueTally()), means)

    def record(self, event, source) -> None:
        """Events are of no interest here."""

    async def perform(self, request):
        await asyncio.sleep(0)
        self.requests.append((type(request), request.kind, self.clock.monotonic()))
        if self.refusal:
            raise self.refusal
        now = format_time(self.clock.now())
        match request:
            case Create(kind=kind, obj=obj):
                meta = obj["metadata"] | {"name": f"web-{next(self._numbers)}", "creationTimestamp": now}
                return self.tell(kind, obj | {"metadata": meta | {"uid": f"uid-{meta['name']}"}})
            case Update(kind=kind, obj=obj):
                return self.tell(kind, obj)
            case Delete(kind=kind, key=key):
                current = self.caches[kind].get(key)
                assert current is not None
                return self.tell(kind, current | {"metadata": current["metadata"] | {"deletionTimestamp": now}})

    async def perform_all(self, requests):
        return [await self._outcome(request) for request in requests]

    async def _outcome(self, request):
        try:
            return await self.perform(request)
        except ApiError as error:
            return error

    def tell(self, kind, obj):
        """Store an object and let the caches see it."""
        number = str(next(self._numbers))
        obj = obj | {"apiVersion": kind.api_version, "kind": kind.kind}
        obj |= {"metadata": obj["metadata"] | {"resourceVersion": number}}
        self.news.append(obj)
        if not self.late:
            self.catch_up()
        return obj

    def catch_up(self) -> None:
        """Let the caches see everything."""
        news, self.news = self.news, []
        for obj in news:
            self.caches[KINDS[obj["kind"]]].put(obj)

    def made(self) -> list[float]:
        """When pods were asked for."""
        return [round(at, 3) for request, kind, at in self.requests if (request, kind) == (Create, POD)]


def a_set(replicas):
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": []}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": "web", "namespace": "default", "uid": "set", "generation": 1}, "spec": spec}


@pytest.fixture
async def stage(loop_clock):
    stage = Stage(loop_clock)
    work = asyncio.ensure_future(stage.controller.run())
    yield stage
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_a_set_gets_its_pods_and_then_nothing_is_written_any_more(stage):
    stage.tell(REPLICA_SET, a_set(8))
    await asyncio.sleep(1)
    before = len(stage.requests)
    assert len(stage.made()) == 8
    assert stage.caches[REPLICA_SET].get(KEY)["status"]["replicas"] == 8
    stage.caches[REPLICA_SET].resync()
    await asyncio.sleep(1000)
    assert len(stage.requests) == before


async def test_r2_the_second_five_hundred_are_made_when_the_first_were_seen(stage):
    stage.tell(REPLICA_SET, a_set(1000))
    stage.late = True
    await asyncio.sleep(10)
    assert len(stage.made()) == 500
    stage.late = False
    stage.catch_up()
    await asyncio.sleep(1)
    assert len(stage.made()) == 1000


async def test_r3_while_its_pods_were_not_seen_a_set_makes_no_more_for_five_minutes(stage):
    stage.tell(REPLICA_SET, a_set(3))
    stage.late = True
    for _ in range(29):
        await asyncio.sleep(10)
        stage.controller.queue.add(KEY)
    assert len(stage.made()) == 3
    await asyncio.sleep(11)
    assert len(stage.made()) == 6
    assert stage.made()[3] == pytest.approx(300, abs=1)


async def test_r4_a_set_that_was_remade_under_its_name_has_pods_of_its_own_at_once(stage):
    stage.tell(REPLICA_SET, a_set(2))
    await asyncio.sleep(1)
    stage.tell(REPLICA_SET, a_set(1))
    stage.late = True
    await asyncio.sleep(1)
    deleted = [kind for request, kind, _ in stage.requests if request is Delete]
    assert deleted == [POD]
    old = stage.caches[REPLICA_SET].get(KEY)
    stage.caches[REPLICA_SET].remove(old)
    stage.caches[REPLICA_SET].put(old | {"metadata": old["metadata"] | {"uid": "new"}, "spec": a_set(3)["spec"]})
    await asyncio.sleep(1)
    owners = [obj["metadata"]["ownerReferences"][0]["uid"] for obj in stage.news if obj["kind"] == "Pod"]
    assert owners == ["set", "new", "new", "new"]


async def test_a_creation_that_fails_is_tried_again_with_growing_patience(stage):
    stage.refusal = unavailable("away")
    stage.tell(REPLICA_SET, a_set(8))
    await asyncio.sleep(3)
    tried = stage.made()
    assert 3 < len(tried) < 12
    assert tried[-1] - tried[-2] > tried[2] - tried[1]
    stage.refusal = None
    await asyncio.sleep(5)
    assert len(stage.caches[POD]) == 8
