"""Connections that are kept: one exchange at a time each, and streams on connections of their own.

aiohttp's client takes 90 to 130 microseconds of processor time for an exchange over TLS; this takes a third to a half
of that, which decides how many pods a second one process can make.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from controller_manager.runtime.framing import LONGEST_HEAD, Head, MalformedError, read_head

Feed = Callable[[bytes], None]

CONNECT_SECONDS = 30.0
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A peer that is gone without a word is noticed within a minute (net.Dialer's KeepAlive is 30 s in client-go)."""


class LostError(Exception):
    """No answer came, or not all of it.

    Attributes:
        unheard: whether the server may have closed the connection before it saw the request: the connection was an old
            one, and nothing came.
    """

    def __init__(self, why: str, *, unheard: bool = False) -> None:
        super().__init__(why)
        self.unheard = unheard


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is.

    Attributes:
        tls: None where the connection is plain.
        name: the name that its certificate must have.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that was read whole; of a stream, its body is what was not fed to anybody."""

    code: int
    body: bytes
    retry_after: str


class Connection(asyncio.Protocol):
    """A connection: bytes of one request go out, and of what comes in, the body goes to a sink."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._feed: Feed | None = None
        self._head: Head | None = None
        self._rest = b""
        self._pieces: list[bytes] = []
        self._exchanges = 0
        self._began = False

    @property
    def usable(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, message: bytes, *, seconds: float, feed: Feed | None = None) -> Reply:
        """Send a request and have its answer.

        Args:
            message: the request.
            seconds: after which the answer is given up.
            feed: takes the body of a success piece by piece as it comes; what it raises ends the exchange.

        Raises:
            LostError: the connection broke, time is up, or what came is no HTTP.
        """
        assert self._transport is not None
        assert self._reply is None, "one exchange at a time"
        reply: asyncio.Future[Reply] = self._loop.create_future()
        self._reply = reply
        self._feed, self._began = feed, False
        timer = self._loop.call_later(seconds, self._expire, seconds)
        self._transport.write(message)
        try:
            return await reply
        finally:
            timer.cancel()
            self._reply = None
            self._exchanges += 1
            if not reply.done() or reply.cancelled():
                self.abort()

    def abort(self) -> None:
        """Break the connection off."""
        if self._transport is not None:
            self._transport.abort()

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)
        _keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Something came."""
        self._began = True
        if self._reply is None or self._reply.done():
            self.abort()  # nobody asked
            return
        try:
            self._take(data)
        except MalformedError as error:
            self._fail(LostError(str(error)))
        except Exception as error:  # noqa: BLE001 - what the feed raises is for whoever waits for the stream
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is no more."""
        if self._head is not None and self._head.body.endless and exc is None:
            self._finish(self._head)
        else:
            why = str(exc) if exc else "the server closed the connection"
            self._fail(LostError(why, unheard=bool(self._exchanges) and not self._began))
        self._transport = None

    # -- reading

    def _take(self, data: bytes) -> None:
        head = self._head
        if head is None:
            data = self._rest + data if self._rest else data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._await_head(data)
                return
            head, data, self._rest = read_head(data[:end]), data[end + 4 :], b""
            if head.code < 200:  # 100 Continue and its like: the answer is still to come
                self._take(data)
                return
            self._head = head
        body = head.body
        if data:
            self._sink(head, body.take(data))
        if body.over:
            self._finish(head)

    def _await_head(self, data: bytes) -> None:
        if len(data) > LONGEST_HEAD:
            raise MalformedError("the head of the answer does not end")
        self._rest = data

    def _sink(self, head: Head, piece: bytes) -> None:
        if self._feed is None or head.code >= 300:
            self._pieces.append(piece)
        elif piece:
            self._feed(piece)

    def _finish(self, head: Head) -> None:
        reply, body = self._reply, b"".join(self._pieces)
        self._head, self._pieces = None, []
        if not head.keeps or head.body.extra:
            self.abort()
        if reply is not None and not reply.done():
            reply.set_result(Reply(head.code, body, head.retry_after))

    def _expire(self, seconds: float) -> None:
        self._fail(LostError(f"no answer within {seconds:g} s"))

    def _fail(self, error: Exception) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)
        self.abort()


class Pool:
    """Connections to one server.

    Args:
        place: where it is.
        limit: how many exchanges there are at a time; streams are not counted.
    """

    def __init__(self, place: Place, *, limit: int) -> None:
        self._place = place
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[Connection] = []
        self._streams: set[Connection] = set()

    async def exchange(self, message: bytes, *, seconds: float) -> Reply:
        """Send a request over some connection and have its answer.

        Raises:
            LostError: no connection could be had, or it broke.
        """
        async with self._slots:
            connection = await self._connection()
            reply = await connection.exchange(message, seconds=seconds)
            if connection.usable:
                self._idle.append(connection)
            return reply

    async def stream(self, message: bytes, feed: Feed, *, seconds: float) -> Reply:
        """Send a request over a connection of its own and have the body of a success fed to somebody.

        Raises:
            LostError: no connection could be had, or it broke.
        """
        connection = await self._connect()
        self._streams.add(connection)
        try:
            return await connection.exchange(message, seconds=seconds, feed=feed)
        finally:
            self._streams.discard(connection)
            connection.abort()

    def close(self) -> None:
        """Break all connections off."""
        for connection in (*self._idle, *self._streams):
            connection.abort()
        self._idle.clear()

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return await self._connect()

    async def _connect(self) -> Connection:
        place = self._place
        name = (place.name or place.host) if place.tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection, place.host, place.port, ssl=place.tls, server_hostname=name
                )
        except TimeoutError as error:
            raise LostError(f"no connection to {place.host}:{place.port} within {CONNECT_SECONDS:g} s") from error
        except OSError as error:
            raise LostError(f"no connection to {place.host}:{place.port}: {error}") from error
        return connection


def _keep_alive(connection: socket.socket | None) -> None:
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):  # macOS names them differently
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
