"""Finalizers that hold claims and volumes while they are in use (pkg/controller/volume/protectionutil)."""

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.volumes import claim_name


def may_go(obj: Obj, finalizer: str) -> bool:
    """Whether somebody deleted the object and the finalizer holds it (IsDeletionCandidate)."""
    meta = obj["metadata"]
    return bool(meta.get("deletionTimestamp")) and finalizer in (meta.get("finalizers") or ())


def lacks(obj: Obj, finalizer: str) -> bool:
    """Whether nobody deleted the object and the finalizer would not hold it (NeedToAddFinalizer)."""
    meta = obj["metadata"]
    return not meta.get("deletionTimestamp") and finalizer not in (meta.get("finalizers") or ())


def held(obj: Obj, finalizer: str) -> Obj:
    """The object with the finalizer."""
    meta = obj["metadata"]
    return obj | {"metadata": meta | {"finalizers": [*(meta.get("finalizers") or ()), finalizer]}}


def let_go(obj: Obj, finalizer: str) -> Obj:
    """The object without the finalizer."""
    meta = obj["metadata"]
    return obj | {"metadata": meta | {"finalizers": [each for each in meta["finalizers"] if each != finalizer]}}


def uses(pod: Obj, claim: Obj) -> bool:
    """Whether the pod has a node and a volume that is the claim's, be it that it has ended (podUsesPVC).

    A claim of the pod's own is in use no longer once the kubelet is done with the pod.
    """
    if not pod["spec"].get("nodeName") or namespace_of(pod) != namespace_of(claim):
        return False
    return any(
        claim_name(pod, volume) == name_of(claim)
        and (bool(volume.get("persistentVolumeClaim")) or (_is_owner(pod, claim) and not _is_shut_down(pod)))
        for volume in pod["spec"].get("volumes") or ()
    )


def _is_owner(pod: Obj, claim: Obj) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == pod["metadata"]["uid"] for owner in owners)


def _is_shut_down(pod: Obj) -> bool:
    meta = pod["metadata"]
    return bool(meta.get("deletionTimestamp")) and meta.get("deletionGracePeriodSeconds") == 0
