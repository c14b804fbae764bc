"""Requests over real connections: what is answered, what is refused, and what is lost."""

import asyncio
import ssl
from dataclasses import replace

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError
from controller_manager.runtime import client as module
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.contract import Create, Delete, DeleteAll, Get, ListAll, Patch, Update
from controller_manager.runtime.kinds import CONFIG_MAP, NAMESPACE
from controller_manager.runtime.kubeconfig import load

A_MAP = {"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}}
KEY = "default/a"
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}


def asked(access, clock=None, **more):
    return Client(access, clock or Clock(), **more)


def named(name: str):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}}


def answer(body: bytes, *headers: bytes, code: int = 200) -> bytes:
    lines = [b"HTTP/1.1 %d x" % code, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


# -- the real server


async def test_objects_are_created_read_changed_and_deleted(client):
    made = await client.perform(Create(CONFIG_MAP, A_MAP))
    changed = await client.perform(Update(CONFIG_MAP, made | {"data": {"k": "w"}}))
    assert changed["data"] == {"k": "w"}
    patched = await client.perform(Patch(CONFIG_MAP, KEY, {"data": {"x": "y"}}))
    assert patched["data"] == {"k": "w", "x": "y"}
    assert await client.perform(Get(CONFIG_MAP, KEY)) == patched
    await client.perform(Delete(CONFIG_MAP, KEY, uid=made["metadata"]["uid"]))
    with pytest.raises(ApiError) as caught:
        await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (404, "NotFound")
    assert caught.value.message == 'configmaps "a" not found'


async def test_a_list_has_all_pages_and_metadata_alone(client, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 2)
    for number in range(5):
        await client.perform(Create(CONFIG_MAP, {"metadata": {"name": f"m{number}", "namespace": "default"}}))
    items = await client.perform(ListAll(CONFIG_MAP, "default"))
    assert [item["metadata"]["name"] for item in items] == ["kube-root-ca.crt", "m0", "m1", "m2", "m3", "m4"]
    assert {item["kind"] for item in items} == {"PartialObjectMetadata"}
    await client.perform(DeleteAll(CONFIG_MAP, "default", grace=0))
    assert await client.perform(ListAll(CONFIG_MAP, "default")) == []


async def test_refusals_of_the_server_are_told_in_its_words(client):
    made = await client.perform(Create(CONFIG_MAP, A_MAP))
    await client.perform(Patch(CONFIG_MAP, KEY, {"data": {"x": "y"}}))
    cases = [
        (Create(CONFIG_MAP, A_MAP), 409, "AlreadyExists"),
        (Update(CONFIG_MAP, made), 409, "Conflict"),
        (Delete(CONFIG_MAP, KEY, uid="another"), 409, "Conflict"),
        (Create(CONFIG_MAP, {"metadata": {"name": "A B", "namespace": "default"}}), 422, "Invalid"),
        (Create(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "none"}}), 404, "NotFound"),
    ]
    for request, code, reason in cases:
        with pytest.raises(ApiError) as caught:
            await client.perform(request)
        assert (caught.value.code, caught.value.reason) == (code, reason)
        assert caught.value.details["name"]


async def test_many_requests_at_a_time_share_few_connections(client):
    made = [{"metadata": {"name": f"m{number}", "namespace": "default"}} for number in range(300)]
    answers = await asyncio.gather(*(client.perform(Create(CONFIG_MAP, obj)) for obj in made))
    assert [answer["metadata"]["name"] for answer in answers] == [obj["metadata"]["name"] for obj in made]


async def test_a_server_that_the_certificate_does_not_name_is_not_asked(cluster):
    access = replace(load(cluster.kubeconfig), server_name="another.example")
    async with asked(access) as client:
        with pytest.raises(ApiError, match="certificate") as caught:
            await client.perform(Get(NAMESPACE, "default"))
    assert caught.value.code == 0


async def test_a_client_certificate_says_who_asks(cluster):
    directory = cluster.ca_file.parent
    access = load(cluster.kubeconfig)
    own = replace(
        access,
        token="",
        client_cert=(directory / "admin.crt").read_bytes(),
        client_key=(directory / "admin.key").read_bytes(),
    )
    assert isinstance(own.tls(), ssl.SSLContext)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with asked(own) as client:
        kind = replace(NAMESPACE, group="authentication.k8s.io", kind="SelfSubjectReview", plural="selfsubjectreviews")
        found = await client.perform(Create(kind, review | {"metadata": {}}))
    assert found["status"]["userInfo"]["username"] == "kubernetes-admin"


# -- servers that put off


@pytest.mark.parametrize("code", [429, 503, 500])
async def test_a_server_that_says_when_to_come_back_is_asked_again_then(serve, hasty, code):
    seen = []

    async def handle(request):
        seen.append((request.method, await request.read()))
        if len(seen) <= 3:
            return web.json_response(STATUS | {"code": code}, status=code, headers={"Retry-After": "2"})
        return web.json_response({"kind": "ConfigMap"})

    async with asked(await serve(handle), hasty) as client:
        assert await client.perform(Create(CONFIG_MAP, A_MAP)) == {"kind": "ConfigMap"}
    assert hasty.slept == [2, 2, 2]
    assert len(set(seen)) == 1


async def test_after_ten_times_the_server_is_believed(serve, hasty):
    async def handle(_):
        refused = STATUS | {"code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 1}}
        return web.json_response(refused, status=429, headers={"Retry-After": "1"})

    async with asked(await serve(handle), hasty) as client:
        with pytest.raises(ApiError) as caught:
            await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.details) == (429, {"retryAfterSeconds": 1})
    assert hasty.slept == [1] * 10


@pytest.mark.parametrize(
    ("code", "reason", "retry_after"),
    [
        (429, "TooManyRequests", ""),
        (429, "TooManyRequests", "Wed, 21 Oct 2026 07:28:00 GMT"),
        (500, "InternalError", ""),
        (503, "ServiceUnavailable", ""),
        (504, "Timeout", ""),
        (409, "Conflict", "1"),
        (410, "Expired", ""),
        (422, "Invalid", ""),
    ],
)
async def test_all_else_is_told_at_once(serve, hasty, code, reason, retry_after):
    async def handle(_):
        status = STATUS | {"code": code, "reason": reason, "message": "no"}
        return web.json_response(status, status=code, headers={"Retry-After": retry_after} if retry_after else {})

    async with asked(await serve(handle), hasty) as client:
        with pytest.raises(ApiError, match="no") as caught:
            await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert hasty.slept == []


async def test_a_proxys_page_is_an_error_too(serve):
    async def handle(_):
        return web.Response(text="<html>Bad Gateway</html>", status=502, content_type="text/html")

    async with asked(await serve(handle)) as client:
        with pytest.raises(ApiError, match="Bad Gateway") as caught:
            await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (502, "InternalError")


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe"])
async def test_a_success_that_is_no_json_is_an_error(speak, body):
    async with asked(await speak(answer(body))) as client:
        with pytest.raises(ApiError, match="no JSON"):
            await client.perform(Get(CONFIG_MAP, KEY))


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"metadata": {"resourceVersion": "1"}, "items": [1]}', b'{"items": []}']
)
async def test_what_is_no_list_is_no_list(speak, body):
    async with asked(await speak(answer(body))) as client:
        with pytest.raises(ApiError, match="no list"):
            await client.perform(ListAll(CONFIG_MAP))


# -- connections that break


async def test_a_server_that_is_not_there_is_a_lost_connection(speak, unused_tcp_port):
    access = replace(await speak(), server=f"http://127.0.0.1:{unused_tcp_port}")
    async with asked(access) as client:
        with pytest.raises(ApiError, match="no connection to 127") as caught:
            await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (0, "ConnectionLost")


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"I am no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
        b"",
    ],
)
async def test_an_answer_that_breaks_off_or_is_garbage_is_a_lost_connection(speak, said):
    async with asked(await speak(said)) as client:
        with pytest.raises(ApiError) as caught:
            await client.perform(Create(CONFIG_MAP, A_MAP))
    assert (caught.value.code, caught.value.reason) == (0, "ConnectionLost")


async def test_answers_come_in_whatever_pieces_and_with_whatever_framing(speak):
    lots = (
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b'{"n": 0}'),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"n":\r\n2\r\n1}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\n\r\n{"n": 2}',
    )  # fmt: skip
    async with asked(await speak(*lots)) as client:
        assert [(await client.perform(Get(CONFIG_MAP, KEY)))["n"] for _ in lots] == [0, 1, 2]


async def test_a_read_that_an_old_connection_did_not_take_is_sent_over_a_new_one(speak):
    async with asked(await speak(answer(b'{"n": 1}'), b"")) as client:
        for _ in range(4):
            assert await client.perform(Get(CONFIG_MAP, KEY)) == {"n": 1}


async def test_a_write_is_never_sent_twice_on_its_own(speak):
    async with asked(await speak(answer(b"{}"), b"")) as client:
        await client.perform(Create(CONFIG_MAP, A_MAP))
        with pytest.raises(ApiError) as caught:
            await client.perform(Create(CONFIG_MAP, A_MAP))
        assert caught.value.reason == "ConnectionLost"
        await client.perform(Create(CONFIG_MAP, A_MAP))


async def test_a_server_that_closes_after_each_answer_is_asked_over_new_connections(speak):
    async with asked(await speak(answer(b"{}", b"Connection: close"), b"garbage")) as client:
        for _ in range(3):
            assert await client.perform(Create(CONFIG_MAP, A_MAP)) == {}


async def test_an_answer_that_does_not_come_is_given_up(serve, monkeypatch):
    async def handle(_):
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "SECONDS", 0.01)
    async with asked(await serve(handle)) as client:
        with pytest.raises(ApiError, match=r"no answer within 0\.01 s"):
            await client.perform(Create(CONFIG_MAP, A_MAP))


async def test_a_request_that_is_cancelled_leaves_no_answer_to_the_next(serve):
    gate, came = asyncio.Event(), asyncio.Event()

    async def handle(request):
        if request.method == "POST":
            came.set()
            await gate.wait()
        return web.json_response({"method": request.method})

    async with asked(await serve(handle)) as client:
        task = asyncio.create_task(client.perform(Create(CONFIG_MAP, A_MAP)))
        await came.wait()
        task.cancel()
        await asyncio.wait([task])
        gate.set()
        assert await client.perform(Get(CONFIG_MAP, KEY)) == {"method": "GET"}


async def test_what_waits_for_a_connection_is_lost_unsent_when_it_may_not_be_sent_any_more(serve, monkeypatch):
    came, gate, names = asyncio.Event(), asyncio.Event(), []

    async def handle(request):
        names.append((await request.json())["metadata"]["name"])
        came.set()
        await gate.wait()
        return web.json_response({})

    monkeypatch.setattr(module, "CONNECTIONS", 1)
    async with asked(await serve(handle)) as client:
        client.ask_while(lambda: not came.is_set())
        asking = asyncio.ensure_future(client.perform_all([Create(CONFIG_MAP, named(name)) for name in "abc"]))
        await came.wait()
        gate.set()
        first, *others = await asking
    assert (first, names) == ({}, ["a"])
    assert [str(error).rpartition(": ")[2] for error in others] == ["nothing may be sent any more"] * 2


# -- what is asked


async def test_a_request_says_who_asks_what_it_wants_and_what_it_sends(serve):
    seen = []

    async def handle(request):
        seen.append({name: value for name, value in request.headers.items() if name != "Host"})
        return web.json_response({"metadata": {"resourceVersion": "1"}})

    access = await serve(handle)
    async with asked(replace(access, server=f"{access.server}/base/"), user_agent="me/1") as client:
        await client.perform(Patch(CONFIG_MAP, KEY, {}))
        await client.perform(ListAll(CONFIG_MAP))
    common = {"User-Agent": "me/1", "Authorization": "Bearer t"}
    patch = {"Accept": "application/json", "Content-Type": "application/merge-patch+json", "Content-Length": "2"}
    metadata = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    assert seen == [common | patch, common | metadata]


async def test_a_path_before_the_api_is_kept(serve):
    seen = []

    async def handle(request):
        seen.append(request.path)
        return web.json_response({})

    access = await serve(handle)
    async with asked(replace(access, server=f"{access.server}/clusters/c")) as client:
        await client.perform(Get(CONFIG_MAP, KEY))
    assert seen == ["/clusters/c/api/v1/namespaces/default/configmaps/a"]


async def test_a_token_in_a_file_is_read_again_each_minute(serve, hasty, tmp_path):
    seen = []

    async def handle(request):
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    token = tmp_path / "token"
    token.write_text("old")
    async with asked(replace(await serve(handle), token_file=token), hasty) as client:
        await client.perform(Get(CONFIG_MAP, KEY))
        token.write_text("new")
        await client.perform(Get(CONFIG_MAP, KEY))
        hasty.passed += 60
        await client.perform(Get(CONFIG_MAP, KEY))
        token.unlink()
        hasty.passed += 60
        with pytest.raises(ApiError, match="the token cannot be read"):
            await client.perform(Get(CONFIG_MAP, KEY))
    assert seen == ["Bearer old", "Bearer old", "Bearer new"]


async def test_requests_keep_to_the_rate(serve, hasty):
    async def handle(_):
        return web.json_response({})

    async with asked(await serve(handle), hasty, qps=20.0, burst=2) as client:
        for _ in range(4):
            await client.perform(Get(CONFIG_MAP, KEY))
    assert hasty.slept == pytest.approx([0.05, 0.05])


async def test_every_exchange_is_counted(speak, hasty):
    seen = []

    def observe(method, code, seconds):
        seen.append((method, code, seconds))

    async with asked(await speak(answer(b"{}", code=201), b""), hasty, observe=observe) as client:
        await client.perform(Create(CONFIG_MAP, A_MAP))
        with pytest.raises(ApiError):
            await client.perform(Delete(CONFIG_MAP, KEY))
    assert seen == [("POST", 201, 0.0), ("DELETE", 0, 0.0)]


# -- streams


async def test_a_stream_is_fed_as_it_comes_until_its_end(speak):
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"
    fed = []
    async with asked(await speak(said)) as client:
        await client.stream("/x?watch=true", fed.append, seconds=20)
    assert b"".join(fed) == b"abcde"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", 0),
        (answer(b'{"kind": "Status", "code": 410, "reason": "Expired"}', code=410), 410),
        (b"", 0),
    ],
)
async def test_a_stream_that_breaks_or_is_refused_is_an_error(speak, said, code):
    async with asked(await speak(said)) as client:
        with pytest.raises(ApiError) as caught:
            await client.stream("/x", lambda _: None, seconds=20)
    assert caught.value.code == code


async def test_a_stream_is_broken_off_by_what_its_feed_raises_and_when_its_time_is_up(serve):
    async def handle(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"x")
        await asyncio.Event().wait()
        return response

    def refuse(_):
        raise ApiError(410, "Expired", "too old")

    async with asked(await serve(handle)) as client:
        with pytest.raises(ApiError, match="too old"):
            await client.stream("/x", refuse, seconds=20)
        with pytest.raises(ApiError, match="no answer within"):
            await client.stream("/x", lambda _: None, seconds=0.01)


async def test_many_requests_at_once_are_answered_in_their_order_errors_among_them(client):
    requests = [Create(CONFIG_MAP, named(f"many-{number}")) for number in range(200)]
    requests[100:100] = [Get(CONFIG_MAP, "default/absent"), Create(CONFIG_MAP, named("many-3"))]
    answers = await client.perform_all([*requests, ListAll(CONFIG_MAP, "default")])
    names = [answer["metadata"]["name"] for answer in answers[:100] + answers[102:-1]]
    assert names == [f"many-{number}" for number in range(200)]
    assert [answer.reason for answer in answers[100:102]] == ["NotFound", "AlreadyExists"]
    assert {item["metadata"]["name"] for item in answers[-1]} >= set(names)


async def test_many_requests_of_somebody_who_goes_away_leave_the_connections_good(client):
    asking = asyncio.ensure_future(
        client.perform_all([Create(CONFIG_MAP, named(f"left-{number}")) for number in range(100)])
    )
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(ApiError, match="not found"):
        await client.perform(Get(CONFIG_MAP, "default/absent"))
