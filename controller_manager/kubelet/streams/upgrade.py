"""Connections taken over from HTTP: after the answer 101 their bytes belong to another protocol."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

PIECE = 64 * 1024
"""The bytes that are read at once."""


class RawConnection:
    """The bytes of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """Return received bytes, b"" at the end."""
        try:
            return await self._reader.read(PIECE)
        except ConnectionError:
            return b""

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the peer does not receive them.

        Raises:
            ConnectionError: the peer is gone.
        """
        self._writer.write(data)
        await self._writer.drain()


class _UpgradedReader(asyncio.StreamReaderProtocol):
    """Replaces aiohttp's protocol as the reader, and still passes on the end of the connection to it."""

    def __init__(self, reader: asyncio.StreamReader, before: asyncio.BaseProtocol) -> None:
        super().__init__(reader)
        self._before = before

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._before.connection_lost(exc)


@asynccontextmanager
async def take_over(request: web.BaseRequest, headers: Mapping[str, str]) -> AsyncIterator[RawConnection]:
    """Take over the connection of a request, after the answer that changes its protocol; close it at the end.

    Raises:
        ConnectionError: the client is gone already.
    """
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client is gone")
    reader = asyncio.StreamReader()
    protocol = _UpgradedReader(reader, request.protocol)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    writer = asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 101 Switching Protocols\r\n{head}\r\n".encode())
    try:
        yield RawConnection(reader, writer)
    finally:
        transport.close()
