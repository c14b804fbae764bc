"""`python -m controller_manager`: the controllers by themselves, with kube-controller-manager's flags."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from apiserver.api.logfmt import Lines
from controller_manager.config import Config, ConfigError
from controller_manager.flags import from_arguments
from controller_manager.manager import managing
from controller_manager.runtime.kubeconfig import AccessError, in_cluster, load
from controller_manager.runtime.leader_election import LeadLostError

log = logging.getLogger("controller_manager")

GARBAGE = (50_000, 20, 50)
"""The numbers of objects and collections after which the garbage collector looks at the next older generation for
cycles: the caches' objects live long and have none.
"""
LEVELS = {0: logging.WARNING, 1: logging.INFO}
"""The log level by -v; anything above is DEBUG."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal arrives; return 2 if a setting is invalid, 1 if the leadership was lost."""
    try:
        config, verbosity = from_arguments(arguments)
        set_up_logging(verbosity)
        run(serve(config))
    except (ConfigError, AccessError) as error:
        print(f"controller_manager: {error}", file=sys.stderr)  # noqa: T201 - a person reads this
        return 2
    except LeadLostError as error:
        print(f"controller_manager: {error}; this one ends", file=sys.stderr)  # noqa: T201 - a person reads this
        return 1
    return 0


async def serve(config: Config) -> None:
    """Run until SIGINT, SIGTERM, or the end of standard input if the settings say so.

    Raises:
        AccessError: the kubeconfig, or the pod's credentials, are invalid.
        ConfigError: the address of the metrics or of the kubelets is not available.
        LeadLostError: another manager may lead now.
    """
    stop = _stop_signal(with_input=config.until_stdin_ends)
    access = load(config.kubeconfig, config.context) if config.kubeconfig else in_cluster(os.environ)
    gc.disable()  # hardly anything that is created during the start is garbage
    async with managing(config, access) as manager:
        await _first(stop.wait(), manager.until_ready())
        if not stop.is_set():
            gc.freeze()
            gc.set_threshold(*GARBAGE)
            gc.enable()
            print(_ready(config.nodes, manager.metrics_url), flush=True)  # noqa: T201 - supervisors wait for it
        await stop.wait()


def _ready(nodes: int, metrics_url: str) -> str:
    """Return the line that is printed when the controllers work."""
    simulated = f" with {nodes} simulated node{'' if nodes == 1 else 's'}" if nodes else ""
    return f"ready{simulated}, metrics at {metrics_url or 'no address'}"


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until the first of the coroutines is done."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _stop_signal(*, with_input: bool) -> asyncio.Event:
    """Return an event that is set by SIGINT and SIGTERM, and by the end of standard input if requested."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    if with_input:
        loop.add_reader(0, _read_input, loop, stop)
    return stop


def _read_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Echo standard input, so that supervisors know that this process does not hang; at its end, set the event."""
    if data := os.read(0, 4096):
        os.write(1, data)
    else:
        loop.remove_reader(0)
        stop.set()


def set_up_logging(verbosity: int) -> None:
    """Log structured lines to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=LEVELS.get(verbosity, logging.DEBUG), handlers=[handler])


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop if it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


if __name__ == "__main__":
    sys.exit(main())
