"""`python -m controller_manager`: the controllers by themselves, with kube-controller-manager's flags."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from apiserver.component_base.logs import log_to_stderr
from apiserver.component_base.process import fail, print_ready, run, spare_collector, stop_signal
from controller_manager.config import Config, ConfigError
from controller_manager.flags import from_arguments
from controller_manager.manager import run_manager
from controller_manager.runtime.kubeconfig import ClientConfigError, in_cluster, load_kubeconfig
from controller_manager.runtime.leader_election import LeaseLostError

LEVELS = {0: logging.WARNING, 1: logging.INFO}
"""The log level by -v; anything above is DEBUG."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal arrives; return 2 if a setting is invalid, 1 if the leadership was lost."""
    try:
        config, verbosity = from_arguments(arguments)
        log_to_stderr(LEVELS.get(verbosity, logging.DEBUG))
        run(serve(config))
    except (ConfigError, ClientConfigError) as error:
        return fail("controller_manager", error)
    except LeaseLostError as error:
        return fail("controller_manager", f"{error}; this one ends", code=1)
    return 0


async def serve(config: Config) -> None:
    """Run until SIGINT, SIGTERM, or the end of standard input if the settings say so.

    Raises:
        ClientConfigError: the kubeconfig, or the pod's credentials, are invalid.
        ConfigError: the address of the metrics or of the kubelets is not available.
        LeaseLostError: another manager may lead now.
    """
    stop = stop_signal(with_input=config.until_stdin_ends)
    access = load_kubeconfig(config.kubeconfig, config.context) if config.kubeconfig else in_cluster(os.environ)
    gc.disable()  # hardly anything that is created during the start is garbage
    async with run_manager(config, access) as manager:
        await _first(stop.wait(), manager.wait_until_ready())
        if not stop.is_set():
            spare_collector()
            print_ready(_ready(config.nodes, manager.metrics_url))
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


if __name__ == "__main__":
    sys.exit(main())
