"""A log of the durable store whose commits a test holds up, lets through one at a time, and fails."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from patience import SECONDS

from etcd.compaction import CompactionLimits
from etcd.durable import DurableStore
from etcd.embedded import StoreOptions
from etcd.sqlite import Row, SqliteLog


class Gate:
    """A place in a thread's way that is open unless it has been closed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_closed = False
        self._passes = 0
        self._arrived = 0

    def close(self) -> None:
        """Stop each thread that comes from now on."""
        with self._condition:
            self._is_closed, self._passes = True, 0

    def open(self) -> None:
        """Let all threads pass."""
        with self._condition:
            self._is_closed = False
            self._condition.notify_all()

    def let_one_pass(self) -> None:
        """Let the next thread pass, or the one that waits."""
        with self._condition:
            self._passes += 1
            self._condition.notify_all()

    def wait_for_arrival(self) -> None:
        """Block until a thread waits at the gate."""
        with self._condition:
            assert self._condition.wait_for(lambda: self._arrived, SECONDS), "nobody comes to the gate"

    def walk_through(self) -> None:
        """Block until the gate lets the caller pass."""
        with self._condition:
            self._arrived += 1
            self._condition.notify_all()
            assert self._condition.wait_for(lambda: not self._is_closed or self._passes, SECONDS), "nobody opens"
            self._arrived -= 1
            self._passes = max(0, self._passes - 1)


class GatedLog(SqliteLog):
    """A log whose writer passes a gate before each commit and another one after it.

    Attributes:
        before: the gate before a commit.
        after: the gate between a commit and its acknowledgement.
        batch: what the newest commit writes.
        fault: called once instead of the next commit, with its rows; None for no fault.
        sizes: how many rows each commit so far had.
        probes: how many probes there were.
        health_error: what probes and compactions raise, None for nothing.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.before = Gate()
        self.after = Gate()
        self.batch: Sequence[Row] = ()
        self.fault: Callable[[Sequence[Row]], None] | None = None
        self.sizes: list[int] = []
        self.probes = 0
        self.health_error: Exception | None = None

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows once the gates let them pass."""
        self.batch = rows
        self.before.walk_through()
        fault, self.fault = self.fault, None
        if fault is None:
            super().append(rows)
            self.sizes.append(len(rows))
        else:
            fault(rows)
        self.after.walk_through()

    def probe(self) -> None:
        """Probe, or fail."""
        self.probes += 1
        self._raise_trouble()
        super().probe()

    def compact(self, revision: int, live: int) -> None:
        """Compact, or fail."""
        self._raise_trouble()
        super().compact(revision, live)

    def _raise_trouble(self) -> None:
        if self.health_error is not None:
            raise self.health_error

    def append_to_full_disk(self, rows: Sequence[Row]) -> None:
        """Write rows as far as a disk that is full takes them; as a fault, it raises Unavailable for large ones."""
        (limit,) = self._execute("PRAGMA max_page_count").fetchone()
        self._execute("PRAGMA max_page_count = 1")  # SQLite takes the present size instead
        try:
            super().append(rows)
        finally:
            self._execute(f"PRAGMA max_page_count = {limit}")


@asynccontextmanager
async def store_over(log: GatedLog) -> AsyncIterator[DurableStore]:
    """Open a store that compacts nothing by itself; its gates are opened before it is closed."""
    options = StoreOptions(
        attach=lambda key, value: (key, value), clock=time.monotonic, limits=CompactionLimits(1e9, 10**6)
    )
    store = DurableStore(log, options)
    yield store
    log.before.open()
    log.after.open()
    async with asyncio.timeout(SECONDS):
        await store.close()
