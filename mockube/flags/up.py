"""The flags of `mockube up`."""

import argparse
import gc
import time
from pathlib import Path
from typing import Any, Final

from mockube.flags.stores import declare_etcd, default_data_dir

_DESCRIPTION: Final = """\
Start a cluster and keep it until Ctrl-C or SIGTERM. It prints how to reach it.
What was stored is there again at the next start, unless the store is memory.
"""
_EPILOG: Final = "exit code: 0 after a clean stop, 2 if it cannot start as asked"


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
        help="do not warn clients that write objects which are stored but have no effect",
    )
    for verb, which in (("enable", "that are off by default"), ("disable", "that are on by default")):
        flag, words = f"--{verb}-admission-plugins", f"{verb} admission plug-ins {which}, such as"
        add(flag, action="append", default=[], metavar="NAMES", help=f"{words} Priority,AlwaysDeny")
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
    try:
        from mockube.commands.up import serve  # the one command that runs: help and errors come without it

        return serve(options, started)
    except KeyboardInterrupt:  # before there was anything to stop
        return 130


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
