"""wire.md, section 7: limits and bad input."""

import asyncio
import gzip
import json
import threading
from pathlib import Path

import pytest
from patience import SECONDS

from apiserver.config import Config
from apiserver.endpoints.server import InflightLimits

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MiB = 2**20


def sized(size: int) -> bytes:
    """A ConfigMap whose JSON has so many bytes."""
    head, tail = b'{"metadata":{"name":"a","annotations":{"a":"', b'"}}}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


async def lives(api) -> bool:
    return bool((await api.get("/readyz")).text == "ok")


# Bodies.


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_over_three_mebibytes_is_413(api, method: str) -> None:
    await api.make("b")
    path = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/b"
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    reply = await api.ask(method, path, sized(3 * MiB + 1), Content_Type=media)
    assert (reply.code, reply.json["reason"]) == (413, "RequestEntityTooLarge")
    assert "limit is 3145728" in reply.message
    assert await lives(api)


async def test_a_body_of_three_mebibytes_is_read(api) -> None:
    reply = await api.post(CONFIG_MAPS, sized(3 * MiB))
    assert reply.code == 422  # annotations have a limit of their own
    assert "may not be more than 262144 bytes" in reply.message


async def test_a_chunked_body_that_grows_too_large_is_413(api) -> None:
    async def chunks():
        for _ in range(40):
            yield b"x" * 100_000

    headers = {"Content-Type": "application/json"}
    async with api.session.post(api.url + CONFIG_MAPS, data=chunks(), headers=headers) as response:
        assert response.status == 413
    assert await lives(api)


DEEP = 20_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b'"text"',
        b"1",
        b'{"metadata":{"name":"a"}} {}',
        b'{"metadata":{"name":"a"},"data":{"a":1}}',
        b'{"metadata":{"name":["a"]}}',
        b'{"metadata":"a"}',
        b'{"kind":1}',
        b'{"apiVersion":{}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}',
        b'{"metadata":{"name":"a","generation":99999999999999999999999}}',
        b'{"metadata":{"name":"a","generation":1.5}}',
        b'{"metadata":{"name":"a","generation":1e400}}',
        b"[" * DEEP + b"]" * DEEP,
        b'{"metadata":' * DEEP + b"{}" + b"}" * DEEP,
        b"\x00",
        b"\xef\xbb\xbf{}x",
    ],
    ids=lambda body: repr(body[:30]),
)
async def test_a_body_that_is_no_such_object_is_400(api, body: bytes, caplog) -> None:
    reply = await api.post(CONFIG_MAPS, body)
    assert (reply.code, reply.json["kind"], reply.json["reason"]) == (400, "Status", "BadRequest")
    assert await lives(api)
    assert not caplog.records


@pytest.mark.parametrize(
    "text",
    [
        b"a: [",
        b"- a\n- b\n",
        b"just text",
        b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: &d " + b"[*c," * 3000 + b"]" * 3000,
        b"[" * 5000,
        b"\x00\x01",
        b"!!python/object/apply:os.system [ls]",
    ],
    ids=lambda text: repr(text[:30]),
)
async def test_yaml_that_is_no_object_is_400(api, text: bytes, caplog) -> None:
    reply = await api.post(CONFIG_MAPS, text, Content_Type="application/yaml")
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")
    assert await lives(api)
    assert not caplog.records


async def test_a_nul_byte_in_a_value_is_text_and_in_a_name_is_refused(api) -> None:
    made = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"x": "a\0b"}})
    assert (made.code, made.json["data"]) == (201, {"x": "a\0b"})
    assert (await api.post(CONFIG_MAPS, {"metadata": {"name": "a\0b"}})).code == 422
    assert (await api.get(f"{CONFIG_MAPS}/a%00b")).code in (400, 404)
    assert (await api.get(f"{CONFIG_MAPS}?labelSelector=a%00")).code == 400
    assert await lives(api)


async def test_a_field_that_comes_twice_is_warned_of_and_the_last_counts(api) -> None:
    reply = await api.post(CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"x":"1"},"data":{"x":"2"}}')
    assert (reply.code, reply.json["data"]) == (201, {"x": "2"})
    assert reply.headers["Warning"] == '299 - "duplicate field \\"data\\""'


async def test_half_a_surrogate_has_an_answer(api) -> None:
    reply = await api.post(CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"x":"\\ud800"}}')
    assert reply.code in (201, 400)
    assert await lives(api)


@pytest.mark.parametrize(
    "path", ["/%", "/%zz", "/api/v1/namespaces/%2", "/api/v1/namespaces/a%2Fb", "/api/v1/pods/%ff"]
)
async def test_a_path_that_cannot_be_read_has_an_answer(api, path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer of-the-administrator\r\n\r\n".encode())
    line = await asyncio.wait_for(reader.readline(), SECONDS)
    writer.close()
    assert line.split()[1] in (b"400", b"404")
    assert await lives(api)


@pytest.mark.parametrize(
    "raw", [b"\x16\x03\x01\x02\x00", b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"\r\n" * 10]
)
async def test_bytes_that_are_no_request_leave_no_trace(api, raw: bytes, caplog) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    writer.write(raw)
    writer.write_eof()
    await asyncio.wait_for(reader.read(), SECONDS)
    writer.close()
    assert await lives(api)
    assert not caplog.records


async def test_a_header_that_is_too_long_is_refused(api) -> None:
    reply = await api.ask("GET", "/version", X_Long="x" * 100_000)
    assert reply.code in (400, 431)
    assert await lives(api)


# The number of requests at once.


async def test_more_readers_than_may_be_are_429_and_watches_do_not_count(opened) -> None:
    async with opened(Config(limits=InflightLimits(reading=2, mutating=1))) as api, asyncio.TaskGroup() as group:
        watches = [await api.session.get(f"{api.url}{CONFIG_MAPS}?watch=1") for _ in range(5)]
        future = f"{CONFIG_MAPS}?resourceVersion={api.now + 1}"
        waiting = [group.create_task(api.get(future)) for _ in range(2)]
        while await api.metrics("apiserver_current_inflight_requests", "readOnly") < 2:
            pass
        refused = await api.get(CONFIG_MAPS)
        assert (refused.code, refused.json["reason"]) == (429, "TooManyRequests")
        assert refused.headers["Retry-After"] == "1"
        assert refused.json["details"]["retryAfterSeconds"] == 1
        assert (await api.get("/readyz")).code == 200
        await api.make("a")  # writers are counted apart
        for task in waiting:
            assert (await task).code == 200
        assert (await api.get(CONFIG_MAPS)).code == 200
        for watch in watches:
            watch.close()


async def test_more_writers_than_may_be_are_429(opened) -> None:
    async with opened(Config(limits=InflightLimits(reading=1, mutating=1))) as api:
        reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 26\r\n"
        writer.write(f"{head}Authorization: Bearer of-the-administrator\r\n\r\n".encode())  # the body is yet to come
        while await api.metrics("apiserver_current_inflight_requests", "mutating") < 1:
            pass
        refused = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert (refused.code, refused.headers["Retry-After"]) == (429, "1")
        assert (await api.get(CONFIG_MAPS)).code == 200
        writer.write(b'{"metadata": {"name": "b"}}'[:26])
        assert b"HTTP/1.1" in await asyncio.wait_for(reader.readline(), SECONDS)
        writer.close()
        assert json.loads((await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})).raw)["kind"] == "ConfigMap"


async def test_no_limit_is_no_limit(opened) -> None:
    async with opened(Config(limits=InflightLimits(reading=0, mutating=0))) as api:
        replies = await asyncio.gather(*(api.get(CONFIG_MAPS) for _ in range(500)))
        assert {reply.code for reply in replies} == {200}


async def test_a_selector_of_a_thousand_values_is_read(api) -> None:
    await api.post(CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"x": "value-999"}}})
    values = ",".join(f"value-{number}" for number in range(3000))
    reply = await api.get(f"{CONFIG_MAPS}?labelSelector=x%20in%20({values})")
    assert (reply.code, len(reply.json["items"])) == (200, 1)


# Clients that break off.


async def test_who_waits_to_be_asked_for_the_body_is_asked(api) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    body = b'{"metadata":{"name":"a"}}'
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nAuthorization: Bearer of-the-administrator\r\n\r\n".encode())
    assert await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS) == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(body)
    assert (await asyncio.wait_for(reader.readline(), SECONDS)).startswith(b"HTTP/1.1 201 ")
    writer.close()


async def test_half_a_body_leaves_nothing_behind(api, caplog) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
    writer.write(f"{head}Authorization: Bearer of-the-administrator\r\n\r\n{{".encode())
    while await api.metrics("apiserver_current_inflight_requests", "mutating") < 1:
        pass
    writer.transport.abort()
    while await api.metrics("apiserver_current_inflight_requests", "mutating") > 0:
        pass
    assert not caplog.records
    assert (await api.get(CONFIG_MAPS)).json["items"] == []


async def test_an_address_is_not_given_twice_when_a_client_breaks_off(opened, tmp_path: Path) -> None:
    """Its Service is being stored when the client goes away, and is there in the end."""
    services = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "a"}, "spec": {"clusterIP": "10.96.7.7", "ports": [{"port": 1}]}}
    async with opened(Config(store=f"sqlite://{tmp_path / 'store'}")) as api:
        going_on = threading.Event()
        api.running.registry.storage.store._worker.submit(going_on.wait, lambda _: None)
        text = json.dumps(body)
        _, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
        head = (
            f"POST {services} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
        )
        writer.write(f"{head}Authorization: Bearer of-the-administrator\r\n\r\n{text}".encode())
        while await api.metrics("apiserver_current_inflight_requests", "mutating") < 1:
            pass
        writer.transport.abort()
        while await api.metrics("apiserver_current_inflight_requests", "mutating") > 0:
            pass
        going_on.set()
        while (await api.get(f"{services}/a")).code == 404:
            pass
        other = await api.post(services, body | {"metadata": {"name": "b"}})
        assert other.code == 422
        assert "provided IP is already allocated" in other.message


@pytest.mark.looptime
async def test_a_body_that_does_not_come_gives_its_place_up(opened) -> None:
    async with opened(Config(limits=InflightLimits(reading=1, mutating=1))) as api:
        reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"
        writer.write(f"{head}Authorization: Bearer of-the-administrator\r\n\r\n{{".encode())
        assert b" 504 " in await reader.readline()
        writer.close()
        await api.make("a")


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"Content-Encoding: deflate\r\nContent-Length: 3\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_a_body_that_is_wrongly_packed_is_400(api, rest: bytes, caplog) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer of-the-administrator\r\n"
    writer.write(head.encode() + b"Content-Type: application/json\r\n" + rest)
    assert b" 400 " in await asyncio.wait_for(reader.readline(), SECONDS)
    writer.close()
    assert await lives(api)
    assert not caplog.records


async def test_a_packed_body_does_not_grow(api) -> None:
    reply = await api.post(CONFIG_MAPS, gzip.compress(sized(100 * MiB)), Content_Encoding="gzip")
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")


async def test_an_object_that_etcd_would_not_take_is_refused_in_its_words(api) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    container = {"name": "web", "image": "web", "args": ["x" * 1_600_000]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    refused = await api.post(path, body)
    assert (refused.code, refused.json["message"]) == (500, "etcdserver: request is too large")
    assert "reason" not in refused.json
    assert (await api.get(f"{path}/web")).code == 404
