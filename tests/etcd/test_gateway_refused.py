"""The store over etcd, which refuses what is too large, is full, compacted, or not what it was."""

import asyncio
import logging

import pytest
from etcd_networks import Proxy
from gateway_steps import PODS, seen, until
from patience import SECONDS

from etcd.access import ClusterConfig
from etcd.store import MAX_VALUE_BYTES, Compacted, Damaged, Full, StoreError, TooLarge


async def outcome(work) -> object:
    """Return the result of an awaitable, or the StoreError that it raises."""
    try:
        return await work
    except StoreError as error:
        return error


# -- what etcd refuses


async def test_what_is_too_large_is_refused_in_etcds_words(opened, access, etcd):
    store = await opened(etcd.url, access=access)
    for size in (MAX_VALUE_BYTES - 10, MAX_VALUE_BYTES + 1, 2 * MAX_VALUE_BYTES):
        with pytest.raises(TooLarge, match="etcdserver: request is too large"):
            await store.put(PODS + "a", b"x" * size)
    assert store.get(PODS + "a") is None


async def test_a_full_etcd_refuses_writes_and_answers_reads_until_there_is_room(opened, clusters, tmp_path):
    with clusters.running(tmp_path, flags=["--quota-backend-bytes", str(4 << 20)]) as cluster:
        etcd = cluster.members[0]
        store = await opened(cluster.url, access=ClusterConfig())
        watcher = store.watch(PODS, after=store.revision)
        large = b"x" * 500_000
        outcomes = [await outcome(store.put(PODS + "a", large)) for _ in range(20)]
        assert isinstance(outcomes[-1], Full)
        assert str(outcomes[-1]) == "etcdserver: mvcc: database space exceeded"
        await store.sync_read()
        assert store.get(PODS + "a").value == large
        deleted = await store.delete(PODS + "a")
        assert (await seen(watcher, deleted.revision - 1))[-1] == deleted
        etcd.call("kv/compaction", revision=str(store.revision), physical=True)
        etcd.call("maintenance/defragment")
        for alarm in etcd.call("maintenance/alarm", action="GET")["alarms"]:
            etcd.call("maintenance/alarm", action="DEACTIVATE", **alarm)
        await store.put(PODS + "a", b"")


# -- compaction


async def test_a_watch_of_etcd_that_compaction_overtook_starts_again_and_watchers_are_told(
    opened, access, etcd, proxy, caplog
):
    store = await opened(proxy.url, access=access)
    other = await opened(etcd.url, access=access)
    await other.put(PODS + "kept", b"1")
    await other.put(PODS + "gone", b"1")
    await other.put("/registry/nodes/n", b"1")
    await store.sync_read()
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
                    await asyncio.wait_for(each, SECONDS)
            await store.sync_read()
            assert list(store.range("").items) == list(other.range("").items)
            watcher = store.watch(PODS, after=store.revision)
            assert store.revision >= new.mod_revision
            kv = await other.put(PODS + "new", b"2")
            (event,) = await asyncio.wait_for(watcher.next(), SECONDS)
            assert (event.kv, event.prev) == (kv, new)


async def test_history_that_somebody_else_compacted_is_kept_here(opened, access, etcd):
    store = await opened(etcd.url, access=access)
    begin = store.revision
    watcher = store.watch(PODS, after=begin)
    first = await store.put(PODS + "a", b"1")
    second = await store.put(PODS + "a", b"2")
    etcd.call("kv/compaction", revision=str(second.mod_revision))
    assert [event.kv for event in watcher.next_nowait()] == [first, second]
    assert list(store.range(PODS, revision=first.mod_revision).items) == [first]
    await store.compact(first.mod_revision)
    await store.compact(second.mod_revision)
    with pytest.raises(Compacted):
        store.watch(PODS, after=begin)


async def test_an_etcd_with_less_than_was_seen_of_it_is_told_as_such(opened, clusters, tmp_path, caplog):
    with clusters.running(tmp_path / "one") as one, clusters.running(tmp_path / "other") as other:
        member = one.members[0]
        async with Proxy((member.host, member.client)) as proxy:
            store = await opened(proxy.url, access=ClusterConfig())
            for _ in range(5):
                await store.put(PODS + "a", b"")
            proxy.target = (other.members[0].host, other.members[0].client)
            proxy.drop()
            with pytest.raises(Damaged, match=r"etcd is at revision 1 and was at 6 before.*start over"):
                await store.sync_read()
            await until(lambda: "restored" in store.health_error)


async def test_a_refusal_has_etcds_words_and_the_member(opened, access, etcd):
    store = await opened(etcd.url, access=access)
    with pytest.raises(StoreError, match=f"{etcd.url}: etcdserver: mvcc: required revision is a future revision"):
        await store._cluster.write("/kv/compaction", {"revision": str(10**9)})
