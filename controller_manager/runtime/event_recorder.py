"""Records Events without waiting, and sends them in the background, a few at a time."""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import SystemRandom

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    Create,
    Patch,
    RecordEvent,
    Request,
    is_namespace_terminating,
)
from controller_manager.reconcile.kinds import EVENT, SCHEDULER_EVENT
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_builder import (
    SCHEDULER,
    Occurrence,
    core_event,
    core_patch,
    new_event,
    new_occurrence,
)
from controller_manager.runtime.event_correlator import (
    SERIES_END_SECONDS,
    CountedEvent,
    EventCorrelator,
    SeriesEvent,
    SeriesTracker,
)
from controller_manager.runtime.ratelimit import TokenBucket

log = logging.getLogger("controller_manager.events")

MAX_QUEUED = 1000
"""Occurrences of a source that may wait; more are dropped (maxQueuedEvents, DropIfChannelFull)."""
MAX_TRIES = 12
"""The number of times that an Event is sent if there is no answer (maxTriesPerEvent)."""
RETRY_INTERVAL = 10.0
"""Seconds between two tries (defaultSleepDuration)."""
SERIES_REFRESH_INTERVAL = 1800.0
"""Seconds after which running series are written again (refreshTime)."""
MAX_CONCURRENT = 4
"""Concurrent requests for Events of different sources."""
BUSY_CHECK_INTERVAL, MAX_BUSY_WAIT = 0.05, 0.5
"""Seconds between checks whether the client is less busy, and the longest time to wait for that."""
RATE, BURST = 300.0, 600
"""Events per second, and burst, of all sources: upstream's components may send 20 to 50 each."""
NODE_RATE, NODE_BURST = 50.0, 100
"""The same for each kubelet (KubeletConfiguration eventRecordQPS, eventBurst)."""


@dataclass(slots=True)
class _SourceQueue:
    """The occurrences of one source that are not sent yet; they are sent one after the other.

    Attributes:
        dropped: how many were dropped since the last one was queued.
    """

    bucket: TokenBucket | None
    waiting: deque[Occurrence] = field(default_factory=deque)
    dropped: int = 0
    task: asyncio.Task[None] | None = None


class Recorder:
    """Queues the occurrences that controllers report, and writes their Events.

    Args:
        client: the client to send them with.
        clock: the clock to wait with.
        host: the machine's name, a part of the scheduler's reportingInstance.
    """

    def __init__(self, client: Client, clock: Clock, *, host: str = "") -> None:
        self._client = client
        self._clients: dict[str, Client] = {}
        self._clock = clock
        self._instance = f"{SCHEDULER}-{host or socket.gethostname()}"
        self._correlator = EventCorrelator(clock)
        self._series = SeriesTracker()
        self._lanes: dict[tuple[str, str], _SourceQueue] = {}
        self._group: asyncio.TaskGroup | None = None
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._bucket = TokenBucket(clock, rate=RATE, burst=BURST)
        self._nanos = 0

    def record(self, event: RecordEvent, source: str, client: Client | None = None) -> None:
        """Have an Event sent in the background; it is dropped if its source has too many waiting.

        Args:
            event: the action that reports it.
            source: the reporting component if `event` names none.
            client: the client to send it with, None for the recorder's own.
        """
        if client is not None:
            self._clients[event.component or source] = client
        lane = self._source_queue(event.component or source, event.host)
        if len(lane.waiting) >= MAX_QUEUED:
            lane.dropped += 1
            if lane.dropped == 1:
                log.info("too many events of %s wait: more are dropped", event.component or source)
            return
        lane.dropped = 0
        self._nanos = max(int(self._clock.now() * 1e9), self._nanos + 1)
        lane.waiting.append(new_occurrence(event, source, nanos=self._nanos))
        self._start(lane)

    def sending_with(self, client: Client) -> "ClientRecorder":
        """Return a recorder that queues here, and whose Events are sent with a client of its own."""
        return ClientRecorder(self, client)

    async def run(self) -> None:
        """Send Events until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for lane in self._lanes.values():
                    self._start(lane)
                group.create_task(self._repeat(SERIES_END_SECONDS, lambda: self._series.finish(self._clock.now())))
                group.create_task(self._repeat(SERIES_REFRESH_INTERVAL, self._series.running))
        finally:
            self._group = None

    def _source_queue(self, component: str, host: str) -> _SourceQueue:
        lane = self._lanes.get((component, host))
        if lane is None:
            bucket = TokenBucket(self._clock, rate=NODE_RATE, burst=NODE_BURST) if host else None
            lane = self._lanes[component, host] = _SourceQueue(bucket)
        return lane

    def _start(self, lane: _SourceQueue) -> None:
        if self._group is not None and lane.waiting and (lane.task is None or lane.task.done()):
            lane.task = self._group.create_task(self._drain(lane))

    async def _drain(self, lane: _SourceQueue) -> None:
        while lane.waiting:
            occurred = lane.waiting.popleft()
            try:
                await self._write_event(occurred, lane)
            except Exception:
                log.exception("an event cannot be recorded: %s", occurred.reason)

    async def _write_event(self, occurred: Occurrence, lane: _SourceQueue) -> None:
        if occurred.component == SCHEDULER:
            await self._write_serial(self._series.observe(occurred), lane)
        else:
            await self._write_counted(self._correlator.correlate(occurred), lane)

    async def _repeat(self, seconds: float, due_series: Callable[[], Iterable[SeriesEvent]]) -> None:
        while True:
            await self._clock.sleep(seconds)
            for serial in list(due_series()):
                await self._write_serial(serial, None)

    async def _write_counted(self, event: CountedEvent | None, lane: _SourceQueue) -> None:
        if event is None:
            return
        new = core_event(event.occurrence, name=event.name, count=event.count, first=event.first)
        requests: list[Request] = [Create(EVENT, new)]
        if event.count > 1:
            key = f"{event.occurrence.event_namespace}/{event.name}"
            body = core_patch(event.occurrence, count=event.count)
            requests.insert(0, Patch(EVENT, key, body, content_type=STRATEGIC_PATCH))
        await self._write(requests, event.occurrence.component, lane)

    async def _write_serial(self, event: SeriesEvent | None, lane: _SourceQueue | None) -> None:
        if event is None:
            return
        series = event.series()
        new = new_event(event.occurrence, name=event.name, instance=self._instance, series=series)
        requests: list[Request] = [Create(SCHEDULER_EVENT, new)]
        if series is not None:
            key = f"{event.occurrence.event_namespace}/{event.name}"
            requests.insert(0, Patch(SCHEDULER_EVENT, key, {"series": series}, content_type=STRATEGIC_PATCH))
        await self._write(requests, event.occurrence.component, lane)

    async def _write(self, requests: list[Request], component: str, lane: _SourceQueue | None) -> None:
        """Send the first request; if its object is gone, send the second."""
        if lane is not None and lane.bucket is not None:
            await lane.bucket.wait()
        await self._bucket.wait()
        for attempt in range(MAX_TRIES):
            try:
                async with self._slots:
                    await self._yield_to_controllers()
                    await _send(requests, self._clients.get(component, self._client))
            except ApiError as error:
                if error.code:  # there is an answer: a retry would get the same
                    level = logging.DEBUG if _is_expected(error) else logging.WARNING
                    log.log(level, "an event was refused: %s", error)
                    return
            else:
                return
            jitter = SystemRandom().random() if attempt == 0 else 1.0
            await self._clock.sleep(RETRY_INTERVAL * jitter)
        log.warning("an event could not be sent in %d tries", MAX_TRIES)

    async def _yield_to_controllers(self) -> None:
        """Wait while the client is busy: controllers' requests come before Events, but not for ever."""
        for _ in range(round(MAX_BUSY_WAIT / BUSY_CHECK_INTERVAL)):
            if not self._client.is_busy:
                return
            await self._clock.sleep(BUSY_CHECK_INTERVAL)


@dataclass(frozen=True, slots=True)
class ClientRecorder:
    """A recorder whose Events are sent with one client."""

    recorder: Recorder
    client: Client

    def record(self, event: RecordEvent, source: str) -> None:
        """Have an Event sent in the background; see Recorder."""
        self.recorder.record(event, source, self.client)


async def _send(requests: list[Request], client: Client) -> None:
    for request in requests[:-1]:
        try:
            await client.perform(request)
        except ApiError as error:
            if error.code != 404:
                raise
        else:
            return
    await client.perform(requests[-1])


def _is_expected(error: ApiError) -> bool:
    """Return whether a refusal is normal: the namespace is terminating, or the Event exists already."""
    return error.reason == "AlreadyExists" or is_namespace_terminating(error)
