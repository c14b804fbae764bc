from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from apiserver.app import serving
from apiserver.config import Config

TOKEN = "secret"
EVENT_TTL = 1.0


@dataclass(frozen=True)
class Client:
    """A client of a server of the test's own."""

    session: aiohttp.ClientSession

    async def ask(self, request: str, body: Any = None, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Return the status and the body of the answer to "METHOD /path"."""
        method, path = request.split(" ", 1)
        async with self.session.request(method, path, json=body, headers=headers) as answer:
            text = await answer.text()
            return answer.status, await answer.json(content_type=None) if text else None

    async def do(self, request: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Return the body of an answer, which must be a success."""
        status, answer = await self.ask(request, body, headers)
        assert status < 400, answer
        return answer

    async def patch(self, path: str, body: Any) -> Any:
        """Return the outcome of a merge patch."""
        return await self.do(f"PATCH {path}", body, {"Content-Type": "application/merge-patch+json"})

    async def until_gone(self, path: str) -> None:
        """Wait until there is nothing at a path any more; it is watched, so that no time is lost."""
        collection, _, name = path.rpartition("/")
        listed = await self.do(f"GET {collection}")
        version = listed["metadata"]["resourceVersion"]
        if name not in [item["metadata"]["name"] for item in listed["items"]]:
            return
        watch = f"{collection}?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3D{name}&timeoutSeconds=20"
        async with self.session.get(watch) as answer:
            async for line in answer.content:
                if b'"type":"DELETED"' in line:
                    return
        raise AssertionError(f"{path} is still there")


@pytest.fixture
def client_of(tmp_path) -> Callable[[str], AbstractAsyncContextManager[Client]]:
    """client_of("1.28"): a client of a server of that release, "" for the newest."""

    @asynccontextmanager
    async def connect(release: str) -> AsyncIterator[Client]:
        tokens = tmp_path / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
        config = Config(secure_port=0, token_auth_file=tokens, event_ttl=EVENT_TTL, kubernetes_version=release)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with serving(config) as running, aiohttp.ClientSession(running.url, headers=headers) as session:
            yield Client(session)

    return connect


@pytest.fixture
async def client(client_of) -> AsyncIterator[Client]:
    async with client_of("") as client:
        yield client


@pytest.fixture
async def namespace(client) -> str:
    await client.do("POST /api/v1/namespaces", {"metadata": {"name": "n"}})
    return "/api/v1/namespaces/n"
