"""The embedded store with group commit: a write is answered once the SQLite file has it, and reads see it then."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from etcd.embedded import EmbeddedStore, StoreOptions
from etcd.mvcc import Engine
from etcd.sqlite import Contents, PlainRow, Row, SqliteLog, row_of
from etcd.store import DECODE_ERRORS, Damaged, Event, FutureRevision, KeyValue, Unavailable

Callback = Callable[[Exception | None], None]


class Worker:
    """A queue of blocking calls. After each, the loop calls its `done(error)`: no call is left unreported."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Callable[[], None], Callback] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], None], done: Callback) -> None:
        """Call `work` in the thread, then `done` in the loop with the error that it raised, or None."""
        self._jobs.put((work, done))

    def stop(self) -> None:
        """End the thread after what has been submitted; blocks until then."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, done = job
            error: Exception | None = None
            try:
                work()
            except Exception as caught:  # noqa: BLE001 - the caller must get the error, whatever it is
                error = caught
            try:
                self._loop.call_soon_threadsafe(done, error)
            except RuntimeError:  # the loop is closed: no caller waits any more
                return


_ROWS_PER_DELETE = 500
"""Rows that one transaction of a compaction deletes; a write waits for at most one such transaction."""
_PROBE_INTERVAL = 1.0
"""Seconds between checks whether writes work again: callers that wait for that do not write themselves."""


class _PendingWrite(NamedTuple):
    event: Event
    row: Row
    done: asyncio.Future[None]


class DurableStore(EmbeddedStore):
    """Writes are checked and numbered at once, against those under way, and made durable in batches.

    While one batch is being committed the next one collects. If a batch fails, all writes under way fail with it, since
    they may build on it, and numbering goes on where the durable state ends: no revision is lost or doubled.
    """

    def __init__(self, log: SqliteLog, options: StoreOptions) -> None:
        contents = log.read()
        super().__init__(_restored_engine(contents, options.attach), options)
        self._log = log
        self._worker = Worker("etcd-writer")
        self._last = self._engine.revision
        self._under_way: dict[str, Event] = {}
        self._queue: list[_PendingWrite] = []
        self._batch: list[_PendingWrite] = []
        self._flushing = False
        self._settling: list[asyncio.Future[None]] = []
        self._live = len(contents.state)
        self._superseded_rows = contents.superseded_rows
        self._compacting = asyncio.Lock()
        self._compaction: asyncio.Task[None] | None = None
        self._health_error = ""
        self._probing: asyncio.TimerHandle | None = None

    @property
    def health_error(self) -> str:
        """Why writes fail, as far as is known; "" while they succeed."""
        return self._closed or self._health_error

    async def compact(self, revision: int) -> None:
        """Forget history before a revision; raises FutureRevision, and Unavailable if it cannot be made durable."""
        if revision > self._engine.revision:
            raise FutureRevision(self._engine.revision)
        async with self._compacting:
            self._require_open()
            if revision > self._engine.compacted:
                await self._compact_durably(revision)

    async def close(self) -> None:
        """Close the store when all pending writes are durable."""
        if self._closed:
            return
        await super().close()
        if self._probing is not None:
            self._probing.cancel()
        while self._batch or self._queue:
            await self._await_batch_end()
        async with self._compacting:
            try:
                await self._run_in_worker(self._log.close)
            finally:
                self._worker.stop()

    def _newest(self, key: str) -> KeyValue | None:
        event = self._under_way.get(key)
        return event.kv if event else self._engine.get(key)

    async def _await_pending_write(self, key: str) -> bool:
        if key not in self._under_way:
            return False
        await self._await_batch_end()
        return True

    async def _await_batch_end(self) -> None:
        ended = self._loop.create_future()
        self._settling.append(ended)
        await ended

    def _next_revision(self) -> int:
        self._require_open()
        return self._last + 1

    async def _commit(self, event: Event) -> None:
        write = _PendingWrite(event, row_of(event), self._loop.create_future())
        self._last = event.revision
        self._under_way[event.key] = event
        self._queue.append(write)
        if not self._batch and not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        await write.done

    def _flush(self) -> None:
        self._flushing = False
        if self._queue and not self._batch:
            self._batch, self._queue = self._queue, []
            self._worker.submit(partial(self._log.append, [write.row for write in self._batch]), self._on_committed)

    def _on_committed(self, error: Exception | None) -> None:
        batch, self._batch = self._batch, []
        if error is None:
            self._health_error = ""
            self._make_visible(batch)
        else:
            self._abandon(batch + self._queue, error)
            self._note_outcome(error)
        settling, self._settling = self._settling, []
        for waiter in settling:
            _resolve(waiter, None)
        self._flush()

    def _make_visible(self, batch: list[_PendingWrite]) -> None:
        self._apply([write.event for write in batch])
        for event, _, done in batch:
            if self._under_way[event.key] is event:
                del self._under_way[event.key]
            _resolve(done, None)

    def _abandon(self, writes: list[_PendingWrite], error: Exception) -> None:
        self._queue = []
        self._under_way.clear()
        self._last = self._engine.revision
        for write in writes:
            _resolve(write.done, error)

    def _note_outcome(self, error: Exception | None) -> None:
        """Record the outcome of a write as the health error; after a failure, probe until writes work again."""
        self._health_error = str(error) if error else ""
        if self._probing is not None:
            self._probing.cancel()
        if error is not None and not self._closed:
            self._probing = self._loop.call_later(_PROBE_INTERVAL, self._probe)

    def _probe(self) -> None:
        self._worker.submit(self._log.probe, self._note_outcome)

    def _compact(self, revision: int) -> None:
        if self._compaction is None or self._compaction.done():
            self._compaction = self._loop.create_task(self._compact_later(revision))

    async def _compact_later(self, revision: int) -> None:
        try:
            await self.compact(revision)
        except Unavailable:  # the next compaction deletes what was not deleted now
            return

    async def _compact_durably(self, revision: int) -> None:
        events = self._engine.log_until(revision)
        live = self._live + sum(event.is_create - event.is_delete for event in events)
        await self._run_in_worker(partial(self._log.compact, revision, live))
        self._live = live
        self._engine.compact(revision)
        self._superseded_rows += _superseded_revisions(events)
        while self._superseded_rows:
            await self._run_in_worker(partial(self._log.delete_rows, self._superseded_rows[:_ROWS_PER_DELETE]))
            del self._superseded_rows[:_ROWS_PER_DELETE]

    async def _run_in_worker(self, work: Callable[[], None]) -> None:
        done = self._loop.create_future()
        self._worker.submit(work, partial(_resolve, done))
        await done


def _resolve(done: asyncio.Future[None], error: Exception | None) -> None:
    if done.done():  # the caller that waited was cancelled
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def _superseded_revisions(events: list[Event]) -> list[int]:
    """Return the revisions of rows to delete when these events are compacted: replaced versions, and the deletes."""
    rows = [event.prev.mod_revision for event in events if event.prev]
    rows += [event.revision for event in events if event.is_delete]
    return sorted(rows)


def _restored_engine(contents: Contents, attach: Callable[[str, bytes], Any]) -> Engine:
    engine = Engine()
    state = _versions(contents.state.values(), attach)
    engine.restore((kv for kv in state if kv), contents.compacted)
    versions = _versions(contents.events, attach)
    engine.apply(
        Event(row[0], row[1], kv, engine.get(row[1])) for row, kv in zip(contents.events, versions, strict=True)
    )
    return engine


def _versions(rows: Iterable[PlainRow], attach: Callable[[str, bytes], Any]) -> Iterator[KeyValue | None]:
    """Yield the version of a key that each row has, None if it has a delete."""
    for revision, key, created, value, _ in rows:
        if value is None:
            yield None
            continue
        try:
            index_attrs = attach(key, value)
        except DECODE_ERRORS as error:
            raise Damaged(
                f"the database has something under {key!r} at revision {revision} that is no object ({error!r}): "
                "restore it from a backup, or move it away to start with an empty store"
            ) from error
        # one number object for both revisions of a key that was written once
        yield KeyValue(key, value, revision if created == revision else created, revision, index_attrs)
