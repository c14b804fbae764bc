import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType
from patience import SECONDS

from controller_manager.kubelet.streams.spdy import Data, Framer, GoAway, Ping, RstStream, SynReply, SynStream

FORWARD = "/portForward/shop/web"
TUNNEL = "SPDY/3.1+portforward.k8s.io"
GET = b"GET /path HTTP/1.1\r\nHost: localhost\r\n\r\n"


class SpdyTunnel:
    """SPDY in the messages of a WebSocket, as newer kubectls speak it."""

    def __init__(self, socket):
        self.socket = socket
        self.framer = Framer()
        self.frames = []

    async def send(self, *frames):
        for frame in frames:
            await self.socket.send_bytes(self.framer.encode(frame))

    async def until(self, condition):
        async with asyncio.timeout(SECONDS):
            while not condition(self.frames):
                message = await self.socket.receive()
                if message.type is not WSMsgType.BINARY:
                    return
                self.frames += self.framer.feed(message.data)

    def data(self, stream):
        return b"".join(frame.data for frame in self.frames if isinstance(frame, Data) and frame.stream == stream)

    def is_closed(self, stream):
        return any(isinstance(f, Data) and f.stream == stream and f.final for f in self.frames)


@pytest.fixture
def tunnel(kubelet):
    @asynccontextmanager
    async def connect(path=FORWARD):
        async with kubelet.ws_connect(path, protocols=[TUNNEL]) as socket:
            assert socket.protocol == TUNNEL
            yield SpdyTunnel(socket)

    return connect


def pair(number, port=80, **headers):
    """The streams of one connection, as kubectl opens them."""
    common = {"port": str(port), "requestid": str(number)} | headers
    first = 4 * number + 1
    return [
        SynStream(first, common | {"streamtype": "error"}),
        Data(first, b"", final=True),
        SynStream(first + 2, common | {"streamtype": "data"}),
    ]


async def test_a_request_is_answered_with_the_name_of_the_pod(stage, tunnel):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0), Data(3, GET))
        await peer.until(lambda _: peer.data(3).endswith(b"\n"))
        head, _, body = peer.data(3).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert body == b"pod shop/web, port 80: /path\n"
        await peer.send(Data(3, b"", final=True))
        await peer.until(lambda _: peer.is_closed(3) and peer.is_closed(1))
        assert peer.data(1) == b""


async def test_connections_go_on_beside_each_other(stage, tunnel):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0), *pair(1), Data(7, GET), Data(3, GET[:10]), Ping(1))
        await peer.until(lambda frames: Ping(1) in frames and peer.data(7).endswith(b"\n"))
        await peer.send(Data(3, GET[10:]))
        await peer.until(lambda _: peer.data(3).endswith(b"\n"))
    assert [frame.stream for frame in peer.frames if isinstance(frame, SynReply)] == [1, 3, 5, 7]


REQUESTS = [
    (GET + GET, 2, False),
    (GET.replace(b"1.1", b"1.0"), 1, True),
    (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n" + GET, 1, True),
    (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde" + GET, 2, False),
    (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 1, True),
]


@pytest.mark.parametrize(("request_", "answers", "closes"), REQUESTS)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_requests_are_answered_however_they_come(stage, tunnel, request_, answers, closes, size):
    stage.pod()
    async with tunnel() as peer:
        pieces = [Data(3, request_[at : at + size]) for at in range(0, len(request_), size)]
        await peer.send(*pair(0), *pieces)
        await peer.until(lambda _: peer.data(3).count(b"pod shop/web, port 80: /") == answers)
        await (peer.until(lambda _: peer.is_closed(3)) if closes else peer.send(Data(3, b"", final=True)))
        await peer.until(lambda _: peer.is_closed(3))


async def test_a_request_for_the_head_gets_no_body(stage, tunnel):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0), Data(3, GET.replace(b"GET", b"HEAD")), Data(3, b"", final=True))
        await peer.until(lambda _: peer.is_closed(3))
    assert peer.data(3).endswith(b"\r\n\r\n")


@pytest.mark.parametrize("data", [b"PING\n", b"\x16\x03\x01 a TLS greeting", b"GET nonsense\r\n\r\n", b"\0" * 100_000])
async def test_what_is_no_http_comes_back(stage, tunnel, data):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0), Data(3, data))
        await peer.until(lambda _: len(peer.data(3)) == len(data))
    assert peer.data(3) == data


REFUSED = (
    "error forwarding port 81 to pod SANDBOX, uid : failed to execute portforward in network namespace "
    '"/var/run/netns/cni-SHORT": failed to connect to localhost:81 inside namespace "SANDBOX", IPv4: dial tcp4 '
    "127.0.0.1:81: connect: connection refused IPv6 dial tcp6 [::1]:81: connect: connection refused "
)


async def test_a_port_at_which_nobody_listens_is_told_as_containerd_does(stage, tunnel):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0, port=81), *pair(1))
        await peer.until(lambda frames: any(isinstance(frame, RstStream) for frame in frames))
        reason = peer.data(1).decode()
        sandbox = reason.split()[6].rstrip(",")
        assert reason == REFUSED.replace("SANDBOX", sandbox).replace("SHORT", sandbox[:8])
        await peer.send(Data(7, GET))
        await peer.until(lambda _: peer.data(7).endswith(b"\n"))


@pytest.mark.parametrize("ports", [[{"containerPort": 80, "protocol": "UDP"}], [{"containerPort": 443}]])
async def test_only_ports_that_a_container_names_are_listened_at(stage, tunnel, ports):
    stage.pod(container={"ports": ports})
    async with tunnel() as peer:
        await peer.send(*pair(0))
        await peer.until(lambda _: peer.is_closed(1))
    assert b"connection refused" in peer.data(1)


async def test_where_no_container_names_a_port_all_are_listened_at(stage, tunnel):
    stage.pod(container={"ports": []})
    async with tunnel() as peer:
        await peer.send(*pair(0, port=81))
        await peer.send(Data(3, GET))
        await peer.until(lambda _: peer.data(3).endswith(b"\n"))


BAD_STREAMS = [
    {},
    {"streamtype": "data"},
    {"streamtype": "data", "port": "http"},
    {"streamtype": "data", "port": "0"},
    {"streamtype": "data", "port": "65536"},
    {"streamtype": "other", "port": "80"},
]


@pytest.mark.parametrize("headers", BAD_STREAMS)
async def test_a_stream_that_does_not_say_where_it_leads_is_refused(stage, tunnel, headers):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(SynStream(1, headers))
        await peer.until(lambda frames: RstStream(1, 3) in frames)


async def test_clients_that_number_no_requests_are_understood(stage, tunnel):
    stage.pod()
    streams = [SynStream(1, {"streamtype": "error", "port": "80"}), SynStream(3, {"streamtype": "data", "port": "80"})]
    async with tunnel() as peer:
        await peer.send(*streams, Data(3, GET))
        await peer.until(lambda _: peer.data(3).endswith(b"\n"))


async def test_the_connection_ends_with_the_pod(stage, tunnel):
    pod = stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0), Data(3, GET))
        await peer.until(lambda _: peer.data(3).endswith(b"\n"))
        stage.gone(pod)
        await peer.until(lambda _: False)
        assert peer.socket.closed


async def test_a_client_that_says_goodbye_is_let_go(stage, tunnel):
    stage.pod()
    async with tunnel() as peer:
        await peer.send(*pair(0), GoAway(0, 0))
        await peer.until(lambda _: False)
        assert peer.socket.closed


async def test_spdy_itself_is_spoken_with_older_clients(stage, raw):
    stage.pod()
    async with raw() as (reader, writer):
        writer.write(
            f"POST {FORWARD} HTTP/1.1\r\nHost: kubelet\r\nContent-Length: 0\r\nConnection: Upgrade\r\n"
            "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n".encode()
        )
        assert b"X-Stream-Protocol-Version: portforward.k8s.io\r\n" in await reader.readuntil(b"\r\n\r\n")
        framer, got = Framer(), b""
        writer.write(b"".join(map(framer.encode, [*pair(0), Data(3, GET)])))
        while b"pod shop/web, port 80" not in got:
            for frame in framer.feed(await reader.read(65536)):
                got += frame.data if isinstance(frame, Data) else b""


# -- the channels of older WebSocket clients


async def test_each_port_has_a_channel_for_data_and_one_for_errors(stage, kubelet):
    stage.pod()
    async with kubelet.ws_connect(f"{FORWARD}?port=80,81", protocols=["v4.channel.k8s.io"]) as socket:
        ports = [await socket.receive_bytes() for _ in range(4)]
        assert ports == [b"\0\x50\0", b"\1\x50\0", b"\2\x51\0", b"\3\x51\0"]
        refused = await socket.receive_bytes()
        assert refused[0] == 3
        assert b"connection refused" in refused
        await socket.send_bytes(b"\0" + GET)
        assert (await socket.receive_bytes()).startswith(b"\0HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", 'query parameter "port" is required'),
        ("port=", 'query parameter "port" cannot be empty'),
        ("port=http", 'unable to parse "http" as a port: strconv.ParseUint: parsing "http": invalid syntax'),
        ("port=0", 'port "0" must be > 0'),
        ("port=" + ",".join(["80"] * 51), "at most 50 ports"),
    ],
)
async def test_invalid_ports_are_refused(stage, kubelet, query, text):
    stage.pod()
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": "v4.channel.k8s.io"}
    async with kubelet.get(f"{FORWARD}?{query}", headers=headers) as answer:
        assert (answer.status, await answer.text()) == (400, text)


async def test_channels_end_with_the_pod(stage, kubelet):
    pod = stage.pod()
    async with kubelet.ws_connect(f"{FORWARD}?port=80", protocols=["v4.channel.k8s.io"]) as socket:
        await socket.receive_bytes()
        await socket.receive_bytes()
        stage.gone(pod)
        assert (await socket.receive()).type is WSMsgType.CLOSE
