"""Discovery: which kinds the server serves, asked again and again, since custom kinds come and go.

Aggregated discovery is asked for, which is two documents (KEP-3352); a server that has none is asked version by version
(client-go's discovery.ServerPreferredResources).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, api_version
from controller_manager.reconcile.kinds import EVENT, SCHEDULER_EVENT, Kind, Served
from controller_manager.runtime.cache import Caches, KindCache
from controller_manager.runtime.clock import Clock

log = logging.getLogger("controller_manager")

EVERY = 30.0
"""Seconds between two looks (garbagecollector.Sync)."""
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
"""What defines custom kinds: a change of one is looked into at once, where they are followed."""
SETTLES = 0.1
"""Seconds in which more of them may change, which then cost one look."""
PATIENCE = 30.0
"""Seconds that kinds which nobody but the garbage collector follows may take for their first list."""
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT = ",".join([AGGREGATED.format("v2"), AGGREGATED.format("v2beta1"), "application/json"])
NEVER_COLLECTED = frozenset({str(EVENT), str(SCHEDULER_EVENT)})
"""What is not followed for the collector's sake: there are many, and they own nothing (DefaultIgnoredResources)."""


class Asks(Protocol):
    """Who asks the server."""

    async def get_json(self, path: str, *, accept: str = ...) -> Any:
        """The answer to a GET.

        Raises:
            ApiError: it was refused, or there was no answer.
        """


@dataclass(slots=True)
class _Found:
    """What was discovered so far.

    Attributes:
        preferred: resource → the kind of the version that came first.
    """

    verbs: dict[Kind, frozenset[str]] = field(default_factory=dict)
    preferred: dict[str, Kind] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, kinds: Iterable[tuple[Kind, frozenset[str]]]) -> None:
        """A version's kinds; a group's versions come with the one that the server prefers first."""
        for kind, verbs in kinds:
            self.verbs[kind] = verbs
            self.preferred.setdefault(str(kind), kind)


async def discover(client: Asks) -> Served:
    """What the server serves now; versions that it does not tell of are among the failures.

    Raises:
        ApiError: it does not tell anything.
    """
    found = _Found()
    for root in ("/api", "/apis"):
        document = await client.get_json(root, accept=ACCEPT)
        if document.get("kind") == "APIGroupDiscoveryList":
            _read_aggregated(document, found)
        else:
            for group, version in _versions(document):
                await _ask_version(client, group, version, found)
    return Served(found.verbs, tuple(found.preferred.values()), found.failures)


def _read_aggregated(document: Obj, found: _Found) -> None:
    for item in document.get("items") or ():
        group = (item.get("metadata") or {}).get("name") or ""
        for entry in item.get("versions") or ():
            version = entry["version"]
            if entry.get("freshness") == "Stale":
                named = api_version(group, version)
                found.failures[named] = f"stale GroupVersion discovery: {named}"
            found.add(_aggregated_kinds(group, version, entry.get("resources") or ()))


def _aggregated_kinds(group: str, version: str, resources: Iterable[Obj]) -> Iterator[tuple[Kind, frozenset[str]]]:
    for resource in resources:
        name = (resource.get("responseKind") or {}).get("kind")
        if name:
            namespaced = resource.get("scope") == "Namespaced"
            yield (
                Kind(group, version, name, resource["resource"], namespaced=namespaced),
                frozenset(resource.get("verbs") or ()),
            )


def _versions(document: Obj) -> Iterator[tuple[str, str]]:
    """(group, version) of a document of the older form, each group's preferred version first."""
    for version in document.get("versions") or ():
        yield "", version
    for group in document.get("groups") or ():
        preferred = (group.get("preferredVersion") or {}).get("version")
        versions = [entry["version"] for entry in group.get("versions") or ()]
        for version in sorted(versions, key=lambda version: version != preferred):
            yield group["name"], version


async def _ask_version(client: Asks, group: str, version: str, found: _Found) -> None:
    named = api_version(group, version)
    try:
        document = await client.get_json(f"/apis/{named}" if group else f"/api/{version}")
    except ApiError as error:
        found.failures[named] = error.message
        return
    found.add(
        (
            Kind(
                entry.get("group") or group,
                entry.get("version") or version,
                entry["kind"],
                entry["name"],
                namespaced=bool(entry.get("namespaced")),
            ),
            frozenset(entry.get("verbs") or ()),
        )
        for entry in document.get("resources") or ()
        if "/" not in entry["name"]
    )


class Discoverer:
    """Keeps `caches.served` as the server has it, and follows what has to be followed because EVERYTHING is.

    Args:
        client: who asks.
        caches: where it is noted.
        clock: by which it waits.
        follow: keeps a cache as the server has it, with metadata alone, until cancelled.
    """

    def __init__(
        self, client: Asks, caches: Caches, clock: Clock, follow: Callable[[KindCache], Coroutine[Any, Any, None]]
    ) -> None:
        self._client = client
        self._caches = caches
        self._clock = clock
        self._follow = follow
        self._looked = asyncio.Event()
        self._changed = asyncio.Event()
        self._own: dict[Kind, KindCache] = {}
        self._following: dict[Kind, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._look(group)
                except ApiError as error:
                    log.warning("what the server serves cannot be asked for: %s; it is tried again", error)
                await self._until_due(group)

    async def _until_due(self, group: asyncio.TaskGroup) -> None:
        """Wait for the next look: it is due after a while, or when a custom kind was defined, changed or taken away.

        Upstream's namespace controller asks anew for each namespace; so nothing is left behind in one here.
        """
        waits = [
            group.create_task(self._clock.sleep(EVERY if self._looked.is_set() else 1.0)),
            group.create_task(_told(self._changed)),
        ]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self._changed.is_set():
            await self._clock.sleep(SETTLES)
            self._changed.clear()

    async def until_ready(self) -> None:
        """Return when everything is known, or most of it and enough time has passed."""
        await self._looked.wait()
        waits = [cache.wait_until_synced() for cache in self._own.values()]
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*waits)
        except TimeoutError:
            late = [str(kind) for kind, cache in self._own.items() if not cache.synced]
            log.warning("begun without the first list of %s", ", ".join(late))

    async def _look(self, group: asyncio.TaskGroup) -> None:
        served = await discover(self._client)
        is_new, self._caches.served = served != self._caches.served, served
        if self._caches.follows_everything and (self._ended_waits(served) or is_new):
            self._follow_all(served, group)
        self._looked.set()

    def _ended_waits(self, served: Served) -> bool:
        """Whether there were watchers that wait for a kind which is there again: it was gone between two looks."""
        waiting = [kind for kind in self._following if self._own[kind].absent and kind in served.verbs]
        for kind in waiting:
            self._own[kind].absent = False
            self._following.pop(kind).cancel()
        return bool(waiting)

    def _follow_all(self, served: Served, group: asyncio.TaskGroup) -> None:
        wanted = [kind for kind in served.able_to("delete", "list", "watch") if str(kind) not in NEVER_COLLECTED]
        for kind in wanted:
            known = self._caches.find(str(kind))
            if kind not in self._following and (known is None or known.kind in self._own):
                cache = self._caches.renewed(kind)
                if str(kind) == DEFINITIONS and kind not in self._own:
                    cache.listen(lambda _: self._changed.set())
                self._own[kind] = cache
                self._following[kind] = group.create_task(self._follow(cache))
        for kind in self._following.keys() - set(wanted):
            if kind.api_version not in served.failures:  # of those nothing is known: they stay as they are
                self._following.pop(kind).cancel()


async def _told(event: asyncio.Event) -> None:
    await event.wait()
