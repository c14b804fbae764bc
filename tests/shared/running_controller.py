"""A running controller of pods, whose plan a test gives."""

import asyncio

from apiserver.api import errors
from controller_manager.metrics import QueueTally
from controller_manager.reconcile.contract import Create, Spec, Watch, enqueue_self
from controller_manager.reconcile.kinds import POD
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.controller import Controller, Dependencies
from controller_manager.runtime.ratelimit import ItemBackoff
from controller_manager.runtime.workqueue import WorkQueue


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
        means = Dependencies(self.caches, server=server, recorder=None, clock=clock)
        self.controller = Controller(self.spec, self.queue, means)

    async def run(self, seconds: float) -> list[tuple[str, float]]:
        task = asyncio.ensure_future(self.controller.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.ran

    def times(self, key: str) -> list[float]:
        return [at for name, at in self.ran if name == key]


def nothing(_key):
    yield from ()


def failing(error):
    def plan(key):
        yield from ()
        if key.startswith("a/bad"):
            raise error

    return plan


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
