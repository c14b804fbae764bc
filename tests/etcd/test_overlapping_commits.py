"""Durable writes while one batch is being committed and the next one collects."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gated_log import GatedLog, store_over
from patience import SECONDS

from etcd.backends import open_store
from etcd.durable import DurableStore
from etcd.store import Conflict, Unavailable

POD = "/registry/pods/a/"
TURNS = 5
"""Turns of the loop after which whatever does not wait for the writer has happened."""


@pytest.fixture
async def log(tmp_path: Path) -> GatedLog:
    return GatedLog(tmp_path / "store.db")


@pytest.fixture
async def store(log: GatedLog) -> AsyncIterator[DurableStore]:
    async with store_over(log) as store:
        yield store


async def begun(*writes) -> list[asyncio.Future[Any]]:
    """Writes that are under way: their batch is with the writer, or collects behind the one that is."""
    tasks = [asyncio.ensure_future(write) for write in writes]
    for _ in range(TURNS):
        await asyncio.sleep(0)
    return tasks


async def answers(tasks) -> list[Any]:
    """Return the results of writes, which must all be answered."""
    async with asyncio.timeout(SECONDS):
        return await asyncio.gather(*tasks, return_exceptions=True)


def broken(_rows) -> None:
    raise Unavailable("the disk is on fire")


async def test_the_next_batch_collects_while_one_is_committed(store, log):
    log.before.close()
    first = await begun(store.put(POD + "1", b""))
    rest = [task for number in range(2, 9) for task in await begun(store.put(f"{POD}{number}", b""))]
    assert not any(task.done() for task in first + rest)
    log.before.open()
    assert [kv.mod_revision for kv in await answers(first + rest)] == list(range(1, 9))
    assert log.sizes == [1, 7]


@pytest.mark.parametrize("is_deleted", [False, True], ids=["put", "deleted"])
@pytest.mark.parametrize("verb", ["put", "delete"])
@pytest.mark.parametrize("expect", [0, 1, 2, None], ids=str)
async def test_an_expectation_is_judged_by_the_newest_write_under_way_whichever_batch_has_it(
    store, log, is_deleted, verb, expect
):
    """Batch 1 has revision 1 of a key; batch 2 has revision 2 and is being committed when a third write comes."""
    key = POD + "x"
    log.before.close()
    first = await begun(store.put(key, b"1"))
    second = await begun(store.delete(key) if is_deleted else store.put(key, b"2"))
    log.before.let_one_pass()
    await answers(first)
    write = store.put(key, b"3", expect=expect) if verb == "put" else store.delete(key, expect=expect)
    third = await begun(write)
    assert not third[0].done(), "nobody can say yet whether revision 2 comes to be"
    log.before.open()
    await answers(second)
    (result,) = await answers(third)
    newest = 0 if is_deleted else 2
    fits = (expect is None or expect == newest) and (verb == "put" or not is_deleted)
    assert isinstance(result, Conflict) != fits
    events = store.watch(POD, after=0).next_nowait()
    assert [event.revision for event in events] == ([1, 2, 3] if fits else [1, 2])
    assert [event.prev for event in events[1:]] == [event.kv for event in events[:-1]]
    if not fits:
        assert result.current == (events[1].kv if newest else None)


async def test_increments_of_one_counter_are_all_counted_however_commits_overlap(store, log):
    await store.put(POD + "x", b"0")

    async def increment() -> None:
        while True:
            kv = store.get(POD + "x")
            try:
                await store.put(kv.key, b"%d" % (int(kv.value) + 1), expect=kv.mod_revision)
            except Conflict:
                continue
            return

    log.before.close()
    counting = []
    for _ in range(12):
        counting += await begun(increment(), store.put(POD + "other", b""))
        log.before.let_one_pass()
    log.before.open()
    assert set(await answers(counting[::2])) == {None}
    assert store.get(POD + "x").value == b"12"


@pytest.mark.parametrize("queued", [0, 1, 3])
@pytest.mark.parametrize("waiting", [0, 2])
async def test_a_failed_commit_is_told_to_all_who_are_under_way_and_those_after_it_are_served(
    store, log, tmp_path, queued, waiting
):
    durable = await store.put(POD + "x", b"durable")
    log.before.close()
    log.fault = broken
    batch = await begun(store.put(POD + "x", b"lost"), store.put(POD + "y", b"lost", expect=0))
    behind = await begun(*(store.put(f"{POD}queued/{number}", b"lost") for number in range(queued)))
    losers = await begun(*(store.put(POD + "y", b"%d" % number, expect=0) for number in range(waiting)))
    log.before.open()
    refused = await answers(batch + behind)
    assert [str(error) for error in refused] == ["the disk is on fire"] * (2 + queued)
    assert {type(error) for error in refused} == {Unavailable}
    won = [kv.value for kv in await answers(losers) if not isinstance(kv, Conflict)]
    assert won == [b"0"][:waiting], "who lost against a write that failed comes before those that lost against him"
    later = await answers(await begun(store.put(POD + "later", b""), store.put(POD + "x", b"2", expect=1)))
    assert [kv.mod_revision for kv in later] == [2 + len(won), 3 + len(won)]
    assert later[1].create_revision == durable.create_revision
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}/store.db")
    keys = [event.key.removeprefix(POD) for event in again.watch("", after=0).next_nowait()]
    assert keys == ["x", *["y"][: len(won)], "later", "x"]
    await again.close()


async def test_a_second_failure_is_told_as_the_first_one_was(store, log):
    log.before.close()
    for _ in range(2):
        log.fault = broken
        writes = await begun(store.put(POD + "x", b"1"))
        writes += await begun(store.put(POD + "y", b"1"))
        log.before.let_one_pass()
        assert [str(error) for error in await answers(writes)] == ["the disk is on fire"] * 2
        assert store.health_error == "the disk is on fire"
    log.before.open()
    assert (await store.put(POD + "x", b"2", expect=0)).mod_revision == 1
    assert store.health_error == ""


async def test_closing_waits_for_both_batches_and_the_writes_that_wait_for_them(store, log, tmp_path):
    log.before.close()
    first = await begun(store.put(POD + "x", b"1"))
    second = await begun(store.put(POD + "x", b"2"))
    loser = await begun(store.put(POD + "x", b"3", expect=1))
    closing = await begun(store.close())
    late = await begun(store.put(POD + "z", b""))
    assert isinstance(late[0].exception(), Unavailable)
    assert not closing[0].done()
    log.before.open()
    await answers(closing)
    assert [kv.mod_revision for kv in await answers(first + second)] == [1, 2]
    assert isinstance((await answers(loser))[0], Conflict)
    again = await open_store(f"sqlite://{tmp_path}/store.db")
    newest = again.get(POD + "x")
    assert newest is not None
    assert newest.value == b"2"
    await again.close()


async def test_closing_ends_when_the_commit_that_it_waits_for_fails(store, log):
    log.before.close()
    log.fault = broken
    writes = await begun(store.put(POD + "x", b"1"))
    writes += await begun(store.put(POD + "y", b"1"))
    closing = await begun(store.close())
    log.before.open()
    assert await answers(closing) == [None]
    assert {type(error) for error in await answers(writes)} == {Unavailable}
