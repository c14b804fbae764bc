"""port-forward: over SPDY, bare or tunnelled through a WebSocket, and over WebSocket channels (cri-streaming)."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from apiserver.api.meta import Obj
from controller_manager.kubelet.streams.byte_queue import ByteQueue
from controller_manager.kubelet.streams.multiplexing import Pipe, SpdyConnection, Stream
from controller_manager.kubelet.streams.pods import ContainerEndedError, PodStore
from controller_manager.kubelet.streams.ports import NobodyListensError, check_port, serve_port
from controller_manager.kubelet.streams.sessions import OptionsError
from controller_manager.kubelet.streams.spdy_sessions import SPDY, negotiate, speaking_spdy
from controller_manager.kubelet.streams.websockets import Channels, open_websocket

PROTOCOL = "portforward.k8s.io"
TUNNEL = f"{SPDY}+{PROTOCOL}"
"""The WebSocket protocol with the bytes of an SPDY connection as messages (KEP-4006)."""
CHANNELS = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io")
MAX_PORTS = 50
"""The maximum number of ports that a client may name; a channel's number is one byte, or one digit."""


@dataclass(slots=True)
class _StreamPair:
    """The two streams of one forwarded connection."""

    port: int
    data: Stream | None = None
    error: Stream | None = None


class PortForwarder:
    """All connections that one client has forwarded to a pod."""

    def __init__(self, pods: PodStore, pod: Obj) -> None:
        self._pods = pods
        self._pod = pod
        self._pairs: dict[str, _StreamPair] = {}
        self._complete: asyncio.Queue[_StreamPair] = asyncio.Queue()
        self._serving: set[asyncio.Task[None]] = set()

    def _now(self) -> Obj:
        """Return the current version of the pod."""
        meta = self._pod["metadata"]
        return self._pods.find(meta.get("namespace", ""), meta["name"]) or self._pod

    async def serve(self, pipe: Pipe) -> None:
        """Serve an SPDY connection until the client or the pod is gone."""
        connection = SpdyConnection(pipe, self._opened)
        with suppress(ContainerEndedError):
            async with self._pods.while_running(self._pod), asyncio.TaskGroup() as group:
                acceptor = group.create_task(self._accept(connection, group))
                await connection.serve()
                for task in (acceptor, *self._serving):
                    task.cancel()

    def _opened(self, stream: Stream) -> bool:
        """Accept a stream that says which port it is for, and pair the data stream with the error stream."""
        port, kind = stream.headers.get("port", ""), stream.headers.get("streamtype", "")
        if not is_port(port) or kind not in ("data", "error"):
            return False
        number = stream.id if kind == "error" else stream.id - 2  # for clients that send no requestid
        request = stream.headers.get("requestid") or str(number)
        pair = self._pairs.setdefault(request, _StreamPair(int(port)))
        if kind == "error":
            if pair.error:
                return False
            stream.byte_queue.discard()
            pair.error = stream
        elif pair.data:
            return False
        else:
            pair.data = stream
        if pair.data and pair.error:
            del self._pairs[request]
            self._complete.put_nowait(pair)
        return True

    async def _accept(self, connection: SpdyConnection, group: asyncio.TaskGroup) -> None:
        while True:
            pair = await self._complete.get()
            task = group.create_task(self._serve(pair, connection))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _serve(self, pair: _StreamPair, connection: SpdyConnection) -> None:
        data, error = pair.data, pair.error
        assert data is not None
        assert error is not None
        try:
            check_port(self._now(), pair.port)
            await serve_port(self._pod, pair.port, data.byte_queue, data.write)
            await data.close()
            await error.close()
        except NobodyListensError as refused:
            await error.write(str(refused).encode())
            await error.close()
            await data.reset()
        except ConnectionError:
            pass
        finally:
            connection.remove_streams(data, error)


@dataclass(slots=True)
class Tunnel:
    """The bytes of an SPDY connection in the messages of a WebSocket."""

    socket: web.WebSocketResponse

    async def read(self) -> bytes:
        """Return received bytes, b"" at the end."""
        while True:
            message = await self.socket.receive()
            if message.type is not WSMsgType.BINARY:
                return b""
            if message.data:
                data: bytes = message.data
                return data

    async def write(self, data: bytes) -> None:
        """Send a message.

        Raises:
            ConnectionError: the peer is gone.
        """
        await self.socket.send_bytes(data)


async def over_spdy(request: web.BaseRequest, forwarding: PortForwarder) -> None:
    """Serve on the connection of a request.

    Raises:
        HandshakeError: the client supports no known protocol.
        ConnectionError: the client is gone.
    """
    async with speaking_spdy(request, negotiate(request, (PROTOCOL,))) as pipe:
        await forwarding.serve(pipe)


async def over_tunnel(request: web.BaseRequest, forwarding: PortForwarder) -> web.StreamResponse:
    """Serve on a WebSocket that replaces the request."""
    socket = await open_websocket(request, (TUNNEL,))
    await forwarding.serve(Tunnel(socket))
    await socket.close()
    return socket


# -- the channels of older WebSocket clients ---------------------------------------------------------------------------


def ports_of(request: web.BaseRequest) -> list[int]:
    """Return the ports that a client names (cri-streaming's NewV4Options).

    Raises:
        OptionsError: it names none, or an invalid one.
    """
    if "port" not in request.query:
        raise OptionsError('query parameter "port" is required')
    ports: list[int] = []
    for text in request.query.getall("port"):
        if not text:
            raise OptionsError('query parameter "port" cannot be empty')
        for port in text.split(","):
            if not port.isdecimal() or not port.isascii():
                raise OptionsError(
                    f'unable to parse "{text}" as a port: strconv.ParseUint: parsing "{port}": invalid syntax'
                )
            if not is_port(port):
                raise OptionsError(f'port "{text}" must be > 0')
            ports.append(int(port))
    if len(ports) > MAX_PORTS:
        raise OptionsError(f"at most {MAX_PORTS} ports")
    return ports


def is_port(text: str) -> bool:
    """Return True if a text is a port number."""
    return text.isdecimal() and text.isascii() and len(text) <= 5 and 0 < int(text) < 65536


@dataclass(slots=True)
class _Channel:
    """A port with its pair of channels, which serves a single connection."""

    number: int
    port: int
    byte_queue: ByteQueue = field(default_factory=ByteQueue)


async def over_channels(request: web.BaseRequest, pods: PodStore, *, pod: Obj, ports: list[int]) -> web.StreamResponse:
    """Serve on a WebSocket with two channels for each port, data and errors; both begin with the port's number."""
    socket = await open_websocket(request, CHANNELS)
    channels = Channels(socket)
    served = [_Channel(2 * index, port) for index, port in enumerate(ports)]
    with suppress(ContainerEndedError, ConnectionError):
        for channel in served:
            for number in (channel.number, channel.number + 1):
                await channels.send(number, channel.port.to_bytes(2, "little"))
        async with pods.while_running(pod), asyncio.TaskGroup() as group:
            serving = [group.create_task(_serve_channel(pod, channel, channels)) for channel in served]
            listener = group.create_task(_listen(channels, served))
            listener.add_done_callback(lambda _: [task.cancel() for task in serving])
            await asyncio.wait(serving)
            listener.cancel()
    await socket.close()
    return socket


async def _listen(channels: Channels, served: list[_Channel]) -> None:
    while (message := await channels.receive()) is not None:
        index, odd = divmod(message[0], 2)
        if not odd and 0 <= index < len(served):
            await served[index].byte_queue.put(message[1])


async def _serve_channel(pod: Obj, channel: _Channel, channels: Channels) -> None:
    async def write(data: bytes) -> None:
        await channels.send(channel.number, data)

    try:
        check_port(pod, channel.port)
        await serve_port(pod, channel.port, channel.byte_queue, write)
    except NobodyListensError as error:
        await channels.send(channel.number + 1, str(error).encode())
    except ConnectionError:
        pass
    finally:
        channel.byte_queue.discard()
