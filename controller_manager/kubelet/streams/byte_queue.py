"""A bounded queue of bytes, in which a sender waits for a slow reader."""

import asyncio
from collections import deque

MAX_WAITING = 256 * 1024
"""The bytes that may wait in the queue."""


class ByteQueue:
    """Bytes from one sender to one reader.

    Attributes:
        ended: True if nothing more will be added.
    """

    def __init__(self, room: int = MAX_WAITING) -> None:
        self._room = room
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._discarding = False
        self._changed = asyncio.Event()
        self.ended = False

    async def put(self, data: bytes) -> None:
        """Add bytes, then wait until there is room; after the end, or if nobody reads, they are dropped."""
        if data and not (self.ended or self._discarding):
            self._waiting.append(data)
            self._size += len(data)
            self._notify()
        while self._size > self._room and not self._discarding:
            await self._change()

    def end(self) -> None:
        """End the queue: nothing more will be added."""
        self.ended = True
        self._notify()

    def discard(self) -> None:
        """Drop what is in the queue and what will be added, since nobody reads any more."""
        self._discarding = True
        self._waiting.clear()
        self._size = 0
        self.end()

    async def read(self) -> bytes:
        """Return the next bytes, b"" at the end."""
        while not self._waiting:
            if self.ended:
                return b""
            await self._change()
        data = self._waiting.popleft()
        self._size -= len(data)
        self._notify()
        return data

    def _notify(self) -> None:
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
