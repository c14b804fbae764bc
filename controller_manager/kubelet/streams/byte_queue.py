"""What somebody sends, waiting to be read: bounded, so that a sender waits for a reader that is slow."""

import asyncio
from collections import deque

ROOM = 256 * 1024
"""Bytes that may wait."""


class Inlet:
    """Bytes from one sender to one reader.

    Attributes:
        ended: nothing more comes.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._discarding = False
        self._changed = asyncio.Event()
        self.ended = False

    async def put(self, data: bytes) -> None:
        """Add bytes, once there is room; what comes after the end, or is not wanted, is dropped."""
        if data and not (self.ended or self._discarding):
            self._waiting.append(data)
            self._size += len(data)
            self._tell()
        while self._size > self._room and not self._discarding:
            await self._change()

    def end(self) -> None:
        """Nothing more comes."""
        self.ended = True
        self._tell()

    def discard(self) -> None:
        """Nobody reads any more: drop what is there and what comes."""
        self._discarding = True
        self._waiting.clear()
        self._size = 0
        self.end()

    async def read(self) -> bytes:
        """The next bytes, b"" at the end."""
        while not self._waiting:
            if self.ended:
                return b""
            await self._change()
        data = self._waiting.popleft()
        self._size -= len(data)
        self._tell()
        return data

    def _tell(self) -> None:
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
