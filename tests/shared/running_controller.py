"""A running controller of pods, whose reconcile function a test gives."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.metrics import QueueTally
from controller_manager.reconcile.contract import ControllerSpec, Create, Plan, Watch, enqueue_self
from controller_manager.reconcile.kinds import POD
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.controller import Controller, Dependencies
from controller_manager.runtime.ratelimit import ItemBackoff
from controller_manager.runtime.workqueue import WorkQueue


def pod(name: str, *, revision: int = 1, **meta: Any) -> Obj:
    return {"metadata": {"namespace": "a", "name": name, "uid": f"uid-{name}", "resourceVersion": str(revision)} | meta}


class Stage:
    """A controller of pods whose reconcile function a test gives; it keeps which keys ran when."""

    def __init__(self, clock: Any, plan: Callable[[str], Plan], *, server: Any = None, **spec: Any) -> None:
        self.ran: list[tuple[str, float]] = []
        self.caches = Caches()

        def wrapped(key: str, now: float) -> Plan:
            self.ran.append((key, round(now - clock.START, 3)))
            yield from plan(key)

        self.spec = ControllerSpec(
            name="stage",
            watches=spec.pop("watches", (Watch(POD, enqueue_self),)),
            observe=spec.pop("observe", lambda _, key: key),
            reconcile=wrapped,
            **spec,
        )
        self.caches.prepare_for(self.spec)
        self.queue = WorkQueue(ItemBackoff(), QueueTally())
        recorder: Any = None  # these plans record no Events
        means = Dependencies(self.caches, server=server, recorder=recorder, clock=clock)
        self.controller = Controller(self.spec, self.queue, means)

    async def run(self, seconds: float) -> list[tuple[str, float]]:
        task = asyncio.ensure_future(self.controller.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.ran

    def times(self, key: str) -> list[float]:
        return [at for name, at in self.ran if name == key]


def nothing(_key: str) -> Plan:
    yield from ()


def no_plan(*_: Any) -> Plan:
    """Do nothing."""
    yield from ()


def failing(error: Exception) -> Callable[[str], Plan]:
    def plan(key: str) -> Plan:
        yield from ()
        if key.startswith("a/bad"):
            raise error

    return plan


class Server:
    """A server that refuses certain names, and keeps the requests that came together."""

    def __init__(self, *refused: str, revision: int = 5) -> None:
        self.refused = refused
        self.revision = revision
        self.rounds: list[list[str]] = []

    def _answer(self, request: Create) -> Obj | ApiError:
        name = request.obj["metadata"]["name"]
        if name in self.refused:
            return errors.already_exists("", "pods", name)
        return pod(name, revision=self.revision)

    async def perform(self, request: Create) -> Obj:
        [answer] = await self.perform_all([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def perform_all(self, requests: Sequence[Create]) -> list[Obj | ApiError]:
        self.rounds.append([request.obj["metadata"]["name"] for request in requests])
        return [self._answer(request) for request in requests]


def creations(number: int) -> list[Create]:
    return [Create(POD, {"metadata": {"name": f"p{each}"}}) for each in range(number)]
