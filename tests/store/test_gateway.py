"""The store over etcd, while others write there too, and while etcd is slow, full, away or compacted."""

import asyncio
import base64
import logging
import time
from itertools import pairwise

import pytest

from etcd.access import Access, Place
from etcd.store import LARGEST, Away, Compacted, Conflict, Damaged, Event, Full, StoreError, TooLarge, Unavailable

PODS = "/registry/pods/"


def b64(key: str | bytes) -> str:
    return base64.b64encode(key if isinstance(key, bytes) else key.encode()).decode()


def put(key: str | bytes, value: str | bytes = "") -> dict:
    return {"request_put": {"key": b64(key), "value": b64(value)}}


@pytest.fixture
async def proxy(networks, etcd):
    """What stands between a store and etcd."""
    async with networks.Proxy((etcd.host, etcd.client)) as standing:
        yield standing


@pytest.fixture
def place(access):
    """What all keys of the test begin with in etcd."""
    return access.place.outside


async def seen(watcher, number: int, seconds: float = 20) -> list[Event]:
    """As many events, and none that comes with the last."""
    events: list[Event] = []
    async with asyncio.timeout(seconds):
        while len(events) < number:
            events += await watcher.next()
    return events


async def until(what, seconds: float = 20) -> None:
    """Wait until something that nobody tells of is so."""
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)


async def outcome(work) -> object:
    """What comes of something, its error too."""
    try:
        return await work
    except StoreError as error:
        return error


# -- others in the same etcd


async def test_what_another_client_writes_is_read_and_watched(opened, access, place, etcd):
    store = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    etcd.call("kv/put", key=b64(f"{place}{PODS}a"), value=b64("1"))
    await store.fresh()
    kv = store.get(PODS + "a")
    assert (kv.value, kv.create_revision) == (b"1", kv.mod_revision)
    etcd.call("kv/deleterange", key=b64(f"{place}{PODS}a"))
    await store.fresh()
    assert store.get(PODS + "a") is None
    created, deleted = watcher.take()
    assert (created.kv, created.prev, deleted.kv, deleted.prev) == (kv, None, None, kv)


async def test_a_transaction_of_several_keys_is_one_revision_with_several_events(opened, access, place, etcd):
    store = await opened(etcd.url, access=access)
    kept = await store.put(PODS + "kept", b"0")
    gone = await store.put(PODS + "gone", b"0")
    watcher = store.watch(PODS, after=store.revision)
    keys = [f"{place}{PODS}{name}" for name in ("new", "kept", "gone")]
    requests = [put(keys[0], "1"), put(keys[1], "1"), {"request_delete_range": {"key": b64(keys[2])}}]
    etcd.call("kv/txn", success=requests)
    await store.fresh()
    events = list(watcher.take())
    revision = gone.mod_revision + 1
    assert {(event.key, event.revision, event.is_delete) for event in events} == {
        (PODS + "new", revision, False),
        (PODS + "kept", revision, False),
        (PODS + "gone", revision, True),
    }
    assert {event.key: event.prev for event in events} == {PODS + "new": None, PODS + "kept": kept, PODS + "gone": gone}
    assert store.revision == watcher.position == revision
    assert store.get(PODS + "kept").create_revision == kept.create_revision
    assert [kv.value for kv in store.range(PODS, revision=revision - 1).items] == [b"0", b"0"]


async def test_a_large_transaction_stays_together_in_a_watch(opened, access, place, etcd):
    store = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    for first in range(0, 1300, 100):
        etcd.call("kv/txn", success=[put(f"{place}{PODS}{n}") for n in range(first, first + 100)])
    await store.fresh()
    batches = []
    while batch := watcher.take():
        batches.append([event.revision for event in batch])
    assert sum(map(len, batches)) == 1300
    assert all(one[-1] < other[0] for one, other in pairwise(batches))


async def test_keys_elsewhere_only_move_the_revision(opened, access, place, etcd):
    store = await opened(etcd.url, access=access)
    watcher = store.watch("", after=store.revision)
    before = store.revision
    etcd.call("kv/put", key=b64("/t"))
    etcd.call("kv/put", key=b64(b"\xff\xfe\x00"), value=b64(b"\xff"))
    etcd.call("kv/put", key=b64(place.encode() + b"\xff"), value=b64(b"\xff"))
    etcd.call("kv/txn", success=[put("/elsewhere"), put(f"{place}{PODS}here")])
    await store.fresh()
    assert store.revision == before + 4
    assert [event.key for event in watcher.take()] == [PODS + "here"]
    assert watcher.position == store.revision
    assert [kv.key for kv in store.range("").items] == [PODS + "here"]
    await store.close()
    again = await opened(etcd.url, access=access)
    assert [kv.key for kv in again.range("").items] == [PODS + "here"]


async def test_a_place_ends_where_another_begins(opened, etcd, place):
    one = await opened(etcd.url, access=Access(place=Place("/registry", f"{place}one")))
    await one.put("/registry/pods/a", b"")
    other = await opened(etcd.url, access=Access(place=Place("/registry", f"{place}on")))
    assert [kv.key for kv in one.range("/registry").items] == ["/registry/pods/a"]
    assert etcd.call("kv/range", key=b64(f"{place}one/pods/a"))["count"] == "1"
    assert [kv.key for kv in other.range("").items] == ["/registrye/pods/a"]


async def test_stores_over_one_etcd_see_each_others_writes_once_they_ask(opened, access, etcd):
    stores = [await opened(etcd.url, access=access) for _ in range(3)]
    for number in range(60):
        kv = await stores[number % 3].put(PODS + "a", b"%d" % number)
        await stores[(number + 1) % 3].fresh()
        assert stores[(number + 1) % 3].get(PODS + "a") == kv


async def test_a_lost_race_is_told_with_what_won(opened, access, etcd):
    one, other = [await opened(etcd.url, access=access) for _ in range(2)]
    first = await one.put(PODS + "a", b"1", expect=0)
    results = await asyncio.gather(
        one.put(PODS + "a", b"2", expect=first.mod_revision),
        other.put(PODS + "a", b"3", expect=first.mod_revision),
        return_exceptions=True,
    )
    won = next(each for each in results if not isinstance(each, Exception))
    lost = next(each for each in results if isinstance(each, Exception))
    assert isinstance(lost, Conflict)
    assert lost.current == won


# -- broken connections


async def test_a_watch_goes_on_where_it_broke_off(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    other = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    written = []
    for number in range(40):
        written.append(await other.put(f"{PODS}{number % 5}", b"%d" % number))
        if number % 8 == 3:
            proxy.drop()
    events = await seen(watcher, 40)
    assert [event.kv for event in events] == written
    assert store.trouble == ""


async def test_a_link_that_goes_dead_without_a_word_is_left_and_nothing_is_missed(opened, access, etcd, proxy):
    store = await opened(f"{proxy.url},{etcd.url}", access=access)
    other = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    proxy.cut()
    written = [await other.put(f"{PODS}{number}", b"") for number in range(20)]
    begin = time.monotonic()
    assert [event.kv for event in await seen(watcher, 20)] == written
    assert time.monotonic() - begin < 9
    begin = time.monotonic()
    await store.fresh()
    await store.put(PODS + "z", b"")
    assert time.monotonic() - begin < 1


async def test_while_etcd_is_away_reads_and_writes_are_refused_and_watches_stay_open(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    kv = await store.put(PODS + "a", b"")
    watcher = store.watch(PODS, after=store.revision)
    parked = asyncio.ensure_future(watcher.next())
    await proxy.__aexit__()
    for refused in (store.fresh(), store.put(PODS + "b", b""), store.delete(PODS + "a"), store.compact(10**9)):
        with pytest.raises(Away, match=f"no member of the etcd cluster answers.*{proxy.port}.*refused"):
            await refused
    assert store.get(PODS + "a") == kv
    assert not parked.done()
    await until(lambda: "refused" in store.trouble)
    etcd.call("kv/put", key=b64(f"{access.place.outside}{PODS}c"))
    async with proxy:
        assert [event.key for event in await asyncio.wait_for(parked, 10)] == [PODS + "c"]
        await store.fresh()
        await store.put(PODS + "b", b"")
        assert store.trouble == ""


async def test_a_write_whose_answer_is_lost_is_told_as_unknown(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    proxy.delay = 0.3
    writing = asyncio.ensure_future(store.put(PODS + "a", b"1"))
    await asyncio.sleep(0.45)
    proxy.drop()
    with pytest.raises(Away, match="may or may not have done it") as caught:
        await writing
    assert caught.value.unknown
    proxy.delay = 0
    await store.fresh()
    assert store.get(PODS + "a").value == b"1"


async def test_opening_without_an_etcd_says_who_does_not_answer(opened, clusters):
    urls = [f"http://127.0.0.1:{clusters.free_port()}" for _ in range(2)]
    with pytest.raises(Away) as caught:
        await opened(",".join(urls))
    assert all(f"{url}: Connection refused" in str(caught.value) for url in urls)


async def test_what_is_no_etcd_is_told_so(opened, etcd):
    async def answer(_, writer):
        writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\nnot found")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        with pytest.raises(Away, match="no etcd answers there, but HTTP 404 and no JSON: 'not found'"):
            await opened(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


async def test_closing_while_etcd_is_silent_ends_who_waits(opened, access, proxy):
    store = await opened(proxy.url, access=access)
    proxy.cut()
    waiting = [asyncio.ensure_future(store.fresh()) for _ in range(2)]
    await asyncio.sleep(0.05)
    waiting.append(asyncio.ensure_future(store.fresh()))
    await asyncio.sleep(0)
    begin = time.monotonic()
    await store.close()
    assert time.monotonic() - begin < 2
    for each in waiting:
        with pytest.raises(Unavailable):
            await each
    with pytest.raises(Unavailable, match="closed"):
        await store.fresh()


async def test_closing_waits_for_writes_that_are_slow_and_not_for_those_that_are_not_answered(
    opened, access, etcd, proxy, monkeypatch
):
    monkeypatch.setattr("etcd.cluster.CONNECTIONS", 4)
    store = await opened(proxy.url, access=access)
    proxy.delay = 0.5
    slow = asyncio.ensure_future(store.put(PODS + "slow", b""))
    await asyncio.sleep(0.1)
    await store.close()
    assert await slow
    store = await opened(proxy.url, access=access)
    proxy.cut()
    lost = [asyncio.ensure_future(store.put(f"{PODS}{number}", b"")) for number in range(9)]
    await asyncio.sleep(0.1)
    begin = time.monotonic()
    await store.close()
    assert 2 < time.monotonic() - begin < 4
    found = await asyncio.gather(*lost, return_exceptions=True)
    assert [type(each) for each in found] == [Away] * 4 + [Unavailable] * 5
    assert all(each.unknown for each in found[:4])


# -- a slow etcd


async def test_a_slow_etcd_slows_and_breaks_nothing(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    other = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    proxy.delay = 0.2
    begin = time.monotonic()
    mine = await asyncio.gather(*(store.put(f"{PODS}{n}", b"") for n in range(150)))
    kv = await other.put(PODS + "x", b"")
    await store.fresh()
    assert store.get(PODS + "x") == kv
    assert time.monotonic() - begin < 5
    events = await seen(watcher, 151)
    assert [event.revision for event in events] == sorted(each.mod_revision for each in (*mine, kv))
    assert store.trouble == ""


async def test_calls_that_wait_for_their_turn_are_not_timed_out_and_in_the_end_refused(
    opened, access, proxy, monkeypatch
):
    monkeypatch.setattr("etcd.cluster.CONNECTIONS", 4)
    monkeypatch.setattr("etcd.cluster.QUEUE", 1.0)
    store = await opened(proxy.url, access=access)
    proxy.delay = 0.2
    results = await asyncio.gather(*(store.put(f"{PODS}{n}", b"") for n in range(40)), return_exceptions=True)
    refused = [each for each in results if isinstance(each, Exception)]
    assert all("etcd is too slow: 4 calls are under way" in str(each) and not each.unknown for each in refused)
    assert 4 <= 40 - len(refused) < 40
    proxy.delay = 0
    await store.fresh()
    assert store.count(PODS) == 40 - len(refused)


# -- what etcd refuses


async def test_what_is_too_large_is_refused_in_etcds_words(opened, access, etcd):
    store = await opened(etcd.url, access=access)
    for size in (LARGEST - 10, LARGEST + 1, 2 * LARGEST):
        with pytest.raises(TooLarge, match="etcdserver: request is too large"):
            await store.put(PODS + "a", b"x" * size)
    assert store.get(PODS + "a") is None


async def test_a_full_etcd_refuses_writes_and_answers_reads_until_there_is_room(opened, clusters, tmp_path):
    with clusters.running(tmp_path, flags=["--quota-backend-bytes", str(4 << 20)]) as cluster:
        etcd = cluster.members[0]
        store = await opened(cluster.url, access=Access())
        watcher = store.watch(PODS, after=store.revision)
        large = b"x" * 500_000
        outcomes = [await outcome(store.put(PODS + "a", large)) for _ in range(20)]
        assert isinstance(outcomes[-1], Full)
        assert str(outcomes[-1]) == "etcdserver: mvcc: database space exceeded"
        await store.fresh()
        assert store.get(PODS + "a").value == large
        deleted = await store.delete(PODS + "a")
        assert (await seen(watcher, deleted.revision - 1))[-1] == deleted
        etcd.call("kv/compaction", revision=str(store.revision), physical=True)
        etcd.call("maintenance/defragment")
        for alarm in etcd.call("maintenance/alarm", action="GET")["alarms"]:
            etcd.call("maintenance/alarm", action="DEACTIVATE", **alarm)
        await store.put(PODS + "a", b"")


# -- compaction


async def test_a_watch_of_etcd_that_compaction_overtook_begins_anew_and_watchers_are_told(
    opened, access, etcd, proxy, caplog
):
    store = await opened(proxy.url, access=access)
    other = await opened(etcd.url, access=access)
    await other.put(PODS + "kept", b"1")
    await other.put(PODS + "gone", b"1")
    await other.put("/registry/nodes/n", b"1")
    await store.fresh()
    pods, nodes = (store.watch(f"/registry/{each}/", after=store.revision) for each in ("pods", "nodes"))
    parked = [asyncio.ensure_future(each.next()) for each in (pods, nodes)]
    await asyncio.sleep(0)
    with caplog.at_level(logging.CRITICAL, "etcd"):
        await proxy.__aexit__()
        await other.put(PODS + "kept", b"2")
        await other.delete(PODS + "gone")
        await other.put("/registry/nodes/passing", b"")
        await other.delete("/registry/nodes/passing")
        new = await other.put(PODS + "new", b"1")
        await other.compact(other.revision)
        async with proxy:
            for each in parked:  # of the nodes nothing is left to see: two events are missing all the same
                with pytest.raises(Compacted):
                    await asyncio.wait_for(each, 10)
            await store.fresh()
            assert list(store.range("").items) == list(other.range("").items)
            watcher = store.watch(PODS, after=store.revision)
            assert store.revision >= new.mod_revision
            kv = await other.put(PODS + "new", b"2")
            (event,) = await asyncio.wait_for(watcher.next(), 10)
            assert (event.kv, event.prev) == (kv, new)


async def test_history_that_somebody_else_compacted_is_kept_here(opened, access, etcd):
    store = await opened(etcd.url, access=access)
    begin = store.revision
    watcher = store.watch(PODS, after=begin)
    first = await store.put(PODS + "a", b"1")
    second = await store.put(PODS + "a", b"2")
    etcd.call("kv/compaction", revision=str(second.mod_revision))
    assert [event.kv for event in watcher.take()] == [first, second]
    assert list(store.range(PODS, revision=first.mod_revision).items) == [first]
    await store.compact(first.mod_revision)
    await store.compact(second.mod_revision)
    with pytest.raises(Compacted):
        store.watch(PODS, after=begin)


async def test_an_etcd_with_less_than_was_seen_of_it_is_told_as_such(opened, clusters, networks, tmp_path, caplog):
    with clusters.running(tmp_path / "one") as one, clusters.running(tmp_path / "other") as other:
        member = one.members[0]
        async with networks.Proxy((member.host, member.client)) as proxy:
            store = await opened(proxy.url, access=Access())
            for _ in range(5):
                await store.put(PODS + "a", b"")
            proxy.target = (other.members[0].host, other.members[0].client)
            proxy.drop()
            with pytest.raises(Damaged, match=r"etcd is at revision 1 and was at 6 before.*start anew"):
                await store.fresh()
            await until(lambda: "restored" in store.trouble)


async def test_a_refusal_has_etcds_words_and_the_member(opened, access, etcd):
    store = await opened(etcd.url, access=access)
    with pytest.raises(StoreError, match=f"{etcd.url}: etcdserver: mvcc: required revision is a future revision"):
        await store._cluster.write("/kv/compaction", {"revision": str(10**9)})
