"""A supervised process: restarted with growing delays when it dies or hangs, stopped with its supervisor."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from apiserver.component_base.process import UNUSABLE

log = logging.getLogger("mockube")

BASE_DELAY, MAX_DELAY = 0.5, 30.0
"""Seconds until a process that died is restarted; doubled each time, up to the longest wait."""
RESET_AFTER = 60.0
"""Seconds of life after which the delays begin at the first one again."""
STOP_TIMEOUT = 10.0
"""Seconds that a process may take to stop before it is killed."""
CHECK_INTERVAL = 5.0
"""Seconds between two checks whether a process hangs."""
HANG_TIMEOUT = 30.0
"""Seconds without an answer after which a process counts as hung and is killed, since clients would wait for it."""


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Callbacks for what becomes of the process.

    Attributes:
        ready: called with the first line that it prints, which means that it is ready; again after each start.
        unusable: called if it cannot do what its arguments ask and has said so; it is not restarted.
    """

    ready: Callable[[str], None]
    unusable: Callable[[], None]


@asynccontextmanager
async def supervise(command: Sequence[str], callbacks: Callbacks) -> AsyncIterator[None]:
    """Run a process for as long as the context lasts; its standard input ends with this process, however that ends."""
    supervisor = asyncio.ensure_future(_restart_forever(command, callbacks))
    try:
        yield
    finally:
        supervisor.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await supervisor


async def _restart_forever(command: Sequence[str], callbacks: Callbacks) -> None:
    loop, wait, worked = asyncio.get_running_loop(), BASE_DELAY, False

    def ready(line: str) -> None:
        nonlocal worked
        worked = True
        callbacks.ready(line)

    while True:
        started = loop.time()
        code = await _run(command, ready)
        if code == UNUSABLE and not worked:  # a command that has worked once will work again
            callbacks.unusable()
            return
        if loop.time() - started > RESET_AFTER:
            wait = BASE_DELAY
        log.warning("%s ended with exit code %d and is started again in %.1f s", _name(command), code, wait)
        await asyncio.sleep(wait)
        wait = min(wait * 2, MAX_DELAY)


async def _run(command: Sequence[str], ready: Callable[[str], None]) -> int:
    """Run the process to its end and return its exit code, below 0 for a signal."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        if line := await process.stdout.readline():
            ready(line.decode(errors="replace").strip())
        ended = asyncio.ensure_future(process.wait())
        while not await _has_ended(ended):
            if not await _is_alive(process):
                log.warning("%s has given no sign of life for %.0f s and is killed", _name(command), HANG_TIMEOUT)
                process.kill()
        return await ended
    finally:
        await asyncio.shield(_stop(process))


async def _has_ended(ended: "asyncio.Future[int]") -> bool:
    done, _ = await asyncio.wait([ended], timeout=CHECK_INTERVAL)
    return bool(done)


async def _is_alive(process: asyncio.subprocess.Process) -> bool:
    """Return True if a process answers a line on its standard input or has ended; False if it hangs."""
    assert process.stdin is not None
    assert process.stdout is not None
    if process.stdin.is_closing():
        return True
    process.stdin.write(b"\n")
    try:
        async with asyncio.timeout(HANG_TIMEOUT):
            await process.stdout.readline()
    except TimeoutError:
        return False
    return True


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _name(command: Sequence[str]) -> str:
    return command[command.index("-m") + 1] if "-m" in command else command[0]


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this installation."""
    return [sys.executable, "-m", module, *arguments]
