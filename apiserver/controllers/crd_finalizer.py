"""Deletes the objects of a CustomResourceDefinition that is being deleted, then removes its finalizer.

Each definition has its own task, so that objects with finalizers delay no others (pkg/controller/finalizer).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from apiserver.api.errors import ApiError, not_found
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.apiextensions.crds import termination
from apiserver.apiextensions.crds.resources import storage_resource
from apiserver.registry.bootstrap import SYSTEM
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.purge import background, delete_all
from apiserver.registry.rest.update import modify
from apiserver.registry.storage import prefix_of

log = logging.getLogger("apiserver")

OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver")
FIRST_CHECK = 0.05
"""Seconds until the first check whether the objects are gone; the interval doubles (upstream: 5 s from the start)."""


class _DefinitionID(NamedTuple):
    """The identity of a definition: another one may have the same name."""

    name: str
    uid: str


class CRDFinalizer:
    """The tasks that delete the objects of definitions.

    Args:
        registry: the server's collaborators.
        resource: the row of definitions.
    """

    def __init__(self, registry: Registry, resource: Resource) -> None:
        self._registry = registry
        self._resource = resource
        self._tasks: dict[_DefinitionID, asyncio.Task[None]] = {}

    def start(self, definition: Obj) -> None:
        """Start deleting the objects of a definition, unless that is under way."""
        meta = definition["metadata"]
        definition_id = _DefinitionID(meta["name"], meta["uid"])
        if definition_id not in self._tasks:
            # no TaskGroup: it would wait for objects with finalizers after the store has closed
            task = self._tasks[definition_id] = asyncio.create_task(self._finalize(definition_id))
            task.add_done_callback(lambda _: self._tasks.pop(definition_id, None))

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _finalize(self, definition_id: _DefinitionID) -> None:
        while True:
            try:
                if await self._try_finalize(definition_id):
                    return
            except ApiError as error:
                if error.code == 404:
                    return
                log.warning("the definition %s cannot be emptied yet: %s", definition_id.name, error)
            except Exception:
                log.exception("the definition %s cannot be emptied yet", definition_id.name)
            await asyncio.sleep(termination.CHECK_INTERVAL)

    async def _try_finalize(self, definition_id: _DefinitionID) -> bool:
        """Delete the objects; return whether the definition's finalizer was removed."""
        definition = await self._change_status(definition_id, termination.with_deletion_in_progress)
        if termination.must_delete_instances(definition):
            row = storage_resource(definition)
            errors = await delete_all(self._registry, row, "", background(SYSTEM)) if row else []
            if errors:
                await self._change_status(
                    definition_id, lambda old, now: termination.with_deletion_failed(old, errors, now)
                )
                return False
            if row and not await self._is_empty(row):
                await self._change_status(definition_id, termination.with_deletion_unconfirmed)
                return False
        await self._change_status(definition_id, termination.without_finalizer)
        return True

    async def _is_empty(self, row: Resource) -> bool:
        """Wait for the objects to be gone; return False if that takes longer than LONGEST_WAIT."""
        store, prefix, wait, waited = self._registry.storage.store, prefix_of(row, ""), FIRST_CHECK, 0.0
        while store.count(prefix):
            if waited >= termination.CHECK_TIMEOUT:
                return False
            await asyncio.sleep(wait)
            waited, wait = waited + wait, min(wait * 2, termination.CHECK_INTERVAL)
        return True

    async def _change_status(self, definition_id: _DefinitionID, change: Callable[[Obj, str], Obj]) -> Obj:
        """Change the definition's status; raise ApiError 404 if it is gone, replaced, or no longer being deleted."""
        now, resource = self._registry.timestamps.now(), self._resource

        def apply(old: Obj) -> Obj:
            if old["metadata"]["uid"] != definition_id.uid or not termination.awaits_finalizer(old):
                raise not_found(resource.group, resource.plural, definition_id.name)
            new = change(old, now)
            return new | {"metadata": dict(new["metadata"])}

        target = Target(resource, "", definition_id.name, "status")
        written = await modify(self._registry, target, apply, OPTIONS)
        return self._registry.codecs.codec_of(resource).decode(written.kv)
