"""Keeps what is served in step with the definitions of custom kinds: names are given, rows come, change and go.

One loop judges one definition after the other, so that of two that want one name the first has it; the same write says
that the names are accepted and that the kind is served (upstream's naming, establishing and approval controllers).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from apiserver.api.resources import Resource
from apiserver.registry.bootstrap import SYSTEM
from apiserver.registry.context import Registry
from apiserver.registry.customs import CustomKind, Types
from apiserver.registry.definitions.approval import conform
from apiserver.registry.definitions.emptier import Emptier
from apiserver.registry.definitions.naming import accept_names, establish, rivals
from apiserver.registry.definitions.rows import is_served, rows_of, storage_version
from apiserver.registry.definitions.structure import judge_structure, verdict_on
from apiserver.registry.definitions.termination import terminates, waits
from apiserver.registry.fields import selectable_fields
from apiserver.registry.following import follow
from apiserver.registry.operations import modify
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.storage import ROOT, prefix_of
from etcd.store import Event, KeyValue, Watcher

log = logging.getLogger("apiserver")

GROUP, VERSION, PLURAL = "apiextensions.k8s.io", "v1", "customresourcedefinitions"
PREFIX = f"{ROOT}{GROUP}/{PLURAL}/"
OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver")


class Registrar:
    """Follows the definitions in the store.

    Args:
        registry: the server's collaborators; its `customs` are kept by this object.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._types = Types(registry.schema, registry.field_schema)
        self._known: dict[str, Obj] = {}
        self._served: dict[str, list[CustomKind]] = {}
        self._verdicts: dict[str, tuple[tuple[str, int], Obj | None]] = {}
        self._emptier = Emptier(registry, self._resource)

    @property
    def _resource(self) -> Resource:
        found = self._registry.table.find(GROUP, VERSION, PLURAL)
        assert found is not None, "every release has it"
        return found

    def load(self) -> None:
        """Serve what is established in the store, before the first request."""
        for kv in self._registry.storage.store.range(PREFIX).items:
            definition = self._decoded(kv)
            self._known[name_of(definition)] = definition
            self._serve(definition, since=kv.mod_revision)

    async def run(self) -> None:
        """Follow until cancelled or the store is closed."""
        try:
            await follow(self._registry.storage.store, PREFIX, self._keep)
        finally:
            self._emptier.stop()

    async def _keep(self, watcher: Watcher, found: Sequence[KeyValue]) -> None:
        there = {kv.key.removeprefix(PREFIX) for kv in found}
        for name in self._known.keys() - there:
            await self._forget(name)
        for kv in found:
            await self._note(self._decoded(kv))
        while True:
            for event in await watcher.next():
                await self._take(event)
                await asyncio.sleep(0)  # requests are served in between, however many events there are

    async def _take(self, event: Event) -> None:
        if event.kv is None:
            await self._forget(event.key.removeprefix(PREFIX))
        else:
            await self._note(self._decoded(event.kv))

    def _decoded(self, kv: KeyValue) -> Obj:
        return self._registry.codecs.of(self._resource).decode(kv)

    async def _note(self, definition: Obj) -> None:
        """Look at a definition as it is now."""
        name = name_of(definition)
        self._known[name] = definition
        await self._judge(name)
        if waits(definition):
            self._emptier.begin(definition)

    async def _forget(self, name: str) -> None:
        """A definition is gone: its kind is served no more, and others may have its names."""
        del self._known[name]
        self._verdicts.pop(name, None)
        self._replace(name, [])
        for other in rivals(name, self._known.values()):
            await self._judge(other)

    async def _judge(self, name: str) -> None:
        """Give a definition its names and conditions, and serve what it says."""
        before = self._known[name]
        try:
            await self._write(name)
        except ApiError as error:
            if error.code != 404:  # gone meanwhile: that will be told
                log.warning("the definition %s cannot be judged: %s", name, error)
        self._serve(self._known[name], since=self._registry.storage.store.revision)
        if _accepted(before) != _accepted(self._known[name]):
            for other in rivals(name, self._known.values()):
                await self._judge(other)

    async def _write(self, name: str) -> None:
        """Store the status that a definition deserves, if it has another; it is served before that can be read."""
        judged = self._judged(self._known[name])
        if judged is None:
            return
        self._serve(judged, since=self._registry.storage.store.revision)
        target = Target(self._resource, "", name, "status")
        written = await modify(self._registry, target, lambda old: self._judged(old) or _copied(old), OPTIONS)
        self._known[name] = self._decoded(written.kv)

    def _judged(self, definition: Obj) -> Obj | None:
        """The definition with its names and conditions, None where it has them."""
        now = self._registry.timestamps.now()
        steps: Iterable[Callable[[Obj], Obj | None]] = (
            lambda given: accept_names(given, self._known.values(), now),
            lambda given: conform(given, now),
            lambda given: judge_structure(given, now, self._verdict),
            lambda given: establish(given, now),
        )
        found = definition
        for step in steps:
            found = step(found) or found
        return None if found is definition else _copied(found)

    def _verdict(self, definition: Obj) -> Obj | None:
        """What the structure of a definition's schemas deserves: worked out once for each generation of it."""
        name, meta = name_of(definition), definition["metadata"]
        state = (meta["uid"], meta.get("generation") or 0)
        known = self._verdicts.get(name)
        if known is None or known[0] != state:
            known = self._verdicts[name] = (state, verdict_on(definition))
        return known[1]

    # -- rows

    def _serve(self, definition: Obj, *, since: int) -> None:
        """Have the table say what a definition says.

        Args:
            definition: the definition.
            since: the revision from which on objects are written by it, as far as it is new.
        """
        name = name_of(definition)
        rows = rows_of(definition) if is_served(definition) else []
        known = {kind.resource.version: kind for kind in self._served.get(name, ())}
        versions: Mapping[str, Obj] = {each["name"]: each for each in definition["spec"]["versions"]}
        storage = versions[storage_version(definition)]
        kinds = [self._kind(row, versions[row.version], storage, known.get(row.version), since) for row in rows]
        for kind in kinds:
            kind.terminates = terminates(definition)
        self._replace(name, kinds)

    def _kind(self, row: Resource, version: Obj, storage: Obj, known: CustomKind | None, since: int) -> CustomKind:
        if known is not None and known.version == version and known.storage == storage:
            if known.resource == row:
                return known
            since = known.since
        made = CustomKind(row, version, storage=storage, since=since, types=self._types)
        if row.fields != (known.resource.fields if known else ()):
            self._reselect(row)
        return made

    def _reselect(self, row: Resource) -> None:
        """Selectors see other fields from now on: of what is stored they are worked out anew."""
        codec = self._registry.codecs.of(row)
        for kv in self._registry.storage.store.range(prefix_of(row, "")).items:
            kv.attached.fields.update(selectable_fields(row, codec.decode(kv)))

    def _replace(self, name: str, kinds: list[CustomKind]) -> None:
        before = self._served.get(name, [])
        if all(old is new for old, new in zip(before, kinds, strict=False)) and len(before) == len(kinds):
            return
        self._served[name] = kinds
        self._registry.customs.serve(kinds, instead=before)


def _copied(definition: Obj) -> Obj:
    return definition | {"metadata": dict(definition["metadata"])}


def _accepted(definition: Obj) -> Obj:
    names: Obj = (definition.get("status") or {}).get("acceptedNames") or {}
    return names
