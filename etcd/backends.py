"""The backends by URL scheme."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from etcd.access import ClusterConfig
from etcd.compaction import CompactionLimits
from etcd.durable import DurableStore
from etcd.embedded import EmbeddedStore, StoreOptions
from etcd.mvcc import Engine
from etcd.sqlite import SqliteLog
from etcd.store import Store, StoreError

_DEFAULT_FILE: Final = "store.db"
"""The database's file name if the URL names a directory."""
_FILE_SUFFIXES: Final = {".db", ".sqlite", ".sqlite3"}
"""The suffixes by which a path that does not exist yet is taken for a file, not a directory."""


def _no_index_attrs(_key: str, _value: bytes) -> None:
    return None


async def _open_memory(_location: str, options: StoreOptions) -> Store:
    return EmbeddedStore(Engine(), options)


async def _open_sqlite(location: str, options: StoreOptions) -> Store:
    log = SqliteLog(database_of(location))
    try:
        return DurableStore(log, options)
    except BaseException:
        log.close()
        raise


def database_of(location: str) -> Path:
    """Return the database file that a sqlite URL names; `location` is what follows its "://"."""
    path = Path(location).expanduser()
    return path if path.is_file() or (path.suffix in _FILE_SUFFIXES and not path.is_dir()) else path / _DEFAULT_FILE


async def _open_http(location: str, options: StoreOptions) -> Store:
    return await _open_cluster(f"http://{location}", options)


async def _open_https(location: str, options: StoreOptions) -> Store:
    return await _open_cluster(f"https://{location}", options)


async def _open_cluster(urls: str, options: StoreOptions) -> Store:
    # imported here: its client is slow to import, and other stores do not need it
    from etcd.cluster_store import open_cluster_store

    return await open_cluster_store(replace(options.access, endpoints=endpoints_of(urls)), options)


def endpoints_of(urls: str) -> list[str]:
    """Return the URLs of a comma-separated list of members.

    Raises:
        StoreError: an item is not the URL of a member.
    """
    urls_of_members = [url.strip().rstrip("/") for url in urls.split(",")]
    for url in urls_of_members:
        if "@" in url:
            raise StoreError(
                "A member of an etcd cluster has no user in its URL: give --etcd-user and --etcd-password-file."
            )
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and parts.hostname and not parts.path and parts.port is not None
        except ValueError:
            good = False
        if not good:
            raise StoreError(f"{url!r} is no member of an etcd cluster: give https://HOST:PORT, several with commas.")
    return urls_of_members


BACKENDS: Final[Mapping[str, Callable[[str, StoreOptions], Awaitable[Store]]]] = {
    "memory": _open_memory,
    "sqlite": _open_sqlite,
    "http": _open_http,
    "https": _open_https,
}
"""URL scheme → the function that opens a store, given what follows "://" verbatim (without unescaping)."""


async def open_store(
    url: str,
    *,
    attach: Callable[[str, bytes], Any] = _no_index_attrs,
    clock: Callable[[], float] = time.monotonic,
    compact_age: float = 300.0,
    compact_count: int = 100_000,
    access: ClusterConfig = ClusterConfig(),  # noqa: B008 - it cannot be changed
) -> Store:
    """Open the store that a URL names; it belongs to the running event loop.

    Args:
        url: "memory://"; "sqlite://" and a directory or a file (*.db), created if missing; or members of an etcd
            cluster, "https://HOST:PORT,https://HOST:PORT".
        attach: computes from a key and its value what to keep beside it.
        clock: seconds that only ever grow; compaction by age goes by it.
        compact_age: seconds for which events, and the versions that they replaced, are kept.
        compact_count: roughly the most events that are kept.
        access: how a cluster is used; its endpoints are those of the URL.

    Raises:
        Damaged: what is stored there cannot be trusted.
        Unavailable: it is in use, or cannot be read or made.
        StoreError: the URL's scheme has no backend.
    """
    scheme, separator, location = url.partition("://")
    backend = BACKENDS.get(scheme)
    if backend is None or not separator:
        raise StoreError(f"There is no store {url!r}: it begins with none of {', '.join(BACKENDS)} and '://'.")
    options = StoreOptions(
        attach=attach, clock=clock, limits=CompactionLimits(age=compact_age, count=compact_count), access=access
    )
    return await backend(location, options)
