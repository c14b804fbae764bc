"""Two connections made one: after the handshake, what one side sends the other gets, and neither is read into."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Any, cast

LONGEST_HEAD = 64 * 1024
PATIENCE = 30.0
"""Seconds that a backend has for the head of its answer, and for the body of one that declines."""


@dataclass(frozen=True, slots=True)
class Declined:
    """An answer that changes no protocol."""

    status: int
    body: bytes
    media: str


class Backend(asyncio.Protocol):
    """The connection to who answers: first its answer is read, then it is relayed."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._changed = asyncio.Event()
        self._ended = False
        self._peer: Relay | None = None

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._peer is not None:
            self._peer.write(data)
            return
        self._received += data
        if len(self._received) > LONGEST_HEAD and self._transport is not None:
            self._transport.pause_reading()
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        del exc  # whatever it was, nothing more comes
        self._ended = True
        self._changed.set()
        if self._peer is not None:
            self._peer.end()

    def pause_writing(self) -> None:
        """The other side takes no more for now."""
        if self._peer is not None:
            self._peer.pause()

    def resume_writing(self) -> None:
        """The other side takes more again."""
        if self._peer is not None:
            self._peer.resume()

    # -- before the relay

    def write(self, data: bytes) -> None:
        """Send."""
        if self._transport is not None:
            self._transport.write(data)

    async def status(self) -> int:
        """Return the status of the answer, once its head is there.

        Raises:
            EOFError: none comes, or something else.
        """
        await self._until(lambda: b"\r\n\r\n" in self._received)
        words = bytes(self._received[:64]).split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise EOFError
        return int(words[1])

    async def declined(self, limit: int) -> Declined:
        """Return an answer that is read to its end, or as far as the limit.

        Raises:
            EOFError: it is none.
        """
        answer = self._parsed()
        wanted = self._received.find(b"\r\n\r\n") + 4 + min(limit if answer.length is None else answer.length, limit)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while len(self._received) < wanted and not self._ended and not self._is_last_chunk(answer):
                    self._changed.clear()
                    await self._changed.wait()
        answer = self._parsed()
        try:
            return Declined(answer.status, answer.read(limit), answer.headers.get("Content-Type", "text/plain"))
        except HTTPException as error:
            raise EOFError from error

    def _is_last_chunk(self, answer: HTTPResponse) -> bool:
        return bool(answer.chunked) and self._received.endswith(b"0\r\n\r\n")

    def _parsed(self) -> HTTPResponse:
        answer = HTTPResponse(cast("Any", _Received(bytes(self._received))))
        try:
            answer.begin()
        except (HTTPException, ValueError) as error:
            raise EOFError from error
        return answer

    async def _until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    if self._ended or len(self._received) > LONGEST_HEAD:
                        raise EOFError
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise EOFError from error

    # -- the relay

    def relay(self, peer: "Relay") -> None:
        """From now on everything goes to a peer: first what has come already, the answer with its head included."""
        self._peer = peer
        peer.write(bytes(self._received))
        self._received.clear()
        self.resume()
        if self._ended:
            peer.end()

    def pause(self) -> None:
        """Read no more for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """End the connection, after what is still to be sent."""
        if self._transport is not None:
            self._transport.close()


class _Received:
    """Bytes as http.client wants to read them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> BytesIO:
        """Return the bytes as a file."""
        return BytesIO(self._data)


class Relay(asyncio.Protocol):
    """The client's connection, taken over from aiohttp, and what it is joined with."""

    def __init__(self, transport: asyncio.Transport, before: asyncio.BaseProtocol, backend: Backend) -> None:
        self._transport = transport
        self._before = before
        self._backend = backend
        self._end = asyncio.Event()

    async def run(self) -> None:
        """ProxyHandler bytes in both directions until one of the sides ends."""
        self._transport.set_protocol(self)
        self._backend.relay(self)
        try:
            await self._end.wait()
        finally:
            self._transport.close()

    def write(self, data: bytes) -> None:
        """What the backend sends."""
        self._transport.write(data)

    def end(self) -> None:
        """The backend has ended."""
        self._end.set()

    def pause(self) -> None:
        """Read no more for now."""
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if not self._transport.is_closing():
            self._transport.resume_reading()

    # -- what asyncio calls

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._backend.write(data)

    def pause_writing(self) -> None:
        """The other side takes no more for now."""
        self._backend.pause()

    def resume_writing(self) -> None:
        """The other side takes more again."""
        self._backend.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._end.set()
        self._before.connection_lost(exc)
