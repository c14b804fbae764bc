"""What the garbage collector writes: patches of owner references and finalizers, and how an item is deleted.

Each change of references comes as two patches: a strategic merge patch, which needs no revision, and a merge patch that
holds all of them, for the kinds that know no other (pkg/controller/garbagecollector/patch.go).
"""

from collections.abc import Collection, Iterable

from apiserver.api.meta import Obj
from controller_manager.controllers.garbagecollector.graph import FOREGROUND, ORPHAN, blocks


def propagation_of(meta: Obj) -> str:
    """How an item without owners is deleted: as finalizers that it has already say, else in the background."""
    finalizers = meta.get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def owners_deleted(meta: Obj, uids: Iterable[str]) -> Obj:
    """The strategic merge patch that takes references out of an object (GenerateDeleteOwnerRefStrategicMergeBytes)."""
    gone = [{"$patch": "delete", "uid": uid} for uid in uids]
    return {"metadata": {"uid": meta["uid"], "ownerReferences": gone}}


def owners_kept(meta: Obj, uids: Collection[str]) -> Obj:
    """The same as a merge patch, for kinds that know no other: it holds all other references, and the revision."""
    kept = [reference for reference in meta.get("ownerReferences") or () if reference["uid"] not in uids]
    return _merged(meta, kept)


def owners_unblocked(meta: Obj) -> Obj:
    """The strategic merge patch by which no reference blocks its owner's deletion any more."""
    blocking = [reference for reference in meta.get("ownerReferences") or () if blocks(reference)]
    freed = [reference | {"blockOwnerDeletion": False} for reference in blocking]
    return {"metadata": {"uid": meta["uid"], "ownerReferences": freed}}


def owners_all_unblocked(meta: Obj) -> Obj:
    """The same as a merge patch."""
    references = meta.get("ownerReferences") or ()
    return _merged(meta, [reference | {"blockOwnerDeletion": False} for reference in references])


def _merged(meta: Obj, references: list[Obj]) -> Obj:
    guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    return {"metadata": guard | {"ownerReferences": references or None}}
