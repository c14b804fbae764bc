"""Reflectors: one per kind keeps a cache in sync with the server, for ever (client-go tools/cache Reflector)."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from random import SystemRandom

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.kinds import NAMESPACE, Kind
from controller_manager.runtime.cache import KindCache, revision_number
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.requests import JSON, METADATA, METADATA_LIST, connection_lost, with_query
from controller_manager.runtime.watch_decoder import WatchDecoder

log = logging.getLogger("controller_manager.watcher")

INITIAL_BACKOFF, MAX_BACKOFF = 0.8, 30.0
"""Seconds before a broken watch is retried, doubled each time and jittered (reflector.go)."""
BACKOFF_RESET_SECONDS = 120.0
"""Seconds without a failure after which the wait is the first again."""
ABSENT_SECONDS = 30.0
"""Seconds after which a kind that is not served is requested again."""
MIN_WATCH_SECONDS = 300.0
"""The minimum duration of a watch in seconds; it is less than twice that (reflector.go minWatchTimeout)."""
CLOSE_GRACE_SECONDS = 30.0
"""Seconds after the end of a watch at which the client closes it if the server did not."""
VERY_SHORT_WATCH_SECONDS = 1.0
"""A watch without events that ended within so many seconds has failed (reflector.go VeryShortWatchError)."""


class WatchState(Enum):
    """The state of a kind's watch."""

    WATCHING = auto()
    BROKEN = auto()
    ABSENT = auto()


_KUBE_SYSTEM = "metadata.name=kube-system"

StateListener = Callable[[Kind, WatchState], None]


@dataclass(frozen=True, slots=True)
class _ServerState:
    """The identity and the state of a server's data.

    Attributes:
        cluster: the uid of kube-system, which identifies the cluster; "" if it cannot be read.
        revision: the revision of the server's store.
    """

    cluster: str
    revision: int


class Reflector:
    """The watcher of one kind: it passes lists and events to a WatchDecoder, which writes the cache.

    Args:
        client: the client to watch with.
        kind: the kind to watch.
        decoder: writes the cache.
        clock: the clock to wait with.
        on_state: called whenever the state changes.
    """

    def __init__(
        self, client: Client, kind: Kind, decoder: WatchDecoder, *, clock: Clock, on_state: StateListener | None
    ) -> None:
        self._client = client
        self._kind = kind
        self._decoder = decoder
        self._clock = clock
        self._on_state = on_state
        self._accept = self._accept_list = JSON
        self._state: WatchState | None = None
        self._streams_lists = True
        self._origin = _ServerState("", 0)
        self._must_verify = False
        self._failures = 0
        self._failed_at = 0.0

    def want_metadata_only(self) -> None:
        """Watch only the metadata of objects."""
        self._accept, self._accept_list = METADATA, METADATA_LIST

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                await self._list_and_watch()
            except ApiError as error:
                await self._recover(error)

    async def _list_and_watch(self) -> None:
        """Watch from the cache's revision; if it has none, get all objects first."""
        if self._must_verify and self._decoder.revision:
            await self._verify()
        if self._decoder.revision:
            await self._watch()
            return
        self._origin = await self._read_server_state()
        if self._streams_lists:
            await self._watch(initial=True)
        else:
            await self._list()

    # -- requests

    async def _list(self) -> None:
        objects: list[Obj] = []
        revision = ""
        async for page in self._client.pages(self._kind.path(), accept=self._accept_list):
            objects += map(self._decoder.transform, page.items)
            revision = page.revision
        self._decoder.replace(objects, revision)

    async def _watch(self, *, initial: bool = False) -> None:
        seconds = MIN_WATCH_SECONDS * (1 + SystemRandom().random())
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(int(seconds))}
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = self._decoder.revision
        self._decoder.begin_watch(initial=initial)
        began = self._clock.monotonic()
        target = with_query(self._kind.path(), query)
        try:
            await self._client.stream(target, self._feed, seconds=seconds + CLOSE_GRACE_SECONDS, accept=self._accept)
        finally:
            self._decoder.detach()
        self._check_end(self._clock.monotonic() - began, seconds)

    def _feed(self, chunk: bytes) -> None:
        self._decoder.feed(chunk)
        if not self._decoder.is_initial:
            self._decoder.attach(self._clock.monotonic())
            self._set_state(WatchState.WATCHING)

    def _check_end(self, lasted: float, requested: float) -> None:
        """Check a watch that ended without an error: in time, because the server stops, or for no good reason."""
        if self._decoder.is_initial:
            raise connection_lost("the watch ended before it told what there is")
        if lasted < VERY_SHORT_WATCH_SECONDS and not self._decoder.received:
            raise connection_lost("the watch ended within a second and told nothing")
        self._must_verify = lasted < int(requested) - 1

    async def _verify(self) -> None:
        """Check after a broken watch that the server still has the same data, and has lost nothing."""
        now = await self._read_server_state()
        if now.cluster != self._origin.cluster or now.revision < revision_number(self._decoder.revision):
            log.warning("%s: the server has other data than before, everything is asked for again", self._kind)
            self._decoder.revision = ""
        self._must_verify = False

    async def _read_server_state(self) -> _ServerState:
        known = revision_number(self._decoder.revision)
        try:
            page = await self._client.page(NAMESPACE.path(), field_selector=_KUBE_SYSTEM, accept=METADATA_LIST)
        except ApiError as error:
            if error.code not in (401, 403, 404):
                raise
            return _ServerState("", known)
        cluster = page.items[0]["metadata"].get("uid", "") if page.items else ""
        return _ServerState(cluster, revision_number(page.revision) or known)

    # -- errors

    async def _recover(self, error: ApiError) -> None:
        if self._decoder.is_initial and error.code in (400, 422):
            self._decoder.begin_watch(initial=False)
            self._streams_lists = False  # the server does not support sendInitialEvents
        elif error.code == 410:
            log.info("%s: %s; everything is asked for again", self._kind, error)
            self._decoder.revision = ""
            wait = self._next_wait()
            if self._failures > 1:
                await self._clock.sleep(wait)
        elif error.code in (404, 405):
            if not self._decoder.revision:  # else the known objects stay: nothing says that they are gone
                self._decoder.replace((), "")
            self._set_state(WatchState.ABSENT)
            self._decoder.note_absent(absent=True)
            await self._clock.sleep(ABSENT_SECONDS)
            self._decoder.note_absent(absent=False)
        else:
            self._must_verify = True
            log.log(logging.DEBUG if self._state is WatchState.BROKEN else logging.WARNING, "%s: %s", self._kind, error)
            self._set_state(WatchState.BROKEN)
            retry_after = (error.details or {}).get("retryAfterSeconds") or 0.0
            await self._clock.sleep(max(self._next_wait(), retry_after))

    def _next_wait(self) -> float:
        now = self._clock.monotonic()
        if now - self._failed_at > BACKOFF_RESET_SECONDS:
            self._failures = 0
        wait = min(INITIAL_BACKOFF * 2.0 ** min(self._failures, 16), MAX_BACKOFF)
        self._failures += 1
        self._failed_at = now
        return wait * (1 + SystemRandom().random())

    def _set_state(self, state: WatchState) -> None:
        if state is not self._state:
            self._state = state
            if self._on_state is not None:
                self._on_state(self._kind, state)


async def follow(
    client: Client,
    kind: Kind,
    cache: KindCache,
    *,
    clock: Clock,
    metadata_only: bool = False,
    on_state: StateListener | None = None,
) -> None:
    """Keep a cache in sync with the server, until cancelled.

    Args:
        client: the client to watch with.
        kind: the kind to watch.
        cache: the cache to fill, which has no other writer.
        clock: the clock to wait with.
        metadata_only: True to watch objects without spec and status.
        on_state: called whenever a watch begins or breaks, or the kind is not served.
    """
    reflector = Reflector(client, kind, WatchDecoder(cache), clock=clock, on_state=on_state)
    if metadata_only:
        reflector.want_metadata_only()
    await reflector.run()
