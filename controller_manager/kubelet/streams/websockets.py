"""Remote commands over WebSockets: a message has a channel's number and bytes (KEP-4006, cri-streaming's websocket).

The first five channels are stdin, stdout, stderr, errors and the terminal's size. Version 5 can close a channel.
"""

import asyncio
import binascii
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import WSMsgType, web

from apiserver.api.meta import Obj
from controller_manager.kubelet.streams.byte_queue import ByteQueue
from controller_manager.kubelet.streams.sessions import Options, Serve, encode_status, while_listening

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
MAX_MESSAGE_LENGTH = 4 * 1024 * 1024
MESSAGE_SIZE = 32 * 1024
"""The bytes that are sent in one message."""
CLOSE_TIMEOUT = 10.0
"""The seconds that a client has to receive the final status."""


def offered(request: web.BaseRequest) -> list[str]:
    """Return the protocols that a client offers."""
    named = ",".join(request.headers.getall("Sec-WebSocket-Protocol", ()))
    return [name.strip() for name in named.split(",") if name.strip()]


class Channels:
    """The messages of a socket, each with its channel, in binary or in base64."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.protocol = socket.ws_protocol or ""
        self._in_letters = "base64" in self.protocol

    async def send(self, channel: int, data: bytes) -> None:
        """Send bytes on a channel, in at least one message.

        Raises:
            ConnectionError: the client is gone.
        """
        for start in range(0, len(data) or 1, MESSAGE_SIZE):
            piece = data[start : start + MESSAGE_SIZE]
            if self._in_letters:
                await self.socket.send_str(str(channel) + b64encode(piece).decode())
            else:
                await self.socket.send_bytes(bytes([channel]) + piece)

    async def receive(self) -> tuple[int, bytes] | None:
        """Return the next message's channel and bytes, None at the end or if it is invalid; text is encoded."""
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
    """The streams of a remote command on a socket."""

    def __init__(self, channels: Channels, options: Options) -> None:
        self._channels = channels
        self._is_requested = {STDOUT: options.stdout, STDERR: options.stderr}
        self._stdin = ByteQueue()
        if not options.stdin:
            self._stdin.discard()

    async def read(self) -> bytes:
        """Return input from the client."""
        return await self._stdin.read()

    async def write(self, fd: int, data: bytes) -> None:
        """Write output to the channel with the file descriptor's number."""
        if data and self._is_requested[fd]:
            await self._channels.send(fd, data)

    async def finish(self, status: Obj) -> None:
        """Send the final status, then close."""
        self._stdin.discard()
        structured = self._channels.protocol.startswith(("v4.", "v5."))
        data = encode_status(status, structured=structured)
        if data:
            await self._channels.send(ERROR, data)
        async with asyncio.timeout(CLOSE_TIMEOUT):
            await self._channels.socket.close()

    async def listen(self) -> None:
        """Receive what the client sends until it is gone."""
        while (message := await self._channels.receive()) is not None:
            channel, data = message
            if channel == STDIN:
                await self._stdin.put(data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]) and self._channels.protocol.startswith("v5."):
                self._stdin.end()


async def open_websocket(request: web.BaseRequest, protocols: Sequence[str]) -> web.WebSocketResponse:
    """Upgrade the connection of a request to a WebSocket with one of these protocols.

    Raises:
        web.HTTPException: the request is not a WebSocket handshake.
    """
    socket = web.WebSocketResponse(protocols=protocols, compress=False, max_msg_size=MAX_MESSAGE_LENGTH)
    await socket.prepare(request)
    return socket


async def over_websocket(request: web.BaseRequest, options: Options, serve: Serve) -> web.StreamResponse:
    """Serve a remote command on a socket that replaces the request; it ends with the client.

    Raises:
        web.HTTPException: the request is not a WebSocket handshake.
    """
    socket = await open_websocket(request, PROTOCOLS)
    channels = Channels(socket)
    session = WebSocketSession(channels, options)
    first = STDOUT if options.stdout else STDERR if options.stderr else ERROR
    await channels.send(first, b"")  # tells the client that the connection is established
    status = await while_listening(session.listen(), serve(session))
    if status is not None:
        with suppress(ConnectionError, TimeoutError):
            await session.finish(status)
    return socket
