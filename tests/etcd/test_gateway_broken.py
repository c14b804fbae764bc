"""The store over etcd, while connections break and etcd is away or slow."""

import asyncio
from typing import Any

import pytest
from gateway_steps import PODS, answer_within, b64, seen, until
from patience import SECONDS

from etcd.store import Unavailable, Unreachable

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
    assert store.health_error == ""


async def test_a_link_that_goes_dead_without_a_word_is_left_and_nothing_is_missed(opened, access, etcd, proxy):
    store = await opened(f"{proxy.url},{etcd.url}", access=access)
    other = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    proxy.cut()
    written = [await other.put(f"{PODS}{number}", b"") for number in range(20)]
    answer_within(store, 5)
    assert [event.kv for event in await seen(watcher, 20)] == written
    answer_within(store, None)
    async with asyncio.timeout(SECONDS):
        await store.sync_read()
        await store.put(PODS + "z", b"")


async def test_while_etcd_is_away_reads_and_writes_are_refused_and_watches_stay_open(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    kv = await store.put(PODS + "a", b"")
    watcher = store.watch(PODS, after=store.revision)
    parked = asyncio.ensure_future(watcher.next())
    await proxy.__aexit__()
    for refused in (store.sync_read(), store.put(PODS + "b", b""), store.delete(PODS + "a"), store.compact(10**9)):
        with pytest.raises(Unreachable, match=f"no member of the etcd cluster answers.*{proxy.port}.*refused"):
            await refused
    assert store.get(PODS + "a") == kv
    assert not parked.done()
    await until(lambda: "refused" in store.health_error)
    etcd.call("kv/put", key=b64(f"{access.key_prefix.cluster_prefix}{PODS}c"))
    async with proxy:
        assert [event.key for event in await asyncio.wait_for(parked, SECONDS)] == [PODS + "c"]
        await store.sync_read()
        await store.put(PODS + "b", b"")
        assert store.health_error == ""


async def test_a_write_whose_answer_is_lost_is_told_as_unknown(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    other = await opened(etcd.url, access=access)
    proxy.mute()
    writing = asyncio.ensure_future(store.put(PODS + "a", b"1"))
    await until(lambda: other.get(PODS + "a"))
    proxy.drop()
    with pytest.raises(Unreachable, match="may or may not have done it") as caught:
        await writing
    assert caught.value.unknown
    proxy.mend()
    await store.sync_read()
    assert store.get(PODS + "a").value == b"1"


async def test_opening_without_an_etcd_says_who_does_not_answer(opened, clusters):
    urls = [f"http://127.0.0.1:{clusters.free_port()}" for _ in range(2)]
    with pytest.raises(Unreachable) as caught:
        await opened(",".join(urls))
    assert all(f"{url}: Connection refused" in str(caught.value) for url in urls)


async def test_what_is_no_etcd_is_told_so(opened, etcd):
    async def answer(_, writer):
        writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\nnot found")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        with pytest.raises(Unreachable, match="no etcd answers there, but HTTP 404 and no JSON: 'not found'"):
            await opened(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


async def test_closing_while_etcd_is_silent_ends_who_waits(opened, access, proxy):
    store = await opened(proxy.url, access=access)
    answer_within(store, None)
    proxy.cut()
    waiting = [asyncio.ensure_future(store.sync_read()) for _ in range(2)]
    await asyncio.sleep(0.05)
    waiting.append(asyncio.ensure_future(store.sync_read()))
    await asyncio.sleep(0)
    async with asyncio.timeout(SECONDS):
        await store.close()
    for each in waiting:
        with pytest.raises(Unavailable):
            await each
    with pytest.raises(Unavailable, match="closed"):
        await store.sync_read()


async def test_closing_waits_for_writes_that_are_slow_and_not_for_those_that_are_not_answered(
    opened, access, etcd, proxy, monkeypatch
):
    monkeypatch.setattr("etcd.cluster.MAX_CALLS", 4)
    monkeypatch.setattr("etcd.cluster_store.CLOSE_TIMEOUT", SECONDS)
    store = await opened(proxy.url, access=access)
    proxy.delay = 0.5
    slow = asyncio.ensure_future(store.put(PODS + "slow", b""))
    await asyncio.sleep(0.1)
    await store.close()
    assert await slow
    monkeypatch.setattr("etcd.cluster_store.CLOSE_TIMEOUT", 0.5)
    monkeypatch.setattr("etcd.watch_cache.CHECK_INTERVAL", 1000)
    proxy.delay = 0
    store = await opened(proxy.url, access=access)
    answer_within(store, None)
    other = await opened(etcd.url, access=access)
    await store.put(PODS + "seen", b"")  # by the watch: so nothing but the writes is under way from now on
    proxy.mute()
    lost = [asyncio.ensure_future(store.put(f"{PODS}{number}", b"")) for number in range(9)]
    await until(lambda: other.count(PODS) == 2 + 4)
    async with asyncio.timeout(SECONDS):
        await store.close()
    outcomes: list[Any] = await asyncio.gather(*lost, return_exceptions=True)
    assert [type(each) for each in outcomes] == [Unreachable] * 4 + [Unavailable] * 5
    assert all(each.unknown for each in outcomes[:4])


# -- a slow etcd


async def test_a_slow_etcd_slows_and_breaks_nothing(opened, access, etcd, proxy):
    store = await opened(proxy.url, access=access)
    other = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    proxy.delay = 0.2
    writing = [asyncio.ensure_future(store.put(f"{PODS}{n}", b"")) for n in range(150)]
    await until(store._cluster._slots.locked)  # so many are under way at a time
    outcomes = await asyncio.gather(*writing)
    kv = await other.put(PODS + "x", b"")
    await store.sync_read()
    assert store.get(PODS + "x") == kv
    events = await seen(watcher, 151)
    assert [event.revision for event in events] == sorted(each.mod_revision for each in (*outcomes, kv))
    assert store.health_error == ""


async def test_calls_that_wait_for_their_turn_are_not_timed_out_and_in_the_end_refused(
    opened, access, proxy, monkeypatch
):
    monkeypatch.setattr("etcd.cluster.MAX_CALLS", 4)
    monkeypatch.setattr("etcd.cluster.SLOT_TIMEOUT", 1.0)
    store = await opened(proxy.url, access=access)
    proxy.delay = 0.2
    results = await asyncio.gather(*(store.put(f"{PODS}{n}", b"") for n in range(40)), return_exceptions=True)
    refused: list[Any] = [each for each in results if isinstance(each, Exception)]
    assert all("etcd is too slow: 4 calls are under way" in str(each) and not each.unknown for each in refused)
    assert 4 <= 40 - len(refused) < 40
    proxy.delay = 0
    await store.sync_read()
    assert store.count(PODS) == 40 - len(refused)
