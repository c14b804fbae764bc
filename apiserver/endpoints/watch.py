"""The watch verb over HTTP: chunked lines of JSON, or WebSocket frames, from one Stream."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web
from multidict import CIMultiDict

from apiserver.api import errors
from apiserver.api.httpstream import is_upgrade_request
from apiserver.endpoints import params
from apiserver.endpoints.handlers import RequestContext
from apiserver.endpoints.negotiation import JSON
from apiserver.endpoints.rendering import OutputOptions, Renderer
from apiserver.endpoints.responses import warning
from apiserver.endpoints.watch_stream import FrameEncoder, WatchOptions, WatchStream, default_seconds
from apiserver.metrics import Metrics
from apiserver.registry.context import Registry

FAREWELL = 0.5
"""Seconds that clients have to read the end of their watches when the server stops."""


class Watches:
    """All watches of a server: their shared frames, and the streams that end when it stops."""

    def __init__(self, registry: Registry, renderer: Renderer, metrics: Metrics) -> None:
        self._registry = registry
        self._renderer = renderer
        self._metrics = metrics
        self._frames: dict[tuple[str, str, OutputOptions], FrameEncoder] = {}
        self._open: dict[WatchStream, asyncio.Task[object]] = {}
        self._stopping = False

    async def serve(self, context: RequestContext) -> web.StreamResponse:
        """Serve one watch until it ends or the client disconnects.

        Raises:
            ApiError: 400, 406, 422, before the stream begins.
        """
        shape = _shape(context)
        target = context.target
        selection = params.list_options(context.query, target.resource, name=target.name)
        shape.check()
        seconds = context.query.integer("timeoutSeconds")
        initial = context.query.get("sendInitialEvents")
        options = WatchOptions(
            selection,
            float(seconds) if seconds else default_seconds(),
            bookmarks=context.query.is_true("allowWatchBookmarks"),
            send_initial_events=None if initial is None else context.query.is_true("sendInitialEvents"),
        )
        stream = WatchStream(self._registry.storage, self._frames_of(context, shape), target.namespace, options)
        task = asyncio.current_task()
        assert task is not None
        self._open[stream] = task
        if self._stopping:
            stream.close()
        try:
            await stream.open()
            return await self._send(context, stream)
        finally:
            del self._open[stream]
            stream.close()

    def invalidate(self) -> None:
        """End the watches of changed and removed rows, as upstream does; their clients start new ones if they can."""
        self._frames.clear()
        for stream in self._open:
            resource = stream.resource
            if self._registry.table.find(resource.group, resource.version, resource.plural) is not resource:
                stream.close()

    async def stop(self) -> None:
        """End all watches, present and future; drop clients that do not read the end in time."""
        self._stopping = True
        for stream in self._open:
            stream.close()
        if not self._open:
            return
        _, stuck = await asyncio.wait(self._open.values(), timeout=FAREWELL)
        for task in stuck:
            task.cancel()

    def _frames_of(self, context: RequestContext, shape: OutputOptions) -> FrameEncoder:
        resource = context.target.resource
        key = (resource.api_version, resource.plural, shape)
        frames = self._frames.get(key)
        if frames is None:
            frames = self._frames[key] = FrameEncoder(self._renderer, self._registry.codecs.codec_of(resource), shape)
        return frames

    async def _send(self, context: RequestContext, stream: WatchStream) -> web.StreamResponse:
        resource = context.target.resource
        gvr = (resource.group, resource.version, resource.plural)
        event_counts = self._metrics.watch_events
        event_counts.setdefault(gvr, 0)
        if is_upgrade_request(context.request.headers, "websocket"):
            socket = await _upgrade(context.request)
            async with _close_with_client(socket, stream):
                async for data in stream.frames():
                    event_counts[gvr] += data.count(b"\n")
                    for line in data.splitlines():
                        await socket.send_str(line.decode())
            return socket
        answer = _new_response(context)
        with suppress(ConnectionError):  # the client disconnected, which is how most watches end
            await answer.prepare(context.request)
            async for data in stream.frames():
                event_counts[gvr] += data.count(b"\n")
                await answer.write(data)
            await answer.write_eof()
        return answer


async def _upgrade(request: web.BaseRequest) -> web.WebSocketResponse:
    """Upgrade the request to a WebSocket.

    Raises:
        ApiError: 400, the client's handshake is invalid.
    """
    socket = web.WebSocketResponse(protocols=("base64.binary.k8s.io", "binary.k8s.io"))
    try:
        await socket.prepare(request)
    except web.HTTPException as error:
        raise errors.bad_request(error.text or error.reason) from error
    return socket


@asynccontextmanager
async def _close_with_client(socket: web.WebSocketResponse, stream: WatchStream) -> AsyncIterator[None]:
    """Read from the socket while the block sends, and end the stream when the client closes or disconnects."""

    async def watch_for_close() -> None:
        async for _ in socket:
            pass
        stream.close()

    async with asyncio.TaskGroup() as group:
        closing = group.create_task(watch_for_close())
        with suppress(ConnectionError):  # the client disconnected
            yield
        await socket.close()
        closing.cancel()


def _shape(context: RequestContext) -> OutputOptions:
    shape = context.output_options()
    if shape.form.media != JSON:
        raise errors.not_acceptable(
            "only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch"
        )
    return shape


def _new_response(context: RequestContext) -> web.StreamResponse:
    headers = CIMultiDict({"Audit-Id": context.audit_id, "Cache-Control": "no-cache, private", "Content-Type": JSON})
    if deprecation := context.target.resource.deprecation:
        headers["Warning"] = warning(deprecation)
    answer = web.StreamResponse(headers=headers)
    if context.request.version >= (1, 1):
        answer.enable_chunked_encoding()
    return answer
