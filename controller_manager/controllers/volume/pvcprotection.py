"""Removes the finalizer of deleted claims once no pod uses them (pkg/controller/volume/pvcprotection).

A key is a namespace: before its claims are released the server is asked for its pods, once for all of them.
"""

from collections.abc import Generator, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from apiserver.api.storage_classes import CLAIM_FINALIZER
from controller_manager.controllers.volume.protection import (
    is_deletion_candidate,
    needs_finalizer,
    pod_uses_claim,
    with_finalizer,
    without_finalizer,
)
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    Action,
    Batch,
    Change,
    ControllerSpec,
    Get,
    Index,
    Key,
    ListAll,
    Listers,
    Plan,
    Update,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import CLAIM, POD
from controller_manager.reconcile.pods import is_terminal
from controller_manager.reconcile.volumes import PODS_BY_CLAIM, claim_keys

MIN_INTERVAL = 0.1
"""Minimum seconds between two syncs of one namespace, so that many deleted claims cause one sync."""


def _needs_sync(claim: Obj) -> bool:
    return is_deletion_candidate(claim, CLAIM_FINALIZER) or needs_finalizer(claim, CLAIM_FINALIZER)


CLAIMS_TO_SYNC = Index(CLAIM, "unsettled", lambda claim: (namespace_of(claim),) if _needs_sync(claim) else ())
"""Claims that should get the finalizer, or that may lose it, by namespace."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The claims of a namespace that need a write.

    Attributes:
        unprotected: claims that lack the finalizer.
        unused: claims that no pod in the cache uses.
        known: the uids of all pods in the cache.
        waiting: pods that would use one of these claims if they had a node.
    """

    namespace: str
    unprotected: Sequence[Obj]
    unused: Sequence[Obj]
    known: AbstractSet[str]
    waiting: Sequence[Obj]


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return a namespace's claims to protect or to release, or None if there are none."""
    claims = listers[CLAIM].by_index(CLAIMS_TO_SYNC.name, key)
    unheld = [claim for claim in claims if needs_finalizer(claim, CLAIM_FINALIZER)]
    unused: list[Obj] = []
    waiting: list[Obj] = []
    for claim in claims:
        pods = listers[POD].by_index(PODS_BY_CLAIM.name, key_of(claim))
        if is_deletion_candidate(claim, CLAIM_FINALIZER) and not any(pod_uses_claim(pod, claim) for pod in pods):
            unused.append(claim)
            waiting.extend(pod for pod in pods if not pod["spec"].get("nodeName"))
    if not unheld and not unused:
        return None
    known = (
        {pod["metadata"]["uid"] for pod in listers[POD].by_index(NAMESPACE_INDEX, key)} if unused else frozenset[str]()
    )
    return Observed(key, unheld, unused, known, waiting)


def claim_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Yield the namespace of a claim that should be protected or may be released."""
    if change.new is not None and _needs_sync(change.new):
        yield namespace_of(change.new)


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Yield the namespace of a deleted, ended or unscheduled pod with a claim that may be released (enqueuePVCs)."""
    pod = change.obj
    if not pod["spec"].get("volumes"):
        return
    if change.new is None or is_terminal(pod) or not pod["spec"].get("nodeName"):
        claims = (listers[CLAIM].get(key) for key in claim_keys(pod))
        if any(claim is not None and is_deletion_candidate(claim, CLAIM_FINALIZER) for claim in claims):
            yield namespace_of(pod)


def reconcile(observed: Observed, now: float) -> Plan:
    """Protect claims, and release those that no pod uses.

    Raises:
        ApiError: the pods could not be listed, or a claim could not be written for a reason other than that it is gone.
    """
    del now
    written = [with_finalizer(claim, CLAIM_FINALIZER) for claim in observed.unprotected]
    if observed.unused:
        late = yield from _late_pods(observed)
        free = (claim for claim in observed.unused if not any(pod_uses_claim(pod, claim) for pod in late))
        written.extend(without_finalizer(claim, CLAIM_FINALIZER) for claim in free)
    for answer in (yield Batch([Update(CLAIM, claim) for claim in written])) if written else ():
        if isinstance(answer, ApiError) and answer.code != 404:
            raise answer


def _late_pods(observed: Observed) -> Generator[Action, Any, Sequence[Obj]]:
    """Return the pods for which the cache may be behind: new ones, and those that may have a node by now."""
    listed = yield ListAll(POD, observed.namespace)
    keys = [key_of(pod) for pod in listed if pod["metadata"]["uid"] not in observed.known]
    keys += [key_of(pod) for pod in observed.waiting]
    pods = []
    for answer in (yield Batch([Get(POD, key) for key in dict.fromkeys(keys)])) if keys else ():
        if not isinstance(answer, ApiError):
            pods.append(answer)
        elif answer.code != 404:
            raise answer
    return pods


SPEC = ControllerSpec(
    name="pvc-protection",
    account="pvc-protection-controller",
    watches=(Watch(CLAIM, claim_changed), Watch(POD, pod_changed)),
    observe=observe,
    reconcile=reconcile,
    min_interval=MIN_INTERVAL,
    indexes=(CLAIMS_TO_SYNC, PODS_BY_CLAIM),
    queue="pvcprotection",
)
