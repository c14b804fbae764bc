"""Delete objects, guarded by the UID and resourceVersion that were checked, and remove owners and finalizers.

All functions are generators of actions, for `yield from` in a plan
(pkg/controller/garbagecollector/{operations,patch}.go).
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    Action,
    Delete,
    Key,
    Patch,
    Plan,
    Request,
    key_of,
)
from controller_manager.reconcile.kinds import Kind
from controller_manager.reconcile.retry_on_conflict import newest, retry_on_conflict

T = TypeVar("T")


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
        merge: a merge patch guarded by the revision, for kinds that support no strategic merge patch.
    """

    strategic: Obj
    merge: Obj


def get_live(kind: Kind, key: Key, uid: str) -> Generator[Action, Any, Obj | None]:
    """Return the object with this uid as the server has it, or None if it does not exist.

    Raises:
        ApiError: as for unless_gone.
    """
    return (yield from unless_gone(newest(kind, key, uid)))


def unless_gone(plan: Generator[Action, Any, T]) -> Generator[Action, Any, T | None]:
    """Run a plan for one object, and return None if the object does not exist.

    Raises:
        ApiError: any other error; a 404 that names no object means that the path is not served, as while a server
            starts or a custom kind is missing, and says nothing about objects.
    """
    try:
        return (yield from plan)
    except ApiError as error:
        if error.code == 404 and (error.details or {}).get("name"):
            return None
        raise


def delete_if_exists(deletion: Delete) -> Plan:
    """Delete an object; one that is gone already counts as success.

    Raises:
        ApiError: it was refused.
    """
    try:
        yield deletion
    except ApiError as error:
        if error.code != 404:
            raise


def delete_item(item: Item, propagation: str) -> Plan:
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
        live = yield from get_live(item.kind, item.key, meta["uid"])
        if live is None:
            return
        if live["metadata"].get("ownerReferences") != meta.get("ownerReferences"):
            raise
        yield from delete_if_exists(Delete(item.kind, item.key, meta["uid"], propagation=propagation))


def patch_item(item: Item, patches: Patches) -> Generator[Action, Any, Item | None]:
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
            obj = yield Patch(item.kind, item.key, patches.merge)
    except ApiError as error:
        if error.code != 404:
            raise
        return None
    return Item(item.kind, obj)


def remove_finalizer(item: Item, finalizer: str) -> Plan:
    """Remove a finalizer from an item, with retries on conflict (removeFinalizer); if it is gone, that is success.

    Raises:
        ApiError: it was refused, or every attempt met a conflict.
    """

    def write(obj: Obj) -> Request | None:
        held = finalizer in (obj["metadata"].get("finalizers") or ())
        return Patch(item.kind, item.key, _without(obj["metadata"], finalizer)) if held else None

    yield from unless_gone(retry_on_conflict(item.kind, item.obj, write=write))


def _without(meta: Obj, finalizer: str) -> Obj:
    kept = [name for name in meta["finalizers"] if name != finalizer]
    return {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "finalizers": kept or None}}
