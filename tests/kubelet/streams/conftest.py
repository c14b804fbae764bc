"""The kubelets' server over caches that are filled by hand, with a clock of the test's own, and its clients."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from patience import SECONDS

from apiserver.config import Config, check
from controller_manager.kubelet.streams.server import serving_streams
from controller_manager.kubelet.streams.settings import StreamSettings
from controller_manager.reconcile.kinds import CLAIM, CONFIG_MAP, NODE, POD, SERVICE
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.clock import Clock
from mockube.certificates import Certificates, ensure_certificates, server_names
from mockube.control_plane import RunningControlPlane, control_plane
from mockube.threads import in_thread

NOW = 1_800_000_000.0
START = "2027-01-15T08:00:00Z"
"""The same, as objects have it: when containers started."""
PAUSE = 0.1
"""Seconds below which a sleep is but a pause, which takes no time."""
NAMES = server_names("127.0.0.1", "10.96.0.0/12")


class StageClock(Clock):
    """A clock that is moved by hand; sleepers wake when their time has come."""

    def __init__(self) -> None:
        self._now = NOW
        self._moved = asyncio.Event()
        self._counted = asyncio.Event()
        self._sleeping = 0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        if seconds < PAUSE:
            return
        end = self._now + seconds
        self._count(1)
        try:
            while self._now < end:
                self._moved.clear()
                await self._moved.wait()
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        self._sleeping += change
        self._counted.set()

    async def until_sleeping(self, count: int = 1) -> None:
        """Wait until so many wait for time to pass."""
        async with asyncio.timeout(SECONDS):
            while self._sleeping != count:
                self._counted.clear()
                await self._counted.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
        self._moved.set()


@dataclass
class Stage:
    """The caches of a test, and the requests that came.

    Attributes:
        port: where the kubelets answer.
        asked: what they asked the server for.
    """

    world: Caches
    clock: StageClock
    pki: Certificates
    port: int = 0
    asked: list[Any] = field(default_factory=list)
    _revision: int = field(default=1)

    def put(self, kind: Any, obj: Any) -> Any:
        """An object as the server would send it."""
        self._revision += 1
        meta = {"resourceVersion": str(self._revision), "uid": f"uid-{obj['metadata']['name']}"} | obj["metadata"]
        whole = {"apiVersion": kind.api_version, "kind": kind.kind} | obj | {"metadata": meta}
        self.world.get_or_create(kind).put(whole)
        return whole

    def pod(self, name: str = "web", **more: Any) -> Any:
        """A pod whose containers all run."""
        container = {"name": "web", "image": "nginx", "ports": [{"containerPort": 80}]} | more.pop("container", {})
        spec = {"nodeName": "node-1", "containers": [container, *more.pop("others", ())]} | more.pop("spec", {})
        ran = {"running": {"startedAt": START}}
        statuses = [
            {"name": each["name"], "containerID": f"c://{each['name']}-1", "state": ran} for each in spec["containers"]
        ]
        status = {"phase": "Running", "podIP": "10.244.0.5", "containerStatuses": statuses} | more.pop("status", {})
        return self.put(POD, {"metadata": {"name": name, "namespace": "shop"} | more, "spec": spec, "status": status})

    async def perform(self, request: Any) -> Any:
        """Keep the request and do nothing about it."""
        self.asked.append(request)

    def gone(self, pod: Any) -> None:
        """Delete the pod."""
        self.world.get_or_create(POD).remove(pod)

    def ended(self, pod: Any, code: int = 1) -> Any:
        """Let its first container end."""
        first, *rest = pod["status"]["containerStatuses"]
        terminated = {
            "containerID": first["containerID"],
            "exitCode": code,
            "startedAt": START,
            "finishedAt": "2027-01-15T08:00:10Z",
        }
        changed = {"name": first["name"], "state": {"terminated": terminated}}
        return self.put(POD, pod | {"status": pod["status"] | {"containerStatuses": [changed, *rest]}})


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ensure_certificates(tmp_path_factory.mktemp("pki"), NAMES, now=time.time())


@pytest.fixture
async def stage(pki: Certificates) -> AsyncIterator[Stage]:
    world = Caches()
    for kind in (CLAIM, CONFIG_MAP, NODE, POD, SERVICE):
        world.get_or_create(kind)
    new_stage = Stage(world, StageClock(), pki)
    settings = StreamSettings(pki.kubelet, pki.kubelet_key, pki.authority)
    async with serving_streams(world, settings, new_stage.clock, new_stage.perform) as port:
        new_stage.port = port
        yield new_stage


def client_tls(pki: Certificates, certificate: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pki.authority))
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context


@pytest.fixture
async def kubelet(stage: Stage) -> AsyncIterator[aiohttp.ClientSession]:
    """A client that the kubelets know."""
    tls = client_tls(stage.pki, stage.pki.kubelet_client, stage.pki.kubelet_client_key)
    connector = aiohttp.TCPConnector(ssl=tls, force_close=True)
    async with aiohttp.ClientSession(f"https://127.0.0.1:{stage.port}", connector=connector) as session:
        yield session


Strange = Callable[..., Any]


@pytest.fixture
def client_as(stage: Stage) -> Strange:
    """client_as(certificate, key): a client with another certificate, or none."""

    @asynccontextmanager
    async def make(certificate: Path | None = None, key: Path | None = None) -> AsyncIterator[aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(ssl=client_tls(stage.pki, certificate, key), force_close=True)
        async with aiohttp.ClientSession(f"https://127.0.0.1:{stage.port}", connector=connector) as session:
            yield session

    return make


@pytest.fixture
def raw(stage: Stage) -> Callable[..., Any]:
    """raw(): a TLS connection to the kubelets without any protocol on it."""

    @asynccontextmanager
    async def open_raw() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        tls = client_tls(stage.pki, stage.pki.kubelet_client, stage.pki.kubelet_client_key)
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port, ssl=tls)
        try:
            yield reader, writer
        finally:
            writer.close()

    return open_raw


# -- a server and the kubelets together, for clients in processes of their own

CONTAINERS: list[dict[str, Any]] = [
    {"name": "web", "image": "nginx", "ports": [{"containerPort": 80}], "env": [{"name": "COLOUR", "value": "red"}]},
    {
        "name": "tick",
        "image": "busybox",
        "command": ["sh", "-c", "i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done"],
    },
]
POD_SPEC = {"nodeName": "node-1", "containers": CONTAINERS}


@asynccontextmanager
async def cluster(directory: Path) -> AsyncIterator[RunningControlPlane]:
    """A server, a node, two pods on it, and the server of its kubelet."""
    world = Caches()
    for kind in (CLAIM, CONFIG_MAP, NODE, POD, SERVICE):
        world.get_or_create(kind)
    async with control_plane(check(Config(secure_port=0)), directory) as running:
        pki = running.certificates
        tls = ssl.create_default_context(cafile=str(pki.authority))
        headers = {"Authorization": f"Bearer {pki.token}"}
        settings = StreamSettings(pki.kubelet, pki.kubelet_key, pki.authority)
        async with (
            serving_streams(world, settings, Clock(), _nothing) as port,
            aiohttp.ClientSession(running.url, headers=headers, connector=aiohttp.TCPConnector(ssl=tls)) as client,
        ):
            endpoint = {"mockube.io/kubelet-endpoint": f"127.0.0.1:{port}"}
            await _ask(client, "POST", "/api/v1/nodes", {"metadata": {"name": "node-1", "annotations": endpoint}})
            world.get_or_create(POD).put(await _pod(client, "web", _started()))
            world.get_or_create(POD).put(await _pod(client, "slow", {"waiting": {"reason": "ContainerCreating"}}))
            yield running


async def _nothing(_: Any) -> None:
    """Nobody is asked for anything."""


async def _pod(client: aiohttp.ClientSession, name: str, state: Any) -> Any:
    pods = "/api/v1/namespaces/default/pods"
    await _ask(client, "POST", pods, {"metadata": {"name": name}, "spec": POD_SPEC})
    statuses = [
        {"name": each["name"], "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": state}
        | ({"containerID": f"containerd://{name}-{each['name']}"} if "running" in state else {})
        for each in CONTAINERS
    ]
    status = {"phase": "Running", "podIP": "10.244.0.5", "containerStatuses": statuses}
    return await _ask(client, "PATCH", f"{pods}/{name}/status", {"status": status})


def _started() -> Any:
    return {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}


async def _ask(client: aiohttp.ClientSession, method: str, path: str, body: Any) -> Any:
    headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    async with client.request(method, path, json=body, headers=headers) as answer:
        assert answer.status < 300, await answer.text()
        return await answer.json()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningControlPlane]:
    with in_thread(cluster(tmp_path_factory.mktemp("cluster"))) as running:
        yield running
