"""Remote commands over SPDY: the client opens a stream for each standard stream (cri-streaming's httpstream)."""

import asyncio
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from apiserver.api.meta import Obj
from controller_manager.kubelet.streams.multiplexing import Connection, Pipe, Stream
from controller_manager.kubelet.streams.sessions import Options, Serve, told, while_listening
from controller_manager.kubelet.streams.upgrade import taken_over
from controller_manager.kubelet.streams.websockets import FAREWELL

SPDY = "SPDY/3.1"
PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
WITH_SIZES = frozenset(PROTOCOLS[:2])
"""Those in which a terminal has a stream for its size."""
CREATION = 30.0
"""Seconds that a client has to open its streams (DefaultStreamCreationTimeout)."""
_NAMES = {1: "stdout", 2: "stderr"}


class HandshakeError(Exception):
    """The client asks for no protocol that is spoken here; the code and the message are upstream's."""

    def __init__(self, code: int, message: str, *, known: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.known = known


def negotiated(request: web.BaseRequest, known: tuple[str, ...]) -> str:
    """The first of a client's protocols that is known (httpstream.Handshake).

    Raises:
        HandshakeError: there is none.
    """
    if "X-Stream-Protocol-Version" not in request.headers:
        count = len(request.headers)
        why = f"header X-Stream-Protocol-Version does not exist in request with {count} headers"
        raise HandshakeError(400, f"unable to upgrade: {why}")
    named = ",".join(request.headers.getall("X-Stream-Protocol-Version"))
    wanted = [name.strip() for name in named.split(",") if name.strip()]
    for name in wanted:
        if name in known:
            return name
    client, server = " ".join(wanted), " ".join(known)
    why = f"unable to negotiate protocol: client supports [{client}], server accepts [{server}]"
    raise HandshakeError(403, f"unable to upgrade: {why}", known=known)


def speaking_spdy(request: web.BaseRequest, protocol: str) -> AbstractAsyncContextManager[Pipe]:
    """The connection of a request, which becomes SPDY with a protocol on it (see taken_over)."""
    headers = {"Connection": "Upgrade", "Upgrade": SPDY, "X-Stream-Protocol-Version": protocol}
    return taken_over(request, headers)


class SpdySession:
    """A remote command's streams, as far as the client has opened them."""

    def __init__(self, pipe: Pipe, protocol: str, options: Options) -> None:
        self._protocol = protocol
        self._streams: dict[str, Stream] = {}
        self._expected = {"error"}
        for name, wanted in (("stdin", options.stdin), ("stdout", options.stdout), ("stderr", options.stderr)):
            if wanted:
                self._expected.add(name)
        if options.tty and protocol in WITH_SIZES:
            self._expected.add("resize")
        self._complete = asyncio.Event()
        self.connection = Connection(pipe, self._opened)

    async def ready(self) -> None:
        """Wait for the streams that the client has announced.

        Raises:
            TimeoutError: they do not come.
        """
        async with asyncio.timeout(CREATION):
            await self._complete.wait()

    async def read(self) -> bytes:
        """What the client sends to the standard input."""
        stream = self._streams.get("stdin")
        return await stream.inlet.read() if stream else b""

    async def write(self, fd: int, data: bytes) -> None:
        """Put out on the stream of a file descriptor."""
        stream = self._streams.get(_NAMES[fd])
        if stream is not None and data:
            if stream.closed:
                raise ConnectionResetError("the client has closed the stream")
            await stream.write(data)

    async def finish(self, status: Obj) -> None:
        """Tell how it ended, and close what the client reads from."""
        for name in ("stdin", "resize"):
            if name in self._streams:
                await self._streams[name].reset()
        data = told(status, structured=self._protocol.startswith("v4."))
        await self._streams["error"].write(data)
        for name in ("stdout", "stderr", "error"):
            if name in self._streams:
                await self._streams[name].close()

    def _opened(self, stream: Stream) -> bool:
        name = stream.headers.get("streamtype", "")
        if name not in self._expected or name in self._streams:
            return False
        self._streams[name] = stream
        if name != "stdin":
            stream.inlet.discard()
        if self._streams.keys() == self._expected:
            self._complete.set()
        return True


async def over_spdy(request: web.BaseRequest, options: Options, serve: Serve) -> None:
    """Serve a remote command on the connection of a request, which becomes SPDY; it ends with the client.

    Raises:
        HandshakeError: the client speaks no version that is known.
        ConnectionError: the client is gone.
    """
    protocol = negotiated(request, PROTOCOLS)
    async with speaking_spdy(request, protocol) as pipe:
        session = SpdySession(pipe, protocol, options)
        await while_listening(session.connection.run(), _served(session, serve))


async def _served(session: SpdySession, serve: Serve) -> Obj:
    try:
        await session.ready()
    except TimeoutError:
        return {}
    status = await serve(session)
    await session.finish(status)
    await asyncio.sleep(FAREWELL)  # the client closes when it has read all; then this is cancelled
    return status
