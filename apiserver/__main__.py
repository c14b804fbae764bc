"""`python -m apiserver`: the service by itself, with kube-apiserver's flags."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from apiserver.api.logfmt import Lines
from apiserver.app import serving
from apiserver.config import Config, ConfigError, from_arguments

log = logging.getLogger("apiserver")

GARBAGE = (50_000, 20, 50)
"""The thresholds of gc.set_threshold: requests make hardly any cycles, and stored objects live long, so that collecting
the oldest generation would stop the server for nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return the exit code, 2 if the settings are invalid."""
    try:
        config, verbosity = from_arguments(arguments)
        set_up_logging(verbosity)
        run(serve(config))
    except ConfigError as error:
        print(f"apiserver: {error}", file=sys.stderr)  # noqa: T201 - a person reads this
        return 2
    return 0


def set_up_logging(verbosity: int) -> None:
    """Log structured lines to stderr; from verbosity 1 on, one for every request."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("apiserver.access").setLevel(logging.INFO if verbosity > 0 else logging.WARNING)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop if it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


async def serve(config: Config) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = stop_signal(with_input=config.until_stdin_ends)
    gc.disable()  # a start makes hardly any garbage
    async with serving(config) as running:
        spare_collector()
        log.info("serving Kubernetes %s at %s", config.version, running.url)
        if config.until_stdin_ends:
            print(f"ready at {running.url}", flush=True)  # noqa: T201 - supervisors wait for it
        await stop.wait()


def spare_collector() -> None:
    """Exclude all present objects from garbage collection, and collect later ones rarely."""
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    gc.enable()


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
    """Echo standard input, by which supervisors know that this process is alive; stop at its end."""
    if data := os.read(0, 4096):
        os.write(1, data)
    else:
        loop.remove_reader(0)
        stop.set()


if __name__ == "__main__":
    sys.exit(main())
