"""The store that a command works on: flags with the names and defaults of `mockube up` and `python -m apiserver`."""

import argparse
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockube.commands.failures import fail, fail_on_file


def default_data_dir() -> Path:
    """Return this user's own data directory, as the XDG base directory specification defines it."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "mockube"


if TYPE_CHECKING:
    from etcd.access import ClusterConfig

_PREFIX: Final = "/registry"


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """The store that a command line names.

    Attributes:
        data_dir: the data directory, which has the certificates whatever the store is.
        database: the file of an embedded store, None for etcd.
        access: how to reach etcd, None for an embedded store.
    """

    data_dir: Path
    database: Path | None = None
    access: "ClusterConfig | None" = None

    @property
    def name(self) -> str:
        """The store's name in messages."""
        if self.access is None:
            return str(self.database)
        return f"{','.join(self.access.endpoints)} under {self.access.key_prefix.cluster_prefix}"


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
    add("--etcd-prefix", default=_PREFIX, metavar="PREFIX", help="what all keys begin with (default: %(default)s)")
    add("--etcd-cafile", type=Path, metavar="FILE", help="who signs its certificates; whom the system trusts if none")
    add("--etcd-certfile", type=Path, metavar="FILE", help="the certificate that is shown to it")
    add("--etcd-keyfile", type=Path, metavar="FILE", help="the key of that certificate")
    add("--etcd-user", default="", metavar="NAME", help="a user of it")
    add("--etcd-password-file", type=Path, metavar="FILE", help="a file with that user's password")


def store_location(options: argparse.Namespace) -> StoreLocation:
    """Return the store that the flags name.

    Raises:
        ConfigError: a flag cannot be used, or the store keeps nothing.
        StoreError: the URL is invalid.
    """
    from dataclasses import replace

    from apiserver.app import etcd_access
    from apiserver.config import Config, ConfigError, check, etcd_of
    from etcd.backends import database_of, endpoints_of

    data_dir = (options.data_dir or default_data_dir()).expanduser().absolute()
    if options.store == "sqlite":
        return StoreLocation(data_dir, database_of(str(data_dir)))
    scheme, _, location = options.store.partition("://")
    if scheme == "sqlite" and location:
        return StoreLocation(data_dir, database_of(location).absolute())
    if scheme not in ("http", "https") or not location:
        raise ConfigError(
            f"--store {options.store}: nothing is kept there: give sqlite, sqlite:///DIRECTORY or http://HOST:PORT"
        )
    access = etcd_access(check(Config(store=options.store, etcd=etcd_of(options))).etcd)
    return StoreLocation(data_dir, access=replace(access, endpoints=endpoints_of(options.store)))


def run_command(work: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Carry out a command and return its exit code; an error is printed as one line."""
    previous = signal.signal(signal.SIGTERM, _interrupt)  # before imports, which take a while

    from apiserver.config import ConfigError
    from etcd.store import StoreError
    from mockube.backup.archive import ArchiveError
    from mockube.files import InUseError

    try:
        work(options)
    except (ConfigError, StoreError, ArchiveError, InUseError) as error:
        return fail(error)
    except OSError as error:
        return fail_on_file(error, "name a place that can be used, and has room")
    except KeyboardInterrupt:
        return fail("it was interrupted, and nothing half done is left", code=130)
    finally:
        signal.signal(signal.SIGTERM, previous)
    return 0


def _interrupt(*_: Any) -> None:
    """End as by Ctrl-C, which cleans up; also if SIGINT is ignored, as for a script's background processes."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)
