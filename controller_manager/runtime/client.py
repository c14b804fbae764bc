"""The way to the server: requests of the contract and watch streams, over connections that are kept."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, metadata
from controller_manager.reconcile.contract import ListAll, Request
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.connection import Feed, LostError, Pool, Reply, ServerAddress
from controller_manager.runtime.kubeconfig import Access, AccessError
from controller_manager.runtime.ratelimit import TokenBucket
from controller_manager.runtime.requests import JSON, METADATA_LIST, Call, call_of, lost, refusal, with_query

USER_AGENT = "mockube-controller-manager/0.1"
CONNECTIONS = 160
"""Exchanges at a time: enough that the server has some to do while the answers of its last commit are read."""
BUSY = CONNECTIONS // 2
"""Exchanges under way from which what can wait should."""
RETRIES = 10
"""How often a request is sent again that the server asks to come back with (client-go rest.Request maxRetries)."""
SECONDS = 70.0
"""After which an answer does not come any more; the server itself gives up after 60."""
PAGE = 500
"""Objects a page of a list (client-go tools/pager)."""
TOKEN_SECONDS = 60.0
"""After which a token is read again that stands in a file (client-go transport NewCachedFileTokenSource)."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a collection.

    Attributes:
        revision: as of which the objects are.
        token: leads to the next page; "" where there is none.
    """

    items: list[Obj]
    revision: str
    token: str


class _Begun(NamedTuple):
    """A request under way, and since when; a tuple, as one is made for each."""

    reply: asyncio.Future[Reply]
    at: float


class Observer(Protocol):
    """Who counts requests: rest_client_requests_total and rest_client_request_duration_seconds."""

    def __call__(self, method: str, code: int, seconds: float) -> None:
        """An answer came after so many seconds, or none, which is code 0."""


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
        observe: told of every exchange, not of streams.
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
        self._access = access
        self._clock = clock
        self._bucket = TokenBucket(clock, rate=qps, burst=max(burst, 1)) if qps > 0 else None
        self._agent = user_agent
        self._observe = observe
        self._base = urlsplit(access.server).path.rstrip("/").encode()
        self._heads: dict[tuple[str, str], bytes] = {}
        self._heads_end = 0.0
        self._pool: Pool | None = None
        self._permit: Callable[[], bool] = lambda: True

    async def __aenter__(self) -> Self:
        self._pool = Pool(_place(self._access), limit=CONNECTIONS, permit=self._may_ask)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.close()

    def twin(self, purpose: str) -> "Client":
        """Another client of the same server, without a limit: what it asks waits for nothing that is asked here."""
        return Client(self._access, self._clock, user_agent=f"{self._agent}/{purpose}", observe=self._observe)

    @property
    def is_busy(self) -> bool:
        """Whether so much is asked that what can wait should."""
        return self._connections.under_way >= BUSY

    def ask_while(self, permit: Callable[[], bool]) -> None:
        """From now on send requests only while this holds; any other is lost unsent. Streams go on."""
        self._permit = permit

    async def perform(self, request: Request) -> Any:
        """Ask the server.

        Returns:
            What it answers; of a ListAll, the items.

        Raises:
            ApiError: it refused, or no answer came (reason ConnectionLost, code 0).
        """
        if isinstance(request, ListAll):
            pages = self.pages(request.kind.path(request.namespace), accept=METADATA_LIST)
            return [item async for page in pages for item in page.items]
        return await self._ask(call_of(request))

    async def perform_all(self, requests: Sequence[Request]) -> list[Any]:
        """Ask the server many things at once, without a task for each.

        Returns:
            The answers in the order of the requests; an ApiError where it refused, or no answer came.
        """
        under_way: list[tuple[Call, _Begun] | ListAll] = []
        try:
            for request in requests:
                if isinstance(request, ListAll):
                    under_way.append(request)
                else:
                    call = call_of(request)
                    under_way.append((call, await self._begin(call)))
            return [await self._outcome(each) for each in under_way]
        finally:
            for each in under_way:
                if not isinstance(each, ListAll):
                    each[1].reply.cancel()  # nobody is there to have it

    async def _outcome(self, asked: "tuple[Call, _Begun] | ListAll") -> Any:
        try:
            return await self.perform(asked) if isinstance(asked, ListAll) else await self._answer(*asked)
        except ApiError as error:
            return error

    async def get_json(self, path: str, *, accept: str = JSON) -> Any:
        """The answer to a GET.

        Raises:
            ApiError: it refused, or no answer came.
        """
        return await self._get(path, {}, accept=accept)

    async def pages(self, path: str, *, accept: str = JSON) -> AsyncIterator[Page]:
        """A collection page by page, of which there is at least one.

        Raises:
            ApiError: the server refused, or what it answered is no list.
        """
        page = await self.page(path, accept=accept)
        yield page
        while page.token:
            page = await self.page(path, page.token, accept=accept)
            yield page

    async def page(self, path: str, token: str = "", *, field_selector: str = "", accept: str = JSON) -> Page:
        """A page of a collection: the first, or that to which the page before it leads.

        Raises:
            ApiError: the server refused, or what it answered is no list.
        """
        query = {"limit": str(PAGE), "continue": token, "fieldSelector": field_selector}
        given = {name: value for name, value in query.items() if value}
        return _page(await self._get(path, given, accept=accept))

    async def stream(self, target: str, feed: Feed, *, seconds: float, accept: str = JSON) -> None:
        """Have the bytes of a watch fed to somebody, until the server ends it.

        Args:
            target: path and query (`requests.with_query`).
            feed: takes the bytes as they come, in pieces of no meaning, the first of which is empty and tells that the
                server agrees; what it raises ends the stream.
            seconds: after which the stream is broken off, whatever the server thinks.
            accept: the media type that is wanted.

        Raises:
            ApiError: the server refused, or the connection broke.
        """
        message = self._message(Call("GET", target, accept=accept))
        try:
            reply = await self._connections.stream(message, feed, seconds=seconds)
        except LostError as error:
            raise lost(str(error)) from error
        if reply.code >= 300:
            raise refusal(reply.code, reply.body, reply.retry_after)

    def _may_ask(self) -> bool:
        return self._permit()

    @property
    def _connections(self) -> Pool:
        assert self._pool is not None, "use it within `async with`"
        return self._pool

    async def _get(self, path: str, query: Mapping[str, str], *, accept: str) -> Any:
        return await self._ask(Call("GET", with_query(path, query), accept=accept))

    async def _ask(self, call: Call) -> Any:
        return await self._answer(call, await self._begin(call))

    async def _begin(self, call: Call) -> _Begun:
        """Send a request, when there is a token for it."""
        if self._bucket is not None:
            await self._bucket.wait()
        return _Begun(self._connections.exchange(self._message(call), seconds=SECONDS), self._clock.monotonic())

    async def _answer(self, call: Call, begun: _Begun) -> Any:
        """The answer to what is under way; the request is sent as often as the server asks to come back with it."""
        reply = await self._reply(call, begun)
        for _ in range(RETRIES):
            if not _is_put_off(reply):
                break
            await self._clock.sleep(float(reply.retry_after))
            reply = await self._reply(call, await self._begin(call))
        if reply.code >= 300:
            raise refusal(reply.code, reply.body, reply.retry_after)
        return _parsed(reply)

    async def _reply(self, call: Call, begun: _Begun) -> Reply:
        code = 0
        try:
            try:
                reply = await begun.reply
            except LostError as error:
                if not error.unheard or call.method != "GET":
                    raise  # a write may have been heard, and is not safe to repeat
                reply = await (await self._begin(call)).reply
            code = reply.code
        except LostError as error:
            raise lost(f"{call.method} {call.target}: {error}") from error
        finally:
            self._observe(call.method, code, self._clock.monotonic() - begun.at)
        return reply

    def _message(self, call: Call) -> bytes:
        body = call.body
        head = self._head(call.accept, call.content_type if body else "")
        line = b"%b %b%b" % (call.method.encode(), self._base, call.target.encode())
        if body or call.method != "GET":
            return b"%b%bContent-Length: %d\r\n\r\n%b" % (line, head, len(body), body)
        return b"%b%b\r\n" % (line, head)

    def _head(self, accept: str, content_type: str) -> bytes:
        """What follows the target, and is the same for many requests."""
        if self._access.token_file is not None and self._clock.monotonic() >= self._heads_end:
            self._heads.clear()
            self._heads_end = self._clock.monotonic() + TOKEN_SECONDS
        found = self._heads.get((accept, content_type))
        if found is None:
            found = self._heads[accept, content_type] = self._made_head(accept, content_type)
        return found

    def _made_head(self, accept: str, content_type: str) -> bytes:
        try:
            token = self._access.bearer()
        except AccessError as error:
            raise lost(str(error)) from error
        fields = {
            "Host": urlsplit(self._access.server).netloc,
            "User-Agent": self._agent,
            "Accept": accept,
            "Authorization": f"Bearer {token}" if token else "",
            "Content-Type": content_type,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
        return f" HTTP/1.1\r\n{lines}".encode("latin-1")


def _page(answer: Any) -> Page:
    meta = metadata(answer) if isinstance(answer, dict) else {}
    items = answer.get("items") or [] if meta else None
    if "resourceVersion" not in meta or not isinstance(items, list) or not all(map(_is_object, items)):
        raise ApiError(500, "InternalError", "the answer is no list")
    return Page(items, str(meta["resourceVersion"]), str(meta.get("continue") or ""))


def _is_object(item: Any) -> bool:
    return isinstance(item, dict) and "name" in metadata(item)


def _place(access: Access) -> ServerAddress:
    parts = urlsplit(access.server)
    tls = access.tls()
    return ServerAddress(parts.hostname or "", parts.port or (443 if tls else 80), tls, access.server_name)


def _is_put_off(reply: Reply) -> bool:
    """Whether the server asks to come back (client-go rest/with_retry.go)."""
    return (reply.code == 429 or reply.code >= 500) and reply.retry_after.isdecimal()


def _parsed(reply: Reply) -> Any:
    try:
        return orjson.loads(reply.body)
    except orjson.JSONDecodeError as error:
        told = reply.body[:200].decode(errors="replace")
        raise ApiError(500, "InternalError", f"the answer is no JSON: {told!r}") from error
