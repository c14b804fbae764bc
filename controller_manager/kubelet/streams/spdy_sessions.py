"""Remote commands over SPDY: the client opens a stream for each standard stream (cri-streaming's httpstream)."""

import asyncio
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from apiserver.api.meta import Obj
from controller_manager.kubelet.streams.multiplexing import Pipe, SpdyConnection, Stream
from controller_manager.kubelet.streams.sessions import Options, Serve, encode_status, while_listening
from controller_manager.kubelet.streams.upgrade import take_over
from controller_manager.kubelet.streams.websockets import CLOSE_TIMEOUT

SPDY = "SPDY/3.1"
PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
WITH_SIZES = frozenset(PROTOCOLS[:2])
"""The protocols that have a stream for a terminal's size."""
CREATION = 30.0
"""The seconds that a client has to open its streams (DefaultStreamCreationTimeout)."""
_NAMES = {1: "stdout", 2: "stderr"}


class HandshakeError(Exception):
    """The client supports no known protocol; the code and the message are upstream's."""

    def __init__(self, code: int, message: str, *, known: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.known = known


def negotiate(request: web.BaseRequest, known: tuple[str, ...]) -> str:
    """Return the first of a client's protocols that is known (httpstream.Handshake).

    Raises:
        HandshakeError: there is none.
    """
    if "X-Stream-Protocol-Version" not in request.headers:
        count = len(request.headers)
        reason = f"header X-Stream-Protocol-Version does not exist in request with {count} headers"
        raise HandshakeError(400, f"unable to upgrade: {reason}")
    named = ",".join(request.headers.getall("X-Stream-Protocol-Version"))
    offered_names = [name.strip() for name in named.split(",") if name.strip()]
    for name in offered_names:
        if name in known:
            return name
    client, server = " ".join(offered_names), " ".join(known)
    reason = f"unable to negotiate protocol: client supports [{client}], server accepts [{server}]"
    raise HandshakeError(403, f"unable to upgrade: {reason}", known=known)


def speaking_spdy(request: web.BaseRequest, protocol: str) -> AbstractAsyncContextManager[Pipe]:
    """Change the connection of a request to SPDY with a protocol on it (see taken_over)."""
    headers = {"Connection": "Upgrade", "Upgrade": SPDY, "X-Stream-Protocol-Version": protocol}
    return take_over(request, headers)


class SpdySession:
    """The streams of a remote command, as far as the client has opened them."""

    def __init__(self, pipe: Pipe, protocol: str, options: Options) -> None:
        self._protocol = protocol
        self._streams: dict[str, Stream] = {}
        self._expected = {"error"}
        for name, is_requested in (("stdin", options.stdin), ("stdout", options.stdout), ("stderr", options.stderr)):
            if is_requested:
                self._expected.add(name)
        if options.tty and protocol in WITH_SIZES:
            self._expected.add("resize")
        self._complete = asyncio.Event()
        self.connection = SpdyConnection(pipe, self._opened)

    async def ready(self) -> None:
        """Wait until the client has opened its streams.

        Raises:
            TimeoutError: it does not open them in time.
        """
        async with asyncio.timeout(CREATION):
            await self._complete.wait()

    async def read(self) -> bytes:
        """Return input from the client."""
        stream = self._streams.get("stdin")
        return await stream.byte_queue.read() if stream else b""

    async def write(self, fd: int, data: bytes) -> None:
        """Write output to the stream of a file descriptor."""
        stream = self._streams.get(_NAMES[fd])
        if stream is not None and data:
            if stream.closed:
                raise ConnectionResetError("the client has closed the stream")
            await stream.write(data)

    async def finish(self, status: Obj) -> None:
        """Send the final status, and close the streams that the client reads."""
        for name in ("stdin", "resize"):
            if name in self._streams:
                await self._streams[name].reset()
        data = encode_status(status, structured=self._protocol.startswith("v4."))
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
            stream.byte_queue.discard()
        if self._streams.keys() == self._expected:
            self._complete.set()
        return True


async def over_spdy(request: web.BaseRequest, options: Options, serve: Serve) -> None:
    """Serve a remote command on the connection of a request, which changes to SPDY; it ends with the client.

    Raises:
        HandshakeError: the client supports no known version.
        ConnectionError: the client is gone.
    """
    protocol = negotiate(request, PROTOCOLS)
    async with speaking_spdy(request, protocol) as pipe:
        session = SpdySession(pipe, protocol, options)
        await while_listening(session.connection.serve(), _served(session, serve))


async def _served(session: SpdySession, serve: Serve) -> Obj:
    try:
        await session.ready()
    except TimeoutError:
        return {}
    status = await serve(session)
    await session.finish(status)
    await asyncio.sleep(CLOSE_TIMEOUT)  # the client closes when it has read all; then this is cancelled
    return status
