"""Many streams over one connection: SPDY/3.1 as kubectl uses it, without flow control (moby/spdystream)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller_manager.kubelet.streams.byte_queue import ByteQueue
from controller_manager.kubelet.streams.spdy import (
    Data,
    Frame,
    Framer,
    GoAway,
    Ping,
    ResetReason,
    RstStream,
    SpdyError,
    SynReply,
    SynStream,
)

FRAME_SIZE = 32 * 1024
"""The bytes of a stream that are sent in one frame, so that streams take turns."""
MAX_STREAMS = 1000
"""The maximum number of open streams of a connection."""


class Pipe(Protocol):
    """A transport of bytes in both directions."""

    async def read(self) -> bytes:
        """Return received bytes, b"" at the end."""

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the peer does not receive them.

        Raises:
            ConnectionError: the peer is gone.
        """


@dataclass(slots=True)
class Stream:
    """One stream of a connection, which the peer has opened.

    Attributes:
        headers: the peer's headers, with names in lower case.
        byte_queue: the bytes that the peer sends.
    """

    id: int
    headers: Mapping[str, str]
    send: Callable[[Frame], Awaitable[None]]
    byte_queue: ByteQueue = field(default_factory=ByteQueue)
    closed: bool = False

    async def write(self, data: bytes) -> None:
        """Send bytes; nothing is sent once this side is closed."""
        for start in range(0, len(data), FRAME_SIZE):
            if self.closed:
                return
            await self.send(Data(self.id, data[start : start + FRAME_SIZE]))

    async def close(self) -> None:
        """Close this direction."""
        if not self.closed:
            self.closed = True
            await self.send(Data(self.id, b"", final=True))

    async def reset(self, status: ResetReason = ResetReason.CANCEL) -> None:
        """End both directions at once."""
        self.byte_queue.discard()
        if not self.closed:
            self.closed = True
            await self.send(RstStream(self.id, status))


StreamHandler = Callable[[Stream], bool]
"""Accepts a stream that the peer opens (True), or refuses it."""


class SpdyConnection:
    """The server's side of a connection."""

    def __init__(self, pipe: Pipe, opened: StreamHandler) -> None:
        self._pipe = pipe
        self._opened = opened
        self._framer = Framer()
        self._streams: dict[int, Stream] = {}
        self._last = 0
        self._order = asyncio.Lock()

    async def serve(self) -> None:
        """Read until the peer closes, sends GOAWAY, or sends invalid SPDY; then end all streams."""
        try:
            while data := await self._pipe.read():
                for frame in self._framer.feed(data):
                    if isinstance(frame, GoAway):
                        return
                    await self._handle(frame)
        except (SpdyError, ConnectionError):
            pass  # the peer is gone
        finally:
            for stream in self._streams.values():
                stream.byte_queue.end()
                stream.closed = True

    async def send(self, frame: Frame) -> None:
        """Send a frame as a whole.

        Raises:
            ConnectionError: the peer is gone.
        """
        async with self._order:
            await self._pipe.write(self._framer.encode(frame))

    def remove_streams(self, *streams: Stream) -> None:
        """Remove finished streams to make room for others."""
        for stream in streams:
            stream.byte_queue.discard()
            self._streams.pop(stream.id, None)

    async def _handle(self, frame: Frame) -> None:
        match frame:
            case SynStream():
                await self._open(frame)
            case Data(number, data, final) if number in self._streams:
                await self._streams[number].byte_queue.put(data)
                if final:
                    self._streams[number].byte_queue.end()
            case RstStream(number) if number in self._streams:
                stream = self._streams.pop(number)
                stream.closed = True
                stream.byte_queue.end()
            case Ping(number) if number % 2:  # even ones are answers to pings of this side, which sends no pings
                await self.send(frame)

    async def _open(self, frame: SynStream) -> None:
        number = frame.stream
        if number <= self._last or number % 2 == 0:
            await self.send(RstStream(number, ResetReason.PROTOCOL_ERROR))
            return
        self._last = number
        stream = Stream(number, frame.headers, self.send)
        if len(self._streams) >= MAX_STREAMS or not self._opened(stream):
            await self.send(RstStream(number, ResetReason.REFUSED_STREAM))
            return
        self._streams[number] = stream
        if frame.final:
            stream.byte_queue.end()
        await self.send(SynReply(number))
