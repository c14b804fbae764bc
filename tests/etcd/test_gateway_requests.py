"""The store over etcd, seen in its requests to a member: the request of each write, and the reading of its answer.

The member is scripted, over HTTP: so it can be slow, stay behind, or forget, at the moment that a test wants.
"""

import asyncio
import gc
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from gateway_steps import PODS
from patience import SECONDS
from scripted_member import Call, ScriptedMember, header

from etcd.access import ClusterConfig, KeyPrefix
from etcd.backends import open_store
from etcd.store import (
    MAX_VALUE_BYTES,
    Compacted,
    Conflict,
    Event,
    FutureRevision,
    KeyValue,
    StoreError,
    TooLarge,
    Unavailable,
    Unreachable,
)

RANGE, TXN, WATCH, GRANT, COMPACTION = "/kv/range", "/kv/txn", "/watch", "/lease/grant", "/kv/compaction"
HERE = ClusterConfig(key_prefix=KeyPrefix("/registry/", "/here/"))


def b64(text: str | bytes) -> str:
    return b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def kv_json(name: str, value: bytes, created: int, modified: int) -> dict[str, Any]:
    """Return a key as etcd's JSON has it."""
    revisions = {"create_revision": str(created), "mod_revision": str(modified), "version": "1"}
    return {"key": b64(f"/here/pods/{name}"), "value": b64(value)} | revisions


@dataclass
class Etcd(ScriptedMember):
    """A member with one key, "known"; a watch of it says what a test lets it say.

    Attributes:
        revision: the cluster's.
    """

    revision: int = 5
    watches: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scripts = {RANGE: self._range, WATCH: self._watch}

    def _range(self, call: Call) -> None:
        answer: dict[str, Any] = {"header": header(self.revision)}
        if not call.request.get("keys_only"):
            answer |= {"kvs": [kv_json("known", b"1", 3, 4)], "count": "1"}
        call.answer(answer)

    def _watch(self, call: Call) -> None:
        self.watches.append(call)
        call.begin()
        self.say({"created": True})

    def say(self, message: dict[str, Any]) -> None:
        """Send a message of the watch."""
        message = {"result": {"header": header(self.revision)} | message}
        self.watches[-1].tell(json.dumps(message).encode() + b"\n")

    def tell(self, *kvs: dict[str, Any]) -> None:
        """Let the watch deliver writes."""
        self.revision = int(kvs[-1]["mod_revision"])
        self.say({"events": [{"kv": kv} for kv in kvs]})

    def tell_deleted(self, name: str, revision: int) -> None:
        """Let the watch deliver a deletion."""
        self.revision = revision
        kv = {"key": b64(f"/here/pods/{name}"), "mod_revision": str(revision)}
        self.say({"events": [{"type": "DELETE", "kv": kv}]})

    def does(self, revision: int, **response: Any) -> dict[str, Any]:
        """The answer to a transaction whose comparisons hold."""
        ((kind, answer),) = response.items()
        responses = [{kind: {"header": {"revision": str(revision)}} | answer}]
        return {"header": header(revision), "succeeded": True, "responses": responses}

    def does_not(self, *kvs: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a transaction with a comparison that does not hold."""
        there = {"kvs": list(kvs), "count": "1"} if kvs else {}
        response = {"response_range": {"header": {"revision": str(self.revision)}} | there}
        return {"header": header(self.revision), "responses": [response]}

    def puts(self, name: str, revision: int, **response: Any) -> None:
        """Carry out the next put, and deliver it to the watch."""

        def put(call: Call) -> None:
            value = call.request["success"][0]["request_put"]["value"]
            self.tell({**kv_json(name, b"", revision, revision), "value": value})
            call.answer(self.does(revision, response_put=response))

        self.on(TXN, put)


@pytest.fixture
async def etcd() -> AsyncIterator[Etcd]:
    async with Etcd() as member:
        yield member


@pytest.fixture
async def store(etcd: Etcd, opened: Callable[..., Awaitable[Any]]) -> Any:
    """A store with the key "known" at revision 4, as created at 3."""
    made = await opened(etcd.url, access=HERE, attach=lambda key, value: (key, value))
    await etcd.called(WATCH)
    return made


def kv(name: str, value: bytes, created: int, modified: int) -> KeyValue:
    return KeyValue(PODS + name, value, created, modified, (PODS + name, value))


async def waiting(work: Awaitable[Any]) -> asyncio.Task[Any]:
    """Begin something, and let it go as far as it comes by itself."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    return task


async def answered(etcd: Etcd, store: Any) -> None:
    """Wait until the answer to a write has come, as the one to a later question has."""
    await etcd.called(TXN)
    for _ in range(2):
        await store._cluster.read(RANGE, {"keys_only": True})


# -- writes


async def test_a_key_is_created_if_it_has_no_revision_and_nothing_is_asked_back(etcd, store):
    etcd.puts("new", 6)
    assert await store.put(PODS + "new", b"1", expect=0) == kv("new", b"1", 6, 6)
    key = b64("/here/pods/new")
    assert etcd.of(TXN)[0].request == {
        "compare": [{"key": key, "target": "MOD", "mod_revision": "0"}],
        "success": [{"request_put": {"key": key, "value": b64("1")}}],
        "failure": [{"request_range": {"key": key}}],
    }


async def test_an_update_of_what_is_known_asks_nothing_back(etcd, store):
    etcd.puts("known", 6)
    assert await store.put(PODS + "known", b"2", expect=4) == kv("known", b"2", 3, 6)
    request = etcd.of(TXN)[0].request
    assert request["compare"] == [{"key": b64("/here/pods/known"), "target": "MOD", "mod_revision": "4"}]
    assert request["success"] == [{"request_put": {"key": b64("/here/pods/known"), "value": b64("2")}}]


@pytest.mark.parametrize(("name", "expect"), [("known", None), ("other", None), ("other", 5)])
async def test_a_write_over_what_is_not_known_asks_back_when_that_was_created(etcd, store, name, expect):
    etcd.puts(name, 6, prev_kv=kv_json(name, b"0", 2, 5))
    assert await store.put(PODS + name, b"2", expect=expect) == kv(name, b"2", 2, 6)
    request = etcd.of(TXN)[0].request
    key = b64(f"/here/pods/{name}")
    assert request["compare"] == ([] if expect is None else [{"key": key, "target": "MOD", "mod_revision": "5"}])
    assert request["success"] == [{"request_put": {"key": key, "value": b64("2"), "prev_kv": True}}]


async def test_a_write_over_nothing_creates(etcd, store):
    etcd.puts("new", 6)
    assert await store.put(PODS + "new", b"1") == kv("new", b"1", 6, 6)


async def test_what_is_kept_beside_a_value_may_be_given_and_is_computed_of_what_is_too_large_never(etcd, store):
    etcd.puts("new", 6)
    assert (await store.put(PODS + "new", b"1", index_attrs="given")).index_attrs == "given"
    assert store.get(PODS + "new").index_attrs == "given"
    room = MAX_VALUE_BYTES - len(PODS + "new")
    etcd.puts("new", 7)
    assert (await store.put(PODS + "new", b"x" * room)).mod_revision == 7
    with pytest.raises(TooLarge):
        await store.put(PODS + "new", b"x" * (room + 1))
    assert len(etcd.of(TXN)) == 2


async def test_a_write_is_done_when_reads_see_it(etcd, store):
    etcd.on(TXN, lambda call: call.answer(etcd.does(6, response_put={})))
    writing = await waiting(store.put(PODS + "new", b"1", expect=0))
    await answered(etcd, store)
    assert not writing.done()
    etcd.tell(kv_json("new", b"1", 6, 6))
    result = await writing
    assert store.get(PODS + "new") == result
    assert store.revision == 6


async def test_a_deletion_is_done_when_reads_see_it(etcd, store):
    gone = {"deleted": "1", "prev_kvs": [kv_json("known", b"1", 3, 4)]}
    etcd.on(TXN, lambda call: call.answer(etcd.does(6, response_delete_range=gone)))
    deleting = await waiting(store.delete(PODS + "known"))
    await answered(etcd, store)
    assert not deleting.done()
    etcd.tell_deleted("known", 6)
    assert (await deleting).revision == store.revision == 6
    assert store.get(PODS + "known") is None


async def test_a_write_that_lost_is_told_what_won_when_reads_see_that(etcd, store):
    etcd.revision = 6
    etcd.on(TXN, lambda call: call.answer(etcd.does_not(kv_json("known", b"won", 3, 6))))
    writing = await waiting(store.put(PODS + "known", b"2", expect=4))
    await answered(etcd, store)
    assert not writing.done()
    etcd.tell(kv_json("known", b"won", 3, 6))
    with pytest.raises(Conflict) as caught:
        await writing
    assert caught.value.current == store.get(PODS + "known") == kv("known", b"won", 3, 6)


@pytest.mark.parametrize("verb", ["put", "delete"])
async def test_a_write_to_what_is_gone_is_a_conflict_with_nothing(etcd, store, verb):
    etcd.on(TXN, lambda call: call.answer(etcd.does_not()))
    work = {"put": lambda: store.put(PODS + "gone", b"", expect=4), "delete": lambda: store.delete(PODS + "gone")}
    with pytest.raises(Conflict) as caught:
        await work[verb]()
    assert caught.value.current is None


@pytest.mark.parametrize(
    ("expect", "comparison"),
    [
        (None, {"target": "CREATE", "result": "GREATER", "create_revision": "0"}),
        (4, {"target": "MOD", "mod_revision": "4"}),
    ],
)
async def test_a_key_is_deleted_if_it_is_there_or_as_expected_and_comes_back(etcd, store, expect, comparison):
    def delete(call: Call) -> None:
        etcd.tell_deleted("known", 6)
        call.answer(etcd.does(6, response_delete_range={"deleted": "1", "prev_kvs": [kv_json("known", b"1", 3, 4)]}))

    etcd.on(TXN, delete)
    event = await store.delete(PODS + "known", expect=expect)
    assert event == Event(6, PODS + "known", None, kv("known", b"1", 3, 4))
    assert store.get(PODS + "known") is None
    key = b64("/here/pods/known")
    assert etcd.of(TXN)[0].request == {
        "compare": [{"key": key} | comparison],
        "success": [{"request_delete_range": {"key": key, "prev_kv": True}}],
        "failure": [{"request_range": {"key": key}}],
    }


async def test_nothing_can_be_deleted_that_must_not_be_there(etcd, store):
    with pytest.raises(Conflict) as caught:
        await store.delete(PODS + "known", expect=0)
    assert caught.value.current == kv("known", b"1", 3, 4)
    assert etcd.of(TXN) == []


# -- leases


def granting(etcd: Etcd) -> None:
    """Grant leases "1", "2" …"""
    etcd.on(GRANT, lambda call: call.answer({"header": header(5), "ID": str(len(etcd.of(GRANT))), "TTL": "100"}))


def lease_of(call: Call) -> str | None:
    lease: str | None = call.request["success"][0]["request_put"].get("lease")
    return lease


async def test_only_a_key_that_is_to_go_gets_a_lease(etcd, store):
    granting(etcd)
    assert store.supports_ttl
    for revision, ttl in ((6, 0.0), (7, 100.0), (8, 0.0)):
        etcd.puts("new", revision)
        await store.put(PODS + "new", b"1", ttl=ttl)
    etcd.puts("new", 9)
    await store.put(PODS + "new", b"1")
    assert [lease_of(call) for call in etcd.of(TXN)] == [None, "1", None, None]
    assert [call.request for call in etcd.of(GRANT)] == [{"TTL": "106"}]


async def test_a_lease_that_etcd_has_forgotten_is_replaced_and_the_write_is_sent_again(etcd, store):
    granting(etcd)
    etcd.puts("new", 6)
    carry_out = etcd.scripts[TXN]
    etcd.on(TXN, lambda call: call.refuse("etcdserver: requested lease not found", 5, 404), carry_out)
    assert await store.put(PODS + "new", b"1", expect=0, ttl=100) == kv("new", b"1", 6, 6)
    refused, done = etcd.of(TXN)
    assert [lease_of(call) for call in (refused, done)] == ["1", "2"]
    absent = {"key": b64("/here/pods/new"), "target": "MOD", "mod_revision": "0"}
    assert refused.request["compare"] == done.request["compare"] == [absent]


async def test_a_lease_that_etcd_forgets_again_and_another_refusal_are_told(etcd, store):
    granting(etcd)
    etcd.on(TXN, lambda call: call.refuse("etcdserver: requested lease not found", 5, 404))
    with pytest.raises(StoreError, match="requested lease not found"):
        await store.put(PODS + "new", b"1", ttl=100)
    assert [lease_of(call) for call in etcd.of(TXN)] == ["1", "2"]
    etcd.on(TXN, lambda call: call.refuse("etcdserver: permission denied", 7, 403))
    with pytest.raises(StoreError, match="permission denied"):
        await store.put(PODS + "new", b"1", ttl=100)
    assert len(etcd.of(TXN)) == 3


# -- reads


async def test_reads_are_refused_while_the_watch_is_behind_and_writes_are_done_all_the_same(etcd, store, monkeypatch):
    monkeypatch.setattr("etcd.cluster_store.CATCH_UP_TIMEOUT", 0.05)
    etcd.revision = 7
    with pytest.raises(Unreachable, match="the watch of etcd stands at revision 5, not yet at 7") as caught:
        await store.sync_read()
    assert not caught.value.unknown
    etcd.on(TXN, lambda call: call.answer(etcd.does(8, response_put={})))
    assert (await store.put(PODS + "new", b"1", expect=0)).mod_revision == 8
    etcd.tell(kv_json("new", b"1", 8, 8))
    await store.sync_read()
    assert store.revision == 8


async def test_a_snapshot_that_is_forgotten_here_is_read_from_etcd_as_it_was(etcd, store):
    asked = len(etcd.of(RANGE))
    etcd.on(RANGE, lambda call: call.answer({"header": header(5), "kvs": [kv_json("b", b"0", 2, 2)], "count": "3"}))
    page = await store.range_at(PODS, start=PODS + "b", limit=1, revision=2)
    assert (page.items, page.revision, page.more, page.remaining) == ([kv("b", b"0", 2, 2)], 2, True, 2)
    assert [call.request for call in etcd.of(RANGE)[asked:]] == [
        {"key": b64("/here/pods/b"), "range_end": b64("/here/pods0"), "limit": 1, "revision": "2"}
    ]


async def test_a_snapshot_that_is_known_here_is_not_asked_for(etcd, store):
    for name, revision in (("a", 6), ("b", 7), ("c", 8)):
        etcd.puts(name, revision)
        await store.put(PODS + name, b"1", expect=0)
    asked = len(etcd.of(RANGE))
    page = await store.range_at(PODS, start=PODS + "b", limit=1, revision=7)
    assert ([each.key for each in page.items], page.revision, page.remaining) == ([PODS + "b"], 7, 1)
    page = await store.range_at(PODS, revision=7)
    assert [each.key for each in page.items] == [PODS + "a", PODS + "b", PODS + "known"]
    assert len(etcd.of(RANGE)) == asked


# -- compaction


def task_names() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()}


async def test_what_is_compacted_is_forgotten_here_even_if_etcd_has_compacted_it_before(etcd, store):
    etcd.puts("a", 6)
    await store.put(PODS + "a", b"1")
    refused = "etcdserver: mvcc: required revision has been compacted"
    etcd.on(COMPACTION, lambda call: call.answer({"header": header(6)}), lambda call: call.refuse(refused, 11))
    etcd.puts("a", 7)
    await store.put(PODS + "a", b"2")
    asked = len(etcd.of(RANGE))
    for revision in (6, 7):
        store.watch(PODS, after=revision - 1).close()
        await store.compact(revision)
        with pytest.raises(Compacted):
            store.watch(PODS, after=revision - 1)
    assert [call.request for call in etcd.of(COMPACTION)] == [{"revision": "6"}, {"revision": "7"}]
    assert len(etcd.of(RANGE)) == asked


async def test_a_revision_that_is_not_seen_yet_is_waited_for_before_it_is_compacted(etcd, store):
    etcd.revision = 6
    etcd.on(COMPACTION, lambda call: call.answer({"header": header(6)}))
    asked = len(etcd.of(RANGE))
    compacting = await waiting(store.compact(6))
    await etcd.called(RANGE, asked + 1)
    etcd.tell(kv_json("a", b"1", 6, 6))
    await compacting
    with pytest.raises(FutureRevision, match="the newest revision is 6"):
        await store.compact(7)
    assert len(etcd.of(COMPACTION)) == 1


async def test_nobody_compacts_a_cluster_that_somebody_else_compacts(etcd, store):
    assert {"etcd watch", "etcd compaction"} & task_names() == {"etcd watch"}


async def test_a_store_that_compacts_and_watches_does_neither_once_it_is_closed(etcd, opened):
    store = await opened(etcd.url, access=replace(HERE, compaction=1000.0))
    assert task_names() >= {"etcd watch", "etcd compaction"}
    await store.close()
    assert not {"etcd watch", "etcd compaction"} & task_names()


# -- the end


async def test_a_store_that_is_closing_sends_nothing_more_and_waits_for_what_was_sent(etcd, store):
    etcd.on(TXN, lambda _: None)
    writing = await waiting(store.put(PODS + "new", b"1", expect=0))
    sent = await etcd.called(TXN)
    closing = await waiting(store.close())
    calls = len(etcd.calls)
    for work in (store.sync_read(), store.put(PODS + "a", b""), store.delete(PODS + "a"), store.compact(99)):
        with pytest.raises(Unavailable, match="the store is closed"):
            await asyncio.wait_for(work, SECONDS)
    assert len(etcd.calls) == calls
    assert store.health_error == "the store is closed"
    assert not closing.done()
    sent.answer(etcd.does(6, response_put={}))
    etcd.tell(kv_json("new", b"1", 6, 6))
    await asyncio.wait_for(closing, SECONDS)
    assert (await writing).mod_revision == 6
    await store.close()


async def test_a_write_goes_on_where_nobody_waits_for_it_any_more(etcd, store):
    etcd.on(TXN, lambda _: None)
    writing = await waiting(store.put(PODS + "new", b"1", expect=0))
    sent = await etcd.called(TXN)
    writing.cancel()
    await asyncio.wait([writing])
    closing = await waiting(store.close())
    assert not closing.done()
    sent.answer(etcd.does(6, response_put={}))
    await asyncio.wait_for(closing, SECONDS)


async def test_a_write_that_fails_where_nobody_waits_any_more_is_not_complained_of(etcd, store, caplog):
    etcd.on(TXN, lambda _: None)
    writing = await waiting(store.put(PODS + "new", b"1", expect=0))
    sent = await etcd.called(TXN)
    writing.cancel()
    await asyncio.wait([writing])
    (under_way,) = store._under_way
    sent.refuse("etcdserver: permission denied", 7, 403)
    await asyncio.wait([under_way])
    del under_way, writing
    await asyncio.sleep(0)
    gc.collect()  # which is when asyncio complains
    assert caplog.text == ""
    assert store._under_way == set()


async def test_writes_that_are_not_answered_are_waited_for_no_longer_than_that(etcd, opened, monkeypatch):
    monkeypatch.setattr("etcd.cluster_store.CLOSE_TIMEOUT", 0.05)
    monkeypatch.setattr("etcd.cluster.MAX_CALLS", 1)
    store = await opened(etcd.url, access=HERE)
    etcd.on(TXN, lambda _: None)
    writing = [await waiting(store.put(f"{PODS}{number}", b"1", expect=0)) for number in range(20)]
    await etcd.called(TXN)
    await asyncio.wait_for(store.close(), SECONDS)
    assert store._under_way == set()
    results: list[Any] = await asyncio.gather(*writing, return_exceptions=True)
    sent, *unsent = results
    assert (type(sent), sent.unknown) == (Unreachable, True)
    assert {type(each) for each in unsent} == {Unavailable}


async def test_a_store_that_is_closed_has_no_question_left_however_many_wait(etcd, opened, monkeypatch):
    monkeypatch.setattr("etcd.cluster.MAX_CALLS", 1)
    store = await opened(etcd.url, access=HERE)
    await etcd.called(WATCH)
    etcd.on(RANGE, lambda _: None)
    before = asyncio.all_tasks()
    others = [await waiting(store._cluster.read(RANGE, {})) for _ in range(20)]
    asking = await waiting(store.sync_read())
    await asyncio.wait_for(store.close(), SECONDS)
    assert {task for task in asyncio.all_tasks() - before if "Together" in repr(task)} == set()
    for each in await asyncio.gather(asking, *others, return_exceptions=True):
        assert isinstance(each, Unavailable)


async def test_a_store_that_cannot_be_opened_leaves_nothing_behind(etcd, patient_store, caplog):
    etcd.on(RANGE, lambda call: call.refuse("etcdserver: permission denied", 7, 403))
    with pytest.raises(StoreError, match="permission denied"):
        await open_store(etcd.url, access=HERE)
    gc.collect()  # which is when asyncio complains
    assert caplog.text == ""
