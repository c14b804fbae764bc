"""Watch streams: backlog, live events and bookmarks are one loop over a position in the log."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import SystemRandom

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.endpoints.rendering import OutputOptions, Renderer
from apiserver.registry.codec import Codec
from apiserver.registry.options import ListOptions
from apiserver.registry.storage import Match, Storage, map_store_errors, matcher, parse_revision, prefix_of
from etcd.store import Compacted, Event, KeyValue, Unavailable, Watcher

BOOKMARK_EVERY = 60.0
"""Seconds between bookmarks (cacher's defaultBookmarkFrequency)."""
LAST_BOOKMARK = 2.0
"""Seconds before the end of a watch at which its last bookmark is due."""
SHARED_FRAMES = 1024
"""The number of frames that the watchers of a kind and shape share; a pod's takes about 2.5 kB."""
CHUNK = 64 * 1024
"""Bytes after which frames are yielded, so that little more is buffered for a client that does not read."""

INITIAL_END: Obj = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of a watch.

    Attributes:
        selection: selectors and the resourceVersion to start from.
        timeout_seconds: the duration of the watch.
        bookmarks: whether the client wants bookmarks.
        send_initial_events: sendInitialEvents, None if not given.
    """

    selection: ListOptions
    timeout_seconds: float
    bookmarks: bool = False
    send_initial_events: bool | None = None


class FrameEncoder:
    """Encoded events of one kind in one shape, made once and shared by all its watchers."""

    def __init__(self, renderer: Renderer, codec: Codec, shape: OutputOptions) -> None:
        self.codec = codec
        self.shape = shape
        self._renderer = renderer
        self._frames: dict[tuple[int, str], bytes] = {}

    def cached_frame(self, event_type: str, kv: KeyValue) -> bytes:
        """Return the frame of an event whose object is kv, at kv's revision; all watchers get the same one."""
        key = (kv.mod_revision, event_type)
        frame = self._frames.get(key)
        if frame is None:
            if len(self._frames) >= SHARED_FRAMES:
                del self._frames[next(iter(self._frames))]
            frame = self._frames[key] = self.new_frame(event_type, kv, first=False)
        return frame

    def new_frame(self, event_type: str, kv: KeyValue, *, first: bool) -> bytes:
        """Return a frame of its own, which no other watcher gets."""
        return _frame(event_type, self._renderer.event(kv, self.codec, self.shape, first=first))

    def bookmark(self, revision: int, annotations: Obj | None = None, *, first: bool = False) -> bytes:
        """Return the frame of a bookmark."""
        return _frame("BOOKMARK", self._renderer.bookmark(revision, self.codec, self.shape, annotations, first=first))


def _frame(event_type: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event_type.encode(), obj)


def error_frame(error: ApiError) -> bytes:
    """Return the frame of an ERROR event, for a stream that has begun."""
    return _frame("ERROR", orjson.dumps(error.status()))


class WatchStream:
    """One watch: its start, its selection, and the frames that it yields until it ends."""

    def __init__(self, storage: Storage, frames: FrameEncoder, namespace: str, options: WatchOptions) -> None:
        """Prepare the watch.

        Raises:
            ApiError: 400, the resourceVersion is invalid.
        """
        self._storage = storage
        self._frames = frames
        self._options = options
        self._revision = parse_revision(options.selection.resource_version)
        self._prefix = prefix_of(frames.codec.resource, namespace)
        self._match = matcher(options.selection)
        # the first event of a Table has its columns, the later ones have only rows
        self._needs_columns = frames.shape.form.transform == "Table"
        self._watcher: Watcher | None = None
        self._initial: Sequence[KeyValue] = ()
        self._failed: ApiError | None = None
        self._closed = False

    @property
    def resource(self) -> Resource:
        """The watched resource."""
        return self._frames.codec.resource

    async def open(self) -> None:
        """Open the watch at its start; no later event is missed. If it cannot start, the stream yields only an ERROR.

        Clients get such errors within the stream, not as the response's status (cacher's newErrWatcher).
        """
        try:
            await self._start()
        except Compacted as gone:
            self._failed = too_old(self._revision, gone)
        except ApiError as error:
            self._failed = error
        if self._closed:  # closed meanwhile
            self.close()

    async def _start(self) -> None:
        store = self._storage.store
        initial, revision = self._options.send_initial_events, self._revision
        if revision and not initial:
            self._watcher = store.watch(self._prefix, after=revision)
            return
        await self._storage.await_revision(revision)
        if not self._options.selection.resource_version:
            with map_store_errors():
                await store.sync_read()
        if initial is False:
            self._watcher = store.watch(self._prefix, after=store.revision)
            return
        page = store.range(self._prefix)
        match = self._match
        self._initial = page.items if match is None else [kv for kv in page.items if match(kv)]
        self._watcher = store.watch(self._prefix, after=page.revision)

    def close(self) -> None:
        """End the stream, from any task; a waiting stream wakes up and ends."""
        self._closed = True
        if self._watcher is not None:
            self._watcher.close()

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the stream, as many events at a time as there are."""
        if self._failed is not None:
            yield error_frame(self._failed)
            return
        assert self._watcher is not None
        loop = asyncio.get_running_loop()
        end = loop.time() + self._options.timeout_seconds
        try:
            await self._frames.codec.prepare(self._initial)
            for chunk in self._initial_chunks():
                yield chunk
            due = self._next_bookmark(loop.time(), end)
            while (now := loop.time()) < end:
                if now >= due:
                    yield self._bookmark(self._watcher.position)
                    due = self._next_bookmark(now, end)
                    continue
                events = await self._events_until(min(due, end))
                await self._frames.codec.prepare(_states(events))
                for chunk in _chunks(self._selected(events)):
                    yield chunk
        except Compacted as gone:
            yield error_frame(too_old(self._watcher.position, gone))
        except ApiError as refused:  # an object cannot be rendered in the requested form
            yield error_frame(refused)
        except Unavailable:
            return  # the watch is closed: the server is stopping

    async def _events_until(self, when: float) -> Sequence[Event]:
        assert self._watcher is not None
        events = self._watcher.next_nowait()
        if events:
            return events
        try:
            async with asyncio.timeout_at(when):
                return await self._watcher.next()
        except TimeoutError:
            return ()

    def _initial_chunks(self) -> Iterator[bytes]:
        items, self._initial = self._initial, ()
        yield from _chunks(self._frame("ADDED", kv, cached=False) for kv in items)
        if self._options.send_initial_events and self._options.bookmarks:
            assert self._watcher is not None
            yield self._bookmark(self._watcher.position, INITIAL_END)

    def _bookmark(self, revision: int, annotations: Obj | None = None) -> bytes:
        first, self._needs_columns = self._needs_columns, False
        return self._frames.bookmark(revision, annotations, first=first)

    def _next_bookmark(self, now: float, end: float) -> float:
        if not self._options.bookmarks:
            return float("inf")
        last = end - LAST_BOOKMARK
        return min(now + BOOKMARK_EVERY, last) if now < last else float("inf")

    def _selected(self, events: Sequence[Event]) -> Iterator[bytes]:
        match: Match | None = self._match
        for event in events:
            kv, prev = event.kv, event.prev
            is_in = kv is not None and (match is None or match(kv))
            was_in = prev is not None and (match is None or match(prev))
            if is_in:
                assert kv is not None
                yield self._frame("MODIFIED" if was_in else "ADDED", kv)
            elif was_in:
                assert prev is not None
                yield self._frame("DELETED", prev._replace(mod_revision=event.revision))

    def _frame(self, event_type: str, kv: KeyValue, *, cached: bool = True) -> bytes:
        if self._needs_columns:
            self._needs_columns = False
            return self._frames.new_frame(event_type, kv, first=True)
        return (
            self._frames.cached_frame(event_type, kv) if cached else self._frames.new_frame(event_type, kv, first=False)
        )


def _states(events: Sequence[Event]) -> Iterator[KeyValue]:
    """Yield the objects of events, as they are and as they were."""
    for event in events:
        for kv in (event.kv, event.prev):
            if kv is not None:
                yield kv


def _chunks(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the frames joined to chunks not much larger than CHUNK."""
    pending: list[bytes] = []
    size = 0
    for frame in frames:
        pending.append(frame)
        size += len(frame)
        if size >= CHUNK:
            yield b"".join(pending)
            pending, size = [], 0
    if pending:
        yield b"".join(pending)


def too_old(revision: int, gone: Compacted) -> ApiError:
    """Return the 410 for a watch whose next events are compacted."""
    return errors.expired(f"too old resource version: {revision} ({gone.compact_revision})")


def default_seconds() -> float:
    """Return a random default duration of a watch, 30 to 60 minutes, so that clients do not all come back at once."""
    return 1800 * (1 + SystemRandom().random())
