"""Objects that exist from the start, as tables, and their creation: only missing ones, all at once.

Roles and bindings that exist get the rules and subjects that they lack.

Not here: what controllers create for each new namespace, and what they keep up to date.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, group_version
from apiserver.api.user import User
from apiserver.registry.bootstrap.access import RBAC, access, manager_access
from apiserver.registry.bootstrap.cluster import ServerLocation, cluster, namespaces
from apiserver.registry.bootstrap.flow import flow
from apiserver.registry.bootstrap.reconcile import binds_another_role, reconciled
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.create import create
from apiserver.registry.rest.update import modify
from apiserver.registry.storage import key_of, map_store_errors

__all__ = ["SYSTEM", "ServerLocation", "bootstrap"]

SYSTEM = User("system:apiserver", groups=("system:masters",))
"""The user as which the server itself writes."""
TRACKING_SINCE = 27
"""The minor version of Kubernetes since which the last use of tokens in Secrets is noted."""
LANES = 64
"""The number of objects created at a time."""
OPTIONS = WriteOptions(SYSTEM, manager="kube-apiserver", validation="Ignore")


async def bootstrap(
    registry: Registry, location: ServerLocation, *, kruise: bool = False, has_manager: bool = False
) -> None:
    """Create the missing objects, and complete roles and bindings. The history of an empty store begins after that.

    Args:
        registry: the server's collaborators.
        location: the address, port and ranges of the server.
        kruise: whether to create the definitions of OpenKruise's workloads too.
        has_manager: whether a mockube manager runs, whose accounts need roles.
    """
    store = registry.storage.store
    empty = not store.count("/registry/")
    await _create_missing(registry, namespaces())
    roles = [*_access(), *(manager_access(kruise=kruise) if has_manager else ())]
    await _complete(registry, roles)
    cluster_objects = cluster(
        location, registry.table, now=registry.timestamps.now(), tracks_tokens=registry.schema.minor >= TRACKING_SINCE
    )
    await _create_missing(registry, [*cluster_objects, *roles, *_flow(), *(_workloads() if kruise else ())])
    if empty and not store.is_shared:  # other servers may still watch from an older revision
        await store.compact(store.revision)


@cache  # constants: objects are created from copies
def _access() -> tuple[Obj, ...]:
    """Return the roles and bindings of all clusters."""
    return tuple(access())


@cache
def _flow() -> tuple[Obj, ...]:
    """Return the objects of API Priority and Fairness."""
    return tuple(flow())


@cache
def _workloads() -> Sequence[Obj]:
    from apiserver.registry.bootstrap.kruise import definitions  # noqa: PLC0415 - most servers in tests have none

    return definitions()


async def _create_missing(registry: Registry, objects: Iterable[Obj]) -> None:
    """Create the missing objects, many at a time, so that the store commits them together."""
    missing = _missing(registry, objects)
    async with asyncio.TaskGroup() as group:
        for _ in range(LANES):
            group.create_task(_create_all(registry, missing))


def _missing(registry: Registry, objects: Iterable[Obj]) -> Iterator[tuple[Target, Obj]]:
    kinds = {(row.group, row.version, row.kind): row for row in registry.table}
    for obj in objects:
        resource = kinds.get((*group_version(obj["apiVersion"]), obj["kind"]))
        if resource is None:
            continue  # this release does not have it yet
        target = Target(resource, obj["metadata"].get("namespace", ""))
        key = key_of(resource, target.namespace, obj["metadata"]["name"])
        if registry.storage.store.get(key) is None:
            yield target, obj


async def _create_all(registry: Registry, missing: Iterable[tuple[Target, Obj]]) -> None:
    for target, obj in missing:
        try:
            await create(registry, target, Body(obj), OPTIONS)
        except ApiError as error:
            if error.code != 409:  # another server was faster
                raise


async def _complete(registry: Registry, objects: Iterable[Obj]) -> None:
    """Add what existing roles and bindings lack; make a binding again if it names another role."""
    kinds = {row.kind: row for row in registry.table if (row.group, row.version) == (RBAC, "v1")}
    for obj in objects:
        meta = obj["metadata"]
        target = Target(kinds[obj["kind"]], meta.get("namespace", ""), meta["name"])
        kv = registry.storage.store.get(key_of(*target[:3]))
        if kv is None:
            continue
        existing = registry.codecs.codec_of(target.resource).decode(kv)
        if "roleRef" in obj and binds_another_role(existing, obj):
            with map_store_errors():
                await registry.storage.store.delete(kv.key)
        elif reconciled(existing, obj) != existing:
            await modify(registry, target, partial(reconciled, expected=obj), OPTIONS)
