"""The manager: the client, the caches and the chosen controllers put together, and let go in order."""

import asyncio
import logging
from collections.abc import Sequence

from controller_manager.config import Config
from controller_manager.metrics import Metrics
from controller_manager.planning.profile import PROFILES
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.contract import Spec
from controller_manager.runtime.controller import Controller, Means
from controller_manager.runtime.events import Recorder
from controller_manager.runtime.kubeconfig import Access
from controller_manager.runtime.ratelimit import QueueLimiter
from controller_manager.runtime.watcher import follow
from controller_manager.runtime.workqueue import WorkQueue

log = logging.getLogger("controller_manager")


class Manager:
    """Controllers over one server.

    Attributes:
        caches: what they see.
        controllers: those that run.
    """

    def __init__(self, config: Config, client: Client, *, clock: Clock, metrics: Metrics) -> None:
        self.caches = Caches(PROFILES[config.compatibility], config.settings)
        self._config = config
        self._client = client
        self._clock = clock
        self._recorder = Recorder(client, clock)
        means = Means(self.caches, client, self._recorder, clock)
        specs = config.chosen()
        for spec in specs:  # all indexes and views come before the first listener, so that listeners find them filled
            self.caches.provide(spec)
        self.controllers = [self._controller(spec, means, metrics) for spec in specs]

    @property
    def waits_for(self) -> Sequence[str]:
        """The kinds whose first list is not complete: nothing is done before."""
        return [str(kind) for kind, cache in self.caches.kinds.items() if not cache.synced]

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            BaseExceptionGroup: something failed that is not a request.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            for kind, cache in self.caches.kinds.items():
                group.create_task(follow(self._client, kind, cache, clock=self._clock))
            for cache in self.caches.kinds.values():
                await cache.wait_until_synced()
            log.info("caches are filled, %d controllers begin", len(self.controllers))
            for controller in self.controllers:
                group.create_task(controller.run())
                if seconds := self._config.resync.get(controller.spec.name):
                    group.create_task(self._resync(controller.spec, seconds))

    def _controller(self, spec: Spec, means: Means, metrics: Metrics) -> Controller:
        queue = WorkQueue(QueueLimiter(self._clock), metrics.tally(spec.name))
        metrics.queues[spec.name] = queue
        return Controller(spec, queue, means, workers=self._config.workers.get(spec.name, 0))

    async def _resync(self, spec: Spec, seconds: float) -> None:
        while True:
            await self._clock.sleep(seconds)
            self.caches[spec.watches[0].kind].resync()


def client_of(config: Config, access: Access, *, clock: Clock, metrics: Metrics) -> Client:
    """A client that is counted."""
    host = access.server.removeprefix("https://").removeprefix("http://")

    def observe(method: str, code: int, seconds: float) -> None:
        metrics.requested(method, host, str(code) if code else "<error>", seconds)

    return Client(access, clock, qps=config.qps, burst=config.burst, observe=observe)
