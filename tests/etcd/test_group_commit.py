"""The durable backend's writes: batches, what is visible when, and what a full disk does."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from patience import bounded

from etcd.backends import open_store
from etcd.store import Conflict, KeyValue, Unavailable

POD = "/registry/pods/a/"


def fill_the_disk(store) -> None:
    store._log._connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size instead


def empty_the_disk(store) -> None:
    store._log._connection.execute("PRAGMA max_page_count = 100000")


def commits(store) -> list[int]:
    """Records the size of every batch from now on."""
    sizes: list[int] = []
    append = store._log.append

    def recorded(rows) -> None:
        sizes.append(len(rows))
        append(rows)

    store._log.append = recorded
    return sizes


@bounded
async def test_writes_of_one_moment_share_a_commit(durable):
    sizes = commits(durable)
    await asyncio.gather(*(durable.put(f"{POD}{n}", b"") for n in range(50)))
    assert sizes == [50]


@bounded
async def test_a_batch_of_any_size_is_stored(durable, tmp_path):
    sizes = commits(durable)
    await asyncio.gather(*(durable.put(f"{POD}{n:03}", b"%d" % n) for n in range(201)))
    state = durable.range("")
    assert sizes == [201]
    await durable.close()
    again = await open_store(f"sqlite://{tmp_path}/data")
    assert again.range("") == state
    await again.close()


@bounded
async def test_a_write_is_invisible_until_it_is_durable(durable):
    watcher = durable.watch(POD, after=0)
    write = asyncio.ensure_future(durable.put(POD + "x", b""))
    await asyncio.sleep(0)
    assert (durable.get(POD + "x"), durable.revision, watcher.next_nowait(), durable.count("")) == (None, 0, (), 0)
    kv = await write
    assert (durable.get(POD + "x"), durable.revision) == (kv, 1)


@bounded
async def test_writes_of_one_key_under_way_build_on_each_other(durable):
    first, second, event, third = await asyncio.gather(
        durable.put(POD + "x", b"1"),
        durable.put(POD + "x", b"2"),
        durable.delete(POD + "x"),
        durable.put(POD + "x", b"3"),
    )
    assert (second.create_revision, second.mod_revision) == (first.mod_revision, 2)
    assert event.prev == second
    assert third.create_revision == 4
    events = durable.watch(POD, after=0).next_nowait()
    assert [event.prev for event in events] == [None, first, second, None]


@bounded
async def test_a_conflict_with_a_write_under_way_is_told_when_that_is_certain(durable):
    first = asyncio.ensure_future(durable.put(POD + "x", b"1", expect=0))
    second = asyncio.ensure_future(durable.put(POD + "x", b"2", expect=0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not second.done()
    with pytest.raises(Conflict) as caught:
        await second
    assert first.done()
    assert durable.get(POD + "x") == caught.value.current == await first


@bounded
async def test_a_write_that_lost_to_one_that_fails_is_made(durable):
    await durable.put(POD + "fill", b"")
    fill_the_disk(durable)
    first = asyncio.ensure_future(durable.put(POD + "x", b"1" * 100_000, expect=0))
    second = asyncio.ensure_future(durable.put(POD + "x", b"2", expect=0))
    with pytest.raises(Unavailable):
        await first
    empty_the_disk(durable)
    assert (await second).value == b"2"


@bounded
async def test_a_cancelled_writer_stops_no_other(durable):
    first = asyncio.ensure_future(durable.put(POD + "x", b"1"))
    second = asyncio.ensure_future(durable.put(POD + "x", b"2", expect=0))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(Conflict):
        await second
    assert durable.get(POD + "x").value == b"1"


@bounded
async def test_a_full_disk_refuses_writes_while_reads_go_on(durable, tmp_path):
    before = await durable.put(POD + "x", b"1")
    fill_the_disk(durable)
    writes = [durable.put(f"{POD}{n}", b"2" * 100_000) for n in range(5)]
    results: list[Any] = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(result) for result in results} == {Unavailable}
    assert "full" in results[0].reason
    assert str(tmp_path) in results[0].reason
    assert durable.get(POD + "x") == before
    assert durable.range("").items == [before]
    assert durable.revision == 1


@bounded
async def test_after_a_full_disk_revisions_go_on_where_they_were(durable, tmp_path):
    await durable.put(POD + "x", b"1")
    fill_the_disk(durable)
    with pytest.raises(Unavailable):
        await durable.put(POD + "x", b"2" * 100_000)
    empty_the_disk(durable)
    assert (await durable.put(POD + "x", b"3", expect=1)).mod_revision == 2
    await durable.close()
    again = await open_store(f"sqlite://{tmp_path}/data")
    assert [event.revision for event in again.watch("", after=0).next_nowait()] == [1, 2]
    await again.close()


@bounded
async def test_whatever_fails_in_the_writer_reaches_who_waits(durable):
    def broken(_rows) -> None:
        raise RuntimeError("out of luck")

    durable._log.append, append = broken, durable._log.append
    results = await asyncio.gather(*(durable.put(f"{POD}{n}", b"") for n in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["out of luck"] * 3
    durable._log.append = append
    assert (await durable.put(POD + "x", b"")).mod_revision == 1


@bounded
async def test_a_compaction_that_cannot_be_stored_changes_nothing(durable):
    await durable.put(POD + "x", b"1")
    await durable.put(POD + "x", b"2")

    def broken(_revision, _live) -> None:
        raise Unavailable("the disk is full")

    durable._log.compact, compact = broken, durable._log.compact
    with pytest.raises(Unavailable):
        await durable.compact(2)
    assert len(durable.watch("", after=0).next_nowait()) == 2
    durable._log.compact = compact
    await durable.compact(2)
    assert durable._log._connection.execute("SELECT count(*) FROM events").fetchone() == (1,)


@pytest.mark.parametrize("compacted", [0, 2, 4, 5])
@bounded
async def test_everything_since_compaction_is_there_after_a_restart(tmp_path: Path, compacted):
    store = await open_store(f"sqlite://{tmp_path}/data")
    await store.put(POD + "x", b"1")
    await store.put(POD + "y", b"1")
    await store.put(POD + "x", b"2")
    await store.delete(POD + "y")
    await store.put(POD + "z", b"")
    await store.compact(compacted)
    events, state = store.watch("", after=compacted).next_nowait(), store.range("")
    then = store.range("", revision=max(compacted, 1))
    await store.close()

    again = await open_store(f"sqlite://{tmp_path}/data")
    assert again.watch("", after=compacted).next_nowait() == events
    assert again.range("") == state
    assert again.range("", revision=max(compacted, 1)) == then
    assert (await again.put(POD + "new", b"")).mod_revision == 6
    await again.close()


@bounded
async def test_a_revision_whose_events_are_all_compacted_is_not_given_again(tmp_path: Path):
    store = await open_store(f"sqlite://{tmp_path}/data")
    await store.put(POD + "x", b"1")
    await store.delete(POD + "x")
    await store.compact(2)
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}/data")
    assert again.revision == 2
    assert (await again.put(POD + "x", b"")).mod_revision == 3
    await again.close()


@bounded
async def test_what_is_attached_is_computed_again_at_a_restart(tmp_path: Path):
    def attach(key: str, value: bytes) -> str:
        return key + value.decode()

    store = await open_store(f"sqlite://{tmp_path}/data", attach=attach)
    await store.put(POD + "x", b"1")
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}/data", attach=attach)
    assert again.get(POD + "x") == KeyValue(POD + "x", b"1", 1, 1, POD + "x1")
    await again.close()
