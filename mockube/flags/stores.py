"""Flags that choose a store, with the names and defaults of `mockube up` and `python -m apiserver`."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_PREFIX: Final = "/registry"


def default_data_dir() -> Path:
    """Return this user's own data directory, as the XDG base directory specification defines it."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "mockube"


def declare_store(command: argparse.ArgumentParser) -> None:
    """Add the flags that choose a store."""
    add = command.add_argument
    add("--data-dir", type=Path, metavar="DIR", help=f"where everything is kept (default: {default_data_dir()})")
    add(
        "--store",
        "--etcd-servers",
        default="sqlite",
        metavar="STORE",
        help="sqlite (default): in the data directory; sqlite:///DIRECTORY; or etcd at http://HOST:PORT,...",
    )
    declare_etcd(command)


def declare_etcd(command: argparse.ArgumentParser) -> None:
    """Add the flags that say how to reach etcd."""
    add = command.add_argument_group("etcd").add_argument
    add("--etcd-prefix", default=_PREFIX, metavar="PREFIX", help="the prefix of all keys (default: %(default)s)")
    add(
        "--etcd-cafile",
        type=Path,
        metavar="FILE",
        help="CA certificates that signed etcd's certificate (default: the system's)",
    )
    add("--etcd-certfile", type=Path, metavar="FILE", help="the client certificate for etcd")
    add("--etcd-keyfile", type=Path, metavar="FILE", help="the key of that certificate")
    add("--etcd-user", default="", metavar="NAME", help="the user of etcd")
    add("--etcd-password-file", type=Path, metavar="FILE", help="a file with that user's password")


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """End the block by SIGTERM as by Ctrl-C; it includes a command's imports, which take a while."""
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt(*_: Any) -> None:
    """End as by Ctrl-C, which cleans up; also if SIGINT is ignored, as for a script's background processes."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)
