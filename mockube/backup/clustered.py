"""Backups of the keys under a prefix of an etcd cluster, and their restoration: pages at one revision, and puts.

A cluster's revision grows only by writes, each by one. So if a backup of another store is restored, and clients may
have seen higher revisions there than the cluster has, one key is written repeatedly first.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from etcd.access import ALL_KEYS, ClusterConfig
from etcd.cluster import Cluster, Json
from etcd.range_reader import range_responses
from etcd.store import UNFINISHED, Compacted, StoreError, TooLarge, Unreachable
from mockube.backup.archive import Archive, ArchiveError, Header, Record
from mockube.backup.options import BackupOptions
from mockube.backup.progress import Phase, Progress, count_text

WRITERS: Final = 64
"""The most writes under way at a time."""
MAX_RAISE: Final = 3_000_000
"""The most revisions by which a cluster is raised: so many take from ten minutes to half an hour."""

_MARK: Final = "mockube-restore"
_FILLERS: Final = 8
"""The most transactions with objects under way at a time."""
_BATCH: Final = 64
"""The most objects in one transaction; etcd takes 128 (--max-txn-ops)."""
_BATCH_BYTES: Final = 1 << 19
_TRIES: Final = 10
_LET_END: Final = 10.0
"""Seconds that writes under way may take after an error: a write must not happen after the undoing."""


@dataclass(frozen=True, slots=True)
class PrefixState:
    """The state of the keys under the prefix.

    Attributes:
        revision: the cluster's revision.
        count: the number of keys.
        cluster: the cluster's id.
    """

    revision: int
    count: int
    cluster: str


class ClusterPrefix:
    """The keys of one store in a cluster. Make it in a running event loop."""

    def __init__(self, access: ClusterConfig) -> None:
        self._cluster = Cluster(access)
        self._key_prefix = access.key_prefix
        self._first = self._key_prefix.encode(self._key_prefix.store_prefix) or ALL_KEYS
        self._mark = self._key_prefix.encode(f"{self._key_prefix.store_prefix}{_MARK}")
        self.name = f"{','.join(access.endpoints)} under {self._key_prefix.cluster_prefix}"

    async def close(self) -> None:
        """Close all connections."""
        await self._cluster.close()

    async def read_state(self) -> PrefixState:
        """Return the current state of the keys under the prefix.

        Raises:
            ArchiveError: a restore is unfinished there.
            StoreError: the cluster does not answer, or refuses.
        """
        answer = await self._cluster.read("/kv/range", self._all | {"count_only": True})
        header = answer["header"]
        return PrefixState(int(header["revision"]), int(answer.get("count", 0)), str(header["cluster_id"]))

    async def require_whole(self) -> None:
        """Raise ArchiveError if a restore is unfinished there, StoreError if the cluster does not answer."""
        if (await self._cluster.read("/kv/range", {"key": self._mark})).get("kvs"):
            raise ArchiveError(f"{self.name}: a restore has not ended there: run it again with --force")

    async def records(self, revision: int) -> AsyncIterator[Record]:
        """Yield all keys as they were at a revision.

        Raises:
            ArchiveError: that revision has been compacted in the meantime.
            StoreError: the cluster does not answer, or a key is not valid text.
        """
        try:
            async for answer in range_responses(
                self._cluster, self._first, self._key_prefix.range_end(), revision=revision
            ):
                for kv in answer.get("kvs", ()):
                    yield self._record(kv)
        except Compacted as error:
            raise ArchiveError(
                f"{self.name}: revision {revision} was compacted before all was read: try again"
            ) from error

    async def delete_keys(self) -> int:
        """Delete all keys and return how many there were."""
        answer = await self._write("/kv/deleterange", self._all)
        return int(answer.get("deleted", 0))

    async def put_marker(self) -> None:
        """Have servers refuse to start on the prefix until its restore is finished."""
        await self._raise_revision()

    async def delete_marker(self) -> int:
        """Remove the mark of an unfinished restore and return the cluster's revision."""
        answer = await self._write("/kv/deleterange", {"key": self._mark})
        return int(answer["header"]["revision"])

    async def raise_above(self, revision: int, phase: Phase) -> None:
        """Write until the cluster's revision is higher than a given one."""
        now = (await self.read_state()).revision

        async def touch(_: int) -> None:
            await self._raise_revision()
            phase.advance()

        await _each(range(now, revision), touch)

    async def put_records(self, archive: Archive, phase: Phase) -> None:
        """Put all objects of a backup.

        Raises:
            ArchiveError: its file is damaged.
            StoreError: the cluster refuses an object.
        """

        async def put(batch: Sequence[Record]) -> None:
            try:
                await self._put(batch)
            except TooLarge:
                for record in batch:
                    await self._put_alone(record)
            phase.advance(len(batch))

        await _each(_batches(archive.records()), put, writers=_FILLERS)

    async def _put(self, batch: Sequence[Record]) -> None:
        await self._write("/kv/txn", {"success": [{"request_put": self._request(record)} for record in batch]})

    async def _put_alone(self, record: Record) -> None:
        try:
            await self._write("/kv/put", self._request(record))
        except TooLarge as error:
            raise StoreError(
                f"{record.key} has {len(record.value):,} bytes, which is more than {self.name} takes "
                f"(--max-request-bytes of etcd): {error}"
            ) from error

    def _request(self, record: Record) -> Json:
        return {"key": self._key_prefix.encode(record.key), "value": b64encode(record.value).decode()}

    async def compact(self, revision: int) -> None:
        """Have the cluster compact the history before a revision, unless it has done so."""
        try:
            await self._cluster.write("/kv/compaction", {"revision": str(revision)})
        except StoreError as error:
            if "compacted" not in str(error):
                raise

    @property
    def _all(self) -> Json:
        return {"key": self._first, "range_end": self._key_prefix.range_end()}

    def _record(self, kv: Json) -> Record:
        key = self._key_prefix.decode(kv["key"])
        if key is None:
            raise StoreError(f"{self.name}: {b64decode(kv['key'])!r} is no key of an object")
        value = b64decode(kv.get("value", ""))
        return Record(key, int(kv["create_revision"]), int(kv["mod_revision"]), value)

    async def _raise_revision(self) -> None:
        await self._write("/kv/put", {"key": self._mark, "value": b64encode(UNFINISHED).decode()})

    async def _write(self, method: str, request: Json) -> Json:
        """Send a write that may be repeated until it is answered, and return the answer; raises StoreError."""
        for attempt in range(_TRIES):
            try:
                return await self._cluster.write(method, request)
            except Unreachable:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.1 * 2**attempt)
        raise AssertionError("it was answered or not")  # pragma: no cover


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the objects of one transaction each: limited in number, and in size unless it is a single object."""
    batch, size = list[Record](), 0
    for record in records:
        length = len(record.key) + len(record.value)
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += length
    if batch:
        yield batch


async def _each(items: Iterable[Any], work: Callable[[Any], Awaitable[None]], *, writers: int = WRITERS) -> None:
    """Process each item, several at a time; when this function ends, even by an error, no work is under way."""
    remaining, ended = iter(items), False

    async def process() -> None:
        for item in remaining:
            await work(item)
            if ended:
                return

    tasks = [asyncio.create_task(process()) for _ in range(writers)]
    try:
        await asyncio.gather(*map(asyncio.shield, tasks))
    finally:
        ended = True
        await asyncio.wait(tasks, timeout=_LET_END)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            _ = task.cancelled() or task.exception()  # retrieved, else asyncio would complain about all but the first


async def back_up(access: ClusterConfig, options: BackupOptions, progress: Progress) -> Header:
    """Write a backup of the keys under a prefix and return its header.

    Raises:
        ArchiveError: the file cannot be written as asked, or a restore is unfinished there.
        StoreError: the cluster does not answer, or refuses.
        OSError: there is not enough room.
    """
    prefix = ClusterPrefix(access)
    try:
        progress.print_line(f"Reading {prefix.name}")
        await prefix.require_whole()
        state = await prefix.read_state()
        header = options.header("etcd", revision=state.revision, count=state.count, cluster=state.cluster)
        with options.archive(header) as writer, progress.phase("Backing up", state.count) as phase:
            async for record in prefix.records(state.revision):
                writer.add(record)
                phase.advance()
    finally:
        await prefix.close()
    return header


async def restore(
    archive: Archive, access: ClusterConfig, progress: Progress, *, above: int, named: bool, force: bool
) -> int:
    """Put the objects of a backup under a prefix and return the cluster's revision afterwards.

    Args:
        archive: the backup, which has been checked.
        access: the cluster and the prefix to restore to.
        progress: shows how far the restore is.
        above: all new revisions are higher than this one; ignored for the cluster that the backup is of, since its
            revision only grows, unless `named`.
        named: True if the user has named `above`, so that it holds for that cluster as well.
        force: delete the keys under the prefix first.

    Raises:
        ArchiveError: there are objects already, or the cluster's revision is too low to be raised.
        StoreError: the cluster does not answer, or refuses.
    """
    prefix = ClusterPrefix(access)
    try:
        state = await prefix.read_state()
        if not force:
            await prefix.require_whole()
        # a cluster created again with the same flags has the id of the old one, but not its revisions
        is_same_cluster = state.cluster == archive.header.cluster and state.revision >= archive.header.revision
        missing = 0 if is_same_cluster and not named else above - state.revision
        _require(state, prefix.name, missing, force=force)
        if state.count:
            progress.print_line(
                f"What {prefix.name} has, {count_text(state.count, 'key')}, is deleted, as --force says"
            )
            await prefix.delete_keys()
        try:
            await prefix.put_marker()
            if missing > 0:
                with progress.phase("Raising the revision", missing, "writes") as phase:
                    await prefix.raise_above(above, phase)
            with progress.phase("Restoring", archive.header.count) as phase:
                await prefix.put_records(archive, phase)
            revision = await prefix.delete_marker()
        except BaseException:
            progress.print_line(f"It did not end well: what was restored is deleted again from {prefix.name}")
            await _undo(prefix, progress)
            raise
        if missing > 0 or state.count:
            await prefix.compact(revision)
        return revision
    finally:
        await prefix.close()


async def _undo(prefix: ClusterPrefix, progress: Progress) -> None:
    """Delete a partial restore; if that is impossible, servers refuse to start on it."""
    try:
        await prefix.delete_keys()
    except StoreError as error:
        progress.print_line(f"It could not be deleted ({error}): run it again with --force")


def _require(state: PrefixState, name: str, missing: int, *, force: bool) -> None:
    if state.count and not force:
        raise ArchiveError(
            f"{name} has {count_text(state.count, 'key')} already: name an empty prefix with --etcd-prefix, or delete "
            "what it has with --force"
        )
    if missing > MAX_RAISE:
        raise ArchiveError(
            f"clients of the old server may have seen revisions up to {state.revision + missing:,}, and {name} is at "
            f"{state.revision:,}: to come above, it would take a write for each. Give --above 0 if no client of the "
            "old server goes on with this one, --above REVISION if you know the highest one, or raise the cluster's "
            "by etcdutl snapshot restore --bump-revision"
        )
