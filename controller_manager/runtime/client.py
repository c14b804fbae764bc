"""The way to the server: requests of the contract and watch streams over connections that are kept."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

import aiohttp
import orjson
from yarl import URL

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.contract import ListAll, Request
from controller_manager.runtime.kubeconfig import Access
from controller_manager.runtime.ratelimit import TokenBucket
from controller_manager.runtime.requests import JSON, METADATA_LIST, Call, call_of, lost, refusal, with_query

USER_AGENT = "mockube-controller-manager/0.1"
CONNECTIONS = 64
RETRIES = 10
"""How often a request is tried again that the server asks to come back with (client-go rest.Request maxRetries)."""
SECONDS = 70.0
"""After which an answer does not come any more; the server itself gives up after 60."""
PAGE = 500
"""Objects a page of a list (client-go tools/pager)."""

Feed = Callable[[bytes], None]


class Observer(Protocol):
    """Who counts requests: rest_client_requests_total and rest_client_request_duration_seconds."""

    def __call__(self, method: str, code: int, seconds: float) -> None:
        """An answer came, or none, which is code 0."""


def _nobody(method: str, code: int, seconds: float) -> None:
    """Counts nothing."""


class Client:
    """A client of one server, for as long as an `async with` lasts.

    Args:
        access: the way in.
        clock: by which it waits.
        qps: requests a second, of which 0 and less is no limit (--kube-api-qps).
        burst: requests at once; at least one (--kube-api-burst).
        user_agent: who the server is told asks.
        observe: told of every exchange.
    """

    def __init__(
        self,
        access: Access,
        clock: Clock,
        *,
        qps: float = -1.0,
        burst: int = 0,
        user_agent: str = USER_AGENT,
        observe: Observer = _nobody,
    ) -> None:
        self.access = access
        self._clock = clock
        self._bucket = TokenBucket(clock, rate=qps, burst=max(burst, 1)) if qps > 0 else None
        self._agent = user_agent
        self._observe = observe
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self.access.tls() or True, keepalive_timeout=600),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._agent, "Authorization": f"Bearer {self.access.bearer()}"},
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            read_bufsize=2**20,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def perform(self, request: Request) -> Any:
        """Ask the server.

        Returns:
            What it answers; of a ListAll, the items.

        Raises:
            ApiError: it refused, or no answer came (reason ConnectionLost, code 0).
        """
        if isinstance(request, ListAll):
            return await self.list_all(request.kind.path(request.namespace), accept=METADATA_LIST)
        return orjson.loads(await self._ask(call_of(request)))

    async def get_json(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON) -> Any:
        """The answer to a GET.

        Raises:
            ApiError: it refused, or no answer came.
        """
        return orjson.loads(await self._ask(Call("GET", with_query(path, query or {}), accept=accept)))

    async def list_all(self, path: str, *, accept: str = JSON) -> list[Obj]:
        """All items of a collection, page by page.

        Raises:
            ApiError: it refused, or no answer came.
        """
        items: list[Obj] = []
        query = {"limit": str(PAGE)}
        while True:
            page = await self.get_json(path, query, accept=accept)
            items += page.get("items") or ()
            token = page["metadata"].get("continue")
            if not token:
                return items
            query = {"limit": str(PAGE), "continue": token}

    async def stream(self, path: str, query: Mapping[str, str], feed: Feed, *, accept: str = JSON) -> None:
        """Have the bytes of a watch fed to somebody, until the server ends it.

        Raises:
            ApiError: it refused, or the connection broke.
        """
        assert self._session is not None
        url = URL(self.access.server + with_query(path, query), encoded=True)
        try:
            async with self._session.get(url, headers={"Accept": accept}) as response:
                if response.status != 200:
                    raise refusal(response.status, await response.read())
                async for chunk in response.content.iter_any():
                    feed(chunk)
                    await asyncio.sleep(0)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise lost(str(error) or type(error).__name__) from error

    async def _ask(self, call: Call) -> bytes:
        """The body of a success; comes back as often as the server asks for it."""
        assert self._session is not None
        url = URL(self.access.server + call.target, encoded=True)
        headers = {"Accept": call.accept, "Content-Type": call.content_type}
        for attempt in range(RETRIES + 1):
            if self._bucket is not None:
                await self._bucket.wait()
            began = self._clock.monotonic()
            try:
                async with (
                    asyncio.timeout(SECONDS),
                    self._session.request(call.method, url, data=call.body or None, headers=headers) as response,
                ):
                    body = await response.read()
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                self._observe(call.method, 0, self._clock.monotonic() - began)
                raise lost(str(error) or type(error).__name__) from error
            self._observe(call.method, response.status, self._clock.monotonic() - began)
            if response.status < 300:
                return body
            after = response.headers.get("Retry-After", "")
            if not (response.status == 429 or response.status >= 500) or not after.isdecimal() or attempt == RETRIES:
                raise refusal(response.status, body, after)
            await self._clock.sleep(int(after))
        raise AssertionError("unreachable")


__all__ = ["ApiError", "Client"]
