"""Controller references: which children a parent owns, adopts and releases (controller_ref_manager.go)."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError, conflict
from apiserver.api.meta import Obj, labels_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.contract import STRATEGIC_PATCH, Action, Get, Listers, Patch, Plan, key_of
from controller_manager.reconcile.kinds import Kind


def controller_of(obj: Obj) -> Obj | None:
    """Return the owner reference with controller set, or None if the object has no controller."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            controller: Obj = reference
            return controller
    return None


def resolve_controller(listers: Listers, kind: Kind, child: Obj) -> Obj | None:
    """Return the child's controller if it is of that kind and has the uid in the reference, else None.

    (resolveControllerRef, which every upstream controller has)
    """
    reference = controller_of(child)
    if reference is None or reference["kind"] != kind.kind:
        return None
    owner = listers[kind].get(f"{namespace_of(child)}/{reference['name']}")
    return owner if owner is not None and owner["metadata"]["uid"] == reference["uid"] else None


def owner_reference(kind: Kind, owner: Obj) -> Obj:
    """Return the owner reference that makes an object the controller (metav1.NewControllerRef)."""
    meta = owner["metadata"]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_deleting(obj: Obj) -> bool:
    """Return whether the object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


@dataclass(frozen=True, slots=True)
class Parent:
    """An object that adopts and releases children.

    Attributes:
        selector: selects the children.
        admits: an additional condition on a child, such as that its name has an ordinal.
    """

    kind: Kind
    obj: Obj
    selector: LabelSelector
    admits: Callable[[Obj], bool] = lambda _: True

    def matches(self, child: Obj) -> bool:
        """Return whether the selector and the additional condition match the child."""
        return self.selector.matches(labels_of(child)) and self.admits(child)


def adopt_and_release(parent: Parent, kind: Kind, children: Iterable[Obj]) -> Generator[Action, Any, list[Obj]]:
    """Adopt and release children, and return those that belong to the parent.

    Args:
        parent: the parent.
        kind: the kind of the children.
        children: candidates: children of the parent, and orphans in its namespace.

    Raises:
        ApiError: a child could not be adopted or released and is not gone; the others were processed.
    """
    owned: list[Obj] = []
    failure: ApiError | None = None
    uid, may_adopt = parent.obj["metadata"]["uid"], False
    for child in children:
        owner, matches = controller_of(child), parent.matches(child)
        try:
            if owner is not None:
                if owner["uid"] != uid:
                    continue
                if matches:
                    owned.append(child)
                elif not is_deleting(parent.obj):
                    yield from _release(kind, child, uid)
            elif matches and not is_deleting(parent.obj) and not is_deleting(child):
                if not may_adopt:
                    yield from recheck_deletion(parent.kind, parent.obj)
                    may_adopt = True
                if (adopted := (yield from _adopt(parent, kind, child))) is not None:
                    owned.append(adopted)
        except ApiError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return owned


def recheck_deletion(kind: Kind, parent: Obj) -> Plan:
    """Check with the server that the parent still exists and is not being deleted (RecheckDeletionTimestamp).

    Raises:
        ApiError: the parent is gone, replaced by another of its name, or being deleted.
    """
    meta = parent["metadata"]
    live = yield Get(kind, key_of(parent))
    if live["metadata"]["uid"] != meta["uid"]:
        message = (
            f"original {kind.kind} {key_of(parent)} is gone: got uid {live['metadata']['uid']}, wanted {meta['uid']}"
        )
        raise conflict(kind.group, kind.plural, name=meta["name"], why=message)
    if is_deleting(live):
        message = f"{key_of(parent)} has just been deleted at {live['metadata']['deletionTimestamp']}"
        raise conflict(kind.group, kind.plural, name=meta["name"], why=message)


def _adopt(parent: Parent, kind: Kind, child: Obj) -> Generator[Action, Any, Obj | None]:
    reference = owner_reference(parent.kind, parent.obj)
    references = child["metadata"].get("ownerReferences") or []
    try:
        return (yield from _with_owners(kind, child, [reference], whole=[*references, reference]))
    except ApiError as error:
        if error.code == 404:
            return None
        raise


def _release(kind: Kind, child: Obj, uid: str) -> Plan:
    references = child["metadata"].get("ownerReferences") or []
    kept = [reference for reference in references if reference["uid"] != uid]
    try:
        yield from _with_owners(kind, child, [{"$patch": "delete", "uid": uid}], whole=kept)
    except ApiError as error:
        if error.code not in (404, 422):  # gone, or released before
            raise


def _with_owners(kind: Kind, child: Obj, change: list[Obj], *, whole: list[Obj]) -> Generator[Action, Any, Obj]:
    """Change the owners of a child; kinds without strategic merge patch get the whole list, guarded by revision."""
    meta = child["metadata"]
    body: Obj = {"metadata": {"uid": meta["uid"], "ownerReferences": change}}
    try:
        changed: Obj = yield Patch(kind, key_of(child), body, content_type=STRATEGIC_PATCH)
    except ApiError as error:
        if error.code != 415:
            raise
        guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        changed = yield Patch(kind, key_of(child), {"metadata": guard | {"ownerReferences": whole or None}})
    return changed
