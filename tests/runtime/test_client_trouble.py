"""Servers that put off, refuse or answer garbage, and connections that break."""

import asyncio
from dataclasses import replace

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create, Get, ListAll
from controller_manager.reconcile.kinds import CONFIG_MAP
from controller_manager.runtime import client as module

A_MAP = {"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}}
KEY = "default/a"
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}


# -- servers that put off


@pytest.mark.parametrize("code", [429, 503, 500])
async def test_a_server_that_says_when_to_come_back_is_asked_again_then(asked, serve, hasty, code):
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


async def test_after_ten_times_the_server_is_believed(asked, serve, hasty):
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
async def test_all_else_is_told_at_once(asked, serve, hasty, code, reason, retry_after):
    async def handle(_):
        status = STATUS | {"code": code, "reason": reason, "message": "no"}
        return web.json_response(status, status=code, headers={"Retry-After": retry_after} if retry_after else {})

    async with asked(await serve(handle), hasty) as client:
        with pytest.raises(ApiError, match="no") as caught:
            await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert hasty.slept == []


async def test_a_proxys_page_is_an_error_too(asked, serve):
    async def handle(_):
        return web.Response(text="<html>Bad Gateway</html>", status=502, content_type="text/html")

    async with asked(await serve(handle)) as client:
        with pytest.raises(ApiError, match="Bad Gateway") as caught:
            await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (502, "InternalError")


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe"])
async def test_a_success_that_is_no_json_is_an_error(asked, answer, speak, body):
    async with asked(await speak(answer(body))) as client:
        with pytest.raises(ApiError, match="no JSON"):
            await client.perform(Get(CONFIG_MAP, KEY))


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"metadata": {"resourceVersion": "1"}, "items": [1]}', b'{"items": []}']
)
async def test_what_is_no_list_is_no_list(asked, answer, speak, body):
    async with asked(await speak(answer(body))) as client:
        with pytest.raises(ApiError, match="no list"):
            await client.perform(ListAll(CONFIG_MAP))


# -- connections that break


async def test_a_server_that_is_not_there_is_a_lost_connection(asked, speak, unused_tcp_port):
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
async def test_an_answer_that_breaks_off_or_is_garbage_is_a_lost_connection(asked, speak, said):
    async with asked(await speak(said)) as client:
        with pytest.raises(ApiError) as caught:
            await client.perform(Create(CONFIG_MAP, A_MAP))
    assert (caught.value.code, caught.value.reason) == (0, "ConnectionLost")


async def test_answers_come_in_whatever_pieces_and_with_whatever_framing(asked, answer, speak):
    lots = (
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b'{"n": 0}'),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"n":\r\n2\r\n1}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\n\r\n{"n": 2}',
    )  # fmt: skip
    async with asked(await speak(*lots)) as client:
        assert [(await client.perform(Get(CONFIG_MAP, KEY)))["n"] for _ in lots] == [0, 1, 2]


async def test_a_read_that_an_old_connection_did_not_take_is_sent_over_a_new_one(asked, answer, speak):
    async with asked(await speak(answer(b'{"n": 1}'), b"")) as client:
        for _ in range(4):
            assert await client.perform(Get(CONFIG_MAP, KEY)) == {"n": 1}


async def test_a_write_is_never_sent_twice_on_its_own(asked, answer, speak):
    async with asked(await speak(answer(b"{}"), b"")) as client:
        await client.perform(Create(CONFIG_MAP, A_MAP))
        with pytest.raises(ApiError) as caught:
            await client.perform(Create(CONFIG_MAP, A_MAP))
        assert caught.value.reason == "ConnectionLost"
        await client.perform(Create(CONFIG_MAP, A_MAP))


async def test_a_server_that_closes_after_each_answer_is_asked_over_new_connections(asked, answer, speak):
    async with asked(await speak(answer(b"{}", b"Connection: close"), b"garbage")) as client:
        for _ in range(3):
            assert await client.perform(Create(CONFIG_MAP, A_MAP)) == {}


async def test_an_answer_that_does_not_come_is_given_up(asked, serve, monkeypatch):
    async def handle(_):
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "REQUEST_TIMEOUT", 0.01)
    async with asked(await serve(handle)) as client:
        with pytest.raises(ApiError, match=r"no answer within 0\.01 s"):
            await client.perform(Create(CONFIG_MAP, A_MAP))


async def test_a_request_that_is_cancelled_leaves_no_answer_to_the_next(asked, serve):
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
