"""A watch cache over time: when it checks whether its watch is behind, restarts it, and holds events back."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import cast

import pytest
from watched_cluster import PODS, WatchedCluster, attach, comes_to, kv_json

from etcd.access import KeyPrefix
from etcd.cluster import Cluster
from etcd.mvcc import Engine
from etcd.store import Event, Unreachable
from etcd.watch_cache import WatchCache

pytestmark = pytest.mark.looptime


class SlowApply:
    """Takes events as a store does: that lasts some time, in which the loop does nothing else.

    Attributes:
        seconds: how long it takes.
        batches: when each batch was taken, and the revisions in it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine = Engine()
        self.seconds = 0.0
        self.batches: list[tuple[float, list[int]]] = []
        self._passed = 0.0
        loop = asyncio.get_running_loop()
        self._loop_time = loop.time
        monkeypatch.setattr(loop, "time", self.time)

    def time(self) -> float:
        """Return the loop's time, and what was spent in between."""
        return self._loop_time() + self._passed

    def __call__(self, events: Iterable[Event]) -> None:
        """Apply events."""
        revisions: list[int] = []
        self.batches.append((round(self.time(), 3), revisions))
        self.engine.apply(self._noted(events, revisions))
        self._passed += self.seconds

    def _noted(self, events: Iterable[Event], revisions: list[int]) -> Iterator[Event]:
        for event in events:
            revisions.append(event.revision)
            yield event


@pytest.fixture
def cluster() -> WatchedCluster:
    return WatchedCluster()


@pytest.fixture
async def applied(monkeypatch: pytest.MonkeyPatch) -> SlowApply:
    return SlowApply(monkeypatch)


@pytest.fixture
async def feed(cluster: WatchedCluster, applied: SlowApply) -> AsyncIterator[WatchCache]:
    following = WatchCache(cast("Cluster", cluster), KeyPrefix("/registry/", "/here/"), attach, applied.engine, applied)
    yield following
    await following.stop()


def pod(revision: int) -> dict[str, dict[str, str]]:
    return {"kv": kv_json(f"pod-{revision}", b"", revision, revision)}


# -- whether the watch is behind


async def test_a_watch_that_is_behind_at_a_look_and_stays_so_is_left_for_another_member(cluster, feed):
    await feed.start()
    await cluster.begins(1)
    [begin] = cluster.began
    cluster.revision = 9
    cluster.closing = 1.0
    await cluster.begins(2)
    assert [round(left - begin, 3) for left in cluster.left] == [4.0]
    assert feed.health_error == "the watch stands at revision 5, the cluster at 9"
    assert cluster.starts == ["6", "6"]


async def test_a_watch_that_comes_to_what_a_look_saw_is_not_behind_however_far_the_cluster_is_by_then(cluster, feed):
    await feed.start()
    await cluster.begins(1)
    for revision in range(6, 20):
        cluster.revision = revision
        await asyncio.sleep(1)
        cluster.tell(pod(revision))
        await comes_to(feed, revision)
    assert (cluster.left, len(cluster.streams), feed.health_error) == ([], 1, "")


async def test_while_nobody_answers_the_watch_is_not_to_blame_and_the_trouble_ends_with_that(cluster, feed):
    await feed.start()
    await cluster.begins(1)
    cluster.refusal = Unreachable("nobody answers")
    await asyncio.sleep(7)
    cluster.tell(pod(6))
    await comes_to(feed, 6)
    assert (feed.health_error, cluster.left, len(cluster.streams)) == ("nobody answers", [], 1)
    cluster.refusal = None
    await asyncio.sleep(4)
    assert (feed.health_error, cluster.left, len(cluster.streams)) == ("", [], 1)


# -- how it begins again


async def test_no_stream_begins_before_a_member_answers(cluster, feed):
    await feed.start()
    await cluster.begins(1)
    cluster.refusal = Unreachable("nobody answers")
    cluster.messages.put_nowait(Unreachable("broken"))
    await asyncio.sleep(10)
    assert (len(cluster.streams), feed.health_error) == (1, "nobody answers")
    cluster.refusal = None
    await cluster.begins(2)


async def test_a_stream_that_ends_without_a_word_is_trouble(cluster, feed):
    await feed.start()
    await cluster.begins(1)
    cluster.messages.put_nowait(None)
    await cluster.begins(2)
    assert feed.health_error == "the stream ended"


@pytest.mark.parametrize("refused", [{}, {"created": True}], ids=["ended later", "ended as it is made"])
async def test_the_same_trouble_is_a_warning_once_and_lasts(cluster, feed, caplog, refused):
    await feed.start()
    await cluster.begins(1)
    for number in (2, 3, 4):
        cluster.messages.put_nowait(refused | {"canceled": True, "cancel_reason": "permission denied"})
        await cluster.begins(number)
        assert feed.health_error == "etcd ended the watch: permission denied"
    assert [each.levelname for each in caplog.records if each.name == "etcd"] == ["WARNING"]


# -- what it holds back


async def test_as_long_as_it_takes_to_tell_of_events_so_long_are_the_next_held_back(cluster, feed, applied):
    await feed.start()
    await cluster.begins(1)
    await asyncio.sleep(5)
    begin = applied.time()
    applied.seconds = 0.01
    cluster.tell(pod(6))
    await comes_to(feed, 6)
    cluster.tell(pod(7))
    cluster.tell(pod(8))
    await comes_to(feed, 8)
    await asyncio.sleep(1)
    cluster.tell(pod(9))
    await comes_to(feed, 9)
    assert [revisions for _, revisions in applied.batches] == [[6], [7, 8], [9]]
    times = [round(time - begin, 3) for time, _ in applied.batches]
    assert times == [0.0, 0.02, 1.03], "nothing is held back after a quiet second"


async def test_events_are_not_held_back_for_longer_than_20_milliseconds(cluster, feed, applied):
    await feed.start()
    await cluster.begins(1)
    begin = cluster.began[0]
    applied.seconds = 0.5
    cluster.tell(pod(6))
    await comes_to(feed, 6)
    cluster.tell(pod(7))
    await comes_to(feed, 7)
    assert [round(time - begin, 3) for time, _ in applied.batches] == [0.0, 0.52]


async def test_what_is_held_back_when_a_stream_breaks_is_applied_before_the_next_begins(cluster, feed, applied):
    await feed.start()
    await cluster.begins(1)
    applied.seconds = 0.01
    cluster.tell(pod(6))
    await comes_to(feed, 6)
    cluster.tell(pod(7))
    cluster.messages.put_nowait(Unreachable("broken"))
    await cluster.begins(2)
    assert cluster.starts == ["6", "8"]
    cluster.tell(pod(8))
    await comes_to(feed, 8)
    assert [event.key for event in feed.engine.log] == [f"{PODS}pod-{revision}" for revision in (6, 7, 8)]


async def test_who_waits_for_what_is_held_back_when_the_feed_stops_is_not_refused(cluster, feed, applied):
    await feed.start()
    await cluster.begins(1)
    applied.seconds = 0.01
    cluster.tell(pod(6))
    await comes_to(feed, 6)
    waiting = asyncio.create_task(comes_to(feed, 7))
    cluster.tell(pod(7))
    await asyncio.sleep(0.001)
    assert feed.engine.revision == 6
    await feed.stop()
    await waiting
    assert feed.engine.revision == 7
