"""The watch verb over HTTP: chunked lines of JSON, or WebSocket frames, from one Stream."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web
from multidict import CIMultiDict

from apiserver.api import errors
from apiserver.endpoints import params
from apiserver.endpoints.handlers import RequestContext
from apiserver.endpoints.negotiation import JSON
from apiserver.endpoints.rendering import Renderer, Shape
from apiserver.endpoints.responses import warning
from apiserver.endpoints.watch_stream import Frames, Stream, WatchOptions, default_seconds
from apiserver.metrics import Metrics
from apiserver.registry.context import Registry

FAREWELL = 0.5
"""Seconds that clients have to take the end of their watches when the server stops."""


class Watches:
    """All watches of a server: their shared frames, and the streams that end when it stops."""

    def __init__(self, registry: Registry, renderer: Renderer, metrics: Metrics) -> None:
        self._registry = registry
        self._renderer = renderer
        self._metrics = metrics
        self._frames: dict[tuple[str, str, Shape], Frames] = {}
        self._open: dict[Stream, asyncio.Task[object]] = {}
        self._stopping = False

    async def serve(self, asked: RequestContext) -> web.StreamResponse:
        """Answer one watch until it ends or the client goes away.

        Raises:
            ApiError: 400, 406, 422, before the stream begins.
        """
        shape = _shape(asked)
        target = asked.target
        selection = params.list_options(asked.query, target.resource, name=target.name)
        seconds = asked.query.integer("timeoutSeconds")
        initial = asked.query.get("sendInitialEvents")
        options = WatchOptions(
            selection,
            float(seconds) if seconds else default_seconds(),
            bookmarks=asked.query.is_true("allowWatchBookmarks"),
            initial=None if initial is None else asked.query.is_true("sendInitialEvents"),
        )
        stream = Stream(self._registry.storage, self._frames_of(asked, shape), target.namespace, options)
        task = asyncio.current_task()
        assert task is not None
        self._open[stream] = task
        if self._stopping:
            stream.close()
        try:
            await stream.open()
            return await self._send(asked, stream)
        finally:
            del self._open[stream]
            stream.close()

    def invalidate(self) -> None:
        """End the watches of rows that have changed or gone, as upstream does; their clients begin anew if they can."""
        self._frames.clear()
        for stream in self._open:
            resource = stream.resource
            if self._registry.table.find(resource.group, resource.version, resource.plural) is not resource:
                stream.close()

    async def stop(self) -> None:
        """End all watches, and those that may still come; clients that take no farewell are dropped."""
        self._stopping = True
        for stream in self._open:
            stream.close()
        if not self._open:
            return
        _, stuck = await asyncio.wait(self._open.values(), timeout=FAREWELL)
        for task in stuck:
            task.cancel()

    def _frames_of(self, asked: RequestContext, shape: Shape) -> Frames:
        resource = asked.target.resource
        place = (resource.api_version, resource.plural, shape)
        found = self._frames.get(place)
        if found is None:
            found = self._frames[place] = Frames(self._renderer, self._registry.codecs.of(resource), shape)
        return found

    async def _send(self, asked: RequestContext, stream: Stream) -> web.StreamResponse:
        resource = asked.target.resource
        place = (resource.group, resource.version, resource.plural)
        sent = self._metrics.watch_events
        sent.setdefault(place, 0)
        if _wants_websocket(asked.request):
            socket = await _shaken(asked.request)
            async with _conversation(socket, stream):
                async for data in stream.frames():
                    sent[place] += data.count(b"\n")
                    for line in data.splitlines():
                        await socket.send_str(line.decode())
            return socket
        answer = _begin(asked)
        try:
            await answer.prepare(asked.request)
        except ConnectionError:  # the client was gone before the first byte
            return answer
        async for data in stream.frames():
            sent[place] += data.count(b"\n")
            await answer.write(data)
        await answer.write_eof()
        return answer


def _wants_websocket(request: web.BaseRequest) -> bool:
    headers = request.headers
    return headers.get("Upgrade", "").lower() == "websocket" and "upgrade" in headers.get("Connection", "").lower()


async def _shaken(request: web.BaseRequest) -> web.WebSocketResponse:
    """Return the socket that the request becomes.

    Raises:
        ApiError: 400, what the client says of the protocol is not right.
    """
    socket = web.WebSocketResponse(protocols=("base64.binary.k8s.io", "binary.k8s.io"))
    try:
        await socket.prepare(request)
    except web.HTTPException as error:
        raise errors.bad_request(error.text or error.reason) from error
    return socket


@asynccontextmanager
async def _conversation(socket: web.WebSocketResponse, stream: Stream) -> AsyncIterator[None]:
    """A socket for as long as something is sent, which ends the stream when the client closes or goes away."""

    async def watch_for_close() -> None:
        async for _ in socket:
            pass
        stream.close()

    async with asyncio.TaskGroup() as group:
        closing = group.create_task(watch_for_close())
        with suppress(ConnectionError):  # the client is gone
            yield
        await socket.close()
        closing.cancel()


def _shape(asked: RequestContext) -> Shape:
    shape = asked.shape()
    if shape.form.media != JSON:
        raise errors.not_acceptable(
            "only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch"
        )
    return shape


def _begin(asked: RequestContext) -> web.StreamResponse:
    headers = CIMultiDict({"Audit-Id": asked.audit_id, "Cache-Control": "no-cache, private", "Content-Type": JSON})
    if deprecation := asked.target.resource.deprecation:
        headers["Warning"] = warning(deprecation)
    answer = web.StreamResponse(headers=headers)
    if asked.request.version >= (1, 1):
        answer.enable_chunked_encoding()
    return answer
