"""Evictions and budgets on a real server: it takes from a budget what the disruption controller finds to be there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
from patience import SECONDS

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.app import serving
from apiserver.config import Config
from controller_manager.controllers.disruption.controller import SPEC
from controller_manager.metrics import QueueTally
from controller_manager.reconcile.contract import STRATEGIC_PATCH, Create, Delete, Patch
from controller_manager.reconcile.kinds import DISRUPTION_BUDGET, POD, REPLICA_SET
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.controller import Controller, Dependencies
from controller_manager.runtime.kubeconfig import ClientConfig
from controller_manager.runtime.ratelimit import ItemBackoff
from controller_manager.runtime.reflector import follow
from controller_manager.runtime.workqueue import WorkQueue

LABELS = {"app": "web"}
CONTAINERS = [{"name": "c", "image": "i"}]
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class SilentRecorder:
    """An event recorder that drops all events."""

    def record(self, _event, _source) -> None: ...


@dataclass
class Cluster:
    """A server, and the disruption controller at work on it."""

    client: Client
    caches: Caches

    async def make_pod(self, name: str, owner: Obj | None = None) -> None:
        meta = {"name": name, "namespace": "default", "labels": LABELS, "ownerReferences": [owner] if owner else []}
        spec = {"containers": CONTAINERS, "nodeName": "n1"}
        await self.client.perform(Create(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}))
        await self.client.perform(Patch(POD, f"default/{name}", {"status": READY}, "status", STRATEGIC_PATCH))

    async def make_budget(self, **spec) -> None:
        spec |= {"selector": {"matchLabels": LABELS}}
        meta = {"name": "b", "namespace": "default"}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}
        await self.client.perform(Create(DISRUPTION_BUDGET, budget))

    async def evict(self, name: str) -> None:
        meta = {"name": name, "namespace": "default"}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        await self.client.perform(Create(POD, eviction, name, "eviction"))

    async def until(self, said: Callable[[Obj], bool]) -> Obj:
        """Return the budget's status as soon as it satisfies a condition; it is watched, so no time is lost."""
        loop, cache = asyncio.get_running_loop(), self.caches[DISRUPTION_BUDGET]
        matching: asyncio.Future[Obj] = loop.create_future()

        def look(_=None) -> None:
            status = (cache.get("default/b") or {}).get("status") or {}
            if status.get("conditions") and said(status) and not matching.done():
                matching.set_result(status)

        cache.add_listener(look)
        look()
        return await asyncio.wait_for(matching, SECONDS)


@pytest.fixture
async def cluster(tmp_path) -> AsyncIterator[Cluster]:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,admin,1,"system:masters"\n')
    config = Config(secure_port=0, token_auth_file=tokens)
    async with serving(config) as server, Client(ClientConfig(server=server.url, token="secret"), Clock()) as client:
        caches = Caches()
        caches.prepare_for(SPEC)
        queue = WorkQueue(ItemBackoff(), QueueTally())
        controller = Controller(SPEC, queue, Dependencies(caches, client, SilentRecorder(), Clock()))
        work = [follow(client, kind, cache, clock=Clock()) for kind, cache in caches.kinds.items()]
        tasks = [asyncio.ensure_future(each) for each in (*work, controller.run())]
        yield Cluster(client, caches)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def allows(number: int, healthy: int) -> Callable[[Obj], bool]:
    return lambda status: (status["disruptionsAllowed"], status["currentHealthy"]) == (number, healthy)


async def test_a_budget_lets_pods_go_one_by_one_as_others_come(cluster):
    for name in ("a", "b"):
        await cluster.make_pod(name)
    await cluster.make_budget(minAvailable=1)
    await cluster.until(allows(1, 2))
    await cluster.evict("a")
    with pytest.raises(ApiError) as refused:
        await cluster.evict("b")
    assert (refused.value.code, refused.value.reason) == (429, "TooManyRequests")
    assert refused.value.details is not None
    assert refused.value.details["causes"][0]["reason"] == "DisruptionBudget"
    await cluster.until(allows(0, 1))
    await cluster.client.perform(Delete(POD, "default/a", grace_period_seconds=0))
    await cluster.make_pod("c")
    status = await cluster.until(allows(1, 2))
    assert "disruptedPods" not in status
    await cluster.evict("b")
    await cluster.until(allows(0, 1))


async def test_a_share_of_what_a_replica_set_wants_may_go(cluster):
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}}
    spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template}
    meta = {"name": "web", "namespace": "default"}
    made = await cluster.client.perform(
        Create(REPLICA_SET, {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec})
    )
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": made["metadata"]["uid"]}
    for name in ("a", "b", "c"):
        await cluster.make_pod(name, owner | {"controller": True})
    await cluster.make_budget(maxUnavailable="50%")
    status = await cluster.until(allows(2, 3))
    assert (status["expectedPods"], status["desiredHealthy"], status["observedGeneration"]) == (3, 1, 1)
