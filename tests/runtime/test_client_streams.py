"""Streams over connections of their own: the pieces they deliver, and how they end."""

import asyncio

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError


async def test_a_stream_is_fed_as_it_comes_until_its_end(asked, speak):
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"
    fed: list[bytes] = []
    async with asked(await speak(said)) as client:
        await client.stream("/x?watch=true", fed.append, seconds=20)
    assert b"".join(fed) == b"abcde"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", 0),
        (b'HTTP/1.1 410 x\r\nContent-Length: 52\r\n\r\n{"kind": "Status", "code": 410, "reason": "Expired"}', 410),
        (b"", 0),
    ],
)
async def test_a_stream_that_breaks_or_is_refused_is_an_error(asked, speak, said, code):
    async with asked(await speak(said)) as client:
        with pytest.raises(ApiError) as caught:
            await client.stream("/x", lambda _: None, seconds=20)
    assert caught.value.code == code


async def test_a_stream_is_broken_off_by_what_its_feed_raises_and_when_its_time_is_up(asked, serve):
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


async def test_a_stream_that_falls_silent_is_given_up_and_one_that_tells_something_now_and_then_is_not(
    asked, serve, monkeypatch
):
    monkeypatch.setattr("controller_manager.runtime.connection.SILENCE_SECONDS", 0.3)
    fed: list[bytes] = []

    async def handle(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(6):
            await response.write(b"x")
            await asyncio.sleep(0.1)
        await asyncio.Event().wait()
        return response

    async with asked(await serve(handle)) as client:
        with pytest.raises(ApiError, match=r"nothing came for 0\.3 s"):
            await client.stream("/x?watch=true", fed.append, seconds=20)
    assert b"".join(fed) == b"x" * 6
