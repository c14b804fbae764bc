"""Remote commands over WebSockets: a message is a channel's number and its bytes (KEP-4006, cri-streaming's websocket).

The first five channels are stdin, stdout, stderr, errors and the terminal's size. Version 5 can close a channel.
"""

import asyncio
import binascii
from base64 import b64decode, b64encode
from contextlib import suppress

from aiohttp import WSMsgType, web

from apiserver.api.meta import Obj
from controller_manager.kubelet.streams.byte_queue import Inlet
from controller_manager.kubelet.streams.sessions import Options, Serve, told, while_listening

WEBSOCKET = "websocket"
PROTOCOLS = (
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
)
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
NO_CHANNEL = -1
LONGEST_MESSAGE = 4 * 1024 * 1024
PIECE = 32 * 1024
"""Bytes that are sent in one message."""
FAREWELL = 10.0
"""Seconds that a client has to take the end."""


def offered(request: web.BaseRequest) -> list[str]:
    """The protocols that a client names."""
    named = ",".join(request.headers.getall("Sec-WebSocket-Protocol", ()))
    return [name.strip() for name in named.split(",") if name.strip()]


class Channels:
    """Messages of a socket, each with its channel, in binary or in base64."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.protocol = socket.ws_protocol or ""
        self._in_letters = "base64" in self.protocol

    async def send(self, channel: int, data: bytes) -> None:
        """Send bytes of a channel, at least one message.

        Raises:
            ConnectionError: the client is gone.
        """
        for start in range(0, len(data) or 1, PIECE):
            piece = data[start : start + PIECE]
            if self._in_letters:
                await self.socket.send_str(str(channel) + b64encode(piece).decode())
            else:
                await self.socket.send_bytes(bytes([channel]) + piece)

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message's channel and bytes, None at the end and at what is none; text is taken for its bytes."""
        message = await self.socket.receive()
        if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
            return None
        data: bytes = message.data if message.type is WSMsgType.BINARY else message.data.encode()
        if not data:
            return NO_CHANNEL, b""
        if not self._in_letters:
            return data[0], data[1:]
        try:
            return data[0] - ord("0"), b64decode(data[1:])
        except binascii.Error:
            return None


class WebSocketSession:
    """A remote command's streams on a socket."""

    def __init__(self, channels: Channels, options: Options) -> None:
        self._channels = channels
        self._wanted = {STDOUT: options.stdout, STDERR: options.stderr}
        self._stdin = Inlet()
        if not options.stdin:
            self._stdin.discard()

    async def read(self) -> bytes:
        """What the client sends to the standard input."""
        return await self._stdin.read()

    async def write(self, fd: int, data: bytes) -> None:
        """Put out on the channel of a file descriptor, which has the same number."""
        if data and self._wanted[fd]:
            await self._channels.send(fd, data)

    async def finish(self, status: Obj) -> None:
        """Tell how it ended, then close."""
        self._stdin.discard()
        structured = self._channels.protocol.startswith(("v4.", "v5."))
        data = told(status, structured=structured)
        if data:
            await self._channels.send(ERROR, data)
        async with asyncio.timeout(FAREWELL):
            await self._channels.socket.close()

    async def listen(self) -> None:
        """Take what the client sends until it goes."""
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if channel == STDIN:
                await self._stdin.put(data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]) and self._channels.protocol.startswith("v5."):
                self._stdin.end()


async def over_websocket(request: web.BaseRequest, options: Options, serve: Serve) -> web.StreamResponse:
    """Serve a remote command on a socket that the request becomes; it ends with the client.

    Raises:
        web.HTTPException: the request is no handshake.
    """
    socket = web.WebSocketResponse(protocols=PROTOCOLS, compress=False, max_msg_size=LONGEST_MESSAGE)
    await socket.prepare(request)
    channels = Channels(socket)
    session = WebSocketSession(channels, options)
    first = STDOUT if options.stdout else STDERR if options.stderr else ERROR
    await channels.send(first, b"")  # the connection stands
    status = await while_listening(session.listen(), serve(session))
    if status is not None:
        with suppress(ConnectionError, TimeoutError):
            await session.finish(status)
    return socket
