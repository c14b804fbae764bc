"""The contract that every backend keeps, one promise a test."""

import asyncio
from typing import Any

import pytest

from etcd.backends import open_store
from etcd.store import (
    MAX_VALUE_BYTES,
    Compacted,
    Conflict,
    Event,
    FutureRevision,
    KeyValue,
    Store,
    StoreError,
    TooLarge,
    Unavailable,
)

PODS = "/registry/pods/"


def keys(items) -> list[str]:
    return [item.key for item in items]


async def fill(store: Store, *names: str) -> list[KeyValue]:
    return [await store.put(PODS + name, name.encode()) for name in names]


async def test_a_new_store_is_empty(store, url):
    assert url.startswith("http") or store.revision == 0
    assert store.get(PODS + "a/x") is None
    page = store.range("")
    assert (list(page.items), page.revision, page.more, page.remaining) == ([], store.revision, False, 0)


async def test_every_write_has_the_next_revision(store, at):
    first = await store.put(PODS + "a/x", b"1")
    second = await store.put(PODS + "a/x", b"2")
    event = await store.delete(PODS + "a/x")
    again = await store.put(PODS + "a/x", b"3")
    assert (first.create_revision, first.mod_revision) == (at + 1, at + 1)
    assert (second.create_revision, second.mod_revision) == (at + 1, at + 2)
    assert event == Event(at + 3, PODS + "a/x", None, second)
    assert (again.create_revision, again.mod_revision) == (at + 4, at + 4)
    assert store.revision == at + 4


async def test_a_write_is_read_back_with_what_is_attached(store):
    kv = await store.put(PODS + "a/x", b"1")
    assert store.get(PODS + "a/x") == kv
    assert kv.index_attrs == (PODS + "a/x", b"1")
    given = await store.put(PODS + "a/x", b"2", index_attrs=None)
    assert given.index_attrs is None


async def test_a_write_may_be_as_large_as_etcd_takes_it_and_no_larger(store, url, at):
    beside = 200 if url.startswith("http") else 0  # the rest of the request, which etcd counts too
    largest = b"x" * (MAX_VALUE_BYTES - len(PODS + "a") - beside)
    assert (await store.put(PODS + "a", largest)).value == largest
    with pytest.raises(TooLarge, match="etcdserver: request is too large"):
        await store.put(PODS + "a", largest + b"x" * (beside + 1))
    assert (store.revision, store.get(PODS + "a").value) == (at + 1, largest)


@pytest.mark.parametrize("expect", [None, 0])
async def test_an_absent_key_is_created_if_the_writer_expects_no_other(store, at, expect):
    assert (await store.put(PODS + "a/x", b"1", expect=expect)).mod_revision == at + 1


@pytest.mark.parametrize("expected", [0, 2, 99])
async def test_a_key_that_is_not_as_expected_is_a_conflict_and_stays(store, at, expected):
    expect = expected and at + expected
    kv = await store.put(PODS + "a/x", b"1")
    for write in (store.put(PODS + "a/x", b"2", expect=expect), store.delete(PODS + "a/x", expect=expect)):
        with pytest.raises(Conflict) as caught:
            await write
        assert caught.value.current == kv
    assert store.revision == at + 1


async def test_an_expected_revision_is_replaced_or_deleted(store, at):
    await store.put(PODS + "a/x", b"1")
    assert (await store.put(PODS + "a/x", b"2", expect=at + 1)).mod_revision == at + 2
    assert (await store.delete(PODS + "a/x", expect=at + 2)).revision == at + 3


@pytest.mark.parametrize("expect", [None, 0, 7])
async def test_deleting_an_absent_key_is_a_conflict_with_nothing(store, expect):
    with pytest.raises(Conflict) as caught:
        await store.delete(PODS + "a/x", expect=expect)
    assert caught.value.current is None


async def test_an_absent_key_with_an_expected_revision_is_a_conflict_with_nothing(store):
    with pytest.raises(Conflict) as caught:
        await store.put(PODS + "a/x", b"", expect=3)
    assert caught.value.current is None


async def test_of_many_creators_of_one_key_one_wins(store, at):
    results = await asyncio.gather(
        *(store.put(PODS + "a/x", bytes([n]), expect=0) for n in range(20)), return_exceptions=True
    )
    winners = [result for result in results if isinstance(result, KeyValue)]
    assert len(winners) == 1
    assert {result.current for result in results if isinstance(result, Conflict)} == set(winners)
    assert store.revision == at + 1


async def test_compare_and_swap_loses_no_increment(store, at):
    await store.put(PODS + "a/x", b"0")

    async def increment() -> None:
        while True:
            kv = store.get(PODS + "a/x")
            try:
                await store.put(kv.key, b"%d" % (int(kv.value) + 1), expect=kv.mod_revision)
            except Conflict:
                continue
            return

    await asyncio.gather(*(increment() for _ in range(20)))
    assert store.get(PODS + "a/x").value == b"20"
    assert store.revision == at + 21


async def test_keys_come_in_byte_order_whatever_the_order_of_writing(store):
    names = ["b/é", "b/z", "a-1/x", "a/x", "A/x", "a.b/x", "b/\U0001f600", "b/\uffff", "a/x-1", "a/x.1", "a/x0"]
    await fill(store, *names)
    expected = sorted(names, key=lambda name: name.encode())
    assert keys(store.range(PODS).items) == [PODS + name for name in expected]
    assert keys(store.range("").items) == [PODS + name for name in expected]


async def test_a_range_holds_the_keys_under_its_prefix_alone(store):
    for key in ("/registry/pods/a/x", "/registry/pods/ab/x", "/registry/pods.metrics/a/x", "/registry/pod", "odd", "/"):
        await store.put(key, b"")
    expected = {
        "/registry/pods/a/": ["/registry/pods/a/x"],
        "/registry/pods/a": ["/registry/pods/a/x", "/registry/pods/ab/x"],
        "/registry/pods/": ["/registry/pods/a/x", "/registry/pods/ab/x"],
        "/registry/pods": ["/registry/pods.metrics/a/x", "/registry/pods/a/x", "/registry/pods/ab/x"],
        "/registry/nodes/": [],
        "o": ["odd"],
    }
    assert {prefix: keys(store.range(prefix).items) for prefix in expected} == expected
    assert {prefix: store.count(prefix) for prefix in expected} == {p: len(kv) for p, kv in expected.items()}
    assert store.count("") == 6


async def test_pages_say_what_is_left(store):
    await fill(store, "a/1", "a/2", "a/3", "b/1", "b/2")
    first = store.range(PODS, limit=2)
    assert (keys(first.items), first.more, first.remaining) == ([PODS + "a/1", PODS + "a/2"], True, 3)
    last = store.range(PODS, start=PODS + "a/3", limit=3)
    assert (keys(last.items), last.more, last.remaining) == ([PODS + "a/3", PODS + "b/1", PODS + "b/2"], False, 0)
    inner = store.range(PODS + "a/", start=PODS + "a/2", limit=1)
    assert (keys(inner.items), inner.more, inner.remaining) == ([PODS + "a/2"], True, 1)
    beyond = store.range(PODS + "a/", start=PODS + "b/", limit=1)
    assert (keys(beyond.items), beyond.remaining) == ([], 0)


async def test_a_snapshot_is_what_it_was_however_the_keys_change(store, at):
    await fill(store, "a/1", "a/3", "a/5", "b/1")
    then = store.range(PODS)
    await fill(store, "a/0", "a/1", "a/4", "a/3", "a/3")
    await store.delete(PODS + "a/1")
    await store.delete(PODS + "a/5")
    await store.delete(PODS + "a/4")
    assert store.range(PODS, revision=at + 4) == then
    assert store.range("", revision=at + 4).items == then.items
    page = store.range(PODS, revision=at + 4, limit=2)
    assert (page.items, page.revision, page.more, page.remaining) == (then.items[:2], at + 4, True, 2)
    rest = store.range(PODS, revision=at + 4, start=PODS + "a/5", limit=2)
    assert (rest.items, rest.more, rest.remaining) == (then.items[2:], False, 0)
    assert store.range(PODS + "a/", revision=at + 2).items == then.items[:2]


async def test_a_snapshot_is_recalled_as_it_is_read(store, at):
    await fill(store, "a/1", "a/2", "a/3")
    await store.delete(PODS + "a/2")
    then = await store.range_at(PODS, start=PODS + "a/2", limit=1, revision=at + 3)
    assert then == store.range(PODS, start=PODS + "a/2", limit=1, revision=at + 3)
    assert (keys(then.items), then.remaining) == ([PODS + "a/2"], 1)
    with pytest.raises(FutureRevision):
        await store.range_at(PODS, revision=at + 9)


async def test_a_whole_snapshot_is_recalled_unless_a_limit_is_given(store, at):
    await fill(store, "a/1", "a/2", "a/3")
    assert await store.range_at(PODS, revision=at + 2) == store.range(PODS, revision=at + 2)


async def test_a_store_says_whether_others_write_to_it_and_whether_keys_go_by_themselves(store, url):
    is_cluster = url.startswith("http")
    assert (store.is_shared, store.supports_ttl) == (is_cluster, is_cluster)


async def test_a_store_says_why_it_does_not_write(store, url):
    assert store.health_error == ""
    await store.close()
    assert url.startswith("http") or store.health_error == "the store is closed"


async def test_other_prefixes_writes_leave_a_snapshot_alone(store, at):
    await fill(store, "a/1")
    await store.put("/registry/nodes/n", b"")
    assert keys(store.range(PODS, revision=at + 1).items) == [PODS + "a/1"]
    assert store.range("/registry/nodes/", revision=at + 1).items == []


async def test_a_revision_that_is_not_there_yet_is_refused(store, at):
    await fill(store, "a/1")
    for refused in (lambda: store.range(PODS, revision=at + 2), lambda: store.range("/none/here/", revision=at + 2)):
        with pytest.raises(FutureRevision) as caught:
            refused()
        assert caught.value.current == at + 1
    with pytest.raises(FutureRevision):
        await store.compact(at + 2)


async def test_compaction_takes_history_and_leaves_the_state(store, at):
    await fill(store, "a/1", "a/2", "a/1")
    await store.delete(PODS + "a/2")
    await store.compact(at + 3)
    await store.compact(at + 2)
    with pytest.raises(Compacted) as caught:
        store.range(PODS, revision=at + 2)
    assert caught.value.compact_revision == at + 3
    with pytest.raises(Compacted):
        store.watch(PODS, after=at + 2)
    assert keys(store.range(PODS, revision=at + 3).items) == [PODS + "a/1", PODS + "a/2"]
    assert [event.revision for event in store.watch(PODS, after=at + 3).next_nowait()] == [at + 4]
    assert keys(store.range(PODS).items) == [PODS + "a/1"]


async def test_a_watch_gives_what_came_after_its_start_in_order(store, at):
    first, second = await fill(store, "a/1", "a/1")
    await store.put("/registry/nodes/n", b"")
    deleted = await store.delete(PODS + "a/1")
    watcher = store.watch(PODS, after=at + 1)
    assert list(await watcher.next()) == [Event(at + 2, PODS + "a/1", second, first), deleted]
    assert watcher.position == at + 4
    assert list(watcher.next_nowait()) == []


async def test_events_say_whether_they_create_or_delete(store, at):
    await fill(store, "a/1", "a/1")
    await store.delete(PODS + "a/1")
    events = store.watch(PODS, after=at).next_nowait()
    assert [(event.is_create, event.is_delete) for event in events] == [(True, False), (False, False), (False, True)]


async def test_a_watch_of_a_namespace_sees_no_other(store, at):
    watcher = store.watch(PODS + "a/", after=at)
    await fill(store, "b/1", "a/1", "ab/1")
    assert keys(await watcher.next()) == [PODS + "a/1"]
    assert watcher.position == at + 3


async def test_a_watch_of_everything_sees_everything(store, at):
    watcher = store.watch("", after=at)
    await fill(store, "a/1")
    await store.put("/registry/nodes/n", b"")
    await store.put("odd", b"")
    assert keys(watcher.next_nowait()) == [PODS + "a/1", "/registry/nodes/n", "odd"]


async def test_a_parked_watcher_wakes_for_its_prefix_alone(store, at):
    pods, nodes = store.watch(PODS, after=at), store.watch("/registry/nodes/", after=at)
    waiting = [asyncio.ensure_future(watcher.next()) for watcher in (pods, nodes)]
    await asyncio.sleep(0)
    await fill(store, "a/1")
    assert keys(await waiting[0]) == [PODS + "a/1"]
    assert not waiting[1].done()
    await store.put("/registry/nodes/n", b"")
    assert keys(await waiting[1]) == ["/registry/nodes/n"]


async def test_a_position_moves_over_other_prefixes_events(store, at):
    watcher = store.watch("/registry/nodes/", after=at)
    await fill(store, "a/1", "a/2")
    assert watcher.position == at + 2
    await store.compact(at + 2)
    await store.put("/registry/nodes/n", b"")
    assert [event.revision for event in watcher.next_nowait()] == [at + 3]


async def test_a_quiet_watcher_is_not_overtaken_by_others_events(store, at):
    watcher = store.watch("/registry/nodes/", after=at)
    await fill(store, "a/1", "a/2")
    await store.compact(at + 2)
    await store.put("/registry/nodes/n", b"")
    assert [event.revision for event in await watcher.next()] == [at + 3]


async def test_a_watcher_has_a_function_called_once_before_what_has_changed_can_be_read(store, at):
    watcher, calls = store.watch(PODS, after=at), []
    watcher.on_change(lambda: calls.append(store.revision))
    await store.put("/registry/nodes/n", b"")
    assert not calls
    await fill(store, "a/1", "a/2")
    assert calls == [at + 2]
    watcher.on_change(lambda: calls.append(0))
    watcher.close()
    assert calls == [at + 2, 0]


async def test_a_watch_from_the_future_waits_for_what_follows(store, at):
    watcher = store.watch(PODS, after=at + 2)
    assert watcher.position == at + 2
    await fill(store, "a/1", "a/2")
    assert list(watcher.next_nowait()) == []
    await fill(store, "a/3")
    assert [event.revision for event in watcher.next_nowait()] == [at + 3]


async def test_a_watcher_overtaken_by_compaction_is_told(store, at):
    watcher = store.watch(PODS, after=at)
    await fill(store, "a/1", "a/2", "a/3")
    await store.compact(at + 2)
    with pytest.raises(Compacted) as caught:
        await watcher.next()
    assert caught.value.compact_revision == at + 2
    with pytest.raises(Compacted):
        watcher.next_nowait()


async def test_batches_are_bounded_and_none_is_lost(store, at):
    slow, narrow = store.watch(PODS, after=at), store.watch(PODS + "a/", after=at)
    await asyncio.gather(*(store.put(f"{PODS}b/{n}", b"") for n in range(2500)))
    await fill(store, "a/1")
    batches = []
    while batch := slow.next_nowait():
        batches.append(batch)
    assert max(len(batch) for batch in batches) <= 1000
    assert [event.revision for batch in batches for event in batch] == list(range(at + 1, at + 2502))
    assert keys(narrow.next_nowait()) == [PODS + "a/1"]


async def test_a_closed_watch_ends_even_while_parked(store, at):
    watcher = store.watch(PODS, after=at)
    waiting = asyncio.ensure_future(watcher.next())
    await asyncio.sleep(0)
    watcher.close()
    with pytest.raises(Unavailable):
        await waiting


async def test_a_cancelled_watcher_leaves_nothing_parked(store, at):
    waiting = asyncio.ensure_future(store.watch(PODS, after=at).next())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert store._engine.directory_index(PODS).parked == set()


async def test_a_write_that_wakes_a_watcher_who_has_just_gone_is_made(store, at):
    waiting = asyncio.ensure_future(store.watch(PODS, after=at).next())
    await asyncio.sleep(0)
    write = asyncio.ensure_future(store.put(PODS + "a", b""))
    waiting.cancel()
    assert (await write).mod_revision == at + 1
    waiting = asyncio.ensure_future(store.watch(PODS, after=at + 1).next())
    await asyncio.sleep(0)
    waiting.cancel()
    assert (await store.put(PODS + "a", b"")).mod_revision == at + 2


async def test_closing_ends_watches_and_waits_and_refuses_writes(store, at):
    watcher = store.watch(PODS, after=at)
    waiting = [asyncio.ensure_future(watcher.next()), asyncio.ensure_future(store.wait_for(at + 9, 60))]
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    for each in (*waiting, store.put(PODS + "a/x", b""), store.delete(PODS + "a/x")):
        with pytest.raises((Unavailable, Conflict)):
            await each


async def test_closing_finishes_the_writes_under_way(store, at):
    writes = [asyncio.ensure_future(store.put(f"{PODS}a/{n}", b"")) for n in range(10)]
    await asyncio.sleep(0)
    await store.close()
    assert sorted(kv.mod_revision for kv in await asyncio.gather(*writes)) == list(range(at + 1, at + 11))


async def test_waiting_for_a_revision_ends_when_it_is_there_or_time_is_up(store, at):
    waiting = asyncio.ensure_future(store.wait_for(at + 2, 60))
    await fill(store, "a/1")
    assert not waiting.done()
    await fill(store, "a/2")
    assert await waiting
    assert await store.wait_for(at + 1, 0)
    assert not await store.wait_for(at + 3, 0)
    assert not await store.wait_for(at + 3, 0.001)


async def test_reads_are_fresh_after_a_write(store, at):
    await fill(store, "a/1")
    await store.sync_read()
    assert store.revision == at + 1


async def test_a_key_that_is_no_text_is_refused_and_harms_no_other(store, at):
    keys = ("\ud800", "a/x")
    results: list[Any] = await asyncio.gather(*(store.put(PODS + key, b"") for key in keys), return_exceptions=True)
    odd, good = results
    assert isinstance(odd, UnicodeEncodeError)
    assert good.mod_revision == store.revision == at + 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1", "https://a:1,b:2", "http://:1", "http://a:1/b", "redis://x", "memory", "", "/tmp/x"]
)
async def test_a_url_of_no_backend_is_refused(url):
    with pytest.raises(StoreError):
        await open_store(url)
