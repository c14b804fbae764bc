"""The manager: starts the client, the caches and the selected controllers, and stops them in order."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from controller_manager.config import Config, ConfigError, Election
from controller_manager.health import serve_health
from controller_manager.kubelet.streams.server import serving_streams
from controller_manager.kubelet.streams.settings import StreamSettings
from controller_manager.metrics import Metrics
from controller_manager.reconcile.contract import ControllerSpec
from controller_manager.reconcile.controller_runtime_metrics import RECONCILES
from controller_manager.reconcile.profile import PROFILES
from controller_manager.runtime.cache import Caches, KindCache
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.controller import Controller, Dependencies
from controller_manager.runtime.discovery import Discoverer
from controller_manager.runtime.event_recorder import Recorder
from controller_manager.runtime.kubeconfig import ClientConfig
from controller_manager.runtime.leader_election import LeaderElector, new_identity
from controller_manager.runtime.ratelimit import QueueLimiter
from controller_manager.runtime.reflector import follow
from controller_manager.runtime.workqueue import WorkQueue

log = logging.getLogger("controller_manager")


class Manager:
    """The controllers of one API server.

    Attributes:
        caches: the objects that the controllers see.
        controllers: the running controllers.
        metrics_url: the URL of the metrics, "" if they are disabled.
    """

    def __init__(self, config: Config, client: Client, *, clock: Clock, metrics: Metrics) -> None:
        self.caches = Caches(PROFILES[config.compatibility], config.settings)
        self.metrics_url = ""
        self._config = config
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._ready = asyncio.Event()
        self._recorder = Recorder(client, clock)
        dependencies = Dependencies(self.caches, client, self._recorder, clock, metrics.count)
        specs = config.selected_controllers()
        programs = {spec.program for spec in specs}
        self._recorders = {name: self._recorder.sending_with(client.of_program(name)) for name in programs}
        self._clients = {key: _client_as(client, *key) for key in {self._identity(spec) for spec in specs}}
        for spec in specs:  # indexes and views come before listeners, so that these find them filled
            self.caches.prepare_for(spec)
            metrics.include(spec, self.caches)
        self.controllers = [self._controller(spec, dependencies, metrics) for spec in specs]

    @property
    def waits_for(self) -> Sequence[str]:
        """The kinds whose first list is not complete; controllers start after that."""
        return [str(kind) for kind, cache in self.caches.kinds.items() if not cache.synced]

    async def wait_until_ready(self) -> None:
        """Wait until the controllers work."""
        await self._ready.wait()

    async def run(self) -> None:
        """Run until cancelled; with leader election, work only while leading.

        Raises:
            BaseExceptionGroup: with LeaseLostError, if another manager may lead now.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            if self._config.election is None:
                await self._run_controllers()
            else:
                await self._lead(self._config.election)

    async def _lead(self, election: Election) -> None:
        lease = f"{election.namespace}/{election.name}"
        self._metrics.leading[election.name] = False
        async with self._client.without_rate_limit(
            "leader-election"
        ) as client:  # renewals do not wait for controllers' requests
            elector = LeaderElector(
                client, self._recorder, self._clock, lease=lease, identity=new_identity(), election_times=election.times
            )
            await elector.acquire()
            self._client.send_only_while(elector.is_safe)
            self._metrics.leading[election.name] = True
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(elector.keep_renewing())
                    group.create_task(self._run_controllers())
            finally:
                self._metrics.leading[election.name] = False
                await elector.release()

    async def _run_controllers(self) -> None:
        async with self._kubelets(), asyncio.TaskGroup() as group:
            named = list(self.caches.kinds.values())
            for cache in named:
                group.create_task(self._follow(cache))
            discoverer = Discoverer(self._client, self.caches, self._clock, partial(self._follow, metadata_only=True))
            group.create_task(discoverer.run())
            for cache in named:
                await cache.wait_until_synced()
            await discoverer.wait_until_ready()
            log.info("caches are filled, %d controllers begin", len(self.controllers))
            for controller in self.controllers:
                group.create_task(controller.run())
                if seconds := self._config.resync.get(controller.spec.name):
                    group.create_task(self._resync(controller.spec, seconds))
            self._ready.set()

    @asynccontextmanager
    async def _kubelets(self) -> AsyncIterator[None]:
        """Run the kubelets' server if kubelets are simulated and have certificates; nodes publish its address."""
        streams = self._config.streams
        kubelet = next((controller.spec for controller in self.controllers if controller.spec.name == "kubelet"), None)
        if streams is None or kubelet is None:
            yield
            return
        perform = self._clients[self._identity(kubelet)].perform
        async with _run_kubelet_server(serving_streams(self.caches, streams, self._clock, perform), streams) as port:
            endpoint = f"{streams.host}:{port}"
            self.caches.settings = replace(self.caches.settings, kubelet_endpoint=endpoint)
            yield

    async def _follow(self, cache: KindCache, *, metadata_only: bool = False) -> None:
        await follow(self._client, cache.kind, cache, clock=self._clock, metadata_only=metadata_only)

    def _controller(self, spec: ControllerSpec, dependencies: Dependencies, metrics: Metrics) -> Controller:
        name = spec.queue or spec.name
        queue = WorkQueue(QueueLimiter(self._clock), metrics.tally(name), self._clock.monotonic)
        metrics.queues[name] = queue
        workers = self._config.workers.get(spec.name, 0)
        if RECONCILES in spec.metrics:
            metrics.reconcilers[name] = workers or spec.workers
        own = replace(
            dependencies,
            server=self._clients[self._identity(spec)],
            recorder=self._recorders[spec.program],
        )
        return Controller(spec, queue, own, workers=workers)

    def _identity(self, spec: ControllerSpec) -> tuple[str, str]:
        """Return the program and the account as which a controller sends its requests; "" for the manager's account."""
        return spec.program, spec.account if self._config.use_account_credentials else ""

    async def _resync(self, spec: ControllerSpec, seconds: float) -> None:
        while True:
            await self._clock.sleep(seconds)
            self.caches[spec.watches[0].kind].resync()


def _client_as(client: Client, program: str, account: str) -> Client:
    """Return a client over the connections of another that sends as a program and, if one is named, as an account."""
    own = client.of_program(program)
    return own.for_account(account) if account else own


@asynccontextmanager
async def _run_kubelet_server(server: AbstractAsyncContextManager[int], streams: StreamSettings) -> AsyncIterator[int]:
    """Run the kubelets' server, and report errors in terms of flags; yield its port.

    Raises:
        ConfigError: it cannot listen there, or not with these certificates.
    """
    async with AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(server)
        except (OSError, ssl.SSLError) as error:
            where = f"{streams.host}:{streams.port}"
            reason = f"{error}; see --kubelet-bind-address and --kubelet-tls-cert-file"
            raise ConfigError(f"the kubelets cannot answer at {where}: {reason}") from error
        yield port


@asynccontextmanager
async def run_manager(config: Config, access: ClientConfig, *, clock: Clock | None = None) -> AsyncIterator[Manager]:
    """Run a manager, which may wait to become the leader, while the context is open.

    Raises:
        ConfigError: an address to listen on is not available.
        LeaseLostError: another manager may lead now.
    """
    clock = clock or Clock()
    metrics = Metrics(clock)
    async with _client(config, access, clock=clock, metrics=metrics) as client:
        manager = Manager(config, client, clock=clock, metrics=metrics)
        async with serve_health(config, metrics, lambda: manager.waits_for) as url:
            manager.metrics_url = url
            async with _run_in_background(manager.run()):
                yield manager


@asynccontextmanager
async def _run_in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine while the context is open: its error ends both, and it is cancelled at the end."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            yield
            task.cancel()
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group and its subgroups."""
    exception = group.exceptions[0]
    return _first(exception) if isinstance(exception, BaseExceptionGroup) else exception


def _client(config: Config, access: ClientConfig, *, clock: Clock, metrics: Metrics) -> Client:
    """Return a client whose requests are counted."""
    host = access.server.removeprefix("https://").removeprefix("http://")

    def observe(method: str, code: int, seconds: float) -> None:
        metrics.requested(method, host, str(code) if code else "<error>", seconds)

    return Client(access, clock, qps=config.qps, burst=config.burst, observe=observe)
