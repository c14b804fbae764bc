"""Joins two connections: after the handshake, all bytes are forwarded in both directions, without parsing."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Any, cast

MAX_HEAD_BYTES = 64 * 1024
READ_TIMEOUT = 30.0
"""Seconds that a backend has for the head of its response, and for the body if it declines to upgrade."""


@dataclass(frozen=True, slots=True)
class DeclinedUpgrade:
    """A response that does not upgrade the connection."""

    status: int
    body: bytes
    media: str


class Backend(asyncio.Protocol):
    """The connection to the backend: first the head of its response is read, then its bytes are relayed."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._changed = asyncio.Event()
        self._ended = False
        self._peer: Relay | None = None

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Forward bytes to the peer, or keep them until there is one."""
        if self._peer is not None:
            self._peer.write(data)
            return
        self._received += data
        if len(self._received) > MAX_HEAD_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the peer as well."""
        del exc  # in any case nothing more comes
        self._ended = True
        self._changed.set()
        if self._peer is not None:
            self._peer.close_write()

    def pause_writing(self) -> None:
        """Pause the peer: this side accepts no more for now."""
        if self._peer is not None:
            self._peer.pause()

    def resume_writing(self) -> None:
        """Resume the peer: this side accepts more again."""
        if self._peer is not None:
            self._peer.resume()

    # -- before the relay

    def write(self, data: bytes) -> None:
        """Send bytes to the backend."""
        if self._transport is not None:
            self._transport.write(data)

    async def status(self) -> int:
        """Return the status of the response, once its head is complete.

        Raises:
            EOFError: no response comes, or it is malformed.
        """
        await self._wait_until(lambda: b"\r\n\r\n" in self._received)
        words = bytes(self._received[:64]).split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise EOFError
        return int(words[1])

    async def declined(self, limit: int) -> DeclinedUpgrade:
        """Read a response to its end, or up to the limit, and return it.

        Raises:
            EOFError: it is malformed.
        """
        answer = self._parse_head()
        size = self._received.find(b"\r\n\r\n") + 4 + min(limit if answer.length is None else answer.length, limit)
        with suppress(TimeoutError):
            async with asyncio.timeout(READ_TIMEOUT):
                while len(self._received) < size and not self._ended and not self._is_last_chunk(answer):
                    self._changed.clear()
                    await self._changed.wait()
        answer = self._parse_head()
        try:
            return DeclinedUpgrade(answer.status, answer.read(limit), answer.headers.get("Content-Type", "text/plain"))
        except HTTPException as error:
            raise EOFError from error

    def _is_last_chunk(self, answer: HTTPResponse) -> bool:
        return bool(answer.chunked) and self._received.endswith(b"0\r\n\r\n")

    def _parse_head(self) -> HTTPResponse:
        answer = HTTPResponse(cast("Any", _ReceivedBytes(bytes(self._received))))
        try:
            answer.begin()
        except (HTTPException, ValueError) as error:
            raise EOFError from error
        return answer

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                while not condition():
                    if self._ended or len(self._received) > MAX_HEAD_BYTES:
                        raise EOFError
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise EOFError from error

    # -- the relay

    def relay(self, peer: "Relay") -> None:
        """Forward everything to a peer from now on, beginning with the response received so far, head included."""
        self._peer = peer
        peer.write(bytes(self._received))
        self._received.clear()
        self.resume()
        if self._ended:
            peer.close_write()

    def pause(self) -> None:
        """Stop reading for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resume reading."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection after the pending bytes are sent."""
        if self._transport is not None:
            self._transport.close()


class _ReceivedBytes:
    """Received bytes in the form that http.client reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> BytesIO:
        """Return the bytes as a file."""
        return BytesIO(self._data)


class Relay(asyncio.Protocol):
    """The client's connection, taken over from aiohttp, joined with a backend."""

    def __init__(self, transport: asyncio.Transport, before: asyncio.BaseProtocol, backend: Backend) -> None:
        self._transport = transport
        self._before = before
        self._backend = backend
        self._end = asyncio.Event()

    async def run(self) -> None:
        """Forward bytes in both directions until one of the sides ends."""
        self._transport.set_protocol(self)
        self._backend.relay(self)
        try:
            await self._end.wait()
        finally:
            self._transport.close()

    def write(self, data: bytes) -> None:
        """Send bytes to the client."""
        self._transport.write(data)

    def close_write(self) -> None:
        """End the relay: the backend has closed its connection."""
        self._end.set()

    def pause(self) -> None:
        """Stop reading for now."""
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resume reading."""
        if not self._transport.is_closing():
            self._transport.resume_reading()

    # -- what asyncio calls

    def data_received(self, data: bytes) -> None:
        """Forward bytes to the backend."""
        self._backend.write(data)

    def pause_writing(self) -> None:
        """Pause the backend: the client accepts no more for now."""
        self._backend.pause()

    def resume_writing(self) -> None:
        """Resume the backend: the client accepts more again."""
        self._backend.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the relay: the client has closed its connection."""
        self._end.set()
        self._before.connection_lost(exc)
