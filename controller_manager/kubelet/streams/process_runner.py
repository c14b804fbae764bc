"""Runs simulated processes in real time: performs their system calls over a connection."""

import asyncio
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from controller_manager.kubelet.container.syscalls import (
    ERR,
    INTERRUPTED,
    MISUSE,
    OUT,
    InterruptedByUser,
    Now,
    Process,
    Read,
    Sleep,
    Write,
    Yield,
)
from controller_manager.runtime.clock import Clock

T = TypeVar("T")

MAX_BUSY_TURNS = 1000
"""The number of turns in a row after which a process that does nothing else is slowed down."""
BUSY_SLEEP = 0.01
MAX_TURNS_PER_SEND, BLOCK = 20, 16 * 1024
"""The turns, and bytes, after which output is sent; turns are short."""


class Streams(Protocol):
    """The standard streams of a process."""

    async def read(self) -> bytes:
        """Return more input, b"" at its end."""

    async def write(self, fd: int, data: bytes) -> None:
        """Write output.

        Raises:
            ConnectionError: the reader is gone.
        """


class ProcessRunner:
    """Runs one process, which another task may interrupt."""

    def __init__(self, streams: Streams, clock: Clock) -> None:
        self._streams = streams
        self._clock = clock
        self._scope: asyncio.Timeout | None = None
        self._interrupted = False
        self._turns = 0
        self._unsent: dict[int, bytearray] = {OUT: bytearray(), ERR: bytearray()}

    def interrupt(self) -> None:
        """Interrupt like Ctrl-C: what the process waits for raises an exception in it."""
        self._interrupted = True
        if self._scope is not None and self._scope.when() is None:
            self._scope.reschedule(asyncio.get_running_loop().time())

    async def run(self, process: Process) -> int:
        """Run a process to its end; return its exit code.

        Raises:
            ConnectionError: its output cannot be delivered.
        """
        answer: bytes | float | None = None
        try:
            while True:
                if self._interrupted:
                    self._interrupted = False
                    effect = process.throw(InterruptedByUser())
                else:
                    effect = process.send(answer)
                answer = await self._perform(effect)
        except StopIteration as end:
            code = end.value
        except InterruptedByUser:
            code = INTERRUPTED
        except (RecursionError, MemoryError):
            self._unsent[ERR] += b"out of memory\n"
            code = MISUSE
        finally:
            process.close()
        await self._send()
        return int(code)

    async def _perform(self, effect: Read | Write | Sleep | Now | Yield) -> bytes | float | None:
        match effect:
            case Yield():
                self._turns += 1
                if self._turns % MAX_TURNS_PER_SEND == 0:
                    await self._send()
                    await self._clock.sleep(BUSY_SLEEP if self._turns % MAX_BUSY_TURNS == 0 else 0)
            case Write(fd, data):
                if self._unsent[ERR if fd == OUT else OUT]:
                    await self._send()  # on a terminal both are one
                self._unsent[fd] += data
                if len(self._unsent[fd]) >= BLOCK:
                    await self._send()
            case Now():
                return self._clock.now()
            case Read():
                await self._send()
                return await self._interruptible(self._streams.read())
            case Sleep(seconds):
                await self._send()
                await self._interruptible(self._clock.sleep(seconds))
        return None

    async def _send(self) -> None:
        """Send the output so far, which is collected from small pieces."""
        for fd, unsent in self._unsent.items():
            if unsent:
                data = bytes(unsent)
                unsent.clear()
                await self._streams.write(fd, data)

    async def _interruptible(self, wait: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(None) as self._scope:
                return await wait
        except TimeoutError:
            return None  # the interrupt is thrown into the process next
        finally:
            self._scope = None
