"""The garbage collector's patches of owner references and finalizers, and its choice of deletion propagation.

Each change of references is available as two patches: a strategic merge patch, which needs no revision, and a JSON
merge patch that holds all references, for kinds that support no other (pkg/controller/garbagecollector/patch.go).
"""

from collections.abc import Collection, Iterable

from apiserver.api.meta import Obj
from controller_manager.controllers.garbagecollector.graph import (
    FOREGROUND_FINALIZER,
    ORPHAN_FINALIZER,
    blocks_owner_deletion,
)


def propagation_of(meta: Obj) -> str:
    """Return how to delete an item without owners: as its finalizers say, else in the background."""
    finalizers = meta.get("finalizers") or ()
    if ORPHAN_FINALIZER in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND_FINALIZER in finalizers else "Background"


def owners_deletion_patch(meta: Obj, uids: Iterable[str]) -> Obj:
    """Return the strategic merge patch that removes owner references (GenerateDeleteOwnerRefStrategicMergeBytes)."""
    gone = [{"$patch": "delete", "uid": uid} for uid in uids]
    return {"metadata": {"uid": meta["uid"], "ownerReferences": gone}}


def owners_deletion_merge_patch(meta: Obj, uids: Collection[str]) -> Obj:
    """Return the same change as a merge patch, which holds all remaining references and the revision."""
    kept = [reference for reference in meta.get("ownerReferences") or () if reference["uid"] not in uids]
    return _merge_patch(meta, kept)


def unblocking_patch(meta: Obj) -> Obj:
    """Return the strategic merge patch after which no reference blocks its owner's deletion."""
    blocking = [reference for reference in meta.get("ownerReferences") or () if blocks_owner_deletion(reference)]
    freed = [reference | {"blockOwnerDeletion": False} for reference in blocking]
    return {"metadata": {"uid": meta["uid"], "ownerReferences": freed}}


def unblocking_merge_patch(meta: Obj) -> Obj:
    """Return the same change as a merge patch."""
    references = meta.get("ownerReferences") or ()
    return _merge_patch(meta, [reference | {"blockOwnerDeletion": False} for reference in references])


def _merge_patch(meta: Obj, references: list[Obj]) -> Obj:
    guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    return {"metadata": guard | {"ownerReferences": references or None}}
