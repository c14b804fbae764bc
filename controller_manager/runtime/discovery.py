"""Discovery: which kinds the server serves, asked periodically, since custom resources come and go.

Aggregated discovery takes two documents (KEP-3352); a server without it is asked version by version (client-go's
discovery.ServerPreferredResources).
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

INTERVAL = 30.0
"""Seconds between two discoveries (garbagecollector.Sync)."""
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
"""The resource of CustomResourceDefinitions: a change of one triggers discovery at once, if they are watched."""
DEBOUNCE_SECONDS = 0.1
"""Seconds to wait for further changes of definitions, so that several cause one discovery."""
FIRST_LIST_TIMEOUT = 30.0
"""Seconds that the first list of kinds may take that only the garbage collector watches."""
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT = ",".join([AGGREGATED.format("v2"), AGGREGATED.format("v2beta1"), "application/json"])
NEVER_COLLECTED = frozenset({str(EVENT), str(SCHEDULER_EVENT)})
"""Resources not watched for the garbage collector: there are many, and they own nothing (DefaultIgnoredResources)."""


class DiscoveryClient(Protocol):
    """Sends GET requests to the server."""

    async def get_json(self, path: str, *, accept: str = ...) -> Any:
        """Return the answer to a GET.

        Raises:
            ApiError: it was refused, or there was no answer.
        """


@dataclass(slots=True)
class _ServedKinds:
    """The kinds discovered so far.

    Attributes:
        preferred: resource → the kind in the version that came first.
    """

    verbs: dict[Kind, frozenset[str]] = field(default_factory=dict)
    preferred: dict[str, Kind] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, kinds: Iterable[tuple[Kind, frozenset[str]]]) -> None:
        """Add a version's kinds; a group's preferred version must be added first."""
        for kind, verbs in kinds:
            self.verbs[kind] = verbs
            self.preferred.setdefault(str(kind), kind)


async def discover(client: DiscoveryClient) -> Served:
    """Return the kinds that the server serves now; versions that could not be discovered are among the failures.

    Raises:
        ApiError: discovery is not possible at all.
    """
    discovered = _ServedKinds()
    for root in ("/api", "/apis"):
        document = await client.get_json(root, accept=ACCEPT)
        if document.get("kind") == "APIGroupDiscoveryList":
            _read_aggregated(document, discovered)
        else:
            for group, version in _versions(document):
                await _discover_version(client, group, version, discovered)
    return Served(discovered.verbs, tuple(discovered.preferred.values()), discovered.failures)


def _read_aggregated(document: Obj, discovered: _ServedKinds) -> None:
    for item in document.get("items") or ():
        group = (item.get("metadata") or {}).get("name") or ""
        for entry in item.get("versions") or ():
            version = entry["version"]
            if entry.get("freshness") == "Stale":
                group_version = api_version(group, version)
                discovered.failures[group_version] = f"stale GroupVersion discovery: {group_version}"
            discovered.add(_aggregated_kinds(group, version, entry.get("resources") or ()))


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
    """Yield (group, version) from a document of the older form, each group's preferred version first."""
    for version in document.get("versions") or ():
        yield "", version
    for group in document.get("groups") or ():
        preferred = (group.get("preferredVersion") or {}).get("version")
        versions = [entry["version"] for entry in group.get("versions") or ()]
        for version in sorted(versions, key=lambda version: version != preferred):
            yield group["name"], version


async def _discover_version(client: DiscoveryClient, group: str, version: str, discovered: _ServedKinds) -> None:
    group_version = api_version(group, version)
    try:
        document = await client.get_json(f"/apis/{group_version}" if group else f"/api/{version}")
    except ApiError as error:
        discovered.failures[group_version] = error.message
        return
    discovered.add(
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
    """Keeps `caches.served` up to date, and watches further kinds if there are listeners for EVERYTHING.

    Args:
        client: the client for discovery.
        caches: where the result is stored.
        clock: the clock to wait with.
        follow: keeps a cache in sync with the server, metadata only, until cancelled.
    """

    def __init__(
        self,
        client: DiscoveryClient,
        caches: Caches,
        clock: Clock,
        follow: Callable[[KindCache], Coroutine[Any, Any, None]],
    ) -> None:
        self._client = client
        self._caches = caches
        self._clock = clock
        self._follow = follow
        self._discovered_once = asyncio.Event()
        self._changed = asyncio.Event()
        self._own_caches: dict[Kind, KindCache] = {}
        self._following: dict[Kind, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Discover periodically, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    await self._refresh(group)
                except ApiError as error:
                    log.warning("what the server serves cannot be asked for: %s; it is tried again", error)
                await self._wait_until_due(group)

    async def _wait_until_due(self, group: asyncio.TaskGroup) -> None:
        """Wait for the next discovery: due periodically, and when a CustomResourceDefinition changes.

        Upstream's namespace controller discovers again for each namespace; with this no kind is missed here either.
        """
        waits = [
            group.create_task(self._clock.sleep(INTERVAL if self._discovered_once.is_set() else 1.0)),
            group.create_task(_wait_for(self._changed)),
        ]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self._changed.is_set():
            await self._clock.sleep(DEBOUNCE_SECONDS)
            self._changed.clear()

    async def wait_until_ready(self) -> None:
        """Return when all caches are filled, or when discovery is complete and enough time has passed."""
        await self._discovered_once.wait()
        waits = [cache.wait_until_synced() for cache in self._own_caches.values()]
        try:
            async with asyncio.timeout(FIRST_LIST_TIMEOUT):
                await asyncio.gather(*waits)
        except TimeoutError:
            unsynced = [str(kind) for kind, cache in self._own_caches.items() if not cache.synced]
            log.warning("begun without the first list of %s", ", ".join(unsynced))

    async def _refresh(self, group: asyncio.TaskGroup) -> None:
        served = await discover(self._client)
        is_new, self._caches.served = served != self._caches.served, served
        if self._caches.follows_everything and (self._restart_absent(served) or is_new):
            self._follow_all(served, group)
        self._discovered_once.set()

    def _restart_absent(self, served: Served) -> bool:
        """Stop watchers that wait for an absent kind which is served again: it was gone between two discoveries."""
        waiting = [kind for kind in self._following if self._own_caches[kind].absent and kind in served.verbs]
        for kind in waiting:
            self._own_caches[kind].absent = False
            self._following.pop(kind).cancel()
        return bool(waiting)

    def _follow_all(self, served: Served, group: asyncio.TaskGroup) -> None:
        collectable = [
            kind for kind in served.supporting("delete", "list", "watch") if str(kind) not in NEVER_COLLECTED
        ]
        for kind in collectable:
            existing = self._caches.find(str(kind))
            if kind not in self._following and (existing is None or existing.kind in self._own_caches):
                cache = self._caches.use_version(kind)
                if str(kind) == DEFINITIONS and kind not in self._own_caches:
                    cache.add_listener(lambda _: self._changed.set())
                self._own_caches[kind] = cache
                self._following[kind] = group.create_task(self._follow(cache))
        for kind in self._following.keys() - set(collectable):
            if kind.api_version not in served.failures:  # those of failed versions are unknown: they stay
                self._following.pop(kind).cancel()


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()
