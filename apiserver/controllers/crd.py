"""Keeps what is served in step with the definitions of custom kinds: names are given, rows come, change and go.

One loop judges one definition after the other, so that of two that want one name the first has it; the same write says
that the names are accepted and that the kind is served (upstream's naming, establishing and approval controllers). A
definition that cannot be judged is judged again later, and holds up no other meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from apiserver.api.resources import Resource
from apiserver.apiextensions.crds.approval import conform
from apiserver.apiextensions.crds.names import accept_names, establish, rivals
from apiserver.apiextensions.crds.resources import is_served, rows_of, told_verbs
from apiserver.apiextensions.crds.structural_schemas import judge_structure, verdict_on
from apiserver.apiextensions.crds.termination import terminates, waits
from apiserver.controllers.crd_finalizer import CRDFinalizer
from apiserver.controllers.retries import Retries
from apiserver.registry.bootstrap import SYSTEM
from apiserver.registry.context import Registry
from apiserver.registry.custom_resources import CustomKind, Types, Versions
from apiserver.registry.fields import selectable_fields
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.update import modify
from apiserver.registry.storage import ROOT, prefix_of
from apiserver.registry.store_watch import follow, next_within
from etcd.store import Event, KeyValue, Watcher

log = logging.getLogger("apiserver")

GROUP, VERSION, PLURAL = "apiextensions.k8s.io", "v1", "customresourcedefinitions"
PREFIX = f"{ROOT}{GROUP}/{PLURAL}/"
OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver")


class CRDController:
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
        self._emptier = CRDFinalizer(registry, self._resource)
        self._retries = Retries(lambda: asyncio.get_running_loop().time())

    @property
    def _resource(self) -> Resource:
        found = self._registry.table.find(GROUP, VERSION, PLURAL)
        assert found is not None, "every release has it"
        return found

    def load(self) -> None:
        """Serve what is established in the store, before the first request."""
        for kv in self._registry.storage.store.range(PREFIX).items:
            name = _name(kv)
            with self._trying(name):
                self._known[name] = self._decoded(kv)
                self._serve(self._known[name])

    async def run(self) -> None:
        """Follow until cancelled or the store is closed."""
        try:
            await follow(self._registry.storage.store, PREFIX, self._keep)
        finally:
            await self._emptier.stop()

    async def _keep(self, watcher: Watcher, found: Sequence[KeyValue]) -> None:
        there = {_name(kv) for kv in found}
        for name in self._known.keys() - there:
            await self._forget(name)
        for kv in found:
            await self._note(kv)
        while True:
            for event in await next_within(watcher, self._retries.wait()):
                await self._take(event)
                await asyncio.sleep(0)  # requests are served in between, however many events there are
            for name in self._retries.due():
                await self._try_again(name)

    async def _take(self, event: Event) -> None:
        if event.kv is not None:
            await self._note(event.kv)
        elif self._revision(name := event.key.removeprefix(PREFIX)) < event.revision:
            await self._forget(name)

    async def _try_again(self, name: str) -> None:
        """Look at what failed, as it is by now; that it is gone will be told, or has been."""
        kv = self._registry.storage.store.get(f"{PREFIX}{name}")
        if kv is None:
            self._retries.settled(name)
        elif self._revision(name) > kv.mod_revision:
            await self._judge(name)
        else:
            await self._note(kv)

    def _decoded(self, kv: KeyValue) -> Obj:
        return self._registry.codecs.of(self._resource).decode(kv)

    def _revision(self, name: str) -> int:
        """That of the newest state of a definition that is known; events lag behind what this object itself stores."""
        return int(self._known[name]["metadata"]["resourceVersion"]) if name in self._known else 0

    async def _note(self, kv: KeyValue) -> None:
        """Look at a definition as it is now, unless a newer state of it is known."""
        name = _name(kv)
        if self._revision(name) > kv.mod_revision:
            return
        with self._trying(name):
            definition = self._known[name] = self._decoded(kv)
            await self._judge(name)
            if waits(definition):
                self._emptier.begin(definition)

    async def _forget(self, name: str) -> None:
        """A definition is gone: its kind is served no more, and others may have its names."""
        self._known.pop(name, None)
        self._verdicts.pop(name, None)
        self._retries.settled(name)
        with self._trying(name):
            self._replace(name, [])
            await self._judge_rivals(name)

    async def _judge(self, name: str) -> None:
        """Give a definition its names and conditions, and serve what it says."""
        before = self._known[name]
        with self._trying(name):
            try:
                await self._write(name)
            finally:
                self._serve(self._known[name])
            self._retries.settled(name)
        if _accepted(before) != _accepted(self._known[name]):
            await self._judge_rivals(name)

    async def _judge_rivals(self, name: str) -> None:
        for other in rivals(name, self._known.values()):
            await self._judge(other)

    @contextmanager
    def _trying(self, name: str) -> Iterator[None]:
        """Whatever goes wrong with one definition is told and tried again, and is nothing to the others."""
        try:
            yield
        except ApiError as error:
            if error.code == 404:  # gone meanwhile: that will be told
                self._retries.settled(name)
                return
            log.warning("the definition %s cannot be judged yet: %s", name, error)
            self._retries.failed(name)
        except Exception:
            log.exception("the definition %s cannot be judged yet", name)
            self._retries.failed(name)

    async def _write(self, name: str) -> None:
        """Store the status that a definition deserves, if it has another; it is served before that can be read."""
        judged = self._judged(self._known[name])
        if judged is None:
            return
        self._serve(judged)
        target = Target(self._resource, "", name, "status")
        written = await modify(self._registry, target, lambda old: self._judged(old) or _copied(old), OPTIONS)
        self._known[name] = self._decoded(written.kv)

    def _judged(self, definition: Obj) -> Obj | None:
        """Return the definition with its names and conditions, None where it has them."""
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

    def _serve(self, definition: Obj) -> None:
        """Have the table say what a definition says."""
        name = name_of(definition)
        rows = rows_of(definition) if is_served(definition) else []
        before = {kind.resource.version: kind for kind in self._served.get(name, ())}
        versions = Versions(definition["spec"], self._types)
        known = next((kind.versions for kind in before.values()), None)
        if known is not None and known.says_the_same(versions):
            versions = known
        kinds = [self._kind(row, versions, before.get(row.version)) for row in rows]
        verbs = told_verbs(definition)
        is_told_anew = any(kind.verbs != verbs for kind in kinds)
        for kind in kinds:
            kind.terminates, kind.verbs = terminates(definition), verbs
        if not self._replace(name, kinds) and is_told_anew:
            self._registry.customs.announce()
        if kinds and versions is not known and kinds[0].resource.kept_fields:
            self._reselect(kinds[0])

    def _kind(self, row: Resource, versions: Versions, known: CustomKind | None) -> CustomKind:
        if known is not None and known.versions is versions and known.resource == row:
            return known
        return CustomKind(row, versions)

    def _reselect(self, kind: CustomKind) -> None:
        """Selectors may see other values from now on: those of what is stored are found anew."""
        for kv in self._registry.storage.store.range(prefix_of(kind.resource, "")).items:
            obj: Obj = orjson.loads(kv.value)
            kind.restored(obj)
            kv.index_attrs.fields.update(selectable_fields(kind.resource, obj))

    def _replace(self, name: str, kinds: list[CustomKind]) -> bool:
        """Serve other kinds by a definition; whether they are others."""
        before = self._served.get(name, [])
        if all(old is new for old, new in zip(before, kinds, strict=False)) and len(before) == len(kinds):
            return False
        self._served[name] = kinds
        self._registry.customs.serve(kinds, instead=before)
        return True


def _name(kv: KeyValue) -> str:
    """Return the name of a definition in the store."""
    return kv.key.removeprefix(PREFIX)


def _copied(definition: Obj) -> Obj:
    return definition | {"metadata": dict(definition["metadata"])}


def _accepted(definition: Obj) -> Obj:
    names: Obj = (definition.get("status") or {}).get("acceptedNames") or {}
    return names
