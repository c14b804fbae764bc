"""wire.md, section 4.6 and 4.7: clients that go away, that do not read, and servers that stop or start again."""

import asyncio
import gc
import json
import threading
import tracemalloc
from asyncio import selector_events
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from patience import SECONDS

from apiserver.config import Config
from apiserver.endpoints.watch_stream import FrameEncoder

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=1"
MiB = 2**20


def handlers() -> int:
    """Return the number of requests that are being served."""
    return sum("_handle_request" in str(task.get_coro()) for task in asyncio.all_tasks())


async def all_gone(api) -> bool:
    return await api.watches() == 0 and handlers() <= 1  # that of the metrics themselves


async def raw_watch(api, query: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A watch on a bare connection, its head read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port, limit=2**16)
    head = f"GET {WATCH}{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer of-the-administrator\r\n\r\n"
    writer.write(head.encode())
    assert b"200 OK" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
    return reader, writer


def of_a_socket(writer: asyncio.StreamWriter) -> asyncio.Transport:
    """Return the transport of a connection, which can be read from, too."""
    return cast("asyncio.Transport", writer.transport)


async def test_quiet_watches_end_when_their_clients_close(api, eventually) -> None:
    opened = [await raw_watch(api) for _ in range(20)]
    assert await api.watches() == 20
    for _, writer in opened[:10]:
        writer.close()
    for _, writer in opened[10:]:
        writer.transport.abort()
    await eventually(lambda: all_gone(api))


async def test_websocket_watches_end_when_their_clients_close(api, eventually) -> None:
    sockets = [await api.session.ws_connect(f"{api.url}{WATCH}") for _ in range(6)]
    assert await api.watches() == 6
    for socket in sockets[:3]:
        await socket.close()
    for socket in sockets[3:]:
        socket._response.connection.transport.abort()
    await eventually(lambda: all_gone(api))


async def test_a_watch_that_nobody_reads_ends_when_its_client_closes(api, eventually) -> None:
    _, writer = await raw_watch(api)
    of_a_socket(writer).pause_reading()
    await api.make(*(f"a{n}" for n in range(300)), data={"x": "x" * 50_000})
    writer.transport.abort()
    await eventually(lambda: all_gone(api))


async def test_a_client_that_leaves_while_it_is_written_to_is_no_error(api, eventually, caplog, monkeypatch) -> None:
    async def write(_self: web.StreamResponse, _data: bytes) -> None:
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")  # as if it had just gone

    _, writer = await raw_watch(api)
    monkeypatch.setattr(web.StreamResponse, "write", write)
    await api.make("a")
    await eventually(lambda: all_gone(api))
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    assert await api.metrics("apiserver_request_total", 'verb="WATCH"') == 1
    writer.close()


async def test_clients_that_never_read_cost_bounded_memory(api, eventually) -> None:
    """Ten of them, 20,000 events of 1 kB: what the server holds for each stays far under what it could send."""
    opened = [await raw_watch(api, "&resourceVersion=" + str(api.now)) for _ in range(10)]
    for _, writer in opened:
        of_a_socket(writer).pause_reading()
    store = api.running.registry.storage.store
    await api.make("a", data={"x": "x" * 1000})
    kv = store.get("/registry/configmaps/default/a")

    async def write(count: int) -> None:
        for _ in range(count):
            await store.put(kv.key, kv.value, index_attrs=kv.index_attrs)
            await asyncio.sleep(0)

    await write(2000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await write(18_000)
    await store.compact(store.revision)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0 < buffered() < 10 * 256 * 1024
    assert grown < 10 * MiB
    for _, writer in opened:
        writer.transport.abort()
    await eventually(lambda: all_gone(api))


def buffered() -> int:
    """Bytes that wait to be written, of all connections of this process."""
    transport: Any = vars(selector_events)["_SelectorSocketTransport"]
    transports = [each for each in gc.get_objects() if type(each) is transport]
    return sum(each.get_write_buffer_size() for each in transports)


# The server stops, and waits for ever for who does not end.


@pytest.fixture
def endless_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give connections that nobody ends more time than there is, so that a server that waits for them is found out."""
    monkeypatch.setattr("apiserver.listening.SHUTDOWN", 10 * SECONDS)


@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/1.0"])
async def test_every_watch_ends_cleanly_when_the_server_stops(opened, endless_shutdown, protocol: str) -> None:
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(opened())
        await api.make("a")
        connections = []
        for _ in range(200):
            reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
            head = f"GET {WATCH} {protocol}\r\nHost: a\r\nAuthorization: Bearer of-the-administrator\r\n\r\n"
            writer.write(head.encode())
            connections.append((reader, writer))
        for reader, _ in connections:
            await asyncio.wait_for(reader.readuntil(b'"ADDED"'), SECONDS)
        async with asyncio.timeout(SECONDS):
            await stack.aclose()
    for reader, writer in connections:
        rest = await asyncio.wait_for(reader.read(), SECONDS)
        assert rest.endswith(b"\r\n0\r\n\r\n" if protocol == "HTTP/1.1" else b"}\n")
        writer.close()


async def test_clients_that_do_not_read_do_not_keep_the_server_from_stopping(opened, endless_shutdown, caplog) -> None:
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(opened())
        connections = [await raw_watch(api) for _ in range(5)]
        for _, writer in connections:
            of_a_socket(writer).pause_reading()
        await api.make(*(f"a{n}" for n in range(300)), data={"x": "x" * 50_000})
        async with asyncio.timeout(SECONDS):
            await stack.aclose()
    assert not caplog.records
    for _, writer in connections:
        writer.transport.abort()


async def test_websocket_watches_are_closed_when_the_server_stops(opened, endless_shutdown) -> None:
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(opened())
        reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
        head = (
            f"GET {WATCH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer of-the-administrator\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        writer.write(head.encode())
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
        async with asyncio.timeout(SECONDS):
            await stack.aclose()
    assert (await asyncio.wait_for(reader.read(), SECONDS))[:1] == b"\x88"  # a closing frame
    writer.close()


async def test_an_idle_connection_does_not_keep_the_server_from_stopping(opened, endless_shutdown) -> None:
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(opened())
        await asyncio.gather(*(api.get("/version") for _ in range(20)))
        async with asyncio.timeout(SECONDS):
            await stack.aclose()


# The server starts again.


async def test_a_watch_goes_on_after_a_restart_where_it_was(opened, tmp_path: Path) -> None:
    config = Config(store=f"sqlite://{tmp_path / 'store'}")
    seen: list[Any] = []
    async with opened(config) as api:
        async with api.watch(f"{WATCH}&resourceVersion={api.now}") as watched:
            await api.make("a", "b")
            seen += await watched.take(2)
        await api.make("c")
        await api.delete(f"{CONFIG_MAPS}/a")
    async with (
        opened(config) as api,
        api.watch(f"{WATCH}&resourceVersion={seen[-1]['object']['metadata']['resourceVersion']}") as watched,
    ):
        await api.make("d")
        seen += await watched.take(3)
    assert [(e["type"], e["object"]["metadata"]["name"]) for e in seen] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("ADDED", "c"),
        ("DELETED", "a"),
        ("ADDED", "d"),
    ]
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in seen]
    assert versions == sorted(set(versions))


async def test_what_was_compacted_before_a_restart_stays_so(opened, tmp_path: Path) -> None:
    config = Config(store=f"sqlite://{tmp_path / 'store'}")
    async with opened(config) as api:
        made = await api.make("a", "b")
        await api.running.registry.storage.store.compact(int(made[1].version))
    async with opened(config) as api, api.watch(f"{WATCH}&resourceVersion={made[0].version}") as watched:
        (event,) = await watched.rest()
    assert json.loads(json.dumps(event["object"]))["code"] == 410


async def test_a_write_under_way_is_answered_before_the_server_stops(opened, tmp_path: Path, caplog) -> None:
    config, going_on = Config(store=f"sqlite://{tmp_path / 'store'}"), threading.Event()
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(opened(config))
        api.running.registry.storage.store._worker.submit(going_on.wait, lambda _: None)
        reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
        body = '{"metadata":{"name":"last"}}'
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer of-the-administrator\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}{kind}\r\n{body}".encode())
        while await api.metrics("apiserver_current_inflight_requests", "mutating") < 1:
            pass
        asyncio.get_running_loop().call_later(0.1, going_on.set)
        await stack.aclose()
    assert b" 201 " in await reader.readline()
    writer.close()
    assert not caplog.records
    async with opened(config) as api:
        assert (await api.get(f"{CONFIG_MAPS}/last")).code == 200


async def test_a_stream_that_fails_is_broken_off_and_not_answered_again(api, monkeypatch, caplog) -> None:
    reader, writer = await raw_watch(api, "&timeoutSeconds=60")
    await api.make("first")
    assert b"ADDED" in await asyncio.wait_for(reader.readuntil(b"}\n"), SECONDS)

    def fails(*_: Any) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(FrameEncoder, "cached_frame", fails)
    await api.make("second")
    rest = await asyncio.wait_for(reader.read(), SECONDS)
    writer.close()
    assert b"HTTP/1.1" not in rest
    assert not rest.endswith(b"0\r\n\r\n")  # a chunked body without its end: the client sees that it is not whole
    assert "ZeroDivisionError" in caplog.text  # a fault of the server is logged where its operator looks
    monkeypatch.undo()
    assert (await api.get("/readyz")).code == 200
