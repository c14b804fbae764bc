"""Serves CustomResourceDefinitions: accepts their names, sets their conditions, and updates the rows of their kinds.

One loop processes the definitions one by one, so that the first of two with the same name gets it. A single write sets
NamesAccepted and Established (upstream's naming, establishing and approval controllers). A definition that fails is
retried later, without delaying others.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from apiserver.api.resources import Resource
from apiserver.apiextensions.crds.approval import update_approval_condition
from apiserver.apiextensions.crds.names import accept_names, definitions_lacking_names, establish
from apiserver.apiextensions.crds.resources import discovery_verbs, is_served, served_resources
from apiserver.apiextensions.crds.structural_schemas import structural_condition, update_structural_condition
from apiserver.apiextensions.crds.termination import awaits_finalizer, is_terminating
from apiserver.controllers.crd_finalizer import CRDFinalizer
from apiserver.registry.bootstrap import SYSTEM
from apiserver.registry.context import Registry
from apiserver.registry.custom_conversion import ConversionWebhook
from apiserver.registry.custom_resources import BuiltinTypes, CustomKind, CustomVersions
from apiserver.registry.kind_tables import selectable_fields
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.update import modify
from apiserver.registry.storage import ROOT, prefix_of
from apiserver.registry.store_watch import follow, next_within
from etcd.store import Event, KeyValue, Watcher

BASE_DELAY, MAX_DELAY = 0.1, 30.0
"""Seconds until a retry, after the first failure and at most."""


@dataclass(slots=True)
class _PendingRetry:
    """A pending retry.

    Attributes:
        due: the time of the retry.
        wait: the seconds between the last failure and the retry.
    """

    due: float
    wait: float


class BackoffQueue:
    """The pending retries, by name.

    Args:
        now: returns the time, in seconds from any start.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failed: dict[str, _PendingRetry] = {}

    def add_rate_limited(self, name: str) -> None:
        """Schedule a retry after a failure, with twice the last wait."""
        before = self._failed.get(name)
        wait = min(before.wait * 2, MAX_DELAY) if before else BASE_DELAY
        self._failed[name] = _PendingRetry(self._now() + wait, wait)

    def forget(self, name: str) -> None:
        """Drop the retry of a name: it has succeeded, or is gone."""
        self._failed.pop(name, None)

    def due_names(self) -> list[str]:
        """Return the names whose retries are due."""
        now = self._now()
        return [name for name, failed in self._failed.items() if failed.due <= now]

    def seconds_to_next(self) -> float | None:
        """Return the seconds until the next retry, None if there is none."""
        if not self._failed:
            return None
        return max(0.0, min(failed.due for failed in self._failed.values()) - self._now())


log = logging.getLogger("apiserver")

GROUP, VERSION, PLURAL = "apiextensions.k8s.io", "v1", "customresourcedefinitions"
PREFIX = f"{ROOT}{GROUP}/{PLURAL}/"
OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver")


class CRDController:
    """Reconciles the definitions in the store.

    Args:
        registry: the server's collaborators; this controller maintains its `customs`.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._types = BuiltinTypes(registry.schema, registry.field_schema)
        self._definitions: dict[str, Obj] = {}
        self._kinds_by_definition: dict[str, list[CustomKind]] = {}
        self._structural_conditions: dict[str, tuple[tuple[str, int], Obj | None]] = {}
        self._finalizer = CRDFinalizer(registry, self._resource)
        self._retries = BackoffQueue(lambda: asyncio.get_running_loop().time())

    @property
    def _resource(self) -> Resource:
        row = self._registry.table.find(GROUP, VERSION, PLURAL)
        assert row is not None, "every release has it"
        return row

    def load(self) -> None:
        """Serve the established definitions of the store, before the first request."""
        for kv in self._registry.storage.store.range(PREFIX).items:
            name = _name(kv)
            with self._retry_on_error(name):
                self._definitions[name] = self._decode(kv)
                self._serve_kinds(self._definitions[name])

    async def run(self) -> None:
        """Reconcile definitions until cancelled or the store is closed."""
        try:
            await follow(self._registry.storage.store, PREFIX, self._process)
        finally:
            await self._finalizer.stop()

    async def _process(self, watcher: Watcher, items: Sequence[KeyValue]) -> None:
        names = {_name(kv) for kv in items}
        for name in self._definitions.keys() - names:
            await self._stop_serving(name)
        for kv in items:
            await self._reconcile(kv)
        while True:
            for event in await next_within(watcher, self._retries.seconds_to_next()):
                await self._handle_event(event)
                await asyncio.sleep(0)  # let requests in between, however many events there are
            for name in self._retries.due_names():
                await self._retry(name)

    async def _handle_event(self, event: Event) -> None:
        if event.kv is not None:
            await self._reconcile(event.kv)
        elif self._revision(name := event.key.removeprefix(PREFIX)) < event.revision:
            await self._stop_serving(name)

    async def _retry(self, name: str) -> None:
        """Retry a definition that failed, in its present state; if it is gone, an event says so."""
        kv = self._registry.storage.store.get(f"{PREFIX}{name}")
        if kv is None:
            self._retries.forget(name)
        elif self._revision(name) > kv.mod_revision:
            await self._sync(name)
        else:
            await self._reconcile(kv)

    def _decode(self, kv: KeyValue) -> Obj:
        return self._registry.codecs.codec_of(self._resource).decode(kv)

    def _revision(self, name: str) -> int:
        """Return the newest known revision of a definition, 0 if unknown; events lag behind own writes."""
        return int(self._definitions[name]["metadata"]["resourceVersion"]) if name in self._definitions else 0

    async def _reconcile(self, kv: KeyValue) -> None:
        """Reconcile a definition from its stored state, unless a newer one is known."""
        name = _name(kv)
        if self._revision(name) > kv.mod_revision:
            return
        with self._retry_on_error(name):
            definition = self._definitions[name] = self._decode(kv)
            await self._sync(name)
            if awaits_finalizer(definition):
                self._finalizer.start(definition)

    async def _stop_serving(self, name: str) -> None:
        """Stop serving a deleted definition, and let others have its names."""
        self._definitions.pop(name, None)
        self._structural_conditions.pop(name, None)
        self._retries.forget(name)
        with self._retry_on_error(name):
            self._replace_kinds(name, [])
            await self._update_definitions_lacking_names(name)

    async def _sync(self, name: str) -> None:
        """Update the names and conditions of a definition, and serve its kind."""
        before = self._definitions[name]
        with self._retry_on_error(name):
            try:
                await self._update_status(name)
            finally:
                self._serve_kinds(self._definitions[name])
            self._retries.forget(name)
        if _accepted(before) != _accepted(self._definitions[name]):
            await self._update_definitions_lacking_names(name)

    async def _update_definitions_lacking_names(self, name: str) -> None:
        for other in definitions_lacking_names(name, self._definitions.values()):
            await self._sync(other)

    @contextmanager
    def _retry_on_error(self, name: str) -> Iterator[None]:
        """Log any error of one definition and retry it later, without affecting the others."""
        try:
            yield
        except ApiError as error:
            if error.code == 404:  # gone meanwhile: an event will say so
                self._retries.forget(name)
                return
            log.warning("the definition %s cannot be judged yet: %s", name, error)
            self._retries.add_rate_limited(name)
        except Exception:
            log.exception("the definition %s cannot be judged yet", name)
            self._retries.add_rate_limited(name)

    async def _update_status(self, name: str) -> None:
        """Store the computed status of a definition, if it differs; the kind is served before clients can read that."""
        updated = self._with_status(self._definitions[name])
        if updated is None:
            return
        self._serve_kinds(updated)
        target = Target(self._resource, "", name, "status")
        written = await modify(self._registry, target, lambda old: self._with_status(old) or _copied(old), OPTIONS)
        self._definitions[name] = self._decode(written.kv)

    def _with_status(self, definition: Obj) -> Obj | None:
        """Return the definition with updated names and conditions, None if they are up to date."""
        now = self._registry.timestamps.now()
        steps: Iterable[Callable[[Obj], Obj | None]] = (
            lambda obj: accept_names(obj, self._definitions.values(), now),
            lambda obj: update_approval_condition(obj, now),
            lambda obj: update_structural_condition(obj, now, self._structural_condition),
            lambda obj: establish(obj, now),
        )
        current = definition
        for step in steps:
            current = step(current) or current
        return None if current is definition else _copied(current)

    def _structural_condition(self, definition: Obj) -> Obj | None:
        """Return the verdict on the structure of a definition's schemas, computed once per generation."""
        name, meta = name_of(definition), definition["metadata"]
        state = (meta["uid"], meta.get("generation") or 0)
        known = self._structural_conditions.get(name)
        if known is None or known[0] != state:
            known = self._structural_conditions[name] = (state, structural_condition(definition))
        return known[1]

    # -- rows

    def _serve_kinds(self, definition: Obj) -> None:
        """Update the rows of the table from a definition."""
        name = name_of(definition)
        rows = served_resources(definition) if is_served(definition) else []
        before = {kind.resource.version: kind for kind in self._kinds_by_definition.get(name, ())}
        webhook = ConversionWebhook(definition["spec"], self._registry.webhooks, self._registry.ids.uid)
        versions = CustomVersions(definition["spec"], self._types, webhook)
        known = next((kind.versions for kind in before.values()), None)
        if known is not None and known.decodes_like(versions):
            versions = known
        kinds = [self._custom_kind(row, versions, before.get(row.version)) for row in rows]
        verbs = discovery_verbs(definition)
        verbs_changed = any(kind.verbs != verbs for kind in kinds)
        for kind in kinds:
            kind.terminates, kind.verbs = is_terminating(definition), verbs
        if not self._replace_kinds(name, kinds) and verbs_changed:
            self._registry.customs.notify()
        if kinds and versions is not known and kinds[0].resource.kept_fields:
            self._update_selectable_fields(kinds[0])

    def _custom_kind(self, row: Resource, versions: CustomVersions, known: CustomKind | None) -> CustomKind:
        if known is not None and known.versions is versions and known.resource == row:
            return known
        return CustomKind(row, versions)

    def _update_selectable_fields(self, kind: CustomKind) -> None:
        """Recompute the selectable fields of stored objects: the definition may select other fields now."""
        for kv in self._registry.storage.store.range(prefix_of(kind.resource, "")).items:
            if not kv.index_attrs.is_read:
                continue  # they will be read by the definition as it is then
            obj: Obj = orjson.loads(kv.value)
            kind.prune_stored(obj)
            kv.index_attrs.fields.update(selectable_fields(kind.resource, obj))

    def _replace_kinds(self, name: str, kinds: list[CustomKind]) -> bool:
        """Replace the served kinds of a definition; return whether they differ."""
        before = self._kinds_by_definition.get(name, [])
        if all(old is new for old, new in zip(before, kinds, strict=False)) and len(before) == len(kinds):
            return False
        self._kinds_by_definition[name] = kinds
        self._registry.customs.replace_kinds(kinds, instead=before)
        return True


def _name(kv: KeyValue) -> str:
    """Return the name of a definition in the store."""
    return kv.key.removeprefix(PREFIX)


def _copied(definition: Obj) -> Obj:
    return definition | {"metadata": dict(definition["metadata"])}


def _accepted(definition: Obj) -> Obj:
    names: Obj = (definition.get("status") or {}).get("acceptedNames") or {}
    return names
