"""The durable store between writes: its trouble and how that ends, compactions on disk, and what closing leaves."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gated_log import GatedLog, store_over
from patience import SECONDS

from etcd.backends import open_store
from etcd.durable import DurableStore
from etcd.store import FutureRevision, Unavailable

POD = "/registry/pods/a/"


@pytest.fixture
async def log(tmp_path: Path) -> GatedLog:
    return GatedLog(tmp_path / "store.db")


@pytest.fixture
async def store(log: GatedLog) -> AsyncIterator[DurableStore]:
    async with store_over(log) as store:
        yield store


def broken(_rows) -> None:
    raise Unavailable("the disk is on fire")


async def fail_a_write(store, log) -> None:
    log.fault = broken
    with pytest.raises(Unavailable):
        await store.put(POD + "lost", b"")


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that the writer does by itself."""
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


async def done_by_the_writer(store) -> None:
    """Wait until the writer has done what it was given."""
    async with asyncio.timeout(SECONDS):
        await store._run_in_worker(lambda: None)


async def fill(store, number: int) -> None:
    await asyncio.gather(*(store.put(f"{POD}{n:04}", b"") for n in range(number)))


# -- trouble


async def test_trouble_is_looked_at_again_and_again_until_it_is_over(store, log, monkeypatch):
    monkeypatch.setattr("etcd.durable._PROBE_INTERVAL", 0)
    assert store.health_error == ""
    log.health_error = Unavailable("the disk still burns")
    await fail_a_write(store, log)
    assert store.health_error == "the disk is on fire"
    await until(lambda: log.probes >= 3)
    assert store.health_error == "the disk still burns"
    log.health_error = None
    await until(lambda: store.health_error == "")
    probes = log.probes
    for _ in range(5):
        await done_by_the_writer(store)
    assert log.probes == probes, "there is nothing to look at any more"
    assert (await store.put(POD + "x", b"")).mod_revision == 1


async def test_only_one_look_at_trouble_is_due_at_a_time(store, log, monkeypatch):
    monkeypatch.setattr("etcd.durable._PROBE_INTERVAL", 1000)
    await fail_a_write(store, log)
    first = store._probing
    await fail_a_write(store, log)
    assert first.cancelled()
    assert not store._probing.cancelled()
    await store.close()
    assert store._probing.cancelled()
    assert store.health_error == "the store is closed"


async def test_a_commit_that_fails_while_the_store_is_closed_is_not_looked_at_again(store, log):
    log.before.close()
    log.fault = broken
    write = asyncio.ensure_future(store.put(POD + "x", b""))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    log.before.open()
    await closing
    assert isinstance(write.exception(), Unavailable)
    assert store._probing is None


# -- compaction


async def test_a_compaction_of_the_future_changes_nothing_on_disk(store, log, tmp_path):
    await fill(store, 3)
    with pytest.raises(FutureRevision) as caught:
        await store.compact(4)
    assert caught.value.current == 3
    await done_by_the_writer(store)
    assert log.meta("compacted") == 0


async def test_an_older_compaction_after_a_newer_one_changes_nothing(store, log, tmp_path):
    await fill(store, 6)
    await store.compact(5)
    await store.compact(2)
    assert log.meta("compacted") == 5
    await store.close()
    again: Any = await open_store(f"sqlite://{tmp_path}/store.db")
    assert again._engine.compacted == 5
    assert again.count(POD) == 6
    await again.close()


async def test_each_of_several_compactions_counts_the_keys_that_were_there(store, tmp_path, log):
    live = []
    for number in (4, 2, 7):
        await fill(store, number)
        await store.delete(f"{POD}0000")
        await store.compact(store.revision)
        live.append((log.meta("live"), store.count("")))
        await store.put(f"{POD}0000", b"")
    assert live == [(3, 3), (3, 3), (6, 6)]
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}/store.db")
    assert again.count("") == 7
    await again.close()


async def test_a_compaction_deletes_rows_in_small_transactions(store, log, monkeypatch):
    sizes: list[int] = []
    forget = log.delete_rows

    def recorded(revisions) -> None:
        sizes.append(len(revisions))
        forget(revisions)

    monkeypatch.setattr(log, "delete_rows", recorded)
    await asyncio.gather(*(store.put(f"{POD}x", b"") for _ in range(1201)))
    await store.compact(1201)
    assert sizes == [500, 500, 200]
    assert [row.revision for row in log.rows()] == [1201]


async def test_compactions_in_the_background_do_not_pile_up_and_may_fail(store, log):
    await fill(store, 6)
    log.before.close()
    write = asyncio.ensure_future(store.put(POD + "x", b""))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    log.health_error = Unavailable("the disk is on fire")
    store._compact(2)
    first = store._compaction
    store._compact(3)
    assert store._compaction is first
    log.before.open()
    await write
    assert await first is None
    assert store._engine.compacted == 0
    log.health_error = None
    store._compact(4)
    await store._compaction
    assert store._engine.compacted == 4


async def test_what_was_there_at_the_opening_is_compacted_when_it_has_the_age(tmp_path):
    clock = [1000.0]
    store = await open_store(f"sqlite://{tmp_path}", compact_age=300, clock=lambda: clock[0])
    await fill(store, 3)
    await store.close()
    again: Any = await open_store(f"sqlite://{tmp_path}", compact_age=300, clock=lambda: clock[0])
    clock[0] += 300
    await again.put(POD + "x", b"")
    again._tick()
    await again._compaction
    assert again._engine.compacted == 3
    await again.close()


async def test_compaction_by_age_goes_on_by_itself(tmp_path):
    store: Any = await open_store(f"sqlite://{tmp_path}", compact_age=0.001)

    def is_compacted(revision: int) -> bool:
        return bool(store._engine.compacted == revision)

    for number in range(1, 4):
        await store.put(POD + "x", b"")
        await until(partial(is_compacted, number))
    await store.close()


# -- closing


def writers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "etcd-writer"]


async def test_a_closed_store_has_no_thread_no_timer_and_no_compaction(tmp_path):
    before = len(writers())
    store: Any = await open_store(f"sqlite://{tmp_path}")
    await store.put(POD + "x", b"")
    assert len(writers()) == before + 1
    await store.close()
    assert len(writers()) == before
    assert store._timer.cancelled()
    async with asyncio.timeout(SECONDS):
        with pytest.raises(Unavailable, match="the store is closed"):
            await store.compact(1)


async def test_a_full_disk_does_not_keep_a_store_from_being_closed_and_opened_again(store, log, tmp_path):
    await fill(store, 3)
    log._execute("PRAGMA max_page_count = 1")
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}/store.db")
    assert again.count(POD) == 3
    await again.close()


async def test_versions_that_are_read_at_the_opening_have_one_number_for_both_of_their_revisions(tmp_path):
    """Of a hundred thousand keys, it is a few megabytes."""
    store = await open_store(f"sqlite://{tmp_path}")
    await fill(store, 300)
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}")
    newest = again.get(f"{POD}0299")
    assert newest is not None
    assert newest.create_revision == 300
    assert newest.create_revision is newest.mod_revision
    await again.close()
