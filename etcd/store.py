"""The contract of a versioned key-value store, which every backend implements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NewType, Protocol

Revision = NewType("Revision", int)

MISSING: Final[Any] = object()
"""The default of arguments for which None is a value."""


MAX_VALUE_BYTES = 1_572_864
"""The bytes that a write may have, including its key: the limit of an etcd server with default settings."""


DECODE_ERRORS = (ValueError, LookupError, TypeError, AttributeError)
"""The errors that a caller's `attach` raises for a value that this caller did not write."""


UNFINISHED = b"A restore into this prefix has not ended. Run mockube restore again, with --force."
"""The value of a marker key that exists while a restore is unfinished: a reader refuses it and shows this text."""


class KeyValue(NamedTuple):
    """One version of a key. `index_attrs` is what the caller keeps beside the value; the store never looks into it."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    index_attrs: Any


class Event(NamedTuple):
    """One write: `kv` is the key after it (None: deleted), `prev` the key before it (None: it was absent)."""

    revision: int
    key: str
    kv: KeyValue | None
    prev: KeyValue | None

    @property
    def is_create(self) -> bool:
        """True if the key did not exist before."""
        return self.prev is None

    @property
    def is_delete(self) -> bool:
        """True if the key does not exist after."""
        return self.kv is None


@dataclass(frozen=True, slots=True)
class Page:
    """Keys of one range in byte order, as they were at `revision`; `remaining` counts what follows in the range."""

    items: Sequence[KeyValue]
    revision: Revision
    more: bool
    remaining: int


class StoreError(Exception):
    """The base of all errors by which a store refuses a call or fails to carry it out."""


class Conflict(StoreError):  # noqa: N818 - the four are named after what happened, as etcd names them
    """The key is not what the write expected; `current` is what it is (None: absent)."""

    def __init__(self, current: KeyValue | None) -> None:
        super().__init__(f"at revision {current.mod_revision}" if current else "the key does not exist")
        self.current = current


class Compacted(StoreError):  # noqa: N818
    """History before `compact_revision` is gone."""

    def __init__(self, compact_revision: int) -> None:
        super().__init__(f"revisions before {compact_revision} have been compacted")
        self.compact_revision = compact_revision


class FutureRevision(StoreError):  # noqa: N818
    """The revision asked for is newer than `current`, the newest there is."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the newest revision is {current}")
        self.current = current


class Unavailable(StoreError):  # noqa: N818
    """The store cannot do it now: the disk is full, the storage is down, the store is closed. See `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unreachable(Unavailable):
    """The cluster does not answer, or not in time; it may answer in a moment.

    Attributes:
        unknown: whether a write may have happened nevertheless.
    """

    def __init__(self, reason: str, *, unknown: bool = False) -> None:
        super().__init__(reason)
        self.unknown = unknown


class TooLarge(StoreError):  # noqa: N818
    """A write is larger than LARGEST; the message is etcd's."""

    def __init__(self) -> None:
        super().__init__("etcdserver: request is too large")


class Full(StoreError):  # noqa: N818
    """A cluster has used the space that it may use; the message is etcd's."""

    def __init__(self) -> None:
        super().__init__("etcdserver: mvcc: database space exceeded")


class Damaged(StoreError):  # noqa: N818
    """The stored data cannot be trusted; the message says which file, what is wrong, and what to do."""


class Watcher(Protocol):
    """The events under one prefix since a revision: a position in the log, never a queue."""

    @property
    def position(self) -> int:
        """The revision up to which the caller has all events of the prefix; other prefixes' events advance it too."""

    async def next(self) -> Sequence[Event]:
        """Return the next events in order of revision, at least one and a bounded number; waits for the first.

        Raises:
            Compacted: the watcher was overtaken by compaction, so events are missing.
            Unavailable: the watcher or its store is closed.
        """

    def next_nowait(self) -> Sequence[Event]:
        """Return the events that `next` would return now, without waiting; may be empty. Raises the same errors."""

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have a function called once when there may be events, before any later read sees them; or at the end."""

    def close(self) -> None:
        """Stop; a parked `next` raises Unavailable."""


class Store(Protocol):
    """Bytes under string keys; every write is a revision, every revision can be read and watched until compacted."""

    @property
    def revision(self) -> Revision:
        """The newest revision that reads can see."""

    @property
    def is_shared(self) -> bool:
        """True if other processes may write to the same keys."""

    @property
    def health_error(self) -> str:
        """Why writes fail, as far as is known; "" while they succeed."""

    def get(self, key: str) -> KeyValue | None:
        """Return the newest version of a key, from memory; None if it does not exist."""

    async def sync_read(self) -> None:
        """Make the reads that follow linearizable: they see every write acknowledged before this call, by anyone."""

    def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Return the keys under a prefix, in byte order.

        Args:
            prefix: the prefix of the keys.
            start: the first key to give (inclusive, a full key); "" = from the beginning.
            limit: the most items to give; 0 = all.
            revision: the snapshot to read; 0 = the newest.

        Raises:
            Compacted: the snapshot is gone.
            FutureRevision: there is no such revision yet.
        """

    async def range_at(self, prefix: str, *, start: str = "", limit: int = 0, revision: int) -> Page:
        """Return what `range` returns, also for a snapshot older than this process if the backend still has it.

        Raises:
            Unavailable: the backend that may have the snapshot does not answer.
            and what `range` raises.
        """

    def count(self, prefix: str) -> int:
        """Return the number of keys under a prefix."""

    @property
    def supports_ttl(self) -> bool:
        """True if keys that are written with a `ttl` disappear by themselves."""

    async def put(
        self, key: str, value: bytes, *, expect: int | None = None, index_attrs: Any = MISSING, ttl: float = 0.0
    ) -> KeyValue:
        """Write a key; returns when the write is durable.

        Args:
            key: the key.
            value: its new bytes.
            expect: 0 = it must not exist, N = its mod_revision must be N, None = do not care.
            index_attrs: what to keep beside the value; computed by the store's `attach(key, value)` if not given.
            ttl: seconds after which the key disappears unless it is written again, 0 for never; ignored by a store
                whose `supports_ttl` is False.

        Raises:
            Conflict: the expectation does not hold.
            TooLarge: the key and its value exceed MAX_VALUE_BYTES.
            Unavailable: the write could not be made durable.
        """

    async def delete(self, key: str, *, expect: int | None = None) -> Event:
        """Delete a key; returns when that is durable. As in `put`; an absent key is Conflict(None)."""

    def watch(self, prefix: str, *, after: int) -> Watcher:
        """Return a watcher of the events under a prefix strictly after a revision, which may lie in the future.

        Raises:
            Compacted: events after that revision are gone.
        """

    async def wait_for(self, revision: int, timeout: float) -> bool:  # noqa: ASYNC109 - a late revision is an answer
        """Wait until `revision` can be read, `timeout` seconds at most; return whether it can."""

    async def compact(self, revision: int) -> None:
        """Forget history before a revision, which itself stays readable; does nothing if it is forgotten already.

        Raises:
            FutureRevision: there is no such revision yet.
        """

    async def close(self) -> None:
        """Finish the writes under way, wake every watcher, release the storage."""
