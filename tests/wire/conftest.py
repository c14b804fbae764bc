"""A server on the test's own event loop, and a client of it over a real socket."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from patience import SECONDS

from apiserver.app import RunningServer, serving
from apiserver.config import Config, check

TOKEN = "of-the-administrator"

Obj = dict[str, Any]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


class Reply(NamedTuple):
    """An answer that was read whole."""

    code: int
    headers: Any
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def text(self) -> str:
        return self.raw.decode()

    @property
    def message(self) -> str:
        return str(self.json["message"])

    @property
    def version(self) -> str:
        return str(self.json["metadata"]["resourceVersion"])


class WatchStream:
    """The events of a watch, one at a time."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self, seconds: float = SECONDS) -> Obj | None:
        """The next event, None at the end of the stream."""
        async with asyncio.timeout(seconds):
            line = await self.response.content.readline()
        return json.loads(line) if line else None

    async def take(self, count: int) -> list[Obj]:
        events = [await self.next() for _ in range(count)]
        assert all(events), events
        return [each for each in events if each]

    async def rest(self, seconds: float = SECONDS) -> list[Obj]:
        events = []
        while (event := await self.next(seconds)) is not None:
            events.append(event)
        return events


@dataclass(frozen=True)
class Api:
    """A client of one server."""

    running: RunningServer
    session: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return self.running.url

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request; headers are named as in Content_Type, and a body that is not bytes becomes JSON."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            body = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
            named = {"Content-Type": "application/json"} | named
        async with (
            asyncio.timeout(SECONDS),
            self.session.request(method, self.url + path, data=body, headers=named) as response,
        ):
            return Reply(response.status, response.headers, await response.read())

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.ask("GET", path, **headers)

    async def post(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.ask("POST", path, body, **headers)

    async def put(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.ask("PUT", path, body, **headers)

    async def delete(self, path: str, body: Any = None, **headers: str) -> Reply:
        return await self.ask("DELETE", path, body, **headers)

    async def patch(self, path: str, body: Any, kind: str = "merge-patch") -> Reply:
        return await self.ask("PATCH", path, body, Content_Type=f"application/{kind}+json")

    async def make(self, *names: str, path: str = CONFIG_MAPS, **more: Any) -> list[Reply]:
        """Create ConfigMaps of these names, one after the other."""
        made = []
        for name in names:
            reply = await self.post(path, {"metadata": {"name": name}} | more)
            assert reply.code == 201, reply.text
            made.append(reply)
        return made

    async def metrics(self, name: str, labels: str = "") -> float:
        """Return the sum of a family's samples that have these labels."""
        text = (await self.get("/metrics")).text
        lines = [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
        return sum(float(line.rpartition(" ")[2]) for line in lines if labels in line)

    async def watches(self) -> int:
        """Return the number of watches that the server serves."""
        return int(await self.metrics("apiserver_longrunning_requests", 'verb="WATCH"'))

    @property
    def now(self) -> int:
        """The newest version."""
        return self.running.registry.storage.store.revision

    @asynccontextmanager
    async def watch(self, path: str, **headers: str) -> AsyncIterator[WatchStream]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.get(self.url + path, headers=named) as response:
            assert response.status == 200, await response.text()
            yield WatchStream(response)


Open = Callable[..., AbstractAsyncContextManager[Api]]


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.csv"
    path.write_text(f'{TOKEN},admin,1,"system:masters"\nof-jane,jane,2,"dev,ops"\n')
    return path


@pytest.fixture
def opened(tokens: Path) -> Open:
    """Return a function that opens a server with settings of its own, and a client of it."""

    @asynccontextmanager
    async def open_it(config: Config | None = None, **server: Any) -> AsyncIterator[Api]:
        config = check(replace(config or Config(), secure_port=0, token_auth_file=tokens))
        async with serving(config, **server) as running, client(running) as session:
            yield Api(running, session)

    return open_it


@asynccontextmanager
async def client(running: RunningServer) -> AsyncIterator[aiohttp.ClientSession]:
    limits, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(connector=limits, headers=headers, timeout=timeout, read_bufsize=2**22) as session:
        yield session


@pytest.fixture
async def api(opened: Open) -> AsyncIterator[Api]:
    """A client of a fresh server."""
    async with opened() as running_api:
        yield running_api


@pytest.fixture
def eventually() -> Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]:
    """Return a function that repeats a check until it is true."""

    async def wait(is_so: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(SECONDS):
            while not await is_so():
                pass

    return wait
