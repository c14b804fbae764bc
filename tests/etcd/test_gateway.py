"""The store over etcd, while others write there too."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from gateway_steps import PODS, b64

from etcd.access import ClusterConfig, KeyPrefix
from etcd.store import Conflict


def put(key: str | bytes, value: str | bytes = "") -> dict[str, Any]:
    return {"request_put": {"key": b64(key), "value": b64(value)}}


@pytest.fixture
def prefix(access):
    """The prefix of all keys of the test in etcd."""
    return access.key_prefix.cluster_prefix


async def test_what_another_client_writes_is_read_and_watched(opened, access, prefix, etcd):
    store = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    etcd.call("kv/put", key=b64(f"{prefix}{PODS}a"), value=b64("1"))
    await store.sync_read()
    kv = store.get(PODS + "a")
    assert (kv.value, kv.create_revision) == (b"1", kv.mod_revision)
    etcd.call("kv/deleterange", key=b64(f"{prefix}{PODS}a"))
    await store.sync_read()
    assert store.get(PODS + "a") is None
    created, deleted = watcher.next_nowait()
    assert (created.kv, created.prev, deleted.kv, deleted.prev) == (kv, None, None, kv)


async def test_a_transaction_of_several_keys_is_one_revision_with_several_events(opened, access, prefix, etcd):
    store = await opened(etcd.url, access=access)
    kept = await store.put(PODS + "kept", b"0")
    gone = await store.put(PODS + "gone", b"0")
    watcher = store.watch(PODS, after=store.revision)
    keys = [f"{prefix}{PODS}{name}" for name in ("new", "kept", "gone")]
    requests = [put(keys[0], "1"), put(keys[1], "1"), {"request_delete_range": {"key": b64(keys[2])}}]
    etcd.call("kv/txn", success=requests)
    await store.sync_read()
    events = list(watcher.next_nowait())
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


async def test_a_large_transaction_stays_together_in_a_watch(opened, access, prefix, etcd):
    store = await opened(etcd.url, access=access)
    watcher = store.watch(PODS, after=store.revision)
    for first in range(0, 1300, 65):  # no batch of 1000 ends with one of these by itself
        etcd.call("kv/txn", success=[put(f"{prefix}{PODS}{n}") for n in range(first, first + 65)])
    await store.sync_read()
    batches = []
    while batch := watcher.next_nowait():
        batches.append([event.revision for event in batch])
    assert sum(map(len, batches)) == 1300
    assert all(one[-1] < other[0] for one, other in pairwise(batches))


async def test_keys_elsewhere_only_move_the_revision(opened, access, prefix, etcd):
    store = await opened(etcd.url, access=access)
    watcher = store.watch("", after=store.revision)
    before = store.revision
    etcd.call("kv/put", key=b64("/t"))
    etcd.call("kv/put", key=b64(b"\xff\xfe\x00"), value=b64(b"\xff"))
    etcd.call("kv/put", key=b64(prefix.encode() + b"\xff"), value=b64(b"\xff"))
    etcd.call("kv/txn", success=[put("/elsewhere"), put(f"{prefix}{PODS}here")])
    await store.sync_read()
    assert store.revision == before + 4
    assert [event.key for event in watcher.next_nowait()] == [PODS + "here"]
    assert watcher.position == store.revision
    assert [kv.key for kv in store.range("").items] == [PODS + "here"]
    await store.close()
    again = await opened(etcd.url, access=access)
    assert [kv.key for kv in again.range("").items] == [PODS + "here"]


async def test_a_place_ends_where_another_begins(opened, etcd, prefix):
    one = await opened(etcd.url, access=ClusterConfig(key_prefix=KeyPrefix("/registry", f"{prefix}one")))
    await one.put("/registry/pods/a", b"")
    other = await opened(etcd.url, access=ClusterConfig(key_prefix=KeyPrefix("/registry", f"{prefix}on")))
    assert [kv.key for kv in one.range("/registry").items] == ["/registry/pods/a"]
    assert etcd.call("kv/range", key=b64(f"{prefix}one/pods/a"))["count"] == "1"
    assert [kv.key for kv in other.range("").items] == ["/registrye/pods/a"]


async def test_stores_over_one_etcd_see_each_others_writes_once_they_ask(opened, access, etcd):
    stores = [await opened(etcd.url, access=access) for _ in range(3)]
    for number in range(60):
        kv = await stores[number % 3].put(PODS + "a", b"%d" % number)
        await stores[(number + 1) % 3].sync_read()
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
