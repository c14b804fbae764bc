"""Keys that are read from etcd page by page: all of them at the opening, and snapshots from before it."""

import asyncio
import base64
from typing import Any

import pytest

from etcd.cluster import Cluster
from etcd.range_reader import MAX_PAGE_BYTES, MIN_PAGE_SIZE
from etcd.store import Compacted, FutureRevision, Unreachable

PODS = "/registry/pods/"


async def test_more_keys_than_a_page_are_read_at_opening(opened, access, etcd, monkeypatch):
    monkeypatch.setattr("etcd.range_reader.FIRST_PAGE_SIZE", 7)
    store = await opened(etcd.url, access=access)
    written = [await store.put(f"{PODS}{n:02}", b"%d" % n) for n in range(30)]
    await store.close()
    again = await opened(etcd.url, access=access)
    assert list(again.range("").items) == written


async def test_pages_that_do_not_come_in_time_are_asked_for_again_with_fewer_keys(opened, etcd, monkeypatch):
    store = await opened(etcd.url)
    written = [await store.put(f"{PODS}{n:02}", b"%d" % n) for n in range(50)]
    await store.close()
    real, asked = Cluster.read, []

    async def read(cluster, method, request):
        asked.append(request["limit"])
        if request["limit"] > 2 * MIN_PAGE_SIZE:
            raise Unreachable("no answer")
        return await real(cluster, method, request)

    monkeypatch.setattr(Cluster, "read", read)
    again = await opened(etcd.url)
    assert list(again.range("").items) == written
    assert max(asked[-3:]) <= 2 * MIN_PAGE_SIZE, "what was too much once is not tried again"


async def test_a_page_has_fewer_keys_where_values_are_large(opened, etcd, monkeypatch):
    store = await opened(etcd.url)
    for n in range(90):
        await store.put(f"{PODS}{n:02}", bytes(MAX_PAGE_BYTES // 40) if n > 30 else b"")
    monkeypatch.setattr("etcd.range_reader.FIRST_PAGE_SIZE", 10)
    real, pages = Cluster.read, []

    async def read(cluster, method, request):
        answer = await real(cluster, method, request)
        pages.append([len(each.get("value", "")) for each in answer.get("kvs", ())])
        return answer

    monkeypatch.setattr(Cluster, "read", read)
    await store.close()
    again = await opened(etcd.url)
    assert again.count(PODS) == 90
    read_at_opening = [page for page in pages if page]
    assert list(map(len, read_at_opening)) == [10, 40, 29, 11]
    assert sum(read_at_opening[2]) < MAX_PAGE_BYTES


async def test_a_compaction_between_two_pages_restarts_the_reading(opened, access, etcd, monkeypatch, caplog):
    monkeypatch.setattr("etcd.range_reader.FIRST_PAGE_SIZE", 2)
    other = await opened(etcd.url, access=access)
    for number in range(6):
        await other.put(f"{PODS}{number}", b"")
    pages: list[Any] = []
    real = asyncio.sleep

    async def compacting(seconds):
        if seconds == 0 and not pages:
            pages.append(1)
            kv = await other.put(PODS + "9", b"")
            etcd.call("kv/compaction", revision=str(kv.mod_revision))
        await real(seconds)

    monkeypatch.setattr("etcd.range_reader.asyncio.sleep", compacting)
    store = await opened(etcd.url, access=access)
    assert pages
    assert store.count(PODS) == 7


async def test_a_snapshot_from_before_the_opening_is_recalled(opened, etcd, monkeypatch):
    monkeypatch.setattr("etcd.range_reader.FIRST_PAGE_SIZE", 3)
    elder = await opened(etcd.url, attach=lambda key, value: (key, value))
    for name in ("a/1", "a/2", "a/3", "a/4", "a/5", "b/1", "b/2", "b/3"):
        await elder.put(PODS + name, b"old")
    etcd.call("kv/put", key=base64.b64encode(b"elsewhere").decode(), value="")
    await elder.sync_read()
    then = elder.revision
    await elder.delete(PODS + "a/2")
    await elder.put(PODS + "a/3", b"new")
    await elder.put(PODS + "b/4", b"new")
    younger = await opened(etcd.url, attach=lambda key, value: (key, value))
    with pytest.raises(Compacted):
        younger.range(PODS, revision=then)
    for prefix, start, limit in (
        (PODS, "", 0),
        (PODS, "", 2),
        (PODS, PODS + "a/3", 4),
        (PODS + "a/", "", 3),
        (PODS + "a/", PODS + "a/4", 9),
        (PODS + "c/", "", 0),
    ):
        page = await younger.range_at(prefix, start=start, limit=limit, revision=then)
        known = await elder.range_at(prefix, start=start, limit=limit, revision=then)
        assert page == known == elder.range(prefix, start=start, limit=limit, revision=then)
    newest = younger.revision
    assert await younger.range_at(PODS, revision=newest) == younger.range(PODS)
    with pytest.raises(FutureRevision):
        await younger.range_at(PODS, revision=newest + 1)


async def test_a_snapshot_that_etcd_has_compacted_is_gone_for_who_began_later(opened, clusters, tmp_path):
    with clusters.running(tmp_path / "own") as own:
        elder = await opened(own.url)
        kv = await elder.put(PODS + "a", b"1")
        await elder.put(PODS + "a", b"2")
        younger = await opened(own.url)
        assert list((await younger.range_at(PODS, revision=kv.mod_revision)).items) == [kv]
        await elder.compact(elder.revision)
        with pytest.raises(Compacted):
            await younger.range_at(PODS, revision=kv.mod_revision)
