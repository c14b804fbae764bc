"""The persistent volume binder: matches claims with volumes, and reclaims volumes after their claims.

A key is a claim's, with its namespace, or the name of a volume. All writes are guarded by the revision that was read,
so that if two claims find the same volume, one of them is refused and retried.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of
from apiserver.api.storage_classes import default_of, is_default
from controller_manager.controllers.volume.claims import ObservedClaim, sync_claim, waits_for_consumer
from controller_manager.controllers.volume.provisioning import is_deletable, undeletable_reason
from controller_manager.controllers.volume.writes import mark_volume_failed, set_volume_phase, unbind_volume
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import (
    WARNING,
    Action,
    Change,
    ControllerSpec,
    Delete,
    Enqueue,
    Get,
    Key,
    Listers,
    Plan,
    RecordEvent,
    Watch,
    enqueue_self,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.deletion import delete_if_exists
from controller_manager.reconcile.kinds import CLAIM, NODE, POD, STORAGE_CLASS, VOLUME
from controller_manager.reconcile.pods import is_terminal
from controller_manager.reconcile.volumes import (
    FREE_VOLUMES,
    PODS_BY_CLAIM,
    PROVISIONED_BY,
    SELECTED_NODE,
    VOLUMES_BY_CLAIM,
    WAITING_CLAIMS,
    best_match,
    claim_key,
    class_of,
    has_class,
    has_mode,
)

PERIODIC_KEY = ""
"""The key for the periodic sync of unbound claims, and of volumes to reclaim."""
SYNC_SECONDS = 15.0
"""Seconds between two periodic syncs (--pvclaimbinder-sync-period)."""

_RECLAIM_PHASES = ("Released", "Failed")


@dataclass(frozen=True, slots=True)
class ObservedVolume:
    """A volume, and the claim of the name in its claimRef, if that exists."""

    volume: Obj
    claim: Obj | None


@dataclass(frozen=True, slots=True)
class PendingKeys:
    """The keys of unbound claims and of volumes to reclaim."""

    keys: Sequence[Key]


# -- observe -----------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> ObservedClaim | ObservedVolume | PendingKeys | None:
    """Return the claim or the volume of that key with related objects, or None if it is gone."""
    if key == PERIODIC_KEY:
        return PendingKeys([*_unbound_claims(listers), *_volumes_to_reclaim(listers)])
    if "/" in key:
        claim = listers[CLAIM].get(key)
        return _observe_claim(listers, claim) if claim is not None else None
    volume = listers[VOLUME].get(key)
    if volume is None:
        return None
    reference = volume["spec"].get("claimRef")
    return ObservedVolume(volume, listers[CLAIM].get(claim_key(reference)) if reference is not None else None)


def _unbound_claims(listers: Listers) -> Iterable[Key]:
    return (key_of(claim) for claim in listers[CLAIM] if phase_of(claim) in ("", "Pending"))


def _volumes_to_reclaim(listers: Listers) -> Iterable[Key]:
    for volume in listers[VOLUME]:
        if phase_of(volume) in _RECLAIM_PHASES and volume["spec"].get("persistentVolumeReclaimPolicy") != "Retain":
            yield name_of(volume)


def _observe_claim(listers: Listers, claim: Obj) -> ObservedClaim:
    name, key = claim["spec"].get("volumeName"), key_of(claim)
    if name:
        return ObservedClaim(claim, listers[VOLUME].get(name))
    storage_class = listers[STORAGE_CLASS].get(class_of(claim))
    volumes = (
        *listers[VOLUME].by_index(VOLUMES_BY_CLAIM.name, key),
        *listers[VOLUME].by_index(FREE_VOLUMES.name, class_of(claim)),
    )
    node = annotations_of(claim).get(SELECTED_NODE)
    return ObservedClaim(
        claim,
        match=best_match(claim, volumes, waits=waits_for_consumer(storage_class)),
        storage_class=storage_class,
        default=None if has_class(claim) else default_of(listers[STORAGE_CLASS]),
        node=listers[NODE].get(node) if node else None,
        pods=_unscheduled_pods(listers, key),
    )


def _unscheduled_pods(listers: Listers, key: Key) -> Sequence[str]:
    """Return the names of the pods that use a claim and have no node (findNonScheduledPodsByPVC)."""
    pods = listers[POD].by_index(PODS_BY_CLAIM.name, key)
    return sorted(name_of(pod) for pod in pods if not pod["spec"].get("nodeName") and not is_terminal(pod))


def claim_deleted(listers: Listers, change: Change) -> Iterable[Key]:
    """Yield the names of the volumes bound to a deleted claim."""
    if change.new is None:
        for volume in listers[VOLUME].by_index(VOLUMES_BY_CLAIM.name, key_of(change.obj)):
            yield name_of(volume)


def volume_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Yield the claim of a deleted volume, and all claims that may use a volume that has become available."""
    volume = change.obj
    if change.new is None:
        if reference := volume["spec"].get("claimRef"):
            yield claim_key(reference)
    elif change.old is not change.new and phase_of(volume) == "Available" and not _was_available(change.old):
        yield from map(key_of, listers[CLAIM].by_index(WAITING_CLAIMS.name, class_of(volume)))


def _was_available(old: Obj | None) -> bool:
    return old is not None and phase_of(old) == "Available"


def class_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Yield the claims that wait for a class, and those without a class if it is the default."""
    if change.new is not None and change.old is not change.new:
        claims = listers[CLAIM].by_index(WAITING_CLAIMS.name, name_of(change.new))
        without = listers[CLAIM].by_index(WAITING_CLAIMS.name, "") if is_default(change.new) else ()
        yield from map(key_of, (*claims, *without))


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: ObservedClaim | ObservedVolume | PendingKeys, now: float) -> Plan:
    """Bind, provision and reclaim (pv_controller.go syncClaim, syncVolume).

    Raises:
        ApiError: a write was refused; the retry reads what has changed.
    """
    match observed:
        case PendingKeys(keys=keys):
            yield Enqueue(keys)
        case ObservedClaim():
            yield from sync_claim(observed, now)
        case ObservedVolume():
            yield from _sync_volume(observed, now)


def _sync_volume(observed: ObservedVolume, now: float) -> Plan:
    """Update the volume's phase, and reclaim it in the end (syncVolume)."""
    volume, reference = observed.volume, observed.volume["spec"].get("claimRef") or {}
    if not reference.get("uid"):
        yield from set_volume_phase(volume, "Available", now)
        return
    claim = yield from _claim_of(observed)
    bound_to = claim["spec"].get("volumeName") if claim is not None else None
    if claim is None:
        yield from _reclaim(volume, now)
    elif bound_to == name_of(volume):
        yield from set_volume_phase(volume, "Bound", now)
    elif not bound_to:
        yield from _complete_binding(volume, claim)
    elif PROVISIONED_BY in annotations_of(volume) and _policy(volume) == "Delete":
        yield from _reclaim(volume, now)
    else:
        yield from unbind_volume(volume, now)


def _policy(volume: Obj) -> str:
    return volume["spec"].get("persistentVolumeReclaimPolicy") or "Retain"


def _claim_of(observed: ObservedVolume) -> Generator[Action, Any, Obj | None]:
    """Return the claim to which the volume is bound, or None if it is gone or replaced by another of its name.

    The cache may have a volume before the claim that it was created for, so the server is asked before the volume is
    released.
    """
    reference, claim = observed.volume["spec"]["claimRef"], observed.claim
    if claim is None and phase_of(observed.volume) not in _RECLAIM_PHASES:
        try:
            claim = yield Get(CLAIM, claim_key(reference))
        except ApiError as error:
            if error.code != 404:
                raise
    return claim if claim is not None and claim["metadata"]["uid"] == reference["uid"] else None


def _complete_binding(volume: Obj, claim: Obj) -> Plan:
    """Enqueue a claim that should bind to its volume; only an incompatible volume mode prevents that."""
    if has_mode(volume, claim):
        yield Enqueue([key_of(claim)])
        return
    ours, theirs = name_of(volume), name_of(claim)
    message = (
        f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{theirs}" due to incompatible volumeMode.'
    )
    yield RecordEvent(volume, "VolumeMismatch", message, WARNING)
    message = (
        f'Cannot bind PersistentVolume "{ours}" to requested PersistentVolumeClaim due to incompatible volumeMode.'
    )
    yield RecordEvent(claim, "VolumeMismatch", message, WARNING)


def _reclaim(volume: Obj, now: float) -> Plan:
    """Release a volume, then apply its reclaim policy (reclaimVolume)."""
    if phase_of(volume) not in _RECLAIM_PHASES:
        volume = yield from set_volume_phase(volume, "Released", now)
    if _policy(volume) == "Recycle":
        yield from mark_volume_failed(volume, "VolumeFailedRecycle", "No recycler plugin found for the volume!", now)
    elif _policy(volume) == "Delete" and is_deletable(volume):
        if reason := undeletable_reason(volume):
            yield from mark_volume_failed(volume, "VolumeFailedDelete", reason, now)
        elif not is_deleting(volume):
            yield from delete_if_exists(Delete(VOLUME, name_of(volume), uid=volume["metadata"]["uid"]))


SPEC = ControllerSpec(
    name="persistentvolume-binder",
    account="persistent-volume-binder",
    watches=(
        Watch(CLAIM, enqueue_self),
        Watch(CLAIM, claim_deleted),
        Watch(VOLUME, enqueue_self),
        Watch(VOLUME, volume_changed),
        Watch(STORAGE_CLASS, class_changed),
        Watch(POD),
        Watch(NODE),
    ),
    observe=observe,
    reconcile=reconcile,
    source="persistentvolume-controller",
    sync_period=SYNC_SECONDS,
    periodic_keys=(PERIODIC_KEY,),
    indexes=(VOLUMES_BY_CLAIM, FREE_VOLUMES, WAITING_CLAIMS, PODS_BY_CLAIM),
    queue="claims",
)
