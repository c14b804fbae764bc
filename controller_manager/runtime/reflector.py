"""Watchers: one per kind, each keeps a cache as the server has it, for ever (client-go tools/cache Reflector)."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from random import SystemRandom

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.kinds import NAMESPACE, Kind
from controller_manager.runtime.cache import KindCache, number_of
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.requests import JSON, METADATA, METADATA_LIST, lost, with_query
from controller_manager.runtime.watch_decoder import WatchDecoder

log = logging.getLogger("controller_manager.watcher")

FIRST_WAIT, LONGEST_WAIT = 0.8, 30.0
"""Seconds before a broken watch is tried again, doubled each time and jittered (reflector.go)."""
CALM = 120.0
"""Seconds without a failure after which the waits begin anew."""
ABSENT_SECONDS = 30.0
"""Seconds after which a kind that is not served is asked for again."""
SHORTEST_WATCH = 300.0
"""Seconds that a watch lasts at least, and less than twice that (reflector.go minWatchTimeout)."""
PATIENCE = 30.0
"""Seconds after its end at which a watch is broken off that the server did not end."""
VERY_SHORT = 1.0
"""Seconds in which a watch that told nothing cannot have ended well (reflector.go VeryShortWatchError)."""


class State(Enum):
    """How a kind's watcher fares."""

    WATCHING = auto()
    BROKEN = auto()
    ABSENT = auto()


_KUBE_SYSTEM = "metadata.name=kube-system"

Told = Callable[[Kind, State], None]


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where objects come from.

    Attributes:
        cluster: the uid of kube-system, by which clusters are told apart; "" where it cannot be seen.
        revision: how far the server's store has come.
    """

    cluster: str
    revision: int


class Reflector:
    """One kind's watcher: what it is told goes through an Intake into the cache.

    Args:
        client: the way to the server.
        kind: what is followed.
        intake: what writes its cache.
        clock: by which it waits.
        on_state: told whenever the state changes.
    """

    def __init__(
        self, client: Client, kind: Kind, intake: WatchDecoder, *, clock: Clock, on_state: Told | None
    ) -> None:
        self._client = client
        self._kind = kind
        self._intake = intake
        self._clock = clock
        self._on_state = on_state
        self._accept = self._accept_list = JSON
        self._state: State | None = None
        self._streams_lists = True
        self._origin = _Origin("", 0)
        self._in_doubt = False
        self._failures = 0
        self._failed_at = 0.0

    def want_metadata_only(self) -> None:
        """Follow objects without what is particular to their kind."""
        self._accept, self._accept_list = METADATA, METADATA_LIST

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self._step()
            except ApiError as error:
                await self._recover(error)

    async def _step(self) -> None:
        """Watch from where the cache is; where it is nowhere, get everything first."""
        if self._in_doubt and self._intake.revision:
            await self._verify()
        if self._intake.revision:
            await self._watch()
            return
        self._origin = await self._asked_origin()
        if self._streams_lists:
            await self._watch(initial=True)
        else:
            await self._list()

    # -- what is asked of the server

    async def _list(self) -> None:
        objects: list[Obj] = []
        revision = ""
        async for page in self._client.pages(self._kind.path(), accept=self._accept_list):
            objects += map(self._intake.trimmed, page.items)
            revision = page.revision
        self._intake.replace(objects, revision)

    async def _watch(self, *, initial: bool = False) -> None:
        seconds = SHORTEST_WATCH * (1 + SystemRandom().random())
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(int(seconds))}
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = self._intake.revision
        self._intake.begin(initial=initial)
        began = self._clock.monotonic()
        target = with_query(self._kind.path(), query)
        try:
            await self._client.stream(target, self._feed, seconds=seconds + PATIENCE, accept=self._accept)
        finally:
            self._intake.detach()
        self._judge_end(self._clock.monotonic() - began, seconds)

    def _feed(self, chunk: bytes) -> None:
        self._intake.feed(chunk)
        if not self._intake.is_initial:
            self._intake.attach(self._clock.monotonic())
            self._tell(State.WATCHING)

    def _judge_end(self, lasted: float, asked: float) -> None:
        """A watch ended without an error: at its time, or because the server stops, or for no good reason."""
        if self._intake.is_initial:
            raise lost("the watch ended before it told what there is")
        if lasted < VERY_SHORT and not self._intake.received:
            raise lost("the watch ended within a second and told nothing")
        self._in_doubt = lasted < int(asked) - 1

    async def _verify(self) -> None:
        """After a watch that broke: whether the server is still the one that it was, and has lost nothing."""
        now = await self._asked_origin()
        if now.cluster != self._origin.cluster or now.revision < number_of(self._intake.revision):
            log.warning("%s: the server has other data than before, everything is asked for again", self._kind)
            self._intake.revision = ""
        self._in_doubt = False

    async def _asked_origin(self) -> _Origin:
        known = number_of(self._intake.revision)
        try:
            page = await self._client.page(NAMESPACE.path(), field_selector=_KUBE_SYSTEM, accept=METADATA_LIST)
        except ApiError as error:
            if error.code not in (401, 403, 404):
                raise
            return _Origin("", known)
        cluster = page.items[0]["metadata"].get("uid", "") if page.items else ""
        return _Origin(cluster, number_of(page.revision) or known)

    # -- what becomes of errors

    async def _recover(self, error: ApiError) -> None:
        if self._intake.is_initial and error.code in (400, 422):
            self._intake.begin(initial=False)
            self._streams_lists = False  # the server knows no sendInitialEvents
        elif error.code == 410:
            log.info("%s: %s; everything is asked for again", self._kind, error)
            self._intake.revision = ""
            wait = self._next_wait()
            if self._failures > 1:
                await self._clock.sleep(wait)
        elif error.code in (404, 405):
            if not self._intake.revision:  # else what was known stays: nobody says that it is gone
                self._intake.replace((), "")
            self._tell(State.ABSENT)
            self._intake.note_absent(absent=True)
            await self._clock.sleep(ABSENT_SECONDS)
            self._intake.note_absent(absent=False)
        else:
            self._in_doubt = True
            log.log(logging.DEBUG if self._state is State.BROKEN else logging.WARNING, "%s: %s", self._kind, error)
            self._tell(State.BROKEN)
            asked = (error.details or {}).get("retryAfterSeconds") or 0.0
            await self._clock.sleep(max(self._next_wait(), asked))

    def _next_wait(self) -> float:
        now = self._clock.monotonic()
        if now - self._failed_at > CALM:
            self._failures = 0
        wait = min(FIRST_WAIT * 2.0 ** min(self._failures, 16), LONGEST_WAIT)
        self._failures += 1
        self._failed_at = now
        return wait * (1 + SystemRandom().random())

    def _tell(self, state: State) -> None:
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
    on_state: Told | None = None,
) -> None:
    """Keep a cache as the server has it, until cancelled.

    Args:
        client: the way to the server.
        kind: what is followed.
        cache: what is kept; nobody else writes it.
        clock: by which it waits.
        metadata_only: whether objects are wanted without spec and status.
        on_state: told whenever it begins to watch, breaks, or finds that the kind is not served.
    """
    follower = Reflector(client, kind, WatchDecoder(cache), clock=clock, on_state=on_state)
    if metadata_only:
        follower.want_metadata_only()
    await follower.run()
