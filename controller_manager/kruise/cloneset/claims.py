"""Cleanup of a CloneSet's claims: they are deleted with their pods (cleanupPVCs)."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.kruise.cloneset.pods import instance_id
from controller_manager.kruise.cloneset.scale import delete_claims
from controller_manager.reconcile.contract import WARNING, Action, Plan, RecordEvent, Update
from controller_manager.reconcile.controller_ref import owner_reference
from controller_manager.reconcile.kinds import CLAIM, POD


def clean_up_claims(
    parent: Obj, claims: Sequence[Obj], *, active: Iterable[Obj], inactive: Iterable[Obj]
) -> Generator[Action, Any, list[Obj]]:
    """Delete claims without a pod, and make terminating pods the owners of theirs; return the claims of active pods.

    Args:
        parent: the CloneSet.
        claims: those that it owns and that are not being deleted.
        active: its active pods.
        inactive: its pods that have ended, or are being deleted.

    Raises:
        ApiError: the first error other than that a claim is gone.
    """
    active_ids, inactive_by_id = {instance_id(pod) for pod in active}, {instance_id(pod): pod for pod in inactive}
    kept, orphaned = list[Obj](), list[Obj]()
    for claim in claims:
        if instance_id(claim) in active_ids:
            kept.append(claim)
        elif (pod := inactive_by_id.get(instance_id(claim))) is not None:
            yield from _set_pod_as_owner(parent, claim, pod)
        else:
            orphaned.append(claim)
    if refusals := (yield from delete_claims(parent, orphaned, "failed to clean up PVC")):
        raise refusals[0]
    return kept


def _set_pod_as_owner(parent: Obj, claim: Obj, pod: Obj) -> Plan:
    """Make the pod the owner of a claim, so that both are garbage-collected together (updateClaimOwnerRefToPod)."""
    uid = parent["metadata"]["uid"]
    others = [owner for owner in claim["metadata"].get("ownerReferences") or () if owner["uid"] != uid]
    owners = [*others, owner_reference(POD, pod)]
    try:
        yield Update(CLAIM, claim | {"metadata": claim["metadata"] | {"ownerReferences": owners}})
    except ApiError as error:
        if error.code != 404:
            yield RecordEvent(
                parent, "FailedUpdate", f"failed to update PVC {name_of(claim)}: {error.message}", WARNING
            )
            raise
