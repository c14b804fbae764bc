"""Delete objects, guarded by the UID and resourceVersion that were checked, and remove owners and finalizers.

All functions are generators of actions, for `yield from` in a plan
(pkg/controller/garbagecollector/{operations,patch}.go).
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    Action,
    Delete,
    Get,
    Key,
    Patch,
    Plan,
    Request,
    key_of,
)
from controller_manager.reconcile.kinds import Kind

TRIES = 5
"""How often a write is tried if others write to the object, too (client-go's retry.DefaultBackoff)."""


@dataclass(frozen=True, slots=True)
class Item:
    """An object and its kind."""

    kind: Kind
    obj: Obj

    @property
    def meta(self) -> Obj:
        """The object's metadata."""
        meta: Obj = self.obj["metadata"]
        return meta

    @property
    def key(self) -> Key:
        """The object's key."""
        return key_of(self.obj)


@dataclass(frozen=True, slots=True)
class Patches:
    """A change of metadata in two forms.

    Attributes:
        strategic: a strategic merge patch, which needs no revision.
        merged: a merge patch guarded by the revision, for kinds that support no strategic merge patch.
    """

    strategic: Obj
    merged: Obj


def look_up(kind: Kind, key: Key, uid: str) -> Generator[Action, Any, Obj | None]:
    """Return the object with this uid as the server has it, or None if it does not exist.

    Raises:
        ApiError: the server cannot answer; a 404 that names no object means that the path is not served, as while
            a server starts or a custom kind is missing, and says nothing about objects.
    """
    try:
        existing: Obj = yield Get(kind, key)
    except ApiError as error:
        if error.code == 404 and (error.details or {}).get("name"):
            return None
        raise
    return existing if (existing.get("metadata") or {}).get("uid") == uid else None


def remove(deletion: Delete) -> Plan:
    """Delete an object; one that is gone already counts as success.

    Raises:
        ApiError: it was refused.
    """
    try:
        yield deletion
    except ApiError as error:
        if error.code != 404:
            raise


def delete(item: Item, propagation: str) -> Plan:
    """Delete an item unless its owners changed since it was checked (deleteObject); if it is gone, that is success.

    Raises:
        ApiError: it was refused, or the owners changed: the item has to be checked again.
    """
    meta = item.meta
    try:
        yield Delete(item.kind, item.key, meta["uid"], meta["resourceVersion"], propagation)
    except ApiError as error:
        if error.code == 404:
            return
        if error.code != 409:
            raise
        live = yield from look_up(item.kind, item.key, meta["uid"])
        if live is None:
            return
        if live["metadata"].get("ownerReferences") != meta.get("ownerReferences"):
            raise
        yield from remove(Delete(item.kind, item.key, meta["uid"], propagation=propagation))


def patch(item: Item, patches: Patches) -> Generator[Action, Any, Item | None]:
    """Patch an item; return it as stored, or None if it is gone.

    Raises:
        ApiError: it was refused.
    """
    try:
        try:
            obj: Obj = yield Patch(item.kind, item.key, patches.strategic, content_type=STRATEGIC_PATCH)
        except ApiError as error:
            if error.code != 415:
                raise
            obj = yield Patch(item.kind, item.key, patches.merged)
    except ApiError as error:
        if error.code != 404:
            raise
        return None
    return Item(item.kind, obj)


def take_finalizer(item: Item, finalizer: str) -> Plan:
    """Remove a finalizer from an item, with retries on conflict (removeFinalizer); if it is gone, that is success.

    Raises:
        ApiError: it was refused, or every attempt met a conflict.
    """

    def request(obj: Obj) -> Request | None:
        held = finalizer in (obj["metadata"].get("finalizers") or ())
        return Patch(item.kind, item.key, _without(obj["metadata"], finalizer)) if held else None

    yield from retry_on_conflict(item, request)


def retry_on_conflict(item: Item, request: Callable[[Obj], Request | None]) -> Plan:
    """Write to an item, with a retry from its newest state after a conflict; if it is gone, that is success.

    Args:
        item: the item as last seen.
        request: returns the write for a state of the object, or None if it needs none.

    Raises:
        ApiError: it was refused, or every attempt met a conflict.
    """
    obj: Obj | None = item.obj
    for tries_left in reversed(range(TRIES)):
        next_request = request(obj) if obj is not None else None
        if next_request is None:
            return
        try:
            yield next_request
        except ApiError as error:
            if error.code == 404:
                return
            if error.code != 409 or not tries_left:
                raise
            obj = yield from look_up(item.kind, item.key, item.meta["uid"])
        else:
            return


def _without(meta: Obj, finalizer: str) -> Obj:
    kept = [name for name in meta["finalizers"] if name != finalizer]
    return {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "finalizers": kept or None}}
