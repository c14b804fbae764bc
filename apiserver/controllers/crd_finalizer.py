"""Deletes the objects of a kind whose definition is being deleted, and then lets the definition go.

One task for each such definition, so that objects with finalizers hold up nobody else (pkg/controller/finalizer).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from apiserver.api.errors import ApiError, not_found
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.apiextensions.crds import termination
from apiserver.apiextensions.crds.resources import storage_row
from apiserver.registry.bootstrap import SYSTEM
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.purge import background, delete_all
from apiserver.registry.rest.update import modify
from apiserver.registry.storage import prefix_of

log = logging.getLogger("apiserver")

OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver")
FIRST_LOOK = 0.05
"""Seconds after which it is looked again whether objects are gone, each time twice as long (upstream: at once 5 s)."""


class _Place(NamedTuple):
    """A definition, which another of its name is not."""

    name: str
    uid: str


class CRDFinalizer:
    """The definitions that are being emptied.

    Args:
        registry: the server's collaborators.
        resource: the row of definitions.
    """

    def __init__(self, registry: Registry, resource: Resource) -> None:
        self._registry = registry
        self._resource = resource
        self._tasks: dict[_Place, asyncio.Task[None]] = {}

    def begin(self, definition: Obj) -> None:
        """Empty a definition, unless that is under way."""
        meta = definition["metadata"]
        place = _Place(meta["name"], meta["uid"])
        if place not in self._tasks:
            # no TaskGroup: it would wait for objects that finalizers hold when the store has closed
            task = self._tasks[place] = asyncio.create_task(self._empty(place))
            task.add_done_callback(lambda _: self._tasks.pop(place, None))

    async def stop(self) -> None:
        """End what is under way, and wait until it has ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _empty(self, place: _Place) -> None:
        while True:
            try:
                if await self._try(place):
                    return
            except ApiError as error:
                if error.code == 404:
                    return
                log.warning("the definition %s cannot be emptied yet: %s", place.name, error)
            except Exception:
                log.exception("the definition %s cannot be emptied yet", place.name)
            await asyncio.sleep(termination.LOOK_AGAIN)

    async def _try(self, place: _Place) -> bool:
        """Return whether the definition could be let go."""
        definition = await self._changed(place, termination.begun)
        if termination.is_emptied(definition):
            row = storage_row(definition)
            errors = await delete_all(self._registry, row, "", background(SYSTEM)) if row else []
            if errors:
                await self._changed(place, lambda old, now: termination.undeleted(old, errors, now))
                return False
            if row and not await self._is_empty(row):
                await self._changed(place, termination.unconfirmed)
                return False
        await self._changed(place, termination.released)
        return True

    async def _is_empty(self, row: Resource) -> bool:
        """Return whether everything goes within a minute."""
        store, prefix, wait, waited = self._registry.storage.store, prefix_of(row, ""), FIRST_LOOK, 0.0
        while store.count(prefix):
            if waited >= termination.LONGEST_WAIT:
                return False
            await asyncio.sleep(wait)
            waited, wait = waited + wait, min(wait * 2, termination.LOOK_AGAIN)
        return True

    async def _changed(self, place: _Place, change: Callable[[Obj, str], Obj]) -> Obj:
        """Write what becomes of the definition; raises ApiError 404 where it is gone, or another, or no longer goes."""
        now, resource = self._registry.timestamps.now(), self._resource

        def apply(old: Obj) -> Obj:
            if old["metadata"]["uid"] != place.uid or not termination.waits(old):
                raise not_found(resource.group, resource.plural, place.name)
            found = change(old, now)
            return found | {"metadata": dict(found["metadata"])}

        target = Target(resource, "", place.name, "status")
        written = await modify(self._registry, target, apply, OPTIONS)
        return self._registry.codecs.of(resource).decode(written.kv)
