"""The one loop under all controllers: take a key, observe, plan, carry the plan out, and decide what errors mean."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Protocol

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import (
    Action,
    Answer,
    Batch,
    Change,
    Delayed,
    Enqueue,
    Key,
    Plan,
    RecordEvent,
    Request,
    Requeue,
    RequeueAfter,
    Spec,
    Trigger,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.kinds import Kind
from controller_manager.reconcile.metric_defs import Measure
from controller_manager.runtime.cache import Caches, Listener
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.expectations import Expectations
from controller_manager.runtime.requests import LOST
from controller_manager.runtime.workqueue import WorkQueue

log = logging.getLogger("controller_manager")


class Performs(Protocol):
    """Who asks the server."""

    async def perform(self, request: Request) -> Any:
        """The answer to a request.

        Raises:
            ApiError: it was refused, or there was no answer.
        """

    async def perform_all(self, requests: Sequence[Request]) -> list[Any]:
        """The answers to many requests at once; an ApiError where one was refused, or not answered."""


class Records(Protocol):
    """Who sends Events."""

    def record(self, emit: RecordEvent, source: str) -> None:
        """Have an Event sent in the background."""


def _uncounted(measure: Measure, elapsed: float) -> None:
    """Nobody counts."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What all controllers of a manager share.

    Attributes:
        count: takes what plans measure, with the seconds since the run began.
    """

    caches: Caches
    server: Performs
    recorder: Records
    clock: Clock
    count: Callable[[Measure, float], None] = _uncounted


class Controller:
    """A SPEC at work.

    Attributes:
        spec: what it does.
        queue: the keys that wait for it.
    """

    def __init__(self, spec: Spec, queue: WorkQueue, means: Dependencies, *, workers: int = 0) -> None:
        self.spec = spec
        self.queue = queue
        self._means = means
        self._workers = workers or spec.workers
        self._awaited = Expectations(means.caches, self._leaked)
        self._ran: dict[Key, float] = {}
        for watch in spec.watches:
            if watch.trigger is not None:
                means.caches.listen(watch.kind, partial(self._listener, watch.trigger))
            if watch.trigger is enqueue_self:
                means.caches.listen(watch.kind, self._forgetter)

    async def run(self) -> None:
        """Work until cancelled; the caches are filled before this begins."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work())
                if self.spec.periodic:
                    group.create_task(self._tick())
        finally:
            self.queue.close()

    def _listener(self, trigger: Trigger, _: Kind) -> Listener:
        caches, queue = self._means.caches, self.queue

        def listen(change: Change) -> None:
            for key in trigger(caches, change):
                if isinstance(key, Delayed):
                    queue.add_after(key.key, key.seconds)
                else:
                    queue.add(key)

        return listen

    def _forgetter(self, _: Kind) -> Listener:
        """Lets nothing that was made under a name wait for what its former bearer wrote (DeleteExpectations)."""

        def listen(change: Change) -> None:
            if change.new is None:
                self._awaited.forget(key_of(change.obj))

        return listen

    def _leaked(self, key: Key) -> None:
        if self.spec.expectation_timeouts is not None:
            namespace, _, name = key.rpartition("/")
            self._means.count(Measure(self.spec.expectation_timeouts, labels=(namespace, name)), 0.0)

    async def _tick(self) -> None:
        while True:
            for key in self.spec.periodic:
                self.queue.add(key)
            if not self.spec.every:
                return
            await self._means.clock.sleep(self.spec.every)

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._process(key)
            finally:
                self.queue.done(key)

    async def _process(self, key: Key) -> None:
        now = self._means.clock.monotonic()
        wait = self._awaited.blocked(key, lambda: self.queue.add(key), now=now)
        if wait or (wait := self._ran.get(key, -inf) + self.spec.min_interval - now) > 0:
            self.queue.add_after(key, wait)
            return
        if self.spec.min_interval:
            self._ran[key] = now
        try:
            again = await self._run(key)
        except Exception as error:  # noqa: BLE001 - whatever it is, other keys go on
            self._judge(key, error)
        else:
            if not again:
                self.queue.forget(key)

    async def _run(self, key: Key) -> bool:
        """Whether the plan asked to be run again, which is no success yet."""
        seen = self.spec.observe(self._means.caches, key)
        if seen is None:
            self._ran.pop(key, None)
            return False
        return await self._carry_out(self.spec.reconcile(seen, self._means.clock.now()), key)

    def _judge(self, key: Key, error: Exception) -> None:
        """What becomes of a key whose plan failed: the whole policy of retries."""
        match error:
            case ApiError() if is_namespace_terminating(error):
                self.queue.forget(key)  # nothing can be made there any more
            case ApiError(code=429) if seconds := (error.details or {}).get("retryAfterSeconds"):
                self.queue.add_after(key, seconds)
            case ApiError() if self.spec.retries is not None and self.queue.failures(key) >= self.spec.retries:
                log.warning(
                    "%s %s failed %d times and waits for a change: %s", self.spec.name, key, self.spec.retries, error
                )
                self.queue.forget(key)
            case ApiError():
                level = logging.DEBUG if error.code in (404, 409) else logging.WARNING
                log.log(level, "%s %s failed and is tried again: %s", self.spec.name, key, error)
                self.queue.retry(key)
            case _:
                log.error("%s %s failed and is tried again", self.spec.name, key, exc_info=error)
                self.queue.retry(key)

    async def _carry_out(self, plan: Plan, key: Key) -> bool:
        """Do what a plan yields, one action after the other, and tell it how each went; True if it yields Again."""
        again = False
        try:
            action = next(plan)
            while True:
                again = again or isinstance(action, Requeue)
                try:
                    answer = await self._do(action, key)
                except ApiError as error:
                    action = plan.throw(error)
                else:
                    action = plan.send(answer)
        except StopIteration:
            pass
        finally:
            plan.close()
        return again

    async def _do(self, action: Action, key: Key) -> Any:
        match action:
            case RecordEvent():
                self._means.recorder.record(action, self.spec.source)
            case RequeueAfter(seconds=seconds):
                self.queue.add_after(key, seconds)
            case Requeue():
                self.queue.retry(key)
            case Enqueue(keys=keys):
                for other in keys:
                    self.queue.add(other)
            case Batch(requests=requests, slow_start=slow):
                return await self._ask_all(requests, key, slow_start=slow)
            case Measure():
                self._means.count(action, self._means.clock.monotonic() - self.queue.running[key])
            case _:
                return await self._ask(action, key)
        return None

    async def _ask(self, request: Request, key: Key) -> Any:
        try:
            answer = await self._means.server.perform(request)
        except ApiError as error:
            self._note(key, request, error)
            raise
        self._note(key, request, answer)
        return answer

    def _note(self, key: Key, request: Request, answer: Answer) -> None:
        """Have the key wait until the caches know what came of its request."""
        now = self._means.clock.monotonic()
        if not isinstance(answer, ApiError):
            self._awaited.wrote(key, request, answer, now=now)
        elif answer.reason == LOST:
            self._awaited.lost(key, request, now=now)

    async def _ask_all(self, requests: Sequence[Request], key: Key, *, slow_start: bool) -> list[Answer]:
        """Ask everything at once, or in rounds of one, two, four … that end after the first round with an error."""
        answers: list[Answer] = []
        size = 1 if slow_start else len(requests)
        while len(answers) < len(requests):
            part = requests[len(answers) : len(answers) + size]
            found: list[Answer] = await self._means.server.perform_all(part)
            for request, answer in zip(part, found, strict=True):
                self._note(key, request, answer)
            answers += found
            if slow_start and any(isinstance(answer, ApiError) for answer in found):
                break
            size *= 2
        return answers + [None] * (len(requests) - len(answers))
