"""Watchers: one per kind, each keeps a cache as the server has it, for ever (client-go tools/cache Reflector)."""

import logging
import random
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.runtime.cache import KindCache
from controller_manager.runtime.client import PAGE, Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.contract import Key, key_of
from controller_manager.runtime.kinds import Kind
from controller_manager.runtime.requests import JSON, METADATA, METADATA_LIST, status_error, with_query

log = logging.getLogger("controller_manager.watcher")

FIRST_WAIT, LONGEST_WAIT = 0.8, 30.0
"""Seconds before a broken watch is tried again, doubled each time and jittered (reflector.go)."""
CALM = 120.0
"""Seconds without a failure after which the waits begin anew."""
ABSENT = 30.0
"""Seconds after which a kind that is not served is asked for again."""
SHORTEST_WATCH = 300.0
"""Seconds that a watch lasts at least, and less than twice that (reflector.go minWatchTimeout)."""
PATIENCE = 30.0
"""Seconds after its end at which a watch is broken off that the server did not end."""
INITIAL_END = "k8s.io/initial-events-end"


class State(StrEnum):
    """How a kind's watcher fares."""

    WATCHING = "watching"
    BROKEN = "broken"
    ABSENT = "absent"


Told = Callable[[Kind, State], None]


class _GoneError(Exception):
    """The revision is too old: everything has to be asked for again."""


class Follower:
    """One kind's watcher.

    Args:
        client: the way to the server.
        kind: what is followed.
        cache: what is kept; this is its one writer.
        clock: by which it waits.
        metadata_only: whether objects are wanted without spec and status.
        on_state: told whenever the state changes.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        cache: KindCache,
        *,
        clock: Clock,
        metadata_only: bool = False,
        on_state: Told | None = None,
    ) -> None:
        self._client = client
        self._kind = kind
        self._cache = cache
        self._clock = clock
        self._accept, self._accept_list = (METADATA, METADATA_LIST) if metadata_only else (JSON, JSON)
        self._on_state = on_state
        self._state: State | None = None
        self._path = kind.path()
        self._revision = ""
        self._streams_lists = True
        self._initial: dict[Key, Obj] | None = None
        self._rest = b""
        self._wait = FIRST_WAIT
        self._failed_at = 0.0

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self._step()
            except _GoneError:
                self._revision = ""
            except ApiError as error:
                await self._recover(error)

    async def _step(self) -> None:
        """Watch from where the cache is; where it is nowhere, get everything first."""
        if self._revision:
            await self._watch(self._revision)
        elif self._streams_lists:
            await self._watch("", initial=True)
        else:
            await self._list()

    async def _recover(self, error: ApiError) -> None:
        if error.code == 410:
            self._revision = ""
            return
        if error.code == 404:
            self._cache.replace((), 0)
            self._revision = ""
            self._tell(State.ABSENT)
            await self._clock.sleep(ABSENT)
            return
        if self._initial is not None and error.code in (400, 422):
            self._streams_lists = False  # the server knows no sendInitialEvents
            self._initial = None
            return
        self._tell(State.BROKEN)
        log.warning("watch of %s: %s; it is tried again", self._kind, error)
        await self._clock.sleep(self._next_wait())
        if self._revision and not await self._is_the_same_server():
            self._revision = ""

    def _next_wait(self) -> float:
        now = self._clock.monotonic()
        if now - self._failed_at > CALM:
            self._wait = FIRST_WAIT
        self._failed_at = now
        wait, self._wait = self._wait, min(self._wait * 2, LONGEST_WAIT)
        return wait * (1 + random.random())  # noqa: S311 - spreads load, protects nothing

    async def _is_the_same_server(self) -> bool:
        """Whether the server has not gone back behind what the cache has seen."""
        try:
            page = await self._client.get_json(self._path, {"limit": "1"}, accept=self._accept_list)
        except ApiError:
            return True  # the watch will tell
        revision = page["metadata"].get("resourceVersion") or ""
        return not (revision.isdecimal() and self._revision.isdecimal()) or int(revision) >= int(self._revision)

    async def _list(self) -> None:
        objects: list[Obj] = []
        query = {"limit": str(PAGE)}
        while True:
            page = await self._client.get_json(self._path, query, accept=self._accept_list)
            objects += (self._trimmed(obj) for obj in page.get("items") or ())
            token = page["metadata"].get("continue")
            if not token:
                break
            query = {"limit": str(PAGE), "continue": token}
        self._replace(objects, page["metadata"]["resourceVersion"])

    async def _watch(self, revision: str, *, initial: bool = False) -> None:
        seconds = SHORTEST_WATCH * (1 + random.random())  # noqa: S311 - spreads load, protects nothing
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(int(seconds))}
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if revision:
            query["resourceVersion"] = revision
            self._tell(State.WATCHING)
        self._initial = {} if initial else None
        self._rest = b""
        target = with_query(self._path, query)
        await self._client.stream(target, self._feed, seconds=seconds + PATIENCE, accept=self._accept)

    def _feed(self, chunk: bytes) -> None:
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            event = orjson.loads(line)
            self._apply(event["type"], event["object"])

    def _apply(self, word: str, obj: Obj) -> None:
        if word == "ERROR":
            self._fail(obj)
        revision = obj["metadata"]["resourceVersion"]
        if word == "BOOKMARK":
            self._bookmark(obj["metadata"], revision)
            return
        obj = self._trimmed(obj)
        if self._initial is not None:
            self._initial[key_of(obj)] = obj
            return
        self._revision = revision
        if word == "DELETED":
            self._cache.remove(obj)
        else:
            self._cache.put(obj)

    def _bookmark(self, meta: Obj, revision: str) -> None:
        if self._initial is None:
            self._revision = revision
            self._cache.advance(int(revision) if revision.isdecimal() else 0)
        elif (meta.get("annotations") or {}).get(INITIAL_END) == "true":
            found, self._initial = self._initial, None
            self._replace(list(found.values()), revision)

    def _fail(self, status: Obj) -> None:
        error = status_error(status)
        if error.code == 410:
            raise _GoneError
        raise error

    def _replace(self, objects: list[Obj], revision: str) -> None:
        self._cache.replace(objects, int(revision) if revision.isdecimal() else 0)
        self._revision = revision
        self._tell(State.WATCHING)

    def _trimmed(self, obj: Obj) -> Obj:
        """The object as caches hold it: it says what it is, and not who wrote which field."""
        obj["metadata"].pop("managedFields", None)
        obj["apiVersion"], obj["kind"] = self._kind.api_version, self._kind.kind
        return obj

    def _tell(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            if self._on_state is not None:
                self._on_state(self._kind, state)


async def follow(client: Client, kind: Kind, cache: KindCache, **how: Any) -> None:
    """Keep a cache as the server has it, until cancelled; `how` is that of Follower."""
    await Follower(client, kind, cache, **how).run()
