"""What exists from the start, as tables of facts, and how it is made: only what is missing, all at once.

Not here: what controllers make for each new namespace, and what they keep up to date.
"""

import asyncio
from collections.abc import Iterable

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, group_version
from apiserver.api.user import User
from apiserver.registry.bootstrap.access import access
from apiserver.registry.bootstrap.cluster import Place, cluster, namespaces
from apiserver.registry.bootstrap.flow import flow
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body
from apiserver.registry.operations import create
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.storage import key_of

__all__ = ["SYSTEM", "Place", "bootstrap"]

SYSTEM = User("system:apiserver", groups=("system:masters",))
"""As whom the server writes itself."""
OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver", validation="Ignore")


async def bootstrap(registry: Registry, place: Place) -> None:
    """Make what is missing; what is there stays as it is. The history of an empty store begins after that."""
    store = registry.storage.store
    empty = not store.count("/registry/")
    await _make(registry, namespaces())
    await _make(registry, [*cluster(place, registry.table), *access(), *flow()])
    if empty:
        await store.compact(store.revision)


async def _make(registry: Registry, objects: Iterable[Obj]) -> None:
    """Make the objects that are missing, so close together that the store commits them at once."""
    kinds = {(row.group, row.version, row.kind): row for row in registry.table}
    async with asyncio.TaskGroup() as group:
        for obj in objects:
            resource = kinds.get((*group_version(obj["apiVersion"]), obj["kind"]))
            if resource is None:
                continue  # this release does not have it yet
            target = Target(resource, obj["metadata"].get("namespace", ""))
            key = key_of(resource, target.namespace, obj["metadata"]["name"])
            if registry.storage.store.get(key) is None:
                group.create_task(_create(registry, target, obj))


async def _create(registry: Registry, target: Target, obj: Obj) -> None:
    try:
        await create(registry, target, Body(obj), OPTIONS)
    except ApiError as error:
        if error.code != 409:  # another server was faster
            raise
