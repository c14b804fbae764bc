"""The loop of all controllers: take a key, observe, plan, perform the plan's actions, and decide about errors."""

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
    Batch,
    BatchResult,
    Change,
    ControllerSpec,
    DelayedKey,
    Enqueue,
    Key,
    Plan,
    RecordEvent,
    Request,
    Requeue,
    RequeueAfter,
    Trigger,
    enqueue_self,
    is_namespace_terminating,
    key_of,
    triggered_keys,
)
from controller_manager.reconcile.kinds import Kind
from controller_manager.reconcile.metric_defs import RecordMetric
from controller_manager.runtime.cache import Caches, Listener
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.expectations import Expectations
from controller_manager.runtime.requests import CONNECTION_LOST
from controller_manager.runtime.workqueue import WorkQueue

log = logging.getLogger("controller_manager")


class RequestSender(Protocol):
    """Sends requests to the server."""

    async def perform(self, request: Request) -> Any:
        """Return the result of a request.

        Raises:
            ApiError: it was refused, or there was no answer.
        """

    async def perform_all(self, requests: Sequence[Request]) -> list[Any]:
        """Return the results of many requests; an ApiError for each that was refused, or not answered."""


class EventRecorder(Protocol):
    """Records Events."""

    def record(self, event: RecordEvent, source: str) -> None:
        """Have an Event sent in the background."""


def _ignore_measurement(measurement: RecordMetric, elapsed: float) -> None:
    """Ignore a measurement."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies that all controllers of a manager share.

    Attributes:
        record_measurement: takes the measurements of plans, with the seconds since the sync began.
    """

    caches: Caches
    server: RequestSender
    recorder: EventRecorder
    clock: Clock
    record_measurement: Callable[[RecordMetric, float], None] = _ignore_measurement


class Controller:
    """A running controller.

    Attributes:
        spec: its definition.
        queue: the keys to process.
    """

    def __init__(self, spec: ControllerSpec, queue: WorkQueue, dependencies: Dependencies, *, workers: int = 0) -> None:
        self.spec = spec
        self.queue = queue
        self._dependencies = dependencies
        self._workers = workers or spec.workers
        self._expectations = Expectations(dependencies.caches, self._count_timeout, queue.add)
        self._last_run_at: dict[Key, float] = {}
        for watch in spec.watches:
            if watch.trigger is not None:
                dependencies.caches.add_listener(watch.kind, partial(self._listener, watch.trigger))
            if watch.trigger is enqueue_self:
                dependencies.caches.add_listener(watch.kind, self._delete_expectations_listener)

    async def run(self) -> None:
        """Process keys until cancelled; the caches must be filled before."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._run_worker())
                if self.spec.periodic_keys:
                    group.create_task(self._enqueue_periodically())
        finally:
            self.queue.shut_down()

    def _listener(self, trigger: Trigger, _: Kind) -> Listener:
        caches, queue = self._dependencies.caches, self.queue

        def listen(change: Change) -> None:
            for key in triggered_keys(trigger, caches, change):
                if isinstance(key, DelayedKey):
                    queue.add_after(key.key, key.seconds)
                else:
                    queue.add(key)

        return listen

    def _delete_expectations_listener(self, _: Kind) -> Listener:
        """Return a listener that drops a deleted object's expectations, as its name may return (DeleteExpectations)."""

        def listen(change: Change) -> None:
            if change.new is None:
                self._expectations.delete(key_of(change.obj))

        return listen

    def _count_timeout(self, key: Key) -> None:
        if self.spec.expectation_timeouts is not None:
            namespace, _, name = key.rpartition("/")
            self._dependencies.record_measurement(
                RecordMetric(self.spec.expectation_timeouts, labels=(namespace, name)), 0.0
            )

    async def _enqueue_periodically(self) -> None:
        while True:
            for key in self.spec.periodic_keys:
                self.queue.add(key)
            if not self.spec.sync_period:
                return
            await self._dependencies.clock.sleep(self.spec.sync_period)

    async def _run_worker(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._process_key(key)
            finally:
                self.queue.done(key)

    async def _process_key(self, key: Key) -> None:
        now = self._dependencies.clock.monotonic()
        expectations_delay = self._expectations.seconds_blocked(key, lambda: self.queue.add(key), now=now)
        interval_delay = self._last_run_at.get(key, -inf) + self.spec.min_interval - now
        if expectations_delay or interval_delay > 0:
            self.queue.add_after(key, expectations_delay or interval_delay)
            return
        if self.spec.min_interval:
            self._last_run_at[key] = now
        try:
            requeued = await self._sync(key)
        except Exception as error:  # noqa: BLE001 - whatever it is, other keys are still processed
            self._handle_error(key, error)
        else:
            if not requeued:
                self.queue.forget(key)

    async def _sync(self, key: Key) -> bool:
        """Sync a key; return True if the plan asked to be run again, which does not count as success yet."""
        observed = self.spec.observe(self._dependencies.caches, key)
        if observed is None:
            self._last_run_at.pop(key, None)
            return False
        return await self._perform_plan(self.spec.reconcile(observed, self._dependencies.clock.now()), key)

    def _handle_error(self, key: Key, error: Exception) -> None:
        """Requeue or drop a key whose sync failed."""
        match error:
            case ApiError() if is_namespace_terminating(error):
                self.queue.forget(key)  # nothing can be created there any more
            case ApiError(code=429) if seconds := (error.details or {}).get("retryAfterSeconds"):
                self.queue.add_after(key, seconds)
            case ApiError() if self.spec.retries is not None and self.queue.num_requeues(key) >= self.spec.retries:
                log.warning(
                    "%s %s failed %d times and waits for a change: %s", self.spec.name, key, self.spec.retries, error
                )
                self.queue.forget(key)
            case ApiError():
                level = logging.DEBUG if error.code in (404, 409) else logging.WARNING
                log.log(level, "%s %s failed and is tried again: %s", self.spec.name, key, error)
                self.queue.add_rate_limited(key)
            case _:
                log.error("%s %s failed and is tried again", self.spec.name, key, exc_info=error)
                self.queue.add_rate_limited(key)

    async def _perform_plan(self, plan: Plan, key: Key) -> bool:
        """Perform a plan's actions one after the other, and send it the results; return True if it yields Requeue."""
        requeued = False
        try:
            action = next(plan)
            while True:
                requeued = requeued or isinstance(action, Requeue)
                try:
                    result = await self._perform_action(action, key)
                except ApiError as error:
                    action = plan.throw(error)
                else:
                    action = plan.send(result)
        except StopIteration:
            pass
        finally:
            plan.close()
        return requeued

    async def _perform_action(self, action: Action, key: Key) -> Any:
        match action:
            case RecordEvent():
                self._dependencies.recorder.record(action, self.spec.source)
            case RequeueAfter(seconds=seconds):
                self.queue.add_after(key, seconds)
            case Requeue():
                self.queue.add_rate_limited(key)
            case Enqueue(keys=keys):
                for other in keys:
                    self.queue.add(other)
            case Batch(requests=requests, slow_start=slow):
                return await self._send_batch(requests, key, slow_start=slow)
            case RecordMetric():
                self._dependencies.record_measurement(
                    action, self._dependencies.clock.monotonic() - self.queue.processing[key]
                )
            case _:
                return await self._send_request(action, key)
        return None

    async def _send_request(self, request: Request, key: Key) -> Any:
        try:
            result = await self._dependencies.server.perform(request)
        except ApiError as error:
            self._expect(key, request, error)
            raise
        self._expect(key, request, result)
        return result

    def _expect(self, key: Key, request: Request, result: BatchResult) -> None:
        """Make the key wait until the caches have seen the effects of its request."""
        now = self._dependencies.clock.monotonic()
        if not isinstance(result, ApiError):
            self._expectations.expect(key, request, result, now=now)
        elif result.reason == CONNECTION_LOST:
            self._expectations.expect_unanswered(key, request, now=now)

    async def _send_batch(self, requests: Sequence[Request], key: Key, *, slow_start: bool) -> list[BatchResult]:
        """Send all requests at once, or in rounds of one, two, four … that end after the first round with an error."""
        results: list[BatchResult] = []
        size = 1 if slow_start else len(requests)
        while len(results) < len(requests):
            chunk = requests[len(results) : len(results) + size]
            chunk_results: list[BatchResult] = await self._dependencies.server.perform_all(chunk)
            for request, result in zip(chunk, chunk_results, strict=True):
                self._expect(key, request, result)
            results += chunk_results
            if slow_start and any(isinstance(result, ApiError) for result in chunk_results):
                break
            size *= 2
        return results + [None] * (len(requests) - len(results))
