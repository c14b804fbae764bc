"""Connections that are kept open: one exchange at a time on each, and streams on connections of their own.

aiohttp's client takes 90 to 130 microseconds of CPU time for an exchange over TLS; this takes a third to a half of
that, which decides how many pods per second one process can create.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from controller_manager.runtime.http1 import MalformedError, ResponseParser

Feed = Callable[[bytes], None]
"""A function that takes the bytes of a stream."""

CONNECT_SECONDS = 30.0
SILENCE_SECONDS = 90.0
"""Seconds of silence after which a stream is given up: its peer may hang while its operating system keeps the
connection. An API server sends a bookmark every 60 s (cacher's defaultBookmarkFrequency); client-go uses HTTP/2's
pings for this.
"""
SWEEP_SECONDS = 1.0
"""Seconds between two checks for exchanges whose time is up."""
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""With these a dead peer is noticed within a minute (net.Dialer's KeepAlive is 30 s in client-go)."""


class LostError(Exception):
    """No answer came, or not all of it.

    Attributes:
        unheard: True if the server may have closed the connection before it saw the request: the connection had been
            used before, and nothing came back.
    """

    def __init__(self, why: str, *, unheard: bool = False) -> None:
        super().__init__(why)
        self.unheard = unheard


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a server.

    Attributes:
        tls: None for a connection without TLS.
        name: the name that its certificate must have.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer; for a stream, the body is what was not passed to the feed."""

    code: int
    body: bytes
    retry_after: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is under way, or waits for a connection.

    Attributes:
        reply: its answer or error.
        seconds: the time limit; 0 for none.
        deadline: the end of the time limit, on the loop's clock.
        feed: takes the body of a success as it comes, after an empty piece when the head has come.
    """

    message: bytes
    reply: "asyncio.Future[Reply]"
    seconds: float = 0.0
    deadline: float = 0.0
    feed: Feed | None = None

    def late(self) -> LostError:
        """Return the error for a request whose time is up."""
        return LostError(f"no answer within {self.seconds:g} s")


class Connection(asyncio.Protocol):
    """A connection that carries one exchange at a time; a response's body goes to the request's feed or reply.

    Args:
        freed: called when an exchange or the connection has ended.

    Attributes:
        heard: when data came last, on the loop's clock.
    """

    def __init__(self, freed: "Callable[[Connection], None]") -> None:
        self._loop = asyncio.get_running_loop()
        self.heard = self._loop.time()
        self._request: Request | None = None
        self._freed = freed
        self._transport: asyncio.Transport | None = None
        self._response = ResponseParser()
        self._pieces: list[bytes] = []
        self._exchanges = 0
        self._began = False

    @property
    def usable(self) -> bool:
        """True if a request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def begin(self, request: Request) -> None:
        """Send a request; its reply is set to the answer, or to LostError if there is none."""
        assert self._transport is not None
        assert self._request is None, "one exchange at a time"
        self._request, self._began = request, False
        self._transport.write(request.message)

    def expire(self, now: float) -> None:
        """Fail the exchange if its time is up."""
        request = self._request
        if request is not None and request.seconds and request.deadline <= now:
            self._fail(request.late())

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that the connection is established."""
        self._transport = cast("asyncio.Transport", transport)
        _keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Process incoming data."""
        self._began = True
        self.heard = self._loop.time()
        request = self._request
        if request is None:
            self.abort()  # there was no request
            return
        try:
            self._read(data, request.feed)
        except MalformedError as error:
            self._fail(LostError(str(error)))
        except Exception as error:  # noqa: BLE001 - an exception from the feed is for the stream's caller
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail or finish the exchange when the connection has ended."""
        if self._response.code and self._response.endless and exc is None:
            self._finish()
        else:
            why = str(exc) if exc else "the server closed the connection"
            self._fail(LostError(why, unheard=bool(self._exchanges) and not self._began))
        self._transport = None
        self._freed(self)

    # -- reading

    def _read(self, data: bytes, feed: Feed | None) -> None:
        response = self._response
        is_first = not response.code
        body = response.take(data)
        if not response.code:
            return
        if feed is not None and response.code < 300:
            if is_first:
                feed(b"")
            if body:
                feed(body)
        elif body:
            self._pieces.append(body)
        if response.over:
            self._finish()

    def _finish(self) -> None:
        request, response = self._request, self._response
        reply = Reply(response.code, b"".join(self._pieces), response.retry_after)
        keeps = response.keeps
        self._request = None
        self._pieces = []
        self._exchanges += 1
        response.begin()
        if request is not None and not request.reply.done():  # the caller may have gone
            request.reply.set_result(reply)
        if keeps:
            self._freed(self)
        else:
            self.abort()

    def _fail(self, error: Exception) -> None:
        request, self._request = self._request, None
        if request is not None and not request.reply.done():
            request.reply.set_exception(error)
        self.abort()


class Pool:
    """Connections to one server.

    Args:
        server: its address.
        limit: the maximum of concurrent exchanges and their connections; streams are not counted.
        permit: called before each exchange begins, even after a wait for a connection: True if it still may.
    """

    def __init__(self, server: ServerAddress, *, limit: int, permit: Callable[[], bool] = lambda: True) -> None:
        self._server = server
        self._limit = limit
        self._permit = permit
        self._loop = asyncio.get_running_loop()
        self._open: set[Connection] = set()
        self._streams = 0
        self._idle: list[Connection] = []
        self._waiting: deque[Request] = deque()
        self._opening: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def under_way(self) -> int:
        """The number of exchanges that have begun, or wait for a connection."""
        return self._for_exchanges - len(self._idle) + len(self._waiting)

    @property
    def _for_exchanges(self) -> int:
        """The number of open connections for exchanges, without those of streams."""
        return len(self._open) - self._streams

    def exchange(self, message: bytes, *, seconds: float) -> asyncio.Future[Reply]:
        """Send a request over some connection; the returned future gets the answer.

        It raises LostError if there is no connection, it broke, time was up, or the answer is not HTTP.
        """
        request = Request(message, self._loop.create_future(), seconds, self._loop.time() + seconds)
        self._waiting.append(request)
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                self._serve(connection)
                break
        else:
            self._grow()
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)
        return request.reply

    async def stream(self, message: bytes, feed: Feed, *, seconds: float) -> Reply:
        """Send a request over a connection of its own and pass the body of a success to the feed.

        Args:
            message: the request.
            feed: takes the body piece by piece as it comes; an exception from it ends the stream, and is raised here.
            seconds: the stream is closed after this time.

        Raises:
            LostError: there is no connection, it broke or fell silent, time was up, or the answer is not HTTP.
        """
        connection = await self._connect(_nothing)
        request = Request(message, self._loop.create_future(), feed=feed)
        self._open.add(connection)
        self._streams += 1
        try:
            connection.begin(request)
            async with asyncio.timeout(seconds):
                while not request.reply.done():
                    left = connection.heard + SILENCE_SECONDS - self._loop.time()
                    if left <= 0:
                        raise LostError(f"nothing came for {SILENCE_SECONDS:g} s")
                    await asyncio.wait([request.reply], timeout=left)
                return request.reply.result()
        except TimeoutError as error:
            raise LostError(f"no answer within {seconds:g} s") from error
        finally:
            request.reply.cancel()
            self._streams -= 1
            self._open.discard(connection)
            connection.abort()

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for task in self._opening:
            task.cancel()
        for connection in list(self._open):
            connection.abort()

    def _serve(self, connection: Connection) -> None:
        """Give the connection to the request that has waited longest."""
        while self._waiting:
            request = self._waiting.popleft()
            if request.reply.done():
                continue
            if self._permit():
                connection.begin(request)
                return
            request.reply.set_exception(LostError("nothing may be sent any more"))
        self._idle.append(connection)

    def _freed(self, connection: Connection) -> None:
        if connection.usable:
            self._serve(connection)
        else:
            self._open.discard(connection)
            if connection in self._idle:
                self._idle.remove(connection)
            self._grow()

    def _grow(self) -> None:
        """Open one more connection, if a request waits for it."""
        needed = len(self._waiting) > len(self._opening)
        if needed and not self._closed and self._for_exchanges + len(self._opening) < self._limit:
            task = self._loop.create_task(self._add())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _add(self) -> None:
        try:
            connection = await self._connect(self._freed)
        except LostError as error:
            if not self._for_exchanges:  # no other connection will serve those that wait
                self._refuse(error)
            return
        self._open.add(connection)
        self._serve(connection)

    def _refuse(self, error: LostError) -> None:
        while self._waiting:
            request = self._waiting.popleft()
            if not request.reply.done():
                request.reply.set_exception(error)

    def _sweep(self) -> None:
        """Fail requests that have waited too long: one periodic check costs less than a timer for each exchange."""
        now = self._loop.time()
        for connection in list(self._open):
            connection.expire(now)
        while self._waiting and self._waiting[0].deadline <= now:
            request = self._waiting.popleft()
            if not request.reply.done():
                request.reply.set_exception(request.late())
        waits = self._waiting or len(self._idle) < self._for_exchanges
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep) if waits else None

    async def _connect(self, freed: Callable[[Connection], None]) -> Connection:
        server = self._server
        name = (server.name or server.host) if server.tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await self._loop.create_connection(
                    partial(Connection, freed), server.host, server.port, ssl=server.tls, server_hostname=name
                )
        except TimeoutError as error:
            raise LostError(f"no connection to {server.host}:{server.port} within {CONNECT_SECONDS:g} s") from error
        except OSError as error:
            raise LostError(f"no connection to {server.host}:{server.port}: {error}") from error
        return connection


def _nothing(_: Connection) -> None:
    """Ignore a connection's end."""


def _keep_alive(connection: socket.socket | None) -> None:
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):  # macOS names them differently
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
