"""An engine follows a cluster: it loads the state, then applies each message of the watch."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any, cast

import pytest
from watched_cluster import LONG, PODS, WatchedCluster, attach, comes_to, deleted, kv_json

from etcd.access import KeyPrefix
from etcd.cluster import Cluster
from etcd.mvcc import Engine
from etcd.store import UNFINISHED, Compacted, Damaged, Unavailable, Unreachable
from etcd.watch_cache import WatchCache

pytestmark = pytest.mark.looptime


@pytest.fixture
def cluster() -> WatchedCluster:
    return WatchedCluster()


@pytest.fixture
async def feed(cluster: WatchedCluster) -> AsyncIterator[WatchCache]:
    engine = Engine()
    following = WatchCache(cast("Cluster", cluster), KeyPrefix("/registry/", "/here/"), attach, engine, engine.apply)
    yield following
    await following.stop()


async def test_the_state_is_read_and_all_keys_are_watched_from_the_revision_after_it(cluster, feed):
    await feed.start()
    assert [(kv.key, kv.value, kv.create_revision, kv.mod_revision) for kv in feed.engine.range(PODS).items] == [
        (f"{PODS}a", b"a1", 2, 2),
        (f"{PODS}b", b"b1", 3, 4),
    ]
    assert feed.engine.revision == 5
    cluster.tell({"kv": kv_json("c", b"", 6, 6)})
    await comes_to(feed, 6)
    create = {"key": "AA==", "range_end": "AA==", "start_revision": "6"}
    assert cluster.streams == [("/watch", {"create_request": create})]


async def test_events_of_the_watch_carry_what_was_before_them(cluster, feed):
    await feed.start()
    a, b = feed.engine.range(PODS).items
    cluster.tell({"kv": kv_json("a", b"a2", 2, 6)}, deleted("b", 6))
    cluster.tell({"kv": kv_json("c", b"c1", 7, 7)}, deleted("never", 7))
    await comes_to(feed, 7)
    a2, c = feed.engine.get(f"{PODS}a"), feed.engine.get(f"{PODS}c")
    assert [tuple(each) for each in feed.engine.log] == [
        (6, f"{PODS}a", a2, a),
        (6, f"{PODS}b", None, b),
        (7, f"{PODS}c", c, None),
    ]
    assert (a2.value, a2.index_attrs, c.value) == (b"a2", (f"{PODS}a", b"a2"), b"c1")


async def test_events_elsewhere_move_the_revision_alone_and_old_ones_nothing(cluster, feed):
    await feed.start()
    cluster.tell({"kv": kv_json("a", b"old", 2, 5)}, {"kv": kv_json("a", b"", 6, 6, outside="/there/")})
    await comes_to(feed, 6)
    assert list(feed.engine.log) == []
    assert feed.engine.get(f"{PODS}a").value == b"a1"


async def test_events_elsewhere_hide_none_that_comes_after_them_in_the_same_message(cluster, feed):
    await feed.start()
    cluster.tell({"kv": kv_json("a", b"", 6, 6, outside="/there/")}, {"kv": kv_json("c", b"", 6, 6)})
    await comes_to(feed, 6)
    assert [event.key for event in feed.engine.log] == [f"{PODS}c"]


async def test_every_message_of_a_watch_is_applied_by_itself(cluster, feed):
    await feed.start()
    for revision in (6, 7, 8):
        cluster.tell({"kv": kv_json("c", b"", 6, revision)})
        await comes_to(feed, revision)
    assert len(cluster.streams) == 1


async def test_a_value_of_somebody_else_is_left_out_and_the_next_is_not(cluster, feed, caplog):
    await feed.start()
    cluster.tell({"kv": kv_json("x", b"foreign", 6, 6)}, {"kv": kv_json("y", b"", 6, 6)})
    await comes_to(feed, 6)
    assert (feed.engine.get(f"{PODS}x"), feed.engine.get(f"{PODS}y").value) == (None, b"")
    [message] = [each.getMessage() for each in caplog.records]
    where = "it is left out: etcd has something under '/here/pods/x' that is not of this server (no object): "
    assert message == where + "name another prefix of keys, or delete it"


async def test_where_the_next_events_were_compacted_the_state_is_read_and_watchers_are_told(cluster, feed):
    await feed.start()
    a = feed.engine.get(f"{PODS}a")
    cursor = feed.engine.watch(PODS, 5)
    cluster.revision, cluster.kvs = 9, [kv_json("a", b"a1", 2, 2), kv_json("c", b"c1", 8, 8)]
    cluster.messages.put_nowait({"canceled": True, "compact_revision": "8"})
    await comes_to(feed, 9)
    assert [kv.key for kv in feed.engine.range(PODS).items] == [f"{PODS}a", f"{PODS}c"]
    assert feed.engine.get(f"{PODS}a") is a
    with pytest.raises(Compacted):
        cursor.next_events()
    cluster.tell({"kv": kv_json("d", b"", 10, 10)})
    await comes_to(feed, 10)
    assert cluster.starts == ["6", "10"]


async def test_a_state_that_is_read_again_counts_for_its_revision_though_no_key_has_changed(cluster, feed):
    await feed.start()
    cluster.revision = 9
    cluster.messages.put_nowait({"canceled": True, "compact_revision": "8"})
    await comes_to(feed, 9)
    assert list(feed.engine.log) == []
    await cluster.begins(2)
    assert cluster.starts == ["6", "10"]


@pytest.mark.parametrize(("reason", "why"), [("no leader", "no leader"), ("", "it does not say why")])
async def test_a_watch_that_etcd_ends_is_trouble_until_the_next_is_made(cluster, feed, caplog, reason, why):
    await feed.start()
    cluster.messages.put_nowait({"canceled": True, "cancel_reason": reason})
    await cluster.begins(2)
    assert feed.health_error == f"etcd ended the watch: {why}"
    cluster.messages.put_nowait({"created": True})
    cluster.tell({"kv": kv_json("c", b"", 6, 6)})
    await comes_to(feed, 6)
    assert feed.health_error == ""
    assert [each.levelname for each in caplog.records] == ["WARNING"]


async def test_a_pause_is_short_after_events_and_then_twice_the_one_before_up_to_a_bound(cluster, feed):
    await feed.start()
    for revision in (6, 7):
        cluster.tell({"kv": kv_json("c", b"", 6, revision)})
        for _ in range(8):
            cluster.messages.put_nowait(Unreachable("broken"))
    await cluster.begins(17)
    pauses = [round(after - before, 3) for before, after in pairwise(cluster.began)]
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0] * 2


async def test_what_fails_is_trouble_and_the_watch_begins_again(cluster, feed, caplog):
    await feed.start()
    cluster.messages.put_nowait(RuntimeError("a bug"))
    await cluster.begins(2)
    assert feed.health_error == "the watch of etcd failed: RuntimeError('a bug')"
    assert [each.levelname for each in caplog.records] == ["ERROR"]


async def test_who_waits_is_woken_at_a_revision_and_not_before(cluster, feed):
    await feed.start()
    waiting = [asyncio.create_task(feed.wait_for(revision)) for revision in (8, 6, 7, 6)]
    cluster.tell({"kv": kv_json("c", b"", 6, 6)}, {"kv": kv_json("c", b"", 6, 7)})
    await comes_to(feed, 7)
    await asyncio.sleep(0)
    assert [each.done() for each in waiting] == [False, True, True, True]
    await feed.stop()
    with pytest.raises(Unavailable, match="the store is closed"):
        await asyncio.wait_for(waiting[0], LONG)


async def test_who_waits_for_the_same_revision_goes_on_in_the_order_of_arrival(cluster, feed):
    await feed.start()
    order: list[int] = []

    async def wait(number: int) -> None:
        await comes_to(feed, 6)
        order.append(number)

    async with asyncio.TaskGroup() as waiting:
        for number in range(4):
            waiting.create_task(wait(number))
        cluster.tell({"kv": kv_json("c", b"", 6, 6)})
    assert order == [0, 1, 2, 3]


async def test_who_waits_no_more_keeps_nobody_from_being_woken(cluster, feed):
    await feed.start()
    waiting = [asyncio.create_task(comes_to(feed, 6)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait([waiting[0]])
    cluster.tell({"kv": kv_json("c", b"", 6, 6)})
    assert await asyncio.gather(*waiting[1:]) == [None, None]
    assert (feed.health_error, len(cluster.streams)) == ("", 1)


async def test_a_feed_that_stops_has_closed_its_stream_and_has_no_task_left(cluster, feed):
    await feed.start()
    cluster.closing = 3.0
    cluster.tell({"kv": kv_json("c", b"", 6, 6)})
    await comes_to(feed, 6)
    assert cluster.open == 1
    await feed.stop()
    assert cluster.open == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_feed_that_could_not_start_is_stopped_like_any_other(cluster):
    cluster.refusal = Unreachable("nobody answers")
    engine = Engine()
    feed = WatchCache(cast("Cluster", cluster), KeyPrefix("/registry/", "/here/"), attach, engine, engine.apply)
    with pytest.raises(Unreachable, match="nobody answers"):
        await feed.start()
    assert cluster.requests == [{"key": "AA==", "limit": 1, "keys_only": True}], "pages of any size were asked for"
    await feed.stop()


async def test_nobody_waits_for_a_revision_that_is_there(feed):
    await feed.start()
    for revision in (0, 4, 5):
        waiting = feed.wait_for(revision)
        with pytest.raises(StopIteration):
            waiting.send(None)


async def test_who_asks_for_the_revision_has_no_more_than_one_key_told(cluster, feed):
    await feed.start()
    cluster.requests.clear()
    await feed.cluster_revision()
    assert cluster.requests == [{"key": "AA==", "limit": 1, "keys_only": True}]


async def test_a_snapshot_from_before_this_process_is_read_from_the_cluster(cluster, feed):
    await feed.start()
    page = await feed.range_at(PODS, f"{PODS}a", 7, 4)
    assert ([kv.key for kv in page.items], page.revision) == ([f"{PODS}a", f"{PODS}b"], 4)
    request = cluster.requests[-1]
    assert (b64decode(request["key"]), request["limit"], request["revision"]) == (b"/here/pods/a", 7, "4")


async def test_a_cluster_older_than_what_was_seen_of_it_is_another_one(cluster, feed):
    await feed.start()
    assert await feed.cluster_revision() == 5
    cluster.revision = 4
    with pytest.raises(Damaged, match="etcd is at revision 4 and was at 5 before"):
        await feed.cluster_revision()


async def test_a_restore_that_has_not_ended_is_told_in_its_words(feed):
    await feed.start()
    with pytest.raises(Damaged) as caught:
        feed.key_value(f"{PODS}x", kv_json("x", UNFINISHED, 6, 6))
    advice = "A restore into this prefix has not ended. Run mockube restore again, with --force."
    assert str(caught.value) == f"etcd has '/here/pods/x': {advice}"


async def test_what_this_process_writes_keeps_what_it_has_beside_it(feed):
    await feed.start()

    def attached(value: bytes) -> Any:
        return feed.key_value(f"{PODS}x", kv_json("x", value, 6, 6)).index_attrs

    with feed.own_write(f"{PODS}x", b"1", "first"):
        with feed.own_write(f"{PODS}x", b"2", "second"):
            assert (attached(b"1"), attached(b"2")) == ("first", "second")
        assert (attached(b"1"), attached(b"2")) == ("first", (f"{PODS}x", b"2"))
    assert attached(b"1") == (f"{PODS}x", b"1")
    assert feed.own_writes == {}
