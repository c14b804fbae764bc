"""Deletes all objects of a kind, as namespaces and CustomResourceDefinitions do when they are deleted."""

import asyncio

from apiserver.api.errors import ApiError
from apiserver.api.resources import Resource
from apiserver.api.user import User
from apiserver.registry.context import Registry
from apiserver.registry.options import DeleteOptions, Target
from apiserver.registry.rest import delete
from apiserver.registry.storage import prefix_of
from etcd.store import KeyValue

AT_ONCE = 64
"""The number of objects deleted at a time, so that the store commits them together."""


async def delete_all(registry: Registry, resource: Resource, namespace: str, options: DeleteOptions) -> list[str]:
    """Delete every object of a kind, in one namespace or ("") in all; objects with finalizers are only marked.

    Returns:
        The errors; an object that is gone already is none.
    """
    errors: list[str] = []
    items = registry.storage.store.range(prefix_of(resource, namespace)).items
    for start in range(0, len(items), AT_ONCE):
        async with asyncio.TaskGroup() as group:
            for kv in items[start : start + AT_ONCE]:
                group.create_task(_delete(registry, resource, kv, options, errors))
    return errors


async def _delete(
    registry: Registry, resource: Resource, kv: KeyValue, options: DeleteOptions, errors: list[str]
) -> None:
    fields = kv.index_attrs.fields
    target = Target(resource, fields["metadata.namespace"], fields["metadata.name"])
    try:
        await delete.delete(registry, target, options)
    except ApiError as error:
        if error.code != 404:
            errors.append(str(error))


def background(user: User) -> DeleteOptions:
    """Return the options by which controllers delete contents: no grace period, background propagation."""
    return DeleteOptions(user, grace_period=0, propagation="Background")
