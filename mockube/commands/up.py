"""`mockube up`: runs a cluster until Ctrl-C, on a store that outlives it."""

import argparse
import contextlib
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from apiserver.__main__ import set_up_logging
from apiserver.component_base.process import run, spare_collector, stop_signal
from apiserver.config import Config, ConfigError, check, etcd_of, listed_names
from mockube.control_plane import RunningControlPlane, control_plane
from mockube.failures import fail, fail_on_file
from mockube.files import InUseError
from mockube.flags.stores import default_data_dir
from mockube.kubeconfig import KubeconfigError
from mockube.manager import ManagerOptions, manager_process
from mockube.servers import check_shared, more_servers
from mockube.supervisor import Callbacks

_WORKING: Final = "The controllers{nodes} are at work after {seconds:.2f} s; {metrics}."
_STORES: Final[Mapping[str, str]] = {"sqlite": "sqlite://{}", "memory": "memory://"}
"""The values of --store, with the data directory for the braces; anything else is a URL."""
_STARTED: Final = """\
Kubernetes {version} is ready at {url} after {seconds:.2f} s.

  export KUBECONFIG={kubeconfig}

{kept} Ctrl-C stops the cluster.
"""


def serve(options: argparse.Namespace, started: float) -> int:
    """Serve until a signal comes and return the exit code; `started` is when the command began."""
    try:
        stop = ExitCode()
        run(_up(options, started, stop))
    except (ConfigError, InUseError, KubeconfigError) as error:
        return fail(error)
    except OSError as error:
        return fail_on_file(error, "name a place that can be written with --data-dir")
    return stop.code


@dataclass(slots=True)
class ExitCode:
    """The outcome of the command.

    Attributes:
        code: the exit code.
    """

    code: int = 0


async def _up(options: argparse.Namespace, started: float, outcome: ExitCode) -> None:
    set_up_logging(options.verbose)
    stop = stop_signal()
    directory = (options.data_dir or default_data_dir()).expanduser().absolute()
    store = _STORES[options.store].format(directory) if options.store in _STORES else options.store
    config = Config(
        store=store,
        etcd=etcd_of(options),
        bind_address=options.bind,
        secure_port=options.port,
        kubernetes_version=options.kubernetes_version.removeprefix("v"),
        enable_admission_plugins=listed_names(options.enable_admission_plugins),
        disable_admission_plugins=listed_names(options.disable_admission_plugins),
        empties_namespaces=options.api_only,
        kruise=not (options.api_only or options.no_kruise),
        warn_unsupported=not options.no_unsupported_warnings,
    )
    config = replace(check(config), permit_port_sharing=options.apiservers > 1)
    check_shared(config, options.apiservers)
    async with control_plane(config, directory, kubeconfig=options.kubeconfig) as running:
        spare_collector()
        greeting = _greeting(running, kept=not store.startswith("memory://"), seconds=time.perf_counter() - started)
        print(greeting, end="", flush=True)

        def unusable() -> None:
            outcome.code = 2
            stop.set()

        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(_servers(options, running, config, unusable))
            if not options.api_only:
                for number in range(options.managers):
                    await stack.enter_async_context(_controllers(options, running, started, unusable, number))
            await stop.wait()


def _servers(
    options: argparse.Namespace, running: RunningControlPlane, config: Config, unusable: Callable[[], None]
) -> contextlib.AbstractAsyncContextManager[None]:
    """Run the other servers; the user hears of them only if they cannot run."""
    return more_servers(running, config, options.apiservers - 1, Callbacks(lambda _: None, unusable), options.verbose)


def _controllers(
    options: argparse.Namespace, running: RunningControlPlane, started: float, unusable: Callable[[], None], number: int
) -> contextlib.AbstractAsyncContextManager[None]:
    """Run one controller manager; it reports when it is at work, or that it cannot run."""
    port = options.metrics_port
    if number or (port is None and not options.port):
        port = 0
    manager_options = ManagerOptions(
        nodes=options.nodes,
        controllers=options.controllers,
        metrics_port=port,
        elect_leader=options.managers > 1,
        extra_flags=tuple(options.manager_flag),
        verbosity=options.verbose,
    )

    def report_ready(line: str) -> None:
        print(_ready_line(line, seconds=time.perf_counter() - started), flush=True)

    return manager_process(running, manager_options, Callbacks(ready=report_ready, unusable=unusable))


def _ready_line(line: str, *, seconds: float) -> str:
    """Return the line to print when the manager reports that it is ready, with its nodes and where its metrics are."""
    ready, _, metrics = line.partition(", ")
    return _WORKING.format(
        nodes=ready.removeprefix("ready").replace(" with ", " and "), seconds=seconds, metrics=metrics
    )


def _greeting(running: RunningControlPlane, *, kept: bool, seconds: float) -> str:
    return _STARTED.format(
        version=running.version,
        url=running.url,
        seconds=seconds,
        kubeconfig=shlex.quote(str(running.kubeconfig)),
        kept=f"Data is kept in {running.directory}." if kept else "Nothing is kept.",
    )
