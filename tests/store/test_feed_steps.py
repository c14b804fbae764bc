"""An engine follows a cluster: what it makes of the state and of each message of the watch."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from etcd.access import Place
from etcd.feed import Feed
from etcd.mvcc import Engine
from etcd.store import UNFINISHED, Away, Compacted, Damaged, Unavailable

PODS = "/registry/pods/"
ENDLESS = 1000.0


def told(name: str, value: bytes, created: int, modified: int, *, outside: str = "/here/pods/") -> dict[str, Any]:
    key, data = (b64encode(each).decode() for each in ((outside + name).encode(), value))
    return {"key": key, "value": data, "create_revision": str(created), "mod_revision": str(modified)}


def deleted(name: str, revision: int) -> dict[str, Any]:
    key = b64encode(f"/here/pods/{name}".encode()).decode()
    return {"type": "DELETE", "kv": {"key": key, "mod_revision": str(revision)}}


class Watched:
    """The part of a cluster that a feed uses; what a watch tells, a test puts into `messages`."""

    def __init__(self) -> None:
        self.revision = 5
        self.kvs = [told("a", b"a1", 2, 2), told("b", b"b1", 3, 4)]
        self.messages: asyncio.Queue[dict[str, Any] | Exception] = asyncio.Queue()
        self.streams: list[tuple[str, dict[str, Any]]] = []
        self.begun: asyncio.Queue[int] = asyncio.Queue()

    async def read(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        assert method == "/kv/range"
        kvs = [] if request.get("keys_only") else self.kvs
        return {"header": {"revision": str(self.revision)}, "kvs": kvs, "count": str(len(kvs))}

    @asynccontextmanager
    async def stream(self, method: str, request: dict[str, Any]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        self.streams.append((method, request))
        self.begun.put_nowait(len(self.streams))
        yield self._told()

    async def _told(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            message = await self.messages.get()
            if isinstance(message, Exception):
                raise message
            yield message

    async def begins(self, number: int) -> None:
        """Wait until a stream begins, counted from 1."""
        while await self.begun.get() < number:
            pass

    def tell(self, *events: dict[str, Any]) -> None:
        self.revision = max(self.revision, *(int(each["kv"]["mod_revision"]) for each in events))
        self.messages.put_nowait({"events": list(events)})


@pytest.fixture
def cluster() -> Watched:
    return Watched()


def attach(key: str, value: bytes) -> Any:
    if value in (b"foreign", UNFINISHED):
        raise ValueError("no object")
    return (key, value)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between two attempts to follow; they take no time, and the look after the watch never comes."""
    taken: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds == ENDLESS:
            await asyncio.Event().wait()
        if seconds:
            taken.append(seconds)
        await real(0)

    monkeypatch.setattr("etcd.feed.LOOK", ENDLESS)
    monkeypatch.setattr("etcd.feed.asyncio.sleep", sleep)
    return taken


@pytest.fixture
async def feed(cluster: Watched, pauses: list[float]) -> AsyncIterator[Feed]:
    engine = Engine()
    following = Feed(cluster, Place("/registry/", "/here/"), attach, engine, engine.apply)
    await following.start()
    yield following
    await following.stop()


async def test_the_state_is_read_and_all_keys_are_watched_from_the_revision_after_it(cluster, feed):
    assert [(kv.key, kv.value, kv.create_revision, kv.mod_revision) for kv in feed.engine.range(PODS).items] == [
        (f"{PODS}a", b"a1", 2, 2),
        (f"{PODS}b", b"b1", 3, 4),
    ]
    assert feed.engine.revision == 5
    cluster.tell({"kv": told("c", b"", 6, 6)})
    await feed.until(6)
    create = {"key": "AA==", "range_end": "AA==", "start_revision": "6"}
    assert cluster.streams == [("/watch", {"create_request": create})]


async def test_events_of_the_watch_carry_what_was_before_them(cluster, feed):
    a, b = feed.engine.range(PODS).items
    cluster.tell({"kv": told("a", b"a2", 2, 6)}, deleted("b", 6))
    cluster.tell({"kv": told("c", b"c1", 7, 7)}, deleted("never", 7))
    await feed.until(7)
    a2, c = feed.engine.get(f"{PODS}a"), feed.engine.get(f"{PODS}c")
    assert [tuple(each) for each in feed.engine.log] == [
        (6, f"{PODS}a", a2, a),
        (6, f"{PODS}b", None, b),
        (7, f"{PODS}c", c, None),
    ]
    assert (a2.value, a2.attached, c.value) == (b"a2", (f"{PODS}a", b"a2"), b"c1")


async def test_events_elsewhere_move_the_revision_alone_and_old_ones_nothing(cluster, feed):
    cluster.tell({"kv": told("a", b"old", 2, 5)}, {"kv": told("a", b"", 6, 6, outside="/there/")})
    await feed.until(6)
    assert list(feed.engine.log) == []
    assert feed.engine.get(f"{PODS}a").value == b"a1"


async def test_a_value_of_somebody_else_is_left_out_and_the_next_is_not(cluster, feed, caplog):
    cluster.tell({"kv": told("x", b"foreign", 6, 6)}, {"kv": told("y", b"", 6, 6)})
    await feed.until(6)
    assert (feed.engine.get(f"{PODS}x"), feed.engine.get(f"{PODS}y").value) == (None, b"")
    [message] = [each.getMessage() for each in caplog.records]
    where = "it is left out: etcd has something under '/here/pods/x' that is not of this server (no object): "
    assert message == where + "name another prefix of keys, or delete it"


async def test_where_the_next_events_were_compacted_the_state_is_read_and_watchers_are_told(cluster, feed):
    a = feed.engine.get(f"{PODS}a")
    cursor = feed.engine.watch(PODS, 5)
    cluster.revision, cluster.kvs = 9, [told("a", b"a1", 2, 2), told("c", b"c1", 8, 8)]
    cluster.messages.put_nowait({"canceled": True, "compact_revision": "8"})
    await feed.until(9)
    assert [kv.key for kv in feed.engine.range(PODS).items] == [f"{PODS}a", f"{PODS}c"]
    assert feed.engine.get(f"{PODS}a") is a
    with pytest.raises(Compacted):
        cursor.take()
    cluster.tell({"kv": told("d", b"", 10, 10)})
    await feed.until(10)
    assert [each["create_request"]["start_revision"] for _, each in cluster.streams] == ["6", "10"]


@pytest.mark.parametrize(("reason", "why"), [("no leader", "no leader"), ("", "it does not say why")])
async def test_a_watch_that_etcd_ends_is_trouble_until_the_next_is_made(cluster, feed, caplog, reason, why):
    cluster.messages.put_nowait({"canceled": True, "cancel_reason": reason})
    await cluster.begins(2)
    assert feed.trouble == f"etcd ended the watch: {why}"
    cluster.messages.put_nowait({"created": True})
    cluster.tell({"kv": told("c", b"", 6, 6)})
    await feed.until(6)
    assert feed.trouble == ""
    assert [each.levelname for each in caplog.records] == ["WARNING"]


async def test_a_pause_is_short_after_events_and_then_twice_the_one_before_up_to_a_bound(cluster, feed, pauses):
    for revision in (6, 7):
        cluster.tell({"kv": told("c", b"", 6, revision)})
        for _ in range(8):
            cluster.messages.put_nowait(Away("broken"))
    await cluster.begins(17)
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0] * 2


async def test_what_fails_is_trouble_and_the_watch_begins_again(cluster, feed, caplog):
    cluster.messages.put_nowait(RuntimeError("a bug"))
    await cluster.begins(2)
    assert feed.trouble == "the watch of etcd failed: RuntimeError('a bug')"
    assert [each.levelname for each in caplog.records] == ["ERROR"]


async def test_who_waits_is_woken_at_a_revision_and_not_before(cluster, feed):
    waiting = [asyncio.create_task(feed.until(revision)) for revision in (8, 6, 7, 6)]
    cluster.tell({"kv": told("c", b"", 6, 6)}, {"kv": told("c", b"", 6, 7)})
    await feed.until(7)
    await asyncio.sleep(0)
    assert [each.done() for each in waiting] == [False, True, True, True]
    await feed.stop()
    with pytest.raises(Unavailable, match="the store is closed"):
        await waiting[0]


async def test_nobody_waits_for_a_revision_that_is_there(feed):
    for revision in (0, 4, 5):
        waiting = feed.until(revision)
        with pytest.raises(StopIteration):
            waiting.send(None)


async def test_who_asks_for_the_revision_has_no_more_than_one_key_told(cluster, feed, monkeypatch):
    requests: list[dict[str, Any]] = []

    async def read(_: str, request: dict[str, Any]) -> dict[str, Any]:
        requests.append(request)
        return {"header": {"revision": "5"}}

    monkeypatch.setattr(cluster, "read", read)
    await feed.ask()
    assert requests == [{"key": "AA==", "limit": 1, "keys_only": True}]


async def test_a_cluster_older_than_what_was_seen_of_it_is_another_one(cluster, feed):
    assert await feed.ask() == 5
    cluster.revision = 4
    with pytest.raises(Damaged, match="etcd is at revision 4 and was at 5 before"):
        await feed.ask()


async def test_a_restore_that_has_not_ended_is_told_in_its_words(feed):
    with pytest.raises(Damaged) as caught:
        feed.key_value(f"{PODS}x", told("x", UNFINISHED, 6, 6))
    assert str(caught.value) == f"etcd has '/here/pods/x': {UNFINISHED.decode()}"


async def test_what_this_process_writes_keeps_what_it_has_beside_it(feed):
    def attached(value: bytes) -> Any:
        return feed.key_value(f"{PODS}x", told("x", value, 6, 6)).attached

    with feed.writing(f"{PODS}x", b"1", "first"):
        with feed.writing(f"{PODS}x", b"2", "second"):
            assert (attached(b"1"), attached(b"2")) == ("first", "second")
        assert (attached(b"1"), attached(b"2")) == ("first", (f"{PODS}x", b"2"))
    assert attached(b"1") == (f"{PODS}x", b"1")
    assert feed.mine == {}
