"""`mockube up`: runs a cluster until Ctrl-C, on a store that outlives it."""

import argparse
import contextlib
import gc
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockube.commands.failures import fail, fail_on_file
from mockube.commands.stores import declare_etcd, default_data_dir

if TYPE_CHECKING:
    from apiserver.config import Config
    from mockube.control_plane import RunningControlPlane

_DESCRIPTION: Final = """\
Start a cluster and keep it until Ctrl-C or SIGTERM. It prints how to reach it.
What was stored is there again at the next start, unless the store is memory.
"""
_WORKING: Final = "The controllers{nodes} are at work after {seconds:.2f} s; {metrics}."
_EPILOG: Final = "exit code: 0 after a clean stop, 2 if it cannot start as asked"
_STORES: Final[Mapping[str, str]] = {"sqlite": "sqlite://{}", "memory": "memory://"}
"""The values of --store, with the data directory for the braces; anything else is a URL."""
_STARTED: Final = """\
Kubernetes {version} is ready at {url} after {seconds:.2f} s.

  export KUBECONFIG={kubeconfig}

{kept} Ctrl-C stops the cluster.
"""


def declare(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command and its flags to the command line."""
    command = commands.add_parser(
        "up",
        help="start a cluster and keep it until Ctrl-C",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data-dir", type=Path, metavar="DIR", help=f"where everything is kept (default: {default_data_dir()})")
    add("--store", default="sqlite", metavar="STORE", help="sqlite (default), memory, or etcd at http://HOST:PORT,...")
    add("--bind", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s, this machine)")
    add("--port", type=_port, default=6443, help="the port, 0 for any free one (default: %(default)s)")
    add(
        "--apiservers",
        type=_several,
        default=1,
        metavar="N",
        help="how many servers share the port, over etcd (default: 1)",
    )
    add("--kubeconfig", type=Path, metavar="FILE", help="add the cluster to this file (default: DIR/kubeconfig)")
    add("--kubernetes-version", default="", metavar="1.N", help="the release to be (default: the newest known)")
    add(
        "--no-unsupported-warnings",
        action="store_true",
        help="do not warn clients that write what is stored and not carried out",
    )
    add("-v", "--verbose", action="count", default=0, help="log every request to stderr")
    _declare_manager(command.add_argument_group("controllers and nodes"))
    declare_etcd(command)


def _declare_manager(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add("--nodes", type=_count, default=3, metavar="N", help="how many nodes to simulate (default: %(default)s)")
    add("--managers", type=_several, default=1, metavar="N", help="how many managers there are; one leads (default: 1)")
    add(
        "--controllers",
        default="*",
        metavar="NAMES",
        help="which controllers run: * for all (default), NAME for one, -NAME for all but one; "
        "*,-scheduler,-kubelet leaves pods to others",
    )
    add("--api-only", action="store_true", help="run the API server alone: nothing makes pods, or runs them")
    add("--no-kruise", action="store_true", help="do without OpenKruise's workloads (apps.kruise.io)")
    add(
        "--metrics-port",
        type=_port,
        metavar="PORT",
        help="where the controllers' metrics are (default: 10252, or any free one where that is taken)",
    )
    add(
        "--manager-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="a flag for the manager, such as --manager-flag=-v=1; python -m controller_manager --help lists them",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until a signal comes and return the exit code."""
    started = time.perf_counter()
    gc.disable()  # hardly any object of a start is garbage: looking for it costs a tenth of the time
    from apiserver.component_base.process import run as run_loop
    from apiserver.config import ConfigError
    from mockube.files import InUseError
    from mockube.kubeconfig import KubeconfigError

    try:
        stop = ExitCode()
        run_loop(_up(options, started, stop))
    except (ConfigError, InUseError, KubeconfigError) as error:
        return fail(error)
    except OSError as error:
        return fail_on_file(error, "name a place that can be written with --data-dir")
    except KeyboardInterrupt:  # before there was anything to stop
        return 130
    return stop.code


@dataclass(slots=True)
class ExitCode:
    """The outcome of the command.

    Attributes:
        code: the exit code.
    """

    code: int = 0


async def _up(options: argparse.Namespace, started: float, outcome: ExitCode) -> None:
    from apiserver.__main__ import set_up_logging
    from apiserver.component_base.process import spare_collector, stop_signal
    from apiserver.config import Config, check, etcd_of
    from mockube.control_plane import control_plane
    from mockube.servers import check_shared

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
    options: argparse.Namespace, running: "RunningControlPlane", config: "Config", unusable: Callable[[], None]
) -> contextlib.AbstractAsyncContextManager[None]:
    """Run the other servers; the user hears of them only if they cannot run."""
    from mockube.servers import more_servers
    from mockube.supervisor import Callbacks

    return more_servers(running, config, options.apiservers - 1, Callbacks(lambda _: None, unusable), options.verbose)


def _controllers(
    options: argparse.Namespace,
    running: "RunningControlPlane",
    started: float,
    unusable: Callable[[], None],
    number: int,
) -> contextlib.AbstractAsyncContextManager[None]:
    """Run one controller manager; it reports when it is at work, or that it cannot run."""
    from mockube.manager import ManagerOptions, manager_process
    from mockube.supervisor import Callbacks

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
        print(_working(line, seconds=time.perf_counter() - started), flush=True)

    return manager_process(running, manager_options, Callbacks(ready=report_ready, unusable=unusable))


def _working(line: str, *, seconds: float) -> str:
    """Return the line to print when the manager reports that it is ready, with its nodes and where its metrics are."""
    ready, _, metrics = line.partition(", ")
    return _WORKING.format(
        nodes=ready.removeprefix("ready").replace(" with ", " and "), seconds=seconds, metrics=metrics
    )


def _greeting(running: "RunningControlPlane", *, kept: bool, seconds: float) -> str:
    return _STARTED.format(
        version=running.version,
        url=running.url,
        seconds=seconds,
        kubeconfig=shlex.quote(str(running.kubeconfig)),
        kept=f"Data is kept in {running.directory}." if kept else "Nothing is kept.",
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no number of nodes: give 0 or more")
    return int(text)


def _several(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text} is no number of processes: give 1 or more")
    return int(text)


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text} is no port: give a number from 0 to 65535")
    return int(text)
