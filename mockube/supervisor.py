"""A process that is kept alive: started again with growing patience when it dies or hangs, stopped with its keeper."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

log = logging.getLogger("mockube")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds until a process that died is started again; each time twice as long."""
CALM = 60.0
"""Seconds of life after which the waits begin anew."""
PATIENCE = 10.0
"""Seconds that a process may take to stop before it is killed."""
PULSE = 5.0
"""Seconds between two questions whether a process hangs."""
HUNG = 30.0
"""Seconds without an answer after which it does: it is killed, since clients would wait for it."""
UNUSABLE = 2
"""The exit code of a program that cannot do what its arguments ask: starting it again would not help."""


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Who is told what becomes of the process.

    Attributes:
        ready: of the first line that it prints, which it does when it is ready; again after each start.
        unusable: that it cannot do what its arguments ask and has said so; it is not started again.
    """

    ready: Callable[[str], None]
    unusable: Callable[[], None]


@asynccontextmanager
async def supervised(command: Sequence[str], told: Callbacks) -> AsyncIterator[None]:
    """A process for as long as the context lasts; its standard input ends when its keeper does, however that ends."""
    keeper = asyncio.ensure_future(_keep(command, told))
    try:
        yield
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper


async def _keep(command: Sequence[str], told: Callbacks) -> None:
    loop, wait, worked = asyncio.get_running_loop(), FIRST_WAIT, False

    def ready(line: str) -> None:
        nonlocal worked
        worked = True
        told.ready(line)

    while True:
        began = loop.time()
        code = await _run(command, ready)
        if code == UNUSABLE and not worked:  # what worked once will do so again
            told.unusable()
            return
        if loop.time() - began > CALM:
            wait = FIRST_WAIT
        log.warning("%s ended with exit code %d and is started again in %.1f s", _name(command), code, wait)
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT)


async def _run(command: Sequence[str], ready: Callable[[str], None]) -> int:
    """Start the process and see it end: its exit code, below 0 for a signal."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        if line := await process.stdout.readline():
            ready(line.decode(errors="replace").strip())
        ended = asyncio.ensure_future(process.wait())
        while not await _has_ended(ended):
            if not await _is_alive(process):
                log.warning("%s has given no sign of life for %.0f s and is killed", _name(command), HUNG)
                process.kill()
        return await ended
    finally:
        await asyncio.shield(_stop(process))


async def _has_ended(ended: "asyncio.Future[int]") -> bool:
    done, _ = await asyncio.wait([ended], timeout=PULSE)
    return bool(done)


async def _is_alive(process: asyncio.subprocess.Process) -> bool:
    """Whether a process says what it is told, or has ended, rather than to hang."""
    assert process.stdin is not None
    assert process.stdout is not None
    if process.stdin.is_closing():
        return True
    process.stdin.write(b"\n")
    try:
        async with asyncio.timeout(HUNG):
            await process.stdout.readline()
    except TimeoutError:
        return False
    return True


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _name(command: Sequence[str]) -> str:
    return command[command.index("-m") + 1] if "-m" in command else command[0]


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this installation."""
    return [sys.executable, "-m", module, *arguments]
