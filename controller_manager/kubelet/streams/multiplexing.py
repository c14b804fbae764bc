"""Many streams over one connection: SPDY/3.1 as kubectl speaks it, so without flow control (moby/spdystream)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller_manager.kubelet.streams.byte_queue import Inlet
from controller_manager.kubelet.streams.spdy import (
    Data,
    Frame,
    Framer,
    GoAway,
    Ping,
    Reset,
    RstStream,
    SpdyError,
    SynReply,
    SynStream,
)

PIECE = 32 * 1024
"""Bytes of a stream that are sent in one frame, so that streams take turns."""
STREAMS = 1000
"""How many streams a connection may have open at once."""


class Pipe(Protocol):
    """Bytes in both directions; whoever carries them."""

    async def read(self) -> bytes:
        """What came, b"" at the end."""

    async def write(self, data: bytes) -> None:
        """Send, and wait while the peer takes nothing.

        Raises:
            ConnectionError: the peer is gone.
        """


@dataclass(slots=True)
class Stream:
    """One stream of a connection, which the peer has opened.

    Attributes:
        headers: what the peer says of it, names in lower case.
        inlet: what the peer sends.
    """

    id: int
    headers: Mapping[str, str]
    send: Callable[[Frame], Awaitable[None]]
    inlet: Inlet = field(default_factory=Inlet)
    closed: bool = False

    async def write(self, data: bytes) -> None:
        """Send bytes; nothing once this side is closed."""
        for start in range(0, len(data), PIECE):
            if self.closed:
                return
            await self.send(Data(self.id, data[start : start + PIECE]))

    async def close(self) -> None:
        """Send no more."""
        if not self.closed:
            self.closed = True
            await self.send(Data(self.id, b"", final=True))

    async def reset(self, status: Reset = Reset.CANCEL) -> None:
        """End both directions at once."""
        self.inlet.discard()
        if not self.closed:
            self.closed = True
            await self.send(RstStream(self.id, status))


Opened = Callable[[Stream], bool]
"""Takes a stream that the peer opens, or refuses it."""


class Connection:
    """The server's side of a connection."""

    def __init__(self, pipe: Pipe, opened: Opened) -> None:
        self._pipe = pipe
        self._opened = opened
        self._framer = Framer()
        self._streams: dict[int, Stream] = {}
        self._last = 0
        self._order = asyncio.Lock()

    async def run(self) -> None:
        """Read until the peer closes, says goodbye, or sends what is no SPDY; then no stream gets anything more."""
        try:
            while data := await self._pipe.read():
                for frame in self._framer.feed(data):
                    if isinstance(frame, GoAway):
                        return
                    await self._take(frame)
        except (SpdyError, ConnectionError):
            pass  # there is nobody to tell
        finally:
            for stream in self._streams.values():
                stream.inlet.end()
                stream.closed = True

    async def send(self, frame: Frame) -> None:
        """Send a frame, whole and in its turn.

        Raises:
            ConnectionError: the peer is gone.
        """
        async with self._order:
            await self._pipe.write(self._framer.encode(frame))

    def forget(self, *streams: Stream) -> None:
        """Streams that are through make room for others."""
        for stream in streams:
            stream.inlet.discard()
            self._streams.pop(stream.id, None)

    async def _take(self, frame: Frame) -> None:
        match frame:
            case SynStream():
                await self._open(frame)
            case Data(number, data, final) if number in self._streams:
                await self._streams[number].inlet.put(data)
                if final:
                    self._streams[number].inlet.end()
            case RstStream(number) if number in self._streams:
                stream = self._streams.pop(number)
                stream.closed = True
                stream.inlet.end()
            case Ping(number) if number % 2:  # the others are answers to pings of this side, which sends none
                await self.send(frame)

    async def _open(self, frame: SynStream) -> None:
        number = frame.stream
        if number <= self._last or number % 2 == 0:
            await self.send(RstStream(number, Reset.PROTOCOL_ERROR))
            return
        self._last = number
        stream = Stream(number, frame.headers, self.send)
        if len(self._streams) >= STREAMS or not self._opened(stream):
            await self.send(RstStream(number, Reset.REFUSED_STREAM))
            return
        self._streams[number] = stream
        if frame.final:
            stream.inlet.end()
        await self.send(SynReply(number))
