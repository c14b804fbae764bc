"""A real server, small servers that answer as they should not, and clocks that need not wait."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from patience import SECONDS
from running_controller import Stage

from controller_manager.reconcile.kinds import CONFIG_MAP
from controller_manager.runtime.cache import KindCache
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.kubeconfig import ClientConfig, load_kubeconfig
from controller_manager.runtime.reflector import follow
from mockube import Cluster

CHORE = 360
"""Seconds."""

NOW = 1_800_000_000.0
"""2027-01-15T08:00:00Z"""


class HastyClock(Clock):
    """A clock on which all waits end at once, except those of chores that run every few minutes for ever.

    Attributes:
        slept: what was waited.
        passed: seconds since the beginning.
        meanwhile: what happens during a wait.
    """

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.passed = 0.0
        self.meanwhile: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)

    def now(self) -> float:
        return NOW + self.passed

    def monotonic(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        if seconds >= CHORE:
            await asyncio.Event().wait()
        self.slept.append(seconds)
        self.passed += seconds
        await self.meanwhile()


class PatientClock(HastyClock):
    """A clock that goes on when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._began = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.passed + seconds, done))
        self._began.set()
        await done

    async def until_someone_sleeps(self, seconds: float) -> None:
        """Return once a sleeper waits that long."""
        async with asyncio.timeout(SECONDS):
            while not any(end - self.passed == pytest.approx(seconds) for end, _ in self._sleepers):
                self._began.clear()
                await self._began.wait()

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.passed += seconds
        for end, sleeper in self._sleepers:
            if end <= self.passed and not sleeper.done():
                sleeper.set_result(None)
        self._sleepers = [(end, sleeper) for end, sleeper in self._sleepers if not sleeper.done()]


@pytest.fixture
def hasty() -> HastyClock:
    return HastyClock()


@pytest.fixture
def patient() -> PatientClock:
    return PatientClock()


@pytest.fixture
def asked() -> Callable[..., Client]:
    """asked(access, clock?, …): a client, to be used within `async with`."""
    return lambda access, clock=None, **more: Client(access, clock or Clock(), **more)


@pytest.fixture
def answer() -> Callable[..., bytes]:
    """answer(body, header, …): a whole answer as it goes over the wire."""

    def make(body: bytes, *headers: bytes, code: int = 200) -> bytes:
        lines = [b"HTTP/1.1 %d x" % code, b"Content-Length: %d" % len(body), *headers]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    return make


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """A real server over TLS."""
    async with Cluster() as running:
        yield running


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client of the real server."""
    async with Client(load_kubeconfig(cluster.kubeconfig), Clock()) as opened:
        yield opened


Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[Handler], Awaitable[ClientConfig]]]:
    """Return a function that starts a server with answers of the test's own and returns the Access to it."""
    runners = []

    async def start(handler: Handler, *, port: int = 0) -> ClientConfig:
        runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", port).start()
        return ClientConfig(f"http://127.0.0.1:{runner.addresses[0][1]}", token="t")

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def speak() -> AsyncIterator[Callable[..., Awaitable[ClientConfig]]]:
    """Return a function that starts a server that sends given bytes for each request, then closes the connection."""
    servers = []

    async def start(*lots: bytes) -> ClientConfig:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for lot in lots:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
                )
                await reader.readexactly(int(length.partition(b":")[2]))
                writer.write(lot)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1")
        servers.append(server)
        return ClientConfig(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", token="t")

    yield start
    for server in servers:
        server.close()


@asynccontextmanager
async def running(work: Any) -> AsyncIterator[asyncio.Task[None]]:
    """Run some endless work beside the test."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled() and task.exception():
            await task


@pytest.fixture
def beside() -> Callable[[Any], Any]:
    """beside(coroutine): runs it for as long as an `async with` lasts, and raises what it raises."""
    return running


@pytest.fixture
def event() -> Callable[..., bytes]:
    """event(word, name?, revision?, …): an event of a watch, as it goes over the wire; more is metadata."""

    def make(word: str, name: str = "a", revision: str = "1", **meta: Any) -> bytes:
        obj = {"metadata": {"name": name, "namespace": "d", "uid": name, "resourceVersion": revision} | meta}
        return json.dumps({"type": word, "object": obj}).encode() + b"\n"

    return make


class ReflectedCache:
    """A cache with its reflector, and the health that the reflector reports."""

    def __init__(self, kind=CONFIG_MAP):
        self.cache = KindCache(kind)
        self.states: asyncio.Queue[Any] = asyncio.Queue()
        self.changes: list[Any] = []
        self.cache.add_listener(self.changes.append)

    async def state(self, expected):
        async with asyncio.timeout(SECONDS):
            while await self.states.get() is not expected:
                pass

    async def revision(self, expected):
        """Return when the cache is that far."""
        if self.cache.revision < int(expected):
            come = asyncio.get_running_loop().create_future()
            self.cache.call_at_revision(int(expected), lambda: come.set_result(None))
            async with asyncio.timeout(SECONDS):
                await come

    async def attached(self):
        """Return when the cache gets changes as they happen."""
        if self.cache.attached is None:
            come = asyncio.get_running_loop().create_future()
            self.cache.call_when_attached(lambda: come.set_result(None))
            async with asyncio.timeout(SECONDS):
                await come

    @property
    def names(self):
        return {obj["metadata"]["name"] for obj in self.cache}


@pytest.fixture
def following(beside):
    """following(client): a followed cache, for as long as the context lasts."""

    @asynccontextmanager
    async def run(client, *, kind=CONFIG_MAP, clock=None, **how):
        watched = ReflectedCache(kind)
        work = follow(
            client,
            kind,
            watched.cache,
            clock=clock or Clock(),
            on_state=lambda _, state: watched.states.put_nowait(state),
            **how,
        )
        async with beside(work):
            yield watched

    return run


@pytest.fixture
def make_stage(loop_clock):
    """make_stage(plan, …): a controller of that plan; more is of its SPEC."""
    return partial(Stage, loop_clock)
