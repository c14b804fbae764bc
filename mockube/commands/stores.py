"""The store that a command works on."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from apiserver.app import etcd_access
from apiserver.config import Config, ConfigError, check, etcd_of
from etcd.access import ClusterConfig
from etcd.backends import database_of, endpoints_of
from etcd.store import StoreError
from mockube.backup.archive import ArchiveError
from mockube.failures import fail, fail_on_file
from mockube.files import InUseError
from mockube.flags.stores import default_data_dir


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
    access: ClusterConfig | None = None

    @property
    def name(self) -> str:
        """The store's name in messages."""
        if self.access is None:
            return str(self.database)
        return f"{','.join(self.access.endpoints)} under {self.access.key_prefix.cluster_prefix}"


def store_location(options: argparse.Namespace) -> StoreLocation:
    """Return the store that the flags name.

    Raises:
        ConfigError: a flag cannot be used, or the store keeps nothing.
        StoreError: the URL is invalid.
    """
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
    try:
        work(options)
    except (ConfigError, StoreError, ArchiveError, InUseError) as error:
        return fail(error)
    except OSError as error:
        return fail_on_file(error, "name a place that can be used, and has room")
    except KeyboardInterrupt:
        return fail("it was interrupted, and nothing half done is left", code=130)
    return 0
