"""Claiming children: which are a parent's own, which it adopts and which it lets go (controller_ref_manager.go)."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError, conflict
from apiserver.api.meta import Obj, labels_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.reconcile.contract import STRATEGIC_PATCH, Action, Get, Listers, Patch, Plan, key_of
from controller_manager.reconcile.kinds import Kind


def controller_of(obj: Obj) -> Obj | None:
    """The one owner reference that says controller, None where nobody controls the object."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Obj = reference
            return found
    return None


def resolve_controller(listers: Listers, kind: Kind, child: Obj) -> Obj | None:
    """The object that controls a child, if it is of that kind and still the one that the child names.

    (resolveControllerRef, which all upstream's controllers have)
    """
    reference = controller_of(child)
    if reference is None or reference["kind"] != kind.kind:
        return None
    found = listers[kind].get(f"{namespace_of(child)}/{reference['name']}")
    return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None


def owner_reference(kind: Kind, owner: Obj) -> Obj:
    """The reference by which an object says that it is controlled (metav1.NewControllerRef)."""
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
    """Whether somebody asked for its deletion."""
    return bool(obj["metadata"].get("deletionTimestamp"))


@dataclass(frozen=True, slots=True)
class Parent:
    """Who claims.

    Attributes:
        selector: of the children.
        admits: a further condition on a child, such as that its name has an ordinal.
    """

    kind: Kind
    obj: Obj
    selector: LabelSelector
    admits: Callable[[Obj], bool] = lambda _: True

    def matches(self, child: Obj) -> bool:
        """Whether the child is one that this parent wants."""
        return self.selector.matches(labels_of(child)) and self.admits(child)


def claim(parent: Parent, kind: Kind, children: Iterable[Obj]) -> Generator[Action, Any, list[Obj]]:
    """Adopt and release, and give the children that are the parent's, for `mine = yield from` this.

    Args:
        parent: who claims.
        kind: of the children.
        children: candidates: those it owns, and orphans of its namespace.

    Raises:
        ApiError: a child could not be adopted or released for a reason other than that it is gone; the rest was done.
    """
    mine: list[Obj] = []
    failure: ApiError | None = None
    uid, may_adopt = parent.obj["metadata"]["uid"], False
    for child in children:
        owner, matches = controller_of(child), parent.matches(child)
        try:
            if owner is not None:
                if owner["uid"] != uid:
                    continue
                if matches:
                    mine.append(child)
                elif not is_deleting(parent.obj):
                    yield from _release(kind, child, uid)
            elif matches and not is_deleting(parent.obj) and not is_deleting(child):
                if not may_adopt:
                    yield from check_alive(parent.kind, parent.obj)
                    may_adopt = True
                if (adopted := (yield from _adopt(parent, kind, child))) is not None:
                    mine.append(adopted)
        except ApiError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return mine


def check_alive(kind: Kind, parent: Obj) -> Plan:
    """Ask the server whether the parent still is who it was (RecheckDeletionTimestamp).

    Raises:
        ApiError: it is gone, another of the same name, or being deleted.
    """
    meta = parent["metadata"]
    live = yield Get(kind, key_of(parent))
    if live["metadata"]["uid"] != meta["uid"]:
        why = f"original {kind.kind} {key_of(parent)} is gone: got uid {live['metadata']['uid']}, wanted {meta['uid']}"
        raise conflict(kind.group, kind.plural, name=meta["name"], why=why)
    if is_deleting(live):
        why = f"{key_of(parent)} has just been deleted at {live['metadata']['deletionTimestamp']}"
        raise conflict(kind.group, kind.plural, name=meta["name"], why=why)


def _adopt(parent: Parent, kind: Kind, child: Obj) -> Generator[Action, Any, Obj | None]:
    reference = owner_reference(parent.kind, parent.obj)
    known = child["metadata"].get("ownerReferences") or []
    try:
        return (yield from _with_owners(kind, child, [reference], whole=[*known, reference]))
    except ApiError as error:
        if error.code == 404:
            return None
        raise


def _release(kind: Kind, child: Obj, uid: str) -> Plan:
    known = child["metadata"].get("ownerReferences") or []
    kept = [reference for reference in known if reference["uid"] != uid]
    try:
        yield from _with_owners(kind, child, [{"$patch": "delete", "uid": uid}], whole=kept)
    except ApiError as error:
        if error.code not in (404, 422):  # gone, or let go of before
            raise


def _with_owners(kind: Kind, child: Obj, change: list[Obj], *, whole: list[Obj]) -> Generator[Action, Any, Obj]:
    """Change the owners of a child; custom kinds know no strategic merge patch: they get all of them, at a revision."""
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
