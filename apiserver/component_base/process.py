"""A service as a process: its event loop, what stops it, its garbage collector and its exit codes."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

UNUSABLE = 2
"""The exit code if the settings are invalid: to start the service again would not help."""
GARBAGE = (50_000, 20, 50)
"""The thresholds of gc.set_threshold: requests make hardly any cycles, and the objects of stores and caches live long,
so that collecting the oldest generation would stop the service for nothing."""


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end on a new event loop."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes event loops: uvloop if it is installed, else None, which means asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        return None
    return uvloop.new_event_loop


def stop_signal(*, with_input: bool = False) -> asyncio.Event:
    """Return an event that SIGINT, SIGTERM and perhaps the end of input set, instead of ending the process."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    if with_input:
        loop.add_reader(0, _read_input, loop, stop)
    return stop


def _read_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Echo standard input, by which supervisors know that this process does not hang; stop at its end."""
    if data := os.read(0, 4096):
        os.write(1, data)
    else:
        loop.remove_reader(0)
        stop.set()


def print_ready(line: str) -> None:
    """Print a line that says that the service is ready, for which supervisors wait."""
    print(line, flush=True)  # noqa: T201 - supervisors read it


def spare_collector() -> None:
    """Exclude all present objects from garbage collection, and collect later ones rarely."""
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


def fail(program: str, message: object, *, code: int = UNUSABLE) -> int:
    """Print why a service ends, and return its exit code."""
    print(f"{program}: {message}", file=sys.stderr)  # noqa: T201 - a person reads this
    return code
