"""Finalizers that protect claims and volumes while they are in use (pkg/controller/volume/protectionutil)."""

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.volumes import claim_name


def is_deletion_candidate(obj: Obj, finalizer: str) -> bool:
    """Return whether the object is being deleted and only waits for its finalizers (IsDeletionCandidate)."""
    meta = obj["metadata"]
    return bool(meta.get("deletionTimestamp")) and finalizer in (meta.get("finalizers") or ())


def needs_finalizer(obj: Obj, finalizer: str) -> bool:
    """Return whether the object is not being deleted and does not have the finalizer (NeedToAddFinalizer)."""
    meta = obj["metadata"]
    return not meta.get("deletionTimestamp") and finalizer not in (meta.get("finalizers") or ())


def with_finalizer(obj: Obj, finalizer: str) -> Obj:
    """Return the object with the finalizer added."""
    meta = obj["metadata"]
    return obj | {"metadata": meta | {"finalizers": [*(meta.get("finalizers") or ()), finalizer]}}


def without_finalizer(obj: Obj, finalizer: str) -> Obj:
    """Return the object with the finalizer removed."""
    meta = obj["metadata"]
    return obj | {"metadata": meta | {"finalizers": [name for name in meta["finalizers"] if name != finalizer]}}


def pod_uses_claim(pod: Obj, claim: Obj) -> bool:
    """Return whether a pod that has a node uses the claim as a volume, even if the pod has ended (podUsesPVC).

    The claim of an ephemeral volume is no longer in use once the kubelet has finished with the pod.
    """
    if not pod["spec"].get("nodeName") or namespace_of(pod) != namespace_of(claim):
        return False
    return any(
        claim_name(pod, volume) == name_of(claim)
        and (bool(volume.get("persistentVolumeClaim")) or (_is_owner(pod, claim) and not _is_finished(pod)))
        for volume in pod["spec"].get("volumes") or ()
    )


def _is_owner(pod: Obj, claim: Obj) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == pod["metadata"]["uid"] for owner in owners)


def _is_finished(pod: Obj) -> bool:
    meta = pod["metadata"]
    return bool(meta.get("deletionTimestamp")) and meta.get("deletionGracePeriodSeconds") == 0
