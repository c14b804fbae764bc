"""Calls to the members of a cluster: which member is asked, how often, and what its answer means."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from patience import SECONDS
from scripted_member import LOOPBACK, Call, ScriptedMember, header

from etcd.access import ClusterConfig, Credentials
from etcd.cluster import Cluster
from etcd.store import Compacted, Full, StoreError, TooLarge, Unavailable, Unreachable

RANGE, PUT, LOGIN = "/kv/range", "/kv/put", "/auth/authenticate"
ROOT = Credentials(user="root", password="secret")

Opener = Callable[..., Cluster]


@pytest.fixture
async def members() -> AsyncIterator[list[ScriptedMember]]:
    """Three members that answer everything."""
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(ScriptedMember()) for _ in range(3)]
        for member in made:
            member.scripts = {RANGE: well, PUT: well}
        yield made


@pytest.fixture
async def cluster_of(patient_store: None) -> AsyncIterator[Opener]:
    """Makes clusters of some members."""
    clusters: list[Cluster] = []

    def make(*members: ScriptedMember | str, credentials: Credentials = Credentials()) -> Cluster:  # noqa: B008 - frozen
        urls = [each if isinstance(each, str) else each.url for each in members]
        clusters.append(Cluster(ClusterConfig(urls, credentials)))
        return clusters[-1]

    yield make
    for cluster in clusters:
        await cluster.close()


def well(call: Call) -> None:
    call.answer({"header": header(7)})


def refusing(message: str, code: int, status: int = 400) -> Callable[[Call], None]:
    return lambda call: call.refuse(message, code, status)


def numbers(members: list[ScriptedMember]) -> list[int]:
    return [len(member.calls) for member in members]


async def outcome(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except StoreError as error:
        return error


# -- what is sent


async def test_a_call_is_json_to_the_method_and_asks_for_a_refusal_where_there_is_no_leader(members, cluster_of):
    answer = await cluster_of(members[0]).read(RANGE, {"key": "AA==", "limit": 1})
    assert answer == {"header": header(7)}
    (call,) = members[0].calls
    assert (call.method, call.request) == (RANGE, {"key": "AA==", "limit": 1})
    assert call.headers["grpc-metadata-hasleader"] == "true"
    assert "authorization" not in call.headers


@pytest.mark.parametrize("size", [1, 1 << 20, (1 << 20) + 1, (1 << 20) + 4096])
async def test_a_body_arrives_whole_and_without_a_complaint_however_large(members, cluster_of, size):
    request = {"value": "x" * (size - len('{"value":""}'))} if size > 1 else {}
    await cluster_of(members[0]).write(PUT, request)
    assert members[0].calls[0].request == request


# -- which member is asked


async def test_the_member_that_answered_last_is_asked_next_and_after_the_last_one_the_first(members, cluster_of):
    cluster = cluster_of(*members)
    for member, expected in ((0, [1, 1, 0]), (1, [1, 2, 1]), (2, [2, 2, 2])):
        members[member].on(RANGE, refusing("etcdserver: request timed out", 14, 503), well)
        await cluster.read(RANGE, {})
        assert numbers(members) == expected
    await cluster.read(RANGE, {})
    assert numbers(members) == [3, 2, 2]


async def test_each_member_is_asked_once_and_all_are_named_where_none_answers(members, cluster_of):
    for number, member in enumerate(members):
        member.on(RANGE, refusing(f"etcdserver: trouble {number}", 14, 503))
    with pytest.raises(Unreachable) as caught:
        await cluster_of(*members).read(RANGE, {})
    reasons = "; ".join(f"{each.url}: etcdserver: trouble {number}" for number, each in enumerate(members))
    assert str(caught.value) == f"no member of the etcd cluster answers ({reasons})"
    assert not caught.value.unknown
    assert numbers(members) == [1, 1, 1]


async def test_a_call_that_fails_late_does_not_move_the_others_back(members, cluster_of):
    cluster = cluster_of(*members)
    del members[0].scripts[PUT]
    members[0].on(RANGE, Call.drop)
    members[1].on(RANGE, refusing("etcdserver: no leader", 14, 503))
    late = asyncio.create_task(cluster.write(PUT, {}))
    stuck = await members[0].called(PUT)
    await cluster.read(RANGE, {})
    stuck.refuse("etcdserver: no leader", 14, 503)
    await late
    assert [[call.method for call in each.calls] for each in members] == [[PUT, RANGE], [RANGE], [RANGE, PUT]]


# -- what an answer means


@pytest.mark.parametrize("code", [1, 2, 4, 13, 14])
async def test_a_question_that_a_member_has_trouble_with_is_put_to_the_next_one(members, cluster_of, code):
    members[0].on(RANGE, refusing("etcdserver: trouble", code, 500))
    assert await cluster_of(*members).read(RANGE, {}) == {"header": header(7)}
    assert numbers(members) == [1, 1, 0]


@pytest.mark.parametrize("code", [1, 2, 4, 13, 14])
async def test_a_write_that_a_member_has_trouble_with_is_sent_once_and_its_fate_unknown(members, cluster_of, code):
    members[0].on(PUT, refusing("etcdserver: trouble", code, 500))
    with pytest.raises(Unreachable) as caught:
        await cluster_of(*members).write(PUT, {})
    assert str(caught.value) == f"etcd may or may not have done it: {members[0].url}: etcdserver: trouble"
    assert caught.value.unknown
    assert numbers(members) == [1, 0, 0]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("etcdserver: no leader", 14),
        ("etcdserver: too many requests", 8),
        ("etcdserver: rpc not supported for learner", 14),
    ],
)
@pytest.mark.parametrize("call", [Cluster.read, Cluster.write])
async def test_what_a_member_has_not_even_begun_another_one_does(members, cluster_of, call, message, code):
    members[0].scripts = dict.fromkeys((RANGE, PUT), refusing(message, code, 503))
    assert await call(cluster_of(*members), PUT, {}) == {"header": header(7)}
    assert numbers(members) == [1, 1, 0]


@pytest.mark.parametrize("code", [3, 5, 7, 8, 9, 11, 12, 15])
async def test_a_refusal_is_final_and_has_etcds_words_and_the_member(members, cluster_of, code):
    members[0].on(RANGE, refusing("etcdserver: it is not so", code))
    with pytest.raises(StoreError) as caught:
        await cluster_of(*members).read(RANGE, {})
    assert type(caught.value) is StoreError
    assert str(caught.value) == f"{members[0].url}: etcdserver: it is not so"
    assert numbers(members) == [1, 0, 0]


@pytest.mark.parametrize(
    ("message", "code", "kind", "words"),
    [
        ("etcdserver: mvcc: required revision has been compacted", 11, Compacted, "revisions before 0"),
        ("etcdserver: mvcc: database space exceeded", 8, Full, "etcdserver: mvcc: database space exceeded"),
        ("etcdserver: request is too large", 3, TooLarge, "etcdserver: request is too large"),
        (
            "etcdserver: permission denied",
            7,
            StoreError,
            "denied: the user has to be able to read all keys, and to write those of this server",
        ),
        ("etcdserver: user name is empty", 3, StoreError, "is empty: it wants a user and a password"),
    ],
)
async def test_known_refusals_have_their_kind_and_say_what_to_do(members, cluster_of, message, code, kind, words):
    members[0].on(PUT, refusing(message, code))
    with pytest.raises(kind, match=words) as caught:
        await cluster_of(*members).write(PUT, {})
    assert type(caught.value) is kind
    assert numbers(members) == [1, 0, 0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"code": 11, "message": "etcdserver: newer form", "details": []}, "etcdserver: newer form"),
        ({"code": 11, "error": "etcdserver: older form"}, "etcdserver: older form"),
        ({"code": 11}, "HTTP 418"),
    ],
)
async def test_a_refusal_is_read_in_the_form_of_each_release(members, cluster_of, answer, words):
    members[0].on(RANGE, lambda call: call.answer(answer, 418))
    with pytest.raises(StoreError) as caught:
        await cluster_of(*members).read(RANGE, {})
    assert str(caught.value) == f"{members[0].url}: {words}"
    assert numbers(members) == [1, 0, 0]


async def test_an_error_without_a_code_is_trouble_of_the_member(members, cluster_of):
    members[0].on(RANGE, lambda call: call.answer({"error": "?"}, 500))
    assert await cluster_of(*members).read(RANGE, {}) == {"header": header(7)}


NO_ETCD = "no etcd answers there, but HTTP"


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (404, b" not found\n", f"{NO_ETCD} 404 and no JSON: 'not found'"),
        (200, b"<html>" * 20, f"{NO_ETCD} 200 and no JSON: '" + ("<html>" * 20)[:100] + "'"),
        (200, b"\xff!", f"{NO_ETCD} 200 and no JSON: '\ufffd!'"),
        (200, b'["header"]', f"{NO_ETCD} 200 and other JSON: b'[\"header\"]'"),
        (500, b"7", f"{NO_ETCD} 500 and other JSON: b'7'"),
        (200, b'{"kind":"Status"}', f'{NO_ETCD} 200 and other JSON: b\'{{"kind":"Status"}}\''),
        (200, b'"' + b"x" * 200 + b'"', f"{NO_ETCD} 200 and other JSON: b'\"" + "x" * 99 + "'"),
    ],
)
async def test_what_is_no_etcd_is_shown_in_part_and_passed_by(members, cluster_of, status, content, words):
    members[0].on(RANGE, lambda call: call.send(content, status))
    with pytest.raises(Unreachable) as caught:
        await cluster_of(members[0]).read(RANGE, {})
    assert str(caught.value) == f"no member of the etcd cluster answers ({members[0].url}: {words})"
    assert await cluster_of(*members).read(RANGE, {}) == {"header": header(7)}


# -- connections


async def test_a_connection_that_was_closed_meanwhile_costs_a_question_nothing(members, cluster_of):
    members[0].on(RANGE, Call.drop, well)
    assert await cluster_of(members[0]).read(RANGE, {}) == {"header": header(7)}
    assert numbers(members) == [2, 0, 0]


async def test_a_member_that_closes_each_connection_is_asked_twice_and_named_once(members, cluster_of):
    members[0].on(RANGE, Call.drop)
    with pytest.raises(Unreachable) as caught:
        await cluster_of(members[0]).read(RANGE, {})
    reason = f"{members[0].url}: it closed the connection without an answer"
    assert str(caught.value) == f"no member of the etcd cluster answers ({reason})"
    assert numbers(members) == [2, 0, 0]


async def test_an_answer_that_breaks_off_is_asked_for_again_of_another_member_only(members, cluster_of):
    members[0].on(RANGE, lambda call: call.send(b"{", missing=9))
    with pytest.raises(Unreachable, match="the connection was closed in the middle of an answer"):
        await cluster_of(members[0]).read(RANGE, {})
    assert numbers(members) == [1, 0, 0]
    await cluster_of(*members).read(RANGE, {})
    assert numbers(members) == [2, 1, 0]


@pytest.mark.parametrize("script", [Call.drop, lambda call: call.send(b"{", missing=9)])
async def test_a_write_whose_connection_closes_is_sent_once_and_its_fate_unknown(members, cluster_of, script):
    members[0].on(PUT, script)
    with pytest.raises(Unreachable, match=f"may or may not have done it: {members[0].url}: ") as caught:
        await cluster_of(*members).write(PUT, {})
    assert caught.value.unknown
    assert numbers(members) == [1, 0, 0]


async def test_a_write_goes_to_the_next_member_where_the_first_cannot_be_connected_to(members, cluster_of, full_port):
    refused = ScriptedMember()
    async with refused:
        pass
    cluster = cluster_of(refused, members[0])
    assert await cluster.write(PUT, {}) == {"header": header(7)}
    with pytest.raises(Unreachable, match=f"{refused.url}: Connection refused"):
        await cluster_of(refused).write(PUT, {})


@pytest.fixture
def full_port(monkeypatch) -> Iterator[int]:
    """A port that lets nobody in and refuses nobody: a connection is tried until the patience for that is at an end."""
    monkeypatch.setattr("etcd.cluster._CONNECT_TIMEOUT", 0.1)
    listening, *filling = (socket.socket() for _ in range(4))
    listening.bind((LOOPBACK, 0))
    listening.listen(0)
    for each in filling:
        each.setblocking(False)
        each.connect_ex(listening.getsockname())
    yield listening.getsockname()[1]
    for each in (listening, *filling):
        each.close()


async def test_a_member_that_takes_no_connection_is_passed_by_for_writes_too(members, cluster_of, full_port):
    cluster = cluster_of(f"http://{LOOPBACK}:{full_port}", members[0])
    cluster._clients[1].session._timeout = aiohttp.ClientTimeout(total=SECONDS)
    assert await cluster.write(PUT, {}) == {"header": header(7)}
    with pytest.raises(Unreachable):
        async with cluster_of(f"http://{LOOPBACK}:{full_port}").stream("/watch", {}):
            pass


async def test_a_member_that_is_silent_is_passed_by_for_questions_and_the_fate_of_a_write_unknown(
    members, cluster_of, monkeypatch
):
    members[0].scripts.clear()
    monkeypatch.setattr("etcd.cluster.CALL_TIMEOUT", 0.1)
    cluster = cluster_of(*members)
    for client in cluster._clients[1:]:
        client.session._timeout = aiohttp.ClientTimeout(total=SECONDS)
    assert await cluster.read(RANGE, {}) == {"header": header(7)}
    monkeypatch.setattr("etcd.cluster.CALL_TIMEOUT", 0.2)
    with pytest.raises(Unreachable, match=f"{members[0].url}: no answer in 0 s") as caught:
        await cluster_of(members[0]).write(PUT, {})
    assert caught.value.unknown


# -- how many calls at a time


async def test_calls_wait_for_their_turn_and_the_one_that_is_done_lets_the_next_begin(members, cluster_of, monkeypatch):
    monkeypatch.setattr("etcd.cluster.MAX_CALLS", 2)
    del members[0].scripts[RANGE]
    cluster = cluster_of(members[0])
    waiting = [asyncio.create_task(cluster.read(RANGE, {"limit": number})) for number in range(6)]
    for number in range(1, 7):
        call = await members[0].called(RANGE, number)
        assert len(members[0].calls) <= number + 1
        well(call)
    await asyncio.gather(*waiting)


async def test_a_call_that_waits_too_long_for_its_turn_is_refused_and_was_never_sent(members, cluster_of, monkeypatch):
    monkeypatch.setattr("etcd.cluster.MAX_CALLS", 1)
    monkeypatch.setattr("etcd.cluster.SLOT_TIMEOUT", 0.05)
    del members[0].scripts[PUT]
    cluster = cluster_of(members[0])
    first = asyncio.create_task(cluster.write(PUT, {}))
    call = await members[0].called(PUT)
    with pytest.raises(Unreachable, match="etcd is too slow: 1 calls are under way, and more wait since 0 s") as caught:
        await cluster.write(PUT, {})
    assert not caught.value.unknown
    well(call)
    await first
    assert numbers(members) == [1, 0, 0]


async def test_a_cluster_that_is_closed_sends_nothing_more_and_leaves_nothing_open(members, cluster_of, caplog):
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    cluster = cluster_of(members[0])
    await cluster.read(RANGE, {})
    await cluster.close()
    with pytest.raises(Unavailable, match="the store is closed") as caught:
        await cluster.read(RANGE, {})
    assert type(caught.value) is Unavailable
    assert numbers(members) == [1, 0, 0]
    other = Cluster(ClusterConfig([members[0].url]))
    await other.read(RANGE, {})
    await other.close()
    del other
    gc.collect()
    assert (complaints, caplog.record_tuples) == ([], [])


# -- certificates


async def test_certificates_are_read_where_one_member_speaks_tls_and_only_there(cluster_of, tmp_path):
    nowhere = Credentials(ca_file=str(tmp_path / "missing"))
    cluster_of("http://127.0.0.1:1", "http://127.0.0.1:2", credentials=nowhere)
    for urls in (["https://127.0.0.1:1"], ["http://127.0.0.1:1", "https://127.0.0.1:2"]):
        with pytest.raises(StoreError, match="missing"):
            cluster_of(*urls, credentials=nowhere)


# -- users


def guarded(call: Call) -> None:
    """Serve requests that have a token."""
    token = call.headers.get("authorization")
    well(call) if token == "good" else call.refuse("etcdserver: user name is empty", 3)


async def test_a_token_is_asked_for_once_without_an_old_one_and_shown_to_all_members(members, cluster_of):
    for member in members[:2]:
        member.scripts = {RANGE: guarded, LOGIN: lambda call: call.answer({"header": header(7), "token": "good"})}
    cluster = cluster_of(*members[:2], credentials=ROOT)
    cluster._clients[0].token = cluster._clients[1].token = "old"
    await asyncio.gather(*(cluster.read(RANGE, {}) for _ in range(5)))
    (login,) = members[0].of(LOGIN)
    assert login.request == {"name": "root", "password": "secret"}
    assert "authorization" not in login.headers
    members[0].on(RANGE, refusing("etcdserver: no leader", 14, 503))
    await cluster.read(RANGE, {})
    assert [call.method for call in members[1].calls] == [RANGE]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("etcdserver: invalid auth token", 16),
        ("etcdserver: user name is empty", 3),
        ("etcdserver: revision of auth store is old", 3),
    ],
)
async def test_who_is_told_to_log_in_does_so_and_asks_again_once(members, cluster_of, message, code):
    members[0].on(RANGE, refusing(message, code))
    members[0].on(LOGIN, lambda call: call.answer({"header": header(7), "token": "good"}))
    with pytest.raises(StoreError, match=message):
        await cluster_of(*members, credentials=ROOT).read(RANGE, {})
    assert [call.method for call in members[0].calls] == [RANGE, LOGIN, RANGE]
    with pytest.raises(StoreError, match=message):
        await cluster_of(*members).read(RANGE, {})
    assert [call.method for call in members[0].calls[3:]] == [RANGE]


async def test_another_refusal_is_no_reason_to_log_in(members, cluster_of):
    members[0].on(RANGE, refusing("etcdserver: permission denied", 7))
    with pytest.raises(StoreError, match="permission denied"):
        await cluster_of(*members, credentials=ROOT).read(RANGE, {})
    assert numbers(members) == [1, 0, 0]


async def test_who_waits_for_a_log_in_when_the_cluster_is_closed_is_refused_as_everybody_is(members, cluster_of):
    members[0].scripts = {RANGE: guarded}
    cluster = cluster_of(members[0], credentials=ROOT)
    reading = asyncio.create_task(cluster.read(RANGE, {}))
    await members[0].called(LOGIN)
    await cluster.close()
    async with asyncio.timeout(SECONDS):
        with pytest.raises(Unavailable):
            await reading
