"""Streams of a member: how its messages are read, and which member the next stream comes from."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from patience import SECONDS
from scripted_member import Call, ScriptedMember, header

from etcd.access import ClusterConfig
from etcd.cluster import Cluster
from etcd.store import Unreachable

WATCH, RANGE = "/watch", "/kv/range"
CREATED = {"header": header(7), "created": True}


@pytest.fixture
async def members() -> AsyncIterator[list[ScriptedMember]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(ScriptedMember({WATCH: created})) for _ in range(2)]


@pytest.fixture
async def cluster(members: list[ScriptedMember], patient_store: None) -> AsyncIterator[Cluster]:
    made = Cluster(ClusterConfig([member.url for member in members]))
    yield made
    await made.close()


def line(message: object) -> bytes:
    return json.dumps({"result": message}).encode() + b"\n"


def created(call: Call) -> None:
    call.begin()
    call.tell(line(CREATED))


async def messages_of(cluster: Cluster) -> list[dict[str, Any]]:
    """All messages of a stream until it ends."""
    async with cluster.stream(WATCH, {}) as messages:
        return [message async for message in messages]


async def test_a_stream_is_asked_for_as_a_call_is_and_gives_its_messages_until_it_ends(cluster, members):
    request = {"create_request": {"key": "AA=="}}
    async with cluster.stream(WATCH, request) as messages, asyncio.timeout(SECONDS):
        assert await anext(messages) == CREATED
        call = members[0].calls[0]
        assert (call.method, call.request) == (WATCH, request)
        assert call.headers["grpc-metadata-hasleader"] == "true"
        call.tell(line({"events": [1]}))
        assert await anext(messages) == {"events": [1]}
        call.end()
        assert [message async for message in messages] == []


async def test_messages_are_lines_however_they_are_cut_into_pieces(cluster, members):
    large = [{"events": [number, "x" * 1_500_000]} for number in range(2)]
    small = [{"events": [number]} for number in range(5)]

    def tell(call: Call) -> None:
        created(call)
        call.tell(b"".join(map(line, small)) + line(large[0])[:700_000])
        call.tell(line(large[0])[700_000:] + b"\n\n" + line(large[1]))
        call.end()

    members[0].on(WATCH, tell)
    assert await messages_of(cluster) == [CREATED, *small, *large]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"grpc_code": 14, "http_code": 503, "message": "etcdserver: no leader"}, "etcdserver: no leader"),
        ({"code": 11, "message": "etcdserver: newer form"}, "etcdserver: newer form"),
        ({"code": 2}, "{'code': 2}"),
    ],
)
async def test_an_error_within_a_stream_ends_it_in_etcds_words(cluster, members, error, words):
    def tell(call: Call) -> None:
        created(call)
        call.tell(json.dumps({"error": error}).encode() + b"\n")

    members[0].on(WATCH, tell)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(Unreachable) as caught:
            await messages_of(cluster)
    assert str(caught.value) == f"{members[0].url}: {words}"
    await next_stream_comes_from(cluster, members[1])


async def next_stream_comes_from(cluster: Cluster, member: ScriptedMember) -> None:
    before = len(member.calls)
    async with cluster.stream(WATCH, {}) as messages:
        assert await anext(messages) == CREATED
    assert len(member.calls) == before + 1


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (lambda call: call.refuse("etcdserver: no leader", 14, 503), "etcdserver: no leader"),
        (lambda call: call.send(b"no such page", 404), "no etcd answers there, but HTTP 404 and no JSON"),
        (Call.drop, "it closed the connection without an answer"),
        (lambda call: call.send(b"garbage\n"), "unexpected character"),
        (
            lambda call: call.send(b'{"kind":"Status"}\n'),
            'no etcd answers there, but other JSON: b\'{"kind":"Status"}\'',
        ),
        (lambda call: call.send(b'"' + b"x" * 200 + b'"\n'), "no etcd answers there, but other JSON: b'\"x{99}'$"),
        (lambda call: call.send(line(CREATED), missing=5), "the connection was closed in the middle of an answer"),
    ],
)
async def test_a_stream_that_fails_says_why_and_the_next_one_comes_from_another_member(cluster, members, script, words):
    members[0].on(WATCH, script)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(Unreachable, match=f"{members[0].url}: {words}"):
            await messages_of(cluster)
    await next_stream_comes_from(cluster, members[1])


async def outlived(cluster: Cluster, health_error: Callable[[], Awaitable[object]]) -> None:
    """Wait for the message after the first one, while something happens; it never comes."""
    async with asyncio.timeout(SECONDS), cluster.stream(WATCH, {}) as messages:
        assert await anext(messages) == CREATED
        await health_error()
        await anext(messages)


async def test_a_stream_ends_when_a_call_finds_out_that_its_member_is_in_trouble(cluster, members):
    members[0].on(RANGE, lambda call: call.refuse("etcdserver: request timed out", 14, 503))
    members[1].on(RANGE, lambda call: call.answer({"header": header(7)}))
    with pytest.raises(Unreachable, match=members[0].url):
        await outlived(cluster, lambda: cluster.read(RANGE, {}))
    await next_stream_comes_from(cluster, members[1])


async def test_a_stream_that_is_left_ends_and_the_next_one_comes_from_another_member(cluster, members):
    async def leave() -> None:
        cluster.switch_member()

    with pytest.raises(Unreachable, match=members[0].url):
        await outlived(cluster, leave)
    await next_stream_comes_from(cluster, members[1])
    cluster.switch_member()
    await next_stream_comes_from(cluster, members[1])


async def test_calls_fail_as_ever_after_a_stream_has_been_closed(cluster, members):
    await next_stream_comes_from(cluster, members[0])
    for member in members:
        member.on(RANGE, lambda call: call.refuse("etcdserver: request timed out", 14, 503))
    with pytest.raises(Unreachable, match="no member of the etcd cluster answers"):
        await cluster.read(RANGE, {})


async def test_a_stream_outlives_the_patience_for_calls(members, monkeypatch):
    monkeypatch.setattr("etcd.cluster.CALL_TIMEOUT", 0.1)
    quiet, other = Cluster(ClusterConfig([members[0].url])), Cluster(ClusterConfig([members[0].url]))
    async with asyncio.timeout(SECONDS), quiet.stream(WATCH, {}) as messages:
        assert await anext(messages) == CREATED
        with pytest.raises(Unreachable, match="no answer"):
            await other.read(RANGE, {})
        members[0].calls[0].tell(line({"events": [1]}))
        assert await anext(messages) == {"events": [1]}
    await quiet.close()
    await other.close()
