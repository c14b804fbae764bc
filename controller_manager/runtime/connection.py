"""Connections that are kept: one exchange at a time each, and streams on connections of their own.

aiohttp's client takes 90 to 130 microseconds of processor time for an exchange over TLS; this takes a third to a half
of that, which decides how many pods a second one process can make.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from controller_manager.runtime.http1 import LONGEST_HEAD, Head, MalformedError, read_head

Feed = Callable[[bytes], None]
"""Takes the bytes of a stream."""

CONNECT_SECONDS = 30.0
SILENCE_SECONDS = 90.0
"""A stream of which nothing has come for so long is given up: its peer may hang, whose system keeps the connection. An
API server tells the revision every 60 s (cacher's defaultBookmarkFrequency); client-go has HTTP/2's pings for it."""
SWEEP_SECONDS = 1.0
"""How often it is looked for exchanges whose time is up."""
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
class ServerAddress:
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


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is under way, or waits for a connection.

    Attributes:
        reply: what becomes of it.
        seconds: after which it is given up; 0 for never.
        deadline: when that is, on the loop's clock.
        feed: takes the body of a success as it comes, and nothing at first, when the server agrees.
    """

    message: bytes
    reply: "asyncio.Future[Reply]"
    seconds: float = 0.0
    deadline: float = 0.0
    feed: Feed | None = None

    def late(self) -> LostError:
        """What becomes of it when its time is up."""
        return LostError(f"no answer within {self.seconds:g} s")


class Connection(asyncio.Protocol):
    """A connection: bytes of one request go out, and of what comes in, the body goes to a sink.

    Args:
        freed: told when an exchange has ended, or the connection has.

    Attributes:
        heard: when something came last, on the loop's clock.
    """

    def __init__(self, freed: "Callable[[Connection], None]") -> None:
        self._loop = asyncio.get_running_loop()
        self.heard = self._loop.time()
        self._asked: Request | None = None
        self._freed = freed
        self._transport: asyncio.Transport | None = None
        self._head: Head | None = None
        self._rest = b""
        self._pieces: list[bytes] = []
        self._exchanges = 0
        self._began = False

    @property
    def usable(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def begin(self, asked: Request) -> None:
        """Send a request; its reply is set when the answer is there, or LostError where none comes."""
        assert self._transport is not None
        assert self._asked is None, "one exchange at a time"
        self._asked, self._began = asked, False
        self._transport.write(asked.message)

    def expire(self, now: float) -> None:
        """Give the answer up if its time is up."""
        asked = self._asked
        if asked is not None and asked.seconds and asked.deadline <= now:
            self._fail(asked.late())

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
        self.heard = self._loop.time()
        asked = self._asked
        if asked is None:
            self.abort()  # nobody asked
            return
        try:
            self._take(data, asked.feed)
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
        self._freed(self)

    # -- reading

    def _take(self, data: bytes, feed: Feed | None) -> None:
        head = self._head
        if head is None:
            data = self._rest + data if self._rest else data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._await_head(data)
                return
            head, data, self._rest = read_head(data[:end]), data[end + 4 :], b""
            if head.code < 200:  # 100 Continue and its like: the answer is still to come
                self._take(data, feed)
                return
            self._head = head
            if feed is not None and head.code < 300:
                feed(b"")
        body = head.body
        if data:
            piece = body.take(data)
            if feed is None or head.code >= 300:
                self._pieces.append(piece)
            elif piece:
                feed(piece)
        if body.over:
            self._finish(head)

    def _await_head(self, data: bytes) -> None:
        if len(data) > LONGEST_HEAD:
            raise MalformedError("the head of the answer does not end")
        self._rest = data

    def _finish(self, head: Head) -> None:
        asked, body = self._asked, b"".join(self._pieces)
        self._asked = self._head = None
        self._pieces = []
        self._exchanges += 1
        if asked is not None and not asked.reply.done():  # whoever asked may have gone
            asked.reply.set_result(Reply(head.code, body, head.retry_after))
        if not head.keeps or head.body.extra:
            self.abort()
        else:
            self._freed(self)

    def _fail(self, error: Exception) -> None:
        asked, self._asked = self._asked, None
        if asked is not None and not asked.reply.done():
            asked.reply.set_exception(error)
        self.abort()


class Pool:
    """Connections to one server.

    Args:
        place: where it is.
        limit: how many exchanges there are at a time, and connections for them; streams are not counted.
        permit: asked before each exchange begins, also one that has waited for a connection: whether it still may.
    """

    def __init__(self, place: ServerAddress, *, limit: int, permit: Callable[[], bool] = lambda: True) -> None:
        self._place = place
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
        """How many exchanges were begun, or wait for a connection."""
        return self._for_exchanges - len(self._idle) + len(self._waiting)

    @property
    def _for_exchanges(self) -> int:
        """Return how many open connections carry exchanges and no stream."""
        return len(self._open) - self._streams

    def exchange(self, message: bytes, *, seconds: float) -> asyncio.Future[Reply]:
        """Send a request over some connection; what is given has its answer in the end.

        It raises LostError where no connection could be had, it broke, time was up, or what came is no HTTP.
        """
        asked = Request(message, self._loop.create_future(), seconds, self._loop.time() + seconds)
        self._waiting.append(asked)
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                self._serve(connection)
                break
        else:
            self._grow()
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)
        return asked.reply

    async def stream(self, message: bytes, feed: Feed, *, seconds: float) -> Reply:
        """Send a request over a connection of its own and have the body of a success fed to somebody.

        Args:
            message: the request.
            feed: takes the body piece by piece as it comes; what it raises ends the stream, and is raised here.
            seconds: after which the stream is broken off.

        Raises:
            LostError: no connection could be had, it broke or fell silent, time was up, or what came is no HTTP.
        """
        connection = await self._connect(_nothing)
        asked = Request(message, self._loop.create_future(), feed=feed)
        self._open.add(connection)
        self._streams += 1
        try:
            connection.begin(asked)
            async with asyncio.timeout(seconds):
                while not asked.reply.done():
                    left = connection.heard + SILENCE_SECONDS - self._loop.time()
                    if left <= 0:
                        raise LostError(f"nothing came for {SILENCE_SECONDS:g} s")
                    await asyncio.wait([asked.reply], timeout=left)
                return asked.reply.result()
        except TimeoutError as error:
            raise LostError(f"no answer within {seconds:g} s") from error
        finally:
            asked.reply.cancel()
            self._streams -= 1
            self._open.discard(connection)
            connection.abort()

    def close(self) -> None:
        """Break all connections off."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for task in self._opening:
            task.cancel()
        for connection in list(self._open):
            connection.abort()

    def _serve(self, connection: Connection) -> None:
        """Have the connection take whoever has waited longest."""
        while self._waiting:
            asked = self._waiting.popleft()
            if asked.reply.done():
                continue
            if self._permit():
                connection.begin(asked)
                return
            asked.reply.set_exception(LostError("nothing may be sent any more"))
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
        """Open one more connection, if somebody waits for it."""
        wanted = len(self._waiting) > len(self._opening)
        if wanted and not self._closed and self._for_exchanges + len(self._opening) < self._limit:
            task = self._loop.create_task(self._add())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _add(self) -> None:
        try:
            connection = await self._connect(self._freed)
        except LostError as error:
            if not self._for_exchanges:  # nobody else will come for those who wait
                self._refuse(error)
            return
        self._open.add(connection)
        self._serve(connection)

    def _refuse(self, error: LostError) -> None:
        while self._waiting:
            asked = self._waiting.popleft()
            if not asked.reply.done():
                asked.reply.set_exception(error)

    def _sweep(self) -> None:
        """Give up what has waited too long: looking now and then costs less than a timer for each exchange."""
        now = self._loop.time()
        for connection in list(self._open):
            connection.expire(now)
        while self._waiting and self._waiting[0].deadline <= now:
            asked = self._waiting.popleft()
            if not asked.reply.done():
                asked.reply.set_exception(asked.late())
        waits = self._waiting or len(self._idle) < self._for_exchanges
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep) if waits else None

    async def _connect(self, freed: Callable[[Connection], None]) -> Connection:
        place = self._place
        name = (place.name or place.host) if place.tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await self._loop.create_connection(
                    partial(Connection, freed), place.host, place.port, ssl=place.tls, server_hostname=name
                )
        except TimeoutError as error:
            raise LostError(f"no connection to {place.host}:{place.port} within {CONNECT_SECONDS:g} s") from error
        except OSError as error:
            raise LostError(f"no connection to {place.host}:{place.port}: {error}") from error
        return connection


def _nothing(_: Connection) -> None:
    """Nobody is told."""


def _keep_alive(connection: socket.socket | None) -> None:
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):  # macOS names them differently
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
