"""Compaction in the background: by age, with a clock in the test's hand, and by count."""

import asyncio

import pytest

from etcd.compaction import CompactionLimits, CompactionSchedule
from etcd.store import Compacted

POD = "/registry/pods/a/"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def compacted_by(store) -> int:
    """Let the compaction that is under way finish; says how far history is gone."""
    if task := getattr(store, "_compaction", None):
        await task
    compacted: int = store._engine.compacted
    return compacted


@pytest.mark.parametrize(
    ("seconds", "compacted"),
    [(0, 0), (299, 0), (300, 1), (310, 1), (330, 2), (100_000, 3)],
    ids=str,
)
async def test_events_go_when_they_have_reached_the_age(opened, url, seconds, compacted):
    clock = Clock()
    store = await opened(url, clock=clock, compact_age=300)
    at = store.revision
    for _ in range(3):
        await store.put(POD + "x", b"")
        store._tick()
        clock.now += 30
    clock.now += seconds - 90
    store._tick()
    assert await compacted_by(store) == at + compacted


async def test_an_idle_store_forgets_its_history_and_keeps_its_state(opened, url):
    clock = Clock()
    store = await opened(url, clock=clock, compact_age=300)
    await store.put(POD + "x", b"1")
    kv = await store.put(POD + "x", b"2")
    store._tick()
    clock.now += 301
    store._tick()
    assert await compacted_by(store) == kv.mod_revision
    assert len(store._engine.log) == 0
    assert store.get(POD + "x").value == b"2"


async def test_history_stays_near_its_count(opened, url):
    store = await opened(url, compact_count=100)
    at = store.revision
    longest = 0
    for n in range(30):
        await asyncio.gather(*(store.put(f"{POD}{n}", b"") for _ in range(10)))
        await compacted_by(store)
        longest = max(longest, len(store._engine.log))
    assert 100 <= longest <= 125
    assert len(store._engine.log) >= 100
    with pytest.raises(Compacted):
        store.watch(POD, after=at)


async def test_a_slow_watcher_holds_no_more_than_the_log(opened, url):
    store = await opened(url, compact_count=100)
    at = store.revision
    watcher = store.watch(POD, after=at)
    for n in range(30):
        await asyncio.gather(*(store.put(f"{POD}{n}", b"") for _ in range(10)))
        await compacted_by(store)
    assert not hasattr(watcher, "__dict__")
    assert len(store._engine.directory_index(POD).events) <= 125
    with pytest.raises(Compacted):
        await watcher.next()


async def test_superseded_rows_leave_the_disk(durable):
    for n in range(1200):
        await durable.put(f"{POD}{n % 3}", b"")
    await durable.delete(f"{POD}0")
    await durable.compact(durable.revision)
    rows = durable._log._connection.execute("SELECT revision FROM events").fetchall()
    assert rows == [(1199,), (1200,)]


@pytest.mark.parametrize(("length", "surplus"), [(0, 0), (800, 0), (900, 0), (901, 101), (5000, 4200)])
def test_a_log_is_cut_when_it_is_an_eighth_too_long(length, surplus):
    assert CompactionSchedule(CompactionLimits(age=1, count=800)).surplus(length) == surplus


async def test_a_log_that_is_too_long_is_cut_to_its_count(opened):
    store = await opened("memory://", compact_count=16)
    for number in range(18):
        await store.put(f"{POD}{number}", b"")
    assert len(store._engine.log) == 18, "it may be an eighth too long"
    await store.put(POD + "x", b"")
    assert [event.revision for event in store._engine.log] == list(range(4, 20))


async def test_a_closed_store_compacts_no_more(opened, url):
    store = await opened(url)
    await store.close()
    assert store._timer.cancelled()


@pytest.mark.parametrize(("age", "interval"), [(300, 30), (0.01, 0.001), (0.001, 0.001), (0, 0.001)])
def test_an_event_outlives_its_age_by_a_tenth_at_most_or_a_millisecond(age, interval):
    assert CompactionSchedule(CompactionLimits(age=age, count=1)).interval == interval
