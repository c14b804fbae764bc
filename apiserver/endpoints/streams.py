"""Watch streams: backlog, live events and bookmarks are one loop over a position in the log."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.endpoints.forms import Renderer, Shape
from apiserver.registry.codec import Codec
from apiserver.registry.options import ListOptions
from apiserver.registry.storage import Match, Storage, matcher, parse_revision, prefix_of
from etcd.store import Compacted, Event, KeyValue, Unavailable, Watcher

BOOKMARK_EVERY = 60.0
"""Seconds between bookmarks (cacher's defaultBookmarkFrequency)."""
LAST_BOOKMARK = 2.0
"""Seconds before the end of a watch at which its last bookmark is due."""
FRAMES = 1024
"""How many frames of a kind and shape are shared between its watchers; a pod's takes about 2.5 kB."""

INITIAL_END: Obj = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What a watch asks for.

    Attributes:
        selection: selectors and the version to start from.
        seconds: how long the watch lasts.
        bookmarks: whether the client wants to be told how far the watch has come.
        initial: sendInitialEvents, None where not given.
    """

    selection: ListOptions
    seconds: float
    bookmarks: bool = False
    initial: bool | None = None


class Frames:
    """Encoded events of one kind in one shape, made once and shared by all its watchers."""

    def __init__(self, renderer: Renderer, codec: Codec, shape: Shape) -> None:
        self.codec = codec
        self.shape = shape
        self._renderer = renderer
        self._made: dict[tuple[int, str], bytes] = {}

    def shared(self, word: str, kv: KeyValue) -> bytes:
        """The frame of an event whose object is kv, at kv's revision."""
        place = (kv.mod_revision, word)
        frame = self._made.get(place)
        if frame is None:
            if len(self._made) >= FRAMES:
                del self._made[next(iter(self._made))]
            frame = self._made[place] = self.own(word, kv, first=False)
        return frame

    def own(self, word: str, kv: KeyValue, *, first: bool) -> bytes:
        """A frame that is not shared."""
        return _frame(word, self._renderer.event(kv, self.codec, self.shape, first=first))

    def bookmark(self, revision: int, annotations: Obj | None = None) -> bytes:
        """The frame of a bookmark."""
        return _frame("BOOKMARK", self._renderer.bookmark(revision, self.codec, self.shape, annotations))


def _frame(word: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (word.encode(), obj)


def error_frame(error: ApiError) -> bytes:
    """The frame by which a stream that has begun tells what went wrong."""
    return _frame("ERROR", orjson.dumps(error.status()))


class Stream:
    """One watch: where it starts, what it selects, and the frames it yields until it ends."""

    def __init__(self, storage: Storage, frames: Frames, namespace: str, options: WatchOptions) -> None:
        self._storage = storage
        self._frames = frames
        self._options = options
        self._prefix = prefix_of(frames.codec.resource, namespace)
        self._match = matcher(options.selection)
        self._first = frames.shape.form.transform == "Table"
        self._watcher: Watcher | None = None
        self._initial: Sequence[KeyValue] = ()

    async def open(self) -> None:
        """Find the start; afterwards nothing that happens is missed.

        Raises:
            ApiError: 400 for a bad version, 504 for one that does not come.
            Compacted: the version is too old.
        """
        store = self._storage.store
        selection, initial = self._options.selection, self._options.initial
        revision = parse_revision(selection.resource_version)
        if revision and initial is None:
            self._watcher = store.watch(self._prefix, after=revision)
            return
        await self._storage.await_revision(revision)
        if not selection.resource_version:
            await store.fresh()
        if initial is False:
            self._watcher = store.watch(self._prefix, after=revision or store.revision)
            return
        page = store.range(self._prefix)
        match = self._match
        self._initial = page.items if match is None else [kv for kv in page.items if match(kv)]
        self._watcher = store.watch(self._prefix, after=page.revision)

    def close(self) -> None:
        """End the stream, from wherever: a parked one wakes and is over."""
        if self._watcher is not None:
            self._watcher.close()

    async def frames(self) -> AsyncIterator[bytes]:
        """The bytes of the stream, as many events at a time as there are."""
        assert self._watcher is not None
        loop = asyncio.get_running_loop()
        end = loop.time() + self._options.seconds
        for chunk in self._initial_chunks():
            yield chunk
        due = self._next_bookmark(loop.time(), end)
        try:
            while (now := loop.time()) < end:
                if now >= due:
                    yield self._frames.bookmark(self._watcher.position)
                    due = self._next_bookmark(now, end)
                    continue
                events = await self._events_until(min(due, end))
                data = b"".join(self._selected(events))
                if data:
                    yield data
        except Compacted as gone:
            yield error_frame(too_old(self._watcher.position, gone))
        except Unavailable:
            return  # the watch is closed: the server stops

    async def _events_until(self, when: float) -> Sequence[Event]:
        assert self._watcher is not None
        events = self._watcher.take()
        if events:
            return events
        try:
            async with asyncio.timeout_at(when):
                return await self._watcher.next()
        except TimeoutError:
            return ()

    def _initial_chunks(self) -> Iterator[bytes]:
        items, self._initial = self._initial, ()
        for start in range(0, len(items), 200):
            yield b"".join(self._frame("ADDED", kv, shared=False) for kv in items[start : start + 200])
        if self._options.initial:
            assert self._watcher is not None
            yield self._frames.bookmark(self._watcher.position, INITIAL_END)

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

    def _frame(self, word: str, kv: KeyValue, *, shared: bool = True) -> bytes:
        if self._first:
            self._first = False
            return self._frames.own(word, kv, first=True)
        return self._frames.shared(word, kv) if shared else self._frames.own(word, kv, first=False)


def too_old(revision: int, gone: Compacted) -> ApiError:
    """410: the events after a revision are compacted."""
    return errors.expired(f"too old resource version: {revision} ({gone.compact_revision})")


def default_seconds() -> float:
    """How long a watch lasts that says nothing: 30 to 60 minutes, so that clients do not all come back at once."""
    return 1800 * (1 + random.random())  # noqa: S311 - spreads load, protects nothing
