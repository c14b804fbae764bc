"""The API server's half: its requests to a kubelet, and its reading of the answers; the kubelet is the test's own."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from apiserver.app import serving
from apiserver.config import Config
from apiserver.endpoints.kubelet_proxy import KubeletClientConfig

POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}}
LOG = "/api/v1/namespaces/n/pods/p/log"
EXEC = "/api/v1/namespaces/n/pods/p/exec"
TOKEN = "secret"


@dataclass
class Kubelet:
    """A kubelet that answers as the test says.

    Attributes:
        asked: the requests that came.
        answer: what it does.
    """

    port: int = 0
    asked: list[web.BaseRequest] = field(default_factory=list)
    answer: Any = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request)
        response: web.StreamResponse = await self.answer(request)
        return response


@pytest.fixture
async def kubelet(pki) -> AsyncIterator[Kubelet]:
    server = Kubelet()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.authority))
    tls.load_cert_chain(pki.kubelet, pki.kubelet_key)
    tls.verify_mode = ssl.CERT_REQUIRED
    runner = web.ServerRunner(web.Server(server.handle, handler_cancellation=True), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    server.port = runner.addresses[0][1]
    yield server
    await runner.cleanup()


@pytest.fixture
def config(pki, tmp_path) -> Config:
    (tmp_path / "tokens.csv").write_text(f'{TOKEN},admin,1,"system:masters"\n')
    access = KubeletClientConfig(pki.kubelet_client, pki.kubelet_client_key, pki.authority, timeout=2.0)
    return Config(secure_port=0, token_auth_file=tmp_path / "tokens.csv", kubelets=access)


@pytest.fixture
async def client(config) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with serving(config) as running, aiohttp.ClientSession(running.url, headers=headers) as session:
        await post(session, "/api/v1/namespaces", {"metadata": {"name": "n"}})
        yield session


async def post(client, path, body, code=201):
    async with client.post(path, json=body) as answer:
        assert answer.status == code, await answer.text()
        return await answer.json()


async def node(client, **meta):
    status = meta.pop("status", {})
    await post(client, "/api/v1/nodes", {"metadata": {"name": "node"} | meta, "status": status})
    await post(client, "/api/v1/namespaces/n/pods", POD)


@pytest.fixture
async def reached(client: aiohttp.ClientSession, kubelet) -> aiohttp.ClientSession:
    """The client of a server whose pod runs on a node whose kubelet can be reached."""
    await node(client, annotations={"mockube.io/kubelet-endpoint": f"127.0.0.1:{kubelet.port}"})
    return client


async def refused(client, path, code, message, **more):
    async with client.get(path, **more) as answer:
        assert answer.status == code, await answer.text()
        body = await answer.json()
        assert body["message"] == message
        return body


def says(text="", code=200, **more):
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=text, status=code, **more)

    return answer


# -- what is asked


QUERIES = [
    ("", ""),
    ("?container=c&follow=true&previous=false", "follow=true"),
    ("?follow=&timestamps=1&tailLines=5", "follow=true&timestamps=true&tailLines=5"),
    ("?sinceSeconds=5&limitBytes=7&stream=Stdout", "sinceSeconds=5&limitBytes=7&stream=Stdout"),
    ("?sinceTime=2027-01-15T08:00:00Z", "sinceTime=2027-01-15T08%3A00%3A00Z"),
    ("?pretty=true&unknown=1", ""),
]


@pytest.mark.parametrize(("query", "passed"), QUERIES)
async def test_a_log_is_asked_for_as_kubelets_understand_it(reached, kubelet, query, passed):
    kubelet.answer = says("line\n")
    async with reached.get(LOG + query) as answer:
        assert (answer.status, answer.content_type, await answer.text()) == (200, "text/plain", "line\n")
    (asked,) = kubelet.asked
    assert asked.raw_path.partition("?")[::2] == ("/containerLogs/n/p/c", passed)
    assert "Authorization" not in asked.headers


STREAMS = [
    (
        f"{EXEC}?command=sh&command=-c&command=a%0Ab%26c&stdin=true&stdout=1&stderr=false&tty=",
        "/exec/n/p/c?input=1&output=1&tty=1&command=sh&command=-c&command=a%0Ab%26c",
    ),
    ("/api/v1/namespaces/n/pods/p/attach?stdout=true&container=c", "/attach/n/p/c?output=1"),
    ("/api/v1/namespaces/n/pods/p/portforward?ports=80&ports=443,81", "/portForward/n/p?port=80%2C443%2C81"),
    ("/api/v1/namespaces/n/pods/p/portforward", "/portForward/n/p"),
]


@pytest.mark.parametrize(("path", "passed"), STREAMS)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_stream_is_asked_for_as_kubelets_understand_it(reached, kubelet, path, passed, method):
    kubelet.answer = says("not now", 500)
    headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
    async with reached.request(method, path, headers=headers) as answer:
        assert (answer.status, answer.content_type, await answer.text()) == (500, "text/plain", "not now")
    (asked,) = kubelet.asked
    assert (asked.method, asked.raw_path) == (method, passed)
    assert asked.headers["X-Stream-Protocol-Version"] == "v4.channel.k8s.io"
    assert asked.headers["X-Forwarded-For"] == "127.0.0.1"
    assert not {"Authorization", "Cookie"} & set(asked.headers)


async def test_a_stream_that_is_no_upgrade_is_refused(reached):
    await refused(reached, f"{EXEC}?command=ls", 400, "Upgrade request required")


# -- what is answered


ANSWERS = [
    (400, "no log", "no log", "BadRequest"),
    (500, "broken", "Internal error occurred: broken", "InternalError"),
    (404, "none", "the server could not find the requested resource ( pods/log p)", "NotFound"),
    (
        401,
        "Unauthorized",
        "the server has asked for the client to provide credentials ( pods/log p)",
        "Unauthorized",
    ),
    (403, "Forbidden (user=x)", "Forbidden (user=x) ( pods/log p)", "Forbidden"),
    (
        503,
        "busy",
        'an error on the server ("busy") has prevented the request from succeeding ( pods/log p)',
        "InternalError",
    ),
    (
        418,
        "tea",
        "the server responded with the status code 418 but did not return more information ( pods/log p)",
        None,
    ),
]


@pytest.mark.parametrize(("code", "text", "message", "reason"), ANSWERS)
async def test_a_kubelets_error_is_told_as_a_status(reached, kubelet, code, text, message, reason):
    kubelet.answer = says(text, code)
    status = await refused(reached, LOG, code, message)
    assert status.get("reason") == reason


async def test_a_log_comes_as_it_is_written(reached, kubelet):
    written = asyncio.Queue[bytes]()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        while line := await written.get():
            await response.write(line)
        return response

    kubelet.answer = answer
    async with reached.get(f"{LOG}?follow=true") as log:
        for line in (b"one\n", b"two\n"):
            written.put_nowait(line)
            assert await log.content.readline() == line
        written.put_nowait(b"")
        assert await log.content.read() == b""


async def test_a_kubelet_that_breaks_off_breaks_the_log_off(reached, kubelet):
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b"one\n")
        assert request.transport is not None
        request.transport.abort()
        return response

    kubelet.answer = answer
    async with reached.get(LOG) as log:
        assert await log.content.readline() == b"one\n"
        with pytest.raises(aiohttp.ClientError):
            await log.content.read()


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    """A WebSocket that gives back what comes."""
    socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"], max_msg_size=0)
    await socket.prepare(request)
    async for message in socket:
        await socket.send_bytes(message.data)
    return socket


async def test_a_websocket_passes_in_both_directions_until_one_side_closes(reached, kubelet):
    kubelet.answer = echo
    data = bytes(range(256)) * 4096
    async with reached.ws_connect(f"{EXEC}?command=ls", protocols=["v4.channel.k8s.io"], max_msg_size=0) as socket:
        assert socket.protocol == "v4.channel.k8s.io"
        for _ in range(3):
            await socket.send_bytes(data)
            assert await socket.receive_bytes() == data
        await socket.close(code=1000)
        assert socket.close_code == 1000


async def test_a_server_that_stops_ends_what_is_under_way(config, kubelet):
    kubelet.answer = echo
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with serving(config) as running:
            await post(session, f"{running.url}/api/v1/namespaces", {"metadata": {"name": "n"}})
            annotations = {"mockube.io/kubelet-endpoint": f"127.0.0.1:{kubelet.port}"}
            await post(
                session, f"{running.url}/api/v1/nodes", {"metadata": {"name": "node", "annotations": annotations}}
            )
            await post(session, f"{running.url}/api/v1/namespaces/n/pods", POD)
            socket = await session.ws_connect(f"{running.url}{EXEC}?command=ls", protocols=["v4.channel.k8s.io"])
            began = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - began < 3
        assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 101"])
async def test_a_kubelet_that_speaks_no_http_is_reported(client, pki, answer):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pki.kubelet, pki.kubelet_key)
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        await node(client, annotations={"mockube.io/kubelet-endpoint": f"127.0.0.1:{port}"})
        headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
        await refused(client, f"{EXEC}?command=ls", 500, "error sending request: unexpected EOF", headers=headers)


async def test_an_upgrade_that_a_kubelet_takes_for_done_is_reported(reached, kubelet):
    kubelet.answer = says("fine")
    headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    await refused(reached, f"{EXEC}?command=ls", 500, "invalid upgrade response: status code 200", headers=headers)


# -- kubelets that cannot be reached


UPGRADE = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}


async def test_a_node_that_is_not_there_is_not_found(client):
    await post(client, "/api/v1/namespaces/n/pods", POD)
    await refused(client, LOG, 404, 'nodes "node" not found')
    await refused(client, f"{EXEC}?command=ls", 404, 'nodes "node" not found')


async def test_a_node_without_addresses_is_reported(client):
    await node(client)
    await refused(client, LOG, 500, "no preferred addresses found; known addresses: []")


@pytest.mark.parametrize(
    "host", ["a" * 300, "x y", "ü" * 70, "a..b", "a\nb", "a\x00b", "[fe80::1%nowhere", "a/b?c#d@e", "%zz", "\u202e"]
)
async def test_an_invalid_host_is_reported(client, host, caplog):
    await node(client, annotations={"mockube.io/kubelet-endpoint": f"{host}:10250"})
    for path, headers in ((LOG, {}), (f"{EXEC}?command=ls", UPGRADE)):
        async with client.get(path, headers=headers) as answer:
            body = await answer.json()
        assert (answer.status, body["kind"], body["code"]) == (500, "Status", 500)
        assert "dial tcp" in body["message"]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("endpoint", ["[]:10250", ":10250", "a:0", "a:65536", "a:1e3", "a:-1", "a:٣", "a", ""])
async def test_an_endpoint_without_a_host_or_a_port_is_none(client, endpoint):
    await node(client, annotations={"mockube.io/kubelet-endpoint": endpoint})
    await refused(client, LOG, 500, "no preferred addresses found; known addresses: []")


async def test_a_port_that_is_closed_is_told_as_go_does(client, unused_tcp_port):
    await node(client, annotations={"mockube.io/kubelet-endpoint": f"127.0.0.1:{unused_tcp_port}"})
    why = f"dial tcp 127.0.0.1:{unused_tcp_port}: connect: connection refused"
    url = f"https://127.0.0.1:{unused_tcp_port}/containerLogs/n/p/c"
    await refused(client, LOG, 500, f'Get "{url}": {why}')
    message = await refused(client, f"{EXEC}?command=ls", 500, f"error dialing backend: {why}", headers=UPGRADE)
    assert "reason" not in message


async def test_a_certificate_that_is_no_kubelets_is_refused(config, kubelet, pki, tmp_path):
    from mockube.certificates import ensure_certificates  # noqa: PLC0415 - only here is there another authority

    other = ensure_certificates(tmp_path / "other", ("localhost",), now=pki.directory.stat().st_mtime)
    kubelet.answer = says("line\n")
    strict = replace(config, kubelets=replace(config.kubelets, authority=other.authority))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with serving(strict) as running, aiohttp.ClientSession(running.url, headers=headers) as client:
        await post(client, "/api/v1/namespaces", {"metadata": {"name": "n"}})
        await node(client, annotations={"mockube.io/kubelet-endpoint": f"127.0.0.1:{kubelet.port}"})
        why = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        await refused(client, f"{EXEC}?command=ls", 500, f"error dialing backend: {why}", headers=UPGRADE)
        await refused(client, LOG, 500, f'Get "https://127.0.0.1:{kubelet.port}/containerLogs/n/p/c": {why}')
        async with client.get(f"{LOG}?insecureSkipTLSVerifyBackend=true") as answer:
            assert (answer.status, await answer.text()) == (200, "line\n")


ADDRESSES = [
    ({"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}, "127.0.0.1"),
    (
        {
            "status": {
                "addresses": [
                    {"type": "ExternalIP", "address": "192.0.2.1"},
                    {"type": "Hostname", "address": "localhost"},
                ]
            }
        },
        "localhost",
    ),
    ({"labels": {"kubernetes.io/hostname": "localhost"}}, "localhost"),
    (
        {"annotations": {"mockube.io/kubelet-endpoint": "nonsense"}, "labels": {"kubernetes.io/hostname": "localhost"}},
        "localhost",
    ),
]


@pytest.mark.parametrize(("meta", "host"), ADDRESSES)
async def test_a_node_is_reached_at_its_preferred_address(client, kubelet, meta, host):
    kubelet.answer = says("line\n")
    status = meta.get("status", {}) | {"daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}}}
    await node(client, **(meta | {"status": status}))
    async with client.get(LOG) as answer:
        assert (answer.status, await answer.text()) == (200, "line\n")
    assert kubelet.asked[0].host == f"{host}:{kubelet.port}"
