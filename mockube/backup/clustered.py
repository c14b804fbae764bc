"""Backups of what lies under a prefix of an etcd cluster, and its restoration: pages at one revision, and puts.

Nothing but a write takes a cluster's revision on, each by one. So where a backup of another store is restored, and
clients may have seen higher revisions there than the cluster has, one key is written again and again first.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from etcd.access import ALL, Access
from etcd.cluster import Cluster, Json
from etcd.pages import answers
from etcd.store import UNFINISHED, Compacted, StoreError, TooLarge, Unreachable
from mockube.backup.archive import Archive, ArchiveError, Header, Record
from mockube.backup.options import BackupOptions
from mockube.backup.progress import Phase, Progress, counted

WRITERS: Final = 64
"""Writes that are under way at a time."""
MOST_RAISED: Final = 3_000_000
"""By how many revisions a cluster is taken on at the most: by so many it takes from ten minutes to half an hour."""

_MARK: Final = "mockube-restore"
_FILLERS: Final = 8
"""Transactions with objects that are under way at a time."""
_BATCH: Final = 64
"""Objects in one of them; etcd takes 128 (--max-txn-ops)."""
_BATCH_BYTES: Final = 1 << 19
_TRIES: Final = 10
_LET_END: Final = 10.0
"""Seconds that writes under way may take when it is over: what is undone must not be done after that."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is under the prefix.

    Attributes:
        revision: of the cluster.
        count: how many keys.
        cluster: its id.
    """

    revision: int
    count: int
    cluster: str


class Prefix:
    """The keys of one store in a cluster. Make it in a running event loop."""

    def __init__(self, access: Access) -> None:
        self._cluster = Cluster(access)
        self._place = access.place
        self._first = self._place.encoded(self._place.inside) or ALL
        self._mark = self._place.encoded(f"{self._place.inside}{_MARK}")
        self.name = f"{','.join(access.endpoints)} under {self._place.outside}"

    async def close(self) -> None:
        """Close all connections."""
        await self._cluster.close()

    async def look(self) -> Found:
        """What is there now.

        Raises:
            ArchiveError: a restore has not ended there.
            StoreError: the cluster does not tell.
        """
        answer = await self._cluster.read("/kv/range", self._all | {"count_only": True})
        header = answer["header"]
        return Found(int(header["revision"]), int(answer.get("count", 0)), str(header["cluster_id"]))

    async def require_whole(self) -> None:
        """Raises ArchiveError if a restore has not ended there, StoreError if the cluster does not tell."""
        if (await self._cluster.read("/kv/range", {"key": self._mark})).get("kvs"):
            raise ArchiveError(f"{self.name}: a restore has not ended there: run it again with --force")

    async def records(self, revision: int) -> AsyncIterator[Record]:
        """All keys as they were at a revision.

        Raises:
            ArchiveError: that revision is gone meanwhile.
            StoreError: the cluster does not tell, or a key is no text.
        """
        try:
            async for answer in answers(self._cluster, self._first, self._place.end(), revision=revision):
                for each in answer.get("kvs", ()):
                    yield self._record(each)
        except Compacted as error:
            raise ArchiveError(
                f"{self.name}: revision {revision} was compacted before all was read: try again"
            ) from error

    async def empty(self) -> int:
        """Delete all keys; says how many there were."""
        answer = await self._write("/kv/deleterange", self._all)
        return int(answer.get("deleted", 0))

    async def mark(self) -> None:
        """Have servers refuse to start on it until it is whole."""
        await self._touch()

    async def unmark(self) -> int:
        """It is whole now; says the cluster's revision."""
        answer = await self._write("/kv/deleterange", {"key": self._mark})
        return int(answer["header"]["revision"])

    async def raise_above(self, revision: int, phase: Phase) -> None:
        """Write until the cluster's revision is a higher one."""
        now = (await self.look()).revision

        async def touch(_: int) -> None:
            await self._touch()
            phase.step()

        await _each(range(now, revision), touch)

    async def fill(self, archive: Archive, phase: Phase) -> None:
        """Put all objects of a backup.

        Raises:
            ArchiveError: its file is damaged.
            StoreError: the cluster takes one not.
        """

        async def put(batch: Sequence[Record]) -> None:
            try:
                await self._put(batch)
            except TooLarge:
                for record in batch:
                    await self._put_alone(record)
            phase.step(len(batch))

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
        return {"key": self._place.encoded(record.key), "value": b64encode(record.value).decode()}

    async def compact(self, revision: int) -> None:
        """Have the cluster forget what was before a revision, unless it has."""
        try:
            await self._cluster.write("/kv/compaction", {"revision": str(revision)})
        except StoreError as error:
            if "compacted" not in str(error):
                raise

    @property
    def _all(self) -> Json:
        return {"key": self._first, "range_end": self._place.end()}

    def _record(self, told: Json) -> Record:
        key = self._place.decoded(told["key"])
        if key is None:
            raise StoreError(f"{self.name}: {b64decode(told['key'])!r} is no key of an object")
        value = b64decode(told.get("value", ""))
        return Record(key, int(told["create_revision"]), int(told["mod_revision"]), value)

    async def _touch(self) -> None:
        await self._write("/kv/put", {"key": self._mark, "value": b64encode(UNFINISHED).decode()})

    async def _write(self, method: str, request: Json) -> Json:
        """What may be done twice, done until it is answered; raises StoreError."""
        for attempt in range(_TRIES):
            try:
                return await self._cluster.write(method, request)
            except Unreachable:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.1 * 2**attempt)
        raise AssertionError("it was answered or not")  # pragma: no cover


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Objects that are put in one transaction: not too many, and not too large together unless it is one."""
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
    """Do something with each item, several at a time; when it ends, however it does, nothing is under way."""
    rest, ended = iter(items), False

    async def take() -> None:
        for item in rest:
            await work(item)
            if ended:
                return

    tasks = [asyncio.create_task(take()) for _ in range(writers)]
    try:
        await asyncio.gather(*map(asyncio.shield, tasks))
    finally:
        ended = True
        await asyncio.wait(tasks, timeout=_LET_END)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            _ = task.cancelled() or task.exception()  # seen, whoever was first


async def back_up(access: Access, wanted: BackupOptions, progress: Progress) -> Header:
    """Write a backup of what is under a prefix; says what was written.

    Raises:
        ArchiveError: the file cannot be written as asked, or a restore has not ended there.
        StoreError: the cluster does not tell.
        OSError: there is no room.
    """
    prefix = Prefix(access)
    try:
        progress.say(f"Reading {prefix.name}")
        await prefix.require_whole()
        found = await prefix.look()
        header = wanted.header("etcd", revision=found.revision, count=found.count, cluster=found.cluster)
        with wanted.archive(header) as writer, progress.phase("Backing up", found.count) as phase:
            async for record in prefix.records(found.revision):
                writer.add(record)
                phase.step()
    finally:
        await prefix.close()
    return header


async def restore(archive: Archive, access: Access, progress: Progress, *, above: int, named: bool, force: bool) -> int:
    """Put what a backup holds under a prefix; says at which revision the cluster is then.

    Args:
        archive: the backup, which has been checked.
        access: where the keys go.
        progress: is told how far it is.
        above: all revisions are above this one; those of the cluster that the backup is of are anyway.
        named: whether somebody has named that one, so that it holds for that cluster as well.
        force: delete what is under the prefix.

    Raises:
        ArchiveError: there are objects already, or the cluster's revision is too far below.
        StoreError: the cluster does not take it.
    """
    prefix = Prefix(access)
    try:
        found = await prefix.look()
        if not force:
            await prefix.require_whole()
        # one that was made anew by the same flags has the id of the old one, but not its revisions
        goes_on = found.cluster == archive.header.cluster and found.revision >= archive.header.revision
        missing = 0 if goes_on and not named else above - found.revision
        _require(found, prefix.name, missing, force=force)
        if found.count:
            progress.say(f"What {prefix.name} has, {counted(found.count, 'key')}, is deleted, as --force says")
            await prefix.empty()
        try:
            await prefix.mark()
            if missing > 0:
                with progress.phase("Raising the revision", missing, "writes") as phase:
                    await prefix.raise_above(above, phase)
            with progress.phase("Restoring", archive.header.count) as phase:
                await prefix.fill(archive, phase)
            revision = await prefix.unmark()
        except BaseException:
            progress.say(f"It did not end well: what was restored is deleted again from {prefix.name}")
            await _undo(prefix, progress)
            raise
        if missing > 0 or found.count:
            await prefix.compact(revision)
        return revision
    finally:
        await prefix.close()


async def _undo(prefix: Prefix, progress: Progress) -> None:
    """Delete what has been restored in part; if that cannot be done, servers refuse to start on it."""
    try:
        await prefix.empty()
    except StoreError as error:
        progress.say(f"It could not be deleted ({error}): run it again with --force")


def _require(found: Found, name: str, missing: int, *, force: bool) -> None:
    if found.count and not force:
        raise ArchiveError(
            f"{name} has {counted(found.count, 'key')} already: name an empty prefix with --etcd-prefix, or delete "
            "what it has with --force"
        )
    if missing > MOST_RAISED:
        raise ArchiveError(
            f"clients of the old server may have seen revisions up to {found.revision + missing:,}, and {name} is at "
            f"{found.revision:,}: to come above, it would take a write for each. Give --above 0 if no client of the "
            "old server goes on with this one, --above REVISION if you know the highest one, or raise the cluster's "
            "by etcdutl snapshot restore --bump-revision"
        )
