"""The backends by URL scheme."""

import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from etcd.compaction import Limits
from etcd.durable import DurableStore
from etcd.embedded import EmbeddedStore, Options
from etcd.mvcc import Engine
from etcd.sqlite import SqliteLog
from etcd.store import Store, StoreError

_FILE: Final = "store.db"
"""The database's name where the URL names a directory."""
_SUFFIXES: Final = {".db", ".sqlite", ".sqlite3"}
"""What a name that does not exist yet ends with if it is to be a file."""


def _nothing(_key: str, _value: bytes) -> None:
    return None


async def _memory(_location: str, options: Options) -> Store:
    return EmbeddedStore(Engine(), options)


async def _sqlite(location: str, options: Options) -> Store:
    log = SqliteLog(_file(location))
    try:
        return DurableStore(log, options)
    except BaseException:
        log.close()
        raise


def _file(location: str) -> Path:
    path = Path(location).expanduser()
    return path if path.is_file() or (path.suffix in _SUFFIXES and not path.is_dir()) else path / _FILE


async def _cluster(location: str, _options: Options) -> Store:
    raise StoreError(
        f"The store in an etcd cluster ({location}) is not there yet; use sqlite://DIRECTORY or memory://."
    )


BACKENDS: Final[Mapping[str, Callable[[str, Options], Awaitable[Store]]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "http": _cluster,
    "https": _cluster,
}
"""URL scheme → what opens a store there, given what follows "://" as it stands (no escapes)."""


async def open_store(
    url: str,
    *,
    attach: Callable[[str, bytes], Any] = _nothing,
    clock: Callable[[], float] = time.monotonic,
    compact_age: float = 300.0,
    compact_count: int = 100_000,
) -> Store:
    """Open the store that a URL names; it belongs to the running event loop.

    Args:
        url: "memory://", or "sqlite://" and a directory or a file (*.db), made if need be.
        attach: computes from a key and its value what to keep beside it.
        clock: seconds that only ever grow; compaction by age goes by it.
        compact_age: seconds for which events, and what they replaced, are kept.
        compact_count: about the most events that are kept.

    Raises:
        Damaged: what is stored there cannot be trusted.
        Unavailable: it is in use, or cannot be read or made.
        StoreError: there is no such backend.
    """
    scheme, separator, location = url.partition("://")
    backend = BACKENDS.get(scheme)
    if backend is None or not separator:
        raise StoreError(f"There is no store {url!r}: it begins with none of {', '.join(BACKENDS)} and '://'.")
    options = Options(attach=attach, clock=clock, limits=Limits(age=compact_age, count=compact_count))
    return await backend(location, options)
