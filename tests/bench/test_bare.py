"""The bare server of the bench is a fair ceiling only while it answers in the very way in which our server does."""

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import aiohttp
import pytest
from aiohttp.http import SERVER_SOFTWARE

from apiserver.app import serving
from apiserver.config import Config
from apiserver.listening import listening

BENCH = Path(__file__).parents[2] / "bench"
PATH = "/api/v1/namespaces/default"


@pytest.fixture(scope="module")
def bare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_bare", BENCH / "bare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
async def url(bare: ModuleType, tmp_path: Path) -> AsyncIterator[str]:
    """A bare server with one answer and three frames."""
    (tmp_path / "frames").write_bytes(b'{"a":1}\n{"b":2}\n{"c":3}\n')
    bare.write_answers(tmp_path, iter([("/other", b"{}"), (PATH, b'{"kind":"Namespace"}')]))
    broadcast = bare.Broadcast(iter((tmp_path / "frames").read_bytes().splitlines(keepends=True)))
    server = bare.BareHandler(bare.read_answers(tmp_path), broadcast)
    sending = asyncio.create_task(broadcast.run())
    async with listening(Config(secure_port=0), server.handle, stops=()) as port:
        yield f"http://127.0.0.1:{port}"
        sending.cancel()


@pytest.fixture
async def ours(tmp_path: Path) -> AsyncIterator[str]:
    """Our server."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,admin,1,"system:masters"\n')
    async with serving(Config(secure_port=0, store="memory://", token_auth_file=tokens)) as running:
        yield running.url


HEADERS = {"Authorization": "Bearer secret"}


async def test_a_path_is_answered_with_the_bytes_that_were_prepared_for_it(url: str) -> None:
    async with aiohttp.ClientSession() as client, client.get(url + PATH) as answer:
        assert (answer.status, await answer.read()) == (200, b'{"kind":"Namespace"}')


async def test_a_body_is_parsed_and_answered(url: str) -> None:
    async with aiohttp.ClientSession() as client, client.post(url + PATH, data=b'{ "a": [1, 2] }') as answer:
        assert (answer.status, await answer.read()) == (201, b'{"a":[1,2]}')


async def test_each_post_sends_the_next_frame_to_every_stream(url: str) -> None:
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{url}{PATH}/pods?watch=1") as one,
        client.get(f"{url}{PATH}/pods?watch=1") as other,
    ):
        for _ in range(3):
            await client.post(url + PATH, data=b"{}")
        for stream in (one, other):
            assert [await stream.content.readline() for _ in range(3)] == [b'{"a":1}\n', b'{"b":2}\n', b'{"c":3}\n']


async def test_an_answer_has_the_headers_of_our_servers_in_the_same_order_and_as_long(ours: str, url: str) -> None:
    heads = []
    async with aiohttp.ClientSession(headers=HEADERS) as client:
        for server in (ours, url):
            async with client.get(server + PATH) as answer:
                lengths = [(name, len(value)) for name, value in answer.raw_headers if name != b"Content-Length"]
                heads.append((answer.version, answer.status, answer.reason, lengths))
    assert heads[0][1] == 200
    assert heads[0] == heads[1]


async def test_a_stream_has_the_headers_of_our_servers_but_those_that_aiohttp_adds_to_each_of_its_own(
    ours: str, url: str
) -> None:
    heads = []
    async with aiohttp.ClientSession(headers=HEADERS) as client:
        for server in (ours, url):
            async with client.get(f"{server}{PATH}/pods?watch=1") as answer:
                assert answer.status == 200
                heads.append({name: len(value) for name, value in answer.headers.items()})
    assert heads[0] == heads[1] | {"Date": 29, "Server": len(SERVER_SOFTWARE)}
