"""Claims and volumes: which volume suits a claim, the fields that bind them, and indexes to find them in caches.

From component-helpers/storage/volume/pv_helpers.go and pkg/controller/volume/persistentvolume.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from apiserver.api import quantity
from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from apiserver.api.storage_classes import CLASS_ANNOTATION
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import Index
from controller_manager.reconcile.kinds import CLAIM, POD, VOLUME
from controller_manager.reconcile.selectors import lenient_selector
from controller_manager.reconcile.times import format_time

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


# -- fields of claims and volumes --------------------------------------------------------------------------------------


def class_of(obj: Obj) -> str:
    """Return the name of the storage class of a claim or a volume, or "" if it has none."""
    return str(annotations_of(obj).get(CLASS_ANNOTATION) or (obj["spec"].get("storageClassName") or ""))


def has_class(claim: Obj) -> bool:
    """Return whether the claim names a class, or "" to have none (PersistentVolumeClaimHasClass)."""
    return CLASS_ANNOTATION in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def modes_of(obj: Obj) -> Sequence[str]:
    """Return the access modes of a claim or a volume."""
    return obj["spec"].get("accessModes") or ()


def requested_size(claim: Obj) -> int:
    """Return the bytes that a claim requests."""
    return quantity.of((claim["spec"].get("resources") or {}).get("requests", {}).get("storage")).value


def size_of(volume: Obj) -> int:
    """Return the capacity of a volume in bytes."""
    return quantity.of((volume["spec"].get("capacity") or {}).get("storage")).value


def is_bound(claim: Obj) -> bool:
    """Return whether the claim is completely bound to a volume."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def is_reserved_for(volume: Obj, claim: Obj) -> bool:
    """Return whether the volume is reserved for the claim, or bound to it (IsVolumeBoundToClaim)."""
    reference = volume["spec"].get("claimRef")
    if reference is None or claim_key(reference) != f"{namespace_of(claim)}/{name_of(claim)}":
        return False
    return reference.get("uid") in (None, "", claim["metadata"]["uid"])


def claim_key(reference: Obj) -> str:
    """Return the key of the claim to which a volume's claimRef points."""
    return f"{reference.get('namespace') or ''}/{reference.get('name') or ''}"


def claim_keys(pod: Obj) -> Iterator[str]:
    """Yield the keys of the claims that a pod uses, including those for its ephemeral volumes."""
    for volume in pod["spec"].get("volumes") or ():
        if name := claim_name(pod, volume):
            yield f"{namespace_of(pod)}/{name}"


def claim_name(pod: Obj, volume: Obj) -> str:
    """Return the name of the claim behind a volume of a pod, or "" if there is none."""
    if source := volume.get("persistentVolumeClaim"):
        return str(source["claimName"])
    return f"{name_of(pod)}-{volume['name']}" if volume.get("ephemeral") is not None else ""


# -- matching ----------------------------------------------------------------------------------------------------------


def has_mode(volume: Obj, claim: Obj) -> bool:
    """Return whether volume and claim have the same mode, Filesystem or Block (CheckVolumeModeMismatches)."""
    claim_mode, volume_mode = claim["spec"].get("volumeMode"), volume["spec"].get("volumeMode")
    return bool((claim_mode or "Filesystem") == (volume_mode or "Filesystem"))


def mismatch_reason(volume: Obj, claim: Obj) -> str:
    """Return why the volume does not satisfy the claim, or "" if it does (checkVolumeSatisfyClaim)."""
    if volume["metadata"].get("deletionTimestamp"):
        return f'the volume is marked for deletion "{name_of(volume)}"'
    if size_of(volume) < requested_size(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if not has_mode(volume, claim):
        return "incompatible volumeMode"
    return "incompatible accessMode" if set(modes_of(claim)) - set(modes_of(volume)) else ""


def selector_matches(claim: Obj, volume: Obj) -> bool:
    """Return whether the claim's selector, if it has one, matches the volume."""
    selector = claim["spec"].get("selector")
    return selector is None or lenient_selector(selector).matches(labels_of(volume))


def best_match(claim: Obj, volumes: Iterable[Obj], *, waits: bool) -> Obj | None:
    """Return the volume that suits a claim best: fewest modes, then reserved for it, then smallest; None if none does.

    (findBestMatchForClaim, FindMatchingVolume)

    Args:
        claim: the claim.
        volumes: all candidates.
        waits: True if the scheduler binds the claim when a pod uses it, unless a volume is reserved for it.
    """
    candidates = [volume for volume in volumes if _is_candidate(volume, claim, waits=waits)]
    return min(
        candidates,
        key=lambda volume: (
            len(modes_of(volume)),
            not is_reserved_for(volume, claim),
            size_of(volume),
            name_of(volume),
        ),
        default=None,
    )


def _is_candidate(volume: Obj, claim: Obj, *, waits: bool) -> bool:
    if (
        volume["metadata"].get("deletionTimestamp")
        or size_of(volume) < requested_size(claim)
        or not has_mode(volume, claim)
        or set(modes_of(claim)) - set(modes_of(volume))
    ):
        return False
    if is_reserved_for(volume, claim):
        return True
    is_free = volume["spec"].get("claimRef") is None and phase_of(volume) == "Available"
    return is_free and not waits and class_of(volume) == class_of(claim) and selector_matches(claim, volume)


# -- binding -----------------------------------------------------------------------------------------------------------


def reference_to(claim: Obj) -> Obj:
    """Return the claimRef of a volume for a claim."""
    meta = claim["metadata"]
    fields = {name: meta.get(name) for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim"} | fields


def bound_volume(volume: Obj, claim: Obj) -> Obj:
    """Return the volume, bound to the claim; unchanged if it is already (GetBindVolumeToClaim)."""
    spec, bound = volume["spec"], volume
    reference = spec.get("claimRef") or {}
    if not is_reserved_for(volume, claim) and BOUND_BY_CONTROLLER not in annotations_of(volume):
        bound = _annotated(bound, {BOUND_BY_CONTROLLER: "yes"})
    if not is_reserved_for(volume, claim) or reference.get("uid") != claim["metadata"]["uid"]:
        bound = bound | {"spec": spec | {"claimRef": reference_to(claim)}}
    return bound


def unbound_volume(volume: Obj) -> Obj:
    """Return the volume as it was before it was bound, still reserved for a claim if it was before (unbindVolume)."""
    spec, annotations = volume["spec"], dict(annotations_of(volume))
    if annotations.pop(BOUND_BY_CONTROLLER, None) is None:
        kept = {name: value for name, value in spec["claimRef"].items() if name != "uid"}
        return volume | {"spec": spec | {"claimRef": kept}}
    rest = {name: value for name, value in spec.items() if name != "claimRef"}
    meta = {name: value for name, value in volume["metadata"].items() if name != "annotations"}
    return volume | {"spec": rest, "metadata": meta | ({"annotations": annotations} if annotations else {})}


def bound_claim(claim: Obj, volume: Obj) -> Obj:
    """Return the claim, bound to the volume; unchanged if it is already (bindClaimToVolume)."""
    bound, annotations = claim, {BIND_COMPLETED: "yes"}
    if claim["spec"].get("volumeName") != name_of(volume):
        bound = claim | {"spec": claim["spec"] | {"volumeName": name_of(volume)}}
        annotations[BOUND_BY_CONTROLLER] = "yes"
    missing = {name: value for name, value in annotations.items() if name not in annotations_of(claim)}
    return _annotated(bound, missing) if missing else bound


def _annotated(obj: Obj, annotations: Mapping[str, str]) -> Obj:
    return obj | {"metadata": obj["metadata"] | {"annotations": {**annotations_of(obj), **annotations}}}


def claim_status(claim: Obj, phase: str, volume: Obj | None = None) -> Obj:
    """Return the status of a claim in a phase, with the modes and capacity of its volume (updateClaimStatus).

    A claim that is bound already keeps its capacity: its file system may be smaller than the volume.
    """
    before = claim.get("status") or {}
    status = {name: value for name, value in before.items() if name not in ("accessModes", "capacity")}
    if volume is not None:
        is_known = before.get("phase") == phase
        capacity = before.get("capacity") if is_known else volume["spec"].get("capacity")
        offered = {"accessModes": volume["spec"].get("accessModes"), "capacity": capacity}
        status |= {name: value for name, value in offered.items() if value}
    return status | {"phase": phase}


def volume_status(volume: Obj, phase: str, *, now: float, message: str = "") -> Obj:
    """Return the status of a volume in a phase; unchanged if it is in it (updateVolumePhase)."""
    before: Obj = volume.get("status") or {}
    if before.get("phase") == phase:
        return before
    status = {name: value for name, value in before.items() if name != "message"}
    status |= {"phase": phase, "lastPhaseTransitionTime": format_time(now)}
    return status | ({"message": message} if message else {})


def _claimed(volume: Obj) -> Iterable[str]:
    reference = volume["spec"].get("claimRef")
    return (claim_key(reference),) if reference is not None else ()


def _free(volume: Obj) -> Iterable[str]:
    return (class_of(volume),) if volume["spec"].get("claimRef") is None else ()


def _waiting(claim: Obj) -> Iterable[str]:
    return (class_of(claim),) if phase_of(claim) in ("", "Pending") else ()


def _used(pod: Obj) -> Iterable[str]:
    return claim_keys(pod) if pod["spec"].get("volumes") else ()


VOLUMES_BY_CLAIM = Index(VOLUME, "claim", _claimed)
"""Volumes by the key of the claim in their claimRef."""
FREE_VOLUMES = Index(VOLUME, "free", _free)
"""Volumes without a claimRef, by class."""
WAITING_CLAIMS = Index(CLAIM, "waiting", _waiting)
"""Claims that are not bound yet, by class."""
PODS_BY_CLAIM = Index(POD, "claim", _used)
"""Pods by the keys of the claims that they use."""
