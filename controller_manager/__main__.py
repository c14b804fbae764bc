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
"""How many objects, and how many rounds, bring the collector to look at the next older generation for cycles: what
caches hold lives long and has none."""
LEVELS = {0: logging.WARNING, 1: logging.INFO}
"""What -v means; anything above is DEBUG."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Work until a signal comes; the exit code is 2 where the settings cannot be used, 1 where the lead was lost."""
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
    """Work until SIGINT, SIGTERM, or the end of standard input if the settings say so.

    Raises:
        AccessError: the way to the server cannot be understood.
        ConfigError: the address of the metrics, or that of the kubelets, cannot be had.
        LeadLostError: another manager may lead now.
    """
    stop = _stop_signal(with_input=config.until_stdin_ends)
    access = load(config.kubeconfig, config.context) if config.kubeconfig else in_cluster(os.environ)
    gc.disable()  # hardly anything that a start makes is garbage
    async with managing(config, access) as manager:
        await _first(stop.wait(), manager.until_ready())
        if not stop.is_set():
            gc.freeze()
            gc.set_threshold(*GARBAGE)
            gc.enable()
            print(_ready(config.nodes, manager.metrics_url), flush=True)  # noqa: T201 - supervisors wait for it
        await stop.wait()


def _ready(nodes: int, metrics_url: str) -> str:
    """The line that is told when the controllers work."""
    simulated = f" with {nodes} simulated node{'' if nodes == 1 else 's'}" if nodes else ""
    return f"ready{simulated}, metrics at {metrics_url or 'no address'}"


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of them is done."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _stop_signal(*, with_input: bool) -> asyncio.Event:
    """An event that SIGINT and SIGTERM set from now on, and the end of standard input if asked for."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    if with_input:
        loop.add_reader(0, _read_input, loop, stop)
    return stop


def _read_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Say what standard input says, by which keepers know that this process does not hang; its end is the signal."""
    if said := os.read(0, 4096):
        os.write(1, said)
    else:
        loop.remove_reader(0)
        stop.set()


def set_up_logging(verbosity: int) -> None:
    """Structured lines to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=LEVELS.get(verbosity, logging.DEBUG), handlers=[handler])


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where it installs."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some systems
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


if __name__ == "__main__":
    sys.exit(main())
