"""Claims, volumes and the pods that use them, as caches find them: for the controllers of storage."""

from collections.abc import Iterable

from apiserver.api.meta import Obj
from controller_manager.planning.conditions import phase_of
from controller_manager.planning.volumes import claim_key, claim_keys, class_of
from controller_manager.runtime.contract import Index
from controller_manager.runtime.kinds import CLAIM, POD, VOLUME


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
"""Volumes by the key of the claim that they are for."""
FREE_VOLUMES = Index(VOLUME, "free", _free)
"""Volumes that are for no claim, by class."""
WAITING_CLAIMS = Index(CLAIM, "waiting", _waiting)
"""Claims that have no volume yet, by class."""
PODS_BY_CLAIM = Index(POD, "claim", _used)
"""Pods by the keys of the claims that they use."""
