"""The HTTP client of the API server: requests and watch streams over connections that are kept open."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, metadata
from controller_manager.reconcile.contract import ListAll, Request
from controller_manager.runtime.account_token import AccountToken
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.connection import Feed, LostError, Pool, Reply, ServerAddress
from controller_manager.runtime.kubeconfig import ClientConfig, ClientConfigError
from controller_manager.runtime.ratelimit import TokenBucket
from controller_manager.runtime.requests import (
    JSON,
    METADATA_LIST,
    HttpRequest,
    connection_lost,
    http_request,
    response_error,
    with_query,
)

PROGRAM = "kube-controller-manager"
"""The program that requests are from, unless they are those of a controller that is part of another one."""
MAX_CONNECTIONS = 160
"""Concurrent exchanges: enough to keep the server busy while the answers of its last commit are read."""
BUSY_CONNECTIONS = MAX_CONNECTIONS // 2
"""The number of exchanges under way at which requests that can wait should wait."""
MAX_RETRIES = 10
"""The number of times that a request is retried if the server sends Retry-After (client-go rest.Request maxRetries)."""
REQUEST_TIMEOUT = 70.0
"""Seconds after which an answer is given up; the server itself gives up after 60."""
PAGE_SIZE = 500
"""Objects per page of a list (client-go tools/pager)."""
UNAUTHORIZED = 401
TOKEN_SECONDS = 60.0
"""Seconds after which a token file is read again (client-go transport NewCachedFileTokenSource)."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection.

    Attributes:
        revision: the revision of the list.
        token: the continue token of the next page, "" if there is none.
    """

    items: list[Obj]
    revision: str
    token: str


class _StartedRequest(NamedTuple):
    """A request under way, and when it was sent; a tuple for speed, as one is created for each request."""

    reply: asyncio.Future[Reply]
    at: float


class Observer(Protocol):
    """Counts requests: rest_client_requests_total and rest_client_request_duration_seconds."""

    def __call__(self, method: str, code: int, seconds: float) -> None:
        """Record an answer that came after so many seconds, or the lack of one, which is code 0."""


def _observe_nothing(method: str, code: int, seconds: float) -> None:
    """Count nothing."""


class Client:
    """A client of one server, used in an `async with` block.

    Args:
        access: the server's address and the credentials.
        clock: the clock to wait with.
        qps: requests per second; 0 or less means no limit (--kube-api-qps).
        burst: the burst of requests; at least one (--kube-api-burst).
        user_agent: the User-Agent header, "" for that of PROGRAM.
        observe: called for every exchange, but not for streams.
    """

    def __init__(
        self,
        access: ClientConfig,
        clock: Clock,
        *,
        qps: float = -1.0,
        burst: int = 0,
        user_agent: str = "",
        observe: Observer = _observe_nothing,
    ) -> None:
        self._access = access
        self._clock = clock
        self._bucket = TokenBucket(clock, rate=qps, burst=max(burst, 1)) if qps > 0 else None
        self._agent = user_agent or _user_agent(PROGRAM)
        self._observe = observe
        self._base = urlsplit(access.server).path.rstrip("/").encode()
        self._heads: dict[tuple[str, str], bytes] = {}
        self._heads_end = 0.0
        self._pool: Pool | None = None
        self._permit: Callable[[], bool] = lambda: True
        self._account: AccountToken | None = None

    async def __aenter__(self) -> Self:
        self._pool = Pool(_address(self._access), limit=MAX_CONNECTIONS, permit=self._may_send)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.close()

    def without_rate_limit(self, purpose: str) -> "Client":
        """Return another client of the same server without a rate limit, whose requests do not wait for this one's."""
        return Client(self._access, self._clock, user_agent=f"{self._agent}/{purpose}", observe=self._observe)

    def for_account(self, name: str) -> "Client":
        """Return a client over the same connections that acts as a ServiceAccount of kube-system."""
        client = copy(self)
        client.use_account(AccountToken(self, name, self._clock))
        return client

    def use_account(self, token: AccountToken) -> None:
        """Send an account's token with each request, instead of the manager's own credentials."""
        self._account = token
        self._heads = {}

    def of_program(self, program: str) -> "Client":
        """Return a client that sends as another program, by whose name servers know the owner of the fields it writes.

        It shares the connections and the rate limit of this client, which has to be in use already.
        """
        client = copy(self)
        vars(client).update(_agent=_user_agent(program), _heads={})
        return client

    @property
    def is_busy(self) -> bool:
        """True if so many requests are under way that those that can wait should wait."""
        return self._connections.under_way >= BUSY_CONNECTIONS

    def send_only_while(self, permit: Callable[[], bool]) -> None:
        """Send requests only while `permit` returns True; others fail unsent. Streams continue."""
        self._permit = permit

    async def perform(self, request: Request) -> Any:
        """Send a request.

        Returns:
            The parsed answer; for a ListAll, the items.

        Raises:
            ApiError: it refused, or no answer came (reason ConnectionLost, code 0).
        """
        if isinstance(request, ListAll):
            pages = self.pages(request.kind.path(request.namespace), accept=METADATA_LIST)
            return [item async for page in pages for item in page.items]
        return await self._request(http_request(request))

    async def perform_all(self, requests: Sequence[Request]) -> list[Any]:
        """Send many requests at once, without a task for each.

        Returns:
            The answers in the order of the requests; an ApiError for a refusal, or if no answer came.
        """
        under_way: list[tuple[HttpRequest, _StartedRequest] | ListAll] = []
        try:
            for request in requests:
                if isinstance(request, ListAll):
                    under_way.append(request)
                else:
                    call = http_request(request)
                    under_way.append((call, await self._begin(call)))
            return [await self._outcome(entry) for entry in under_way]
        finally:
            for entry in under_way:
                if not isinstance(entry, ListAll):
                    entry[1].reply.cancel()  # nobody waits for it any more

    async def _outcome(self, entry: "tuple[HttpRequest, _StartedRequest] | ListAll") -> Any:
        try:
            return await self.perform(entry) if isinstance(entry, ListAll) else await self._answer(*entry)
        except ApiError as error:
            return error

    async def get_json(self, path: str, *, accept: str = JSON) -> Any:
        """Return the answer to a GET.

        Raises:
            ApiError: it refused, or no answer came.
        """
        return await self._get(path, {}, accept=accept)

    async def pages(self, path: str, *, accept: str = JSON) -> AsyncIterator[Page]:
        """Yield a collection page by page; there is at least one page.

        Raises:
            ApiError: the server refused, or the answer is not a list.
        """
        page = await self.page(path, accept=accept)
        yield page
        while page.token:
            page = await self.page(path, page.token, accept=accept)
            yield page

    async def page(self, path: str, token: str = "", *, field_selector: str = "", accept: str = JSON) -> Page:
        """Return a page of a collection: the first, or the one that a token of the page before leads to.

        Raises:
            ApiError: the server refused, or the answer is not a list.
        """
        query = {"limit": str(PAGE_SIZE), "continue": token, "fieldSelector": field_selector}
        parameters = {name: value for name, value in query.items() if value}
        return _page(await self._get(path, parameters, accept=accept))

    async def stream(self, target: str, feed: Feed, *, seconds: float, accept: str = JSON) -> None:
        """Pass the bytes of a watch to `feed` until the server ends it.

        Args:
            target: path and query (`requests.with_query`).
            feed: takes the bytes as they come, in arbitrary pieces; an empty first piece means that the
                server has accepted the watch; an exception from it ends the stream.
            seconds: the client closes the stream after this time.
            accept: the media type to request.

        Raises:
            ApiError: the server refused, or the connection broke.
        """
        message = self._message(HttpRequest("GET", target, accept=accept))
        try:
            reply = await self._connections.stream(message, feed, seconds=seconds)
        except LostError as error:
            raise connection_lost(str(error)) from error
        if reply.code >= 300:
            raise response_error(reply.code, reply.body, reply.retry_after)

    def _may_send(self) -> bool:
        return self._permit()

    @property
    def _connections(self) -> Pool:
        assert self._pool is not None, "use it within `async with`"
        return self._pool

    async def _get(self, path: str, query: Mapping[str, str], *, accept: str) -> Any:
        return await self._request(HttpRequest("GET", with_query(path, query), accept=accept))

    async def _request(self, call: HttpRequest) -> Any:
        return await self._answer(call, await self._begin(call))

    async def _begin(self, call: HttpRequest) -> _StartedRequest:
        """Send a request, once the rate limit allows it."""
        if self._bucket is not None:
            await self._bucket.wait()
        if self._account is not None and self._account.is_due:
            await self._account.renew()
            self._heads.clear()
        return _StartedRequest(
            self._connections.exchange(self._message(call), seconds=REQUEST_TIMEOUT), self._clock.monotonic()
        )

    async def _answer(self, call: HttpRequest, begun: _StartedRequest) -> Any:
        """Return the answer to a request; it is sent again while the server answers with Retry-After."""
        reply = await self._reply(call, begun)
        for _ in range(MAX_RETRIES):
            if not _asks_for_retry(reply):
                break
            await self._clock.sleep(float(reply.retry_after))
            reply = await self._reply(call, await self._begin(call))
        if reply.code >= 300:
            raise response_error(reply.code, reply.body, reply.retry_after)
        return _parsed(reply)

    async def _reply(self, call: HttpRequest, begun: _StartedRequest) -> Reply:
        code = 0
        try:
            try:
                reply = await begun.reply
            except LostError as error:
                if not error.unheard or call.method != "GET":
                    raise  # a write may have reached the server, and is not safe to repeat
                reply = await (await self._begin(call)).reply
            code = reply.code
            if code == UNAUTHORIZED and self._account is not None:
                self._account.expire()
        except LostError as error:
            raise connection_lost(f"{call.method} {call.target}: {error}") from error
        finally:
            self._observe(call.method, code, self._clock.monotonic() - begun.at)
        return reply

    def _message(self, call: HttpRequest) -> bytes:
        body = call.body
        head = self._head(call.accept, call.content_type if body else "")
        line = b"%b %b%b" % (call.method.encode(), self._base, call.target.encode())
        if body or call.method != "GET":
            return b"%b%bContent-Length: %d\r\n\r\n%b" % (line, head, len(body), body)
        return b"%b%b\r\n" % (line, head)

    def _head(self, accept: str, content_type: str) -> bytes:
        """Return the request's head after the target, which is the same for many requests."""
        if self._access.token_file is not None and self._clock.monotonic() >= self._heads_end:
            self._heads.clear()
            self._heads_end = self._clock.monotonic() + TOKEN_SECONDS
        head = self._heads.get((accept, content_type))
        if head is None:
            head = self._heads[accept, content_type] = self._build_head(accept, content_type)
        return head

    def _build_head(self, accept: str, content_type: str) -> bytes:
        try:
            token = self._account.value if self._account is not None else self._access.bearer_token()
        except ClientConfigError as error:
            raise connection_lost(str(error)) from error
        fields = {
            "Host": urlsplit(self._access.server).netloc,
            "User-Agent": self._agent,
            "Accept": accept,
            "Authorization": f"Bearer {token}" if token else "",
            "Content-Type": content_type,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
        return f" HTTP/1.1\r\n{lines}".encode("latin-1")


def _user_agent(program: str) -> str:
    return f"{program}/0.1 (mockube)"


def _page(answer: Any) -> Page:
    meta = metadata(answer) if isinstance(answer, dict) else {}
    items = answer.get("items") or [] if meta else None
    if "resourceVersion" not in meta or not isinstance(items, list) or not all(map(_is_object, items)):
        raise ApiError(500, "InternalError", "the answer is no list")
    return Page(items, str(meta["resourceVersion"]), str(meta.get("continue") or ""))


def _is_object(item: Any) -> bool:
    return isinstance(item, dict) and "name" in metadata(item)


def _address(access: ClientConfig) -> ServerAddress:
    parts = urlsplit(access.server)
    tls = access.tls_context()
    return ServerAddress(parts.hostname or "", parts.port or (443 if tls else 80), tls, access.server_name)


def _asks_for_retry(reply: Reply) -> bool:
    """Return whether the server asks for a retry (client-go rest/with_retry.go)."""
    return (reply.code == 429 or reply.code >= 500) and reply.retry_after.isdecimal()


def _parsed(reply: Reply) -> Any:
    try:
        return orjson.loads(reply.body)
    except orjson.JSONDecodeError as error:
        excerpt = reply.body[:200].decode(errors="replace")
        raise ApiError(500, "InternalError", f"the answer is no JSON: {excerpt!r}") from error
