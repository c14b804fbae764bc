"""How objects are disposed of: deleted, be it only while they are what was judged, freed of owners and of finalizers.

All are generators of actions, for `yield from` in a plan (pkg/controller/garbagecollector/{operations,patch}.go).
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
"""How often something is taken off an object that others write too (client-go's retry.DefaultBackoff)."""


@dataclass(frozen=True, slots=True)
class Item:
    """An object, and what it is."""

    kind: Kind
    obj: Obj

    @property
    def meta(self) -> Obj:
        """Its metadata."""
        meta: Obj = self.obj["metadata"]
        return meta

    @property
    def key(self) -> Key:
        """Its key."""
        return key_of(self.obj)


@dataclass(frozen=True, slots=True)
class Patches:
    """A change of metadata, as two patches.

    Attributes:
        strategic: needs no revision.
        merged: guarded by the revision, for kinds that know no strategic merge patch.
    """

    strategic: Obj
    merged: Obj


def look_up(kind: Kind, key: Key, uid: str) -> Generator[Action, Any, Obj | None]:
    """The object with this uid as the server has it, None where it has none.

    Raises:
        ApiError: the server does not tell; a 404 that names no object is one of a path that is not served, as while
            a server starts or a custom kind is away, and says nothing of objects.
    """
    try:
        found: Obj = yield Get(kind, key)
    except ApiError as error:
        if error.code == 404 and (error.details or {}).get("name"):
            return None
        raise
    return found if (found.get("metadata") or {}).get("uid") == uid else None


def remove(deletion: Delete) -> Plan:
    """Delete an object; that it is gone already is well.

    Raises:
        ApiError: it was refused.
    """
    try:
        yield deletion
    except ApiError as error:
        if error.code != 404:
            raise


def delete(item: Item, propagation: str) -> Plan:
    """Delete an item unless its owners changed since it was judged (deleteObject); that it is gone already is well.

    Raises:
        ApiError: it was refused, or the owners changed: the item has to be judged again.
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
    """Change an item; gives it as it is then, None where it is gone.

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
    """Take a finalizer off an item, whoever else writes it; that it is gone is well (removeFinalizer).

    Raises:
        ApiError: it was refused, or others were faster every time.
    """

    def request(obj: Obj) -> Request | None:
        held = finalizer in (obj["metadata"].get("finalizers") or ())
        return Patch(item.kind, item.key, _without(obj["metadata"], finalizer)) if held else None

    yield from insist(item, request)


def insist(item: Item, request: Callable[[Obj], Request | None]) -> Plan:
    """Write to an item, anew from its newest state where somebody else was faster; that it is gone is well.

    Args:
        item: as it was seen last.
        request: what is to be written to any state of it, None where nothing is.

    Raises:
        ApiError: it was refused, or others were faster every time.
    """
    obj: Obj | None = item.obj
    for left in reversed(range(TRIES)):
        wanted = request(obj) if obj is not None else None
        if wanted is None:
            return
        try:
            yield wanted
        except ApiError as error:
            if error.code == 404:
                return
            if error.code != 409 or not left:
                raise
            obj = yield from look_up(item.kind, item.key, item.meta["uid"])
        else:
            return


def _without(meta: Obj, finalizer: str) -> Obj:
    kept = [name for name in meta["finalizers"] if name != finalizer]
    return {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "finalizers": kept or None}}
