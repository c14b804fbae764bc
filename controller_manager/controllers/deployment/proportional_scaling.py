"""Resize a Deployment in the middle of a rollout: each ReplicaSet gets its share (sync.go scale).

For example, 10 replicas with maxSurge 3 are being rolled out, 8 by the old set and 5 by the new one, when
spec.replicas becomes 15. Then 15 + 3 pods are allowed, 5 more than the 13 there are:

    old: 8 * 18/13 = 11.08, rounded 11: 3 more
    new: 5 * 18/13 =  6.92, rounded  7: 2 more, which uses up the 5; a remainder would go to the largest set
"""

from collections.abc import Sequence

from apiserver.api.meta import Obj
from controller_manager.controllers.deployment.history import (
    DESIRED_REPLICAS_ANNOTATION,
    MAX_REPLICAS_ANNOTATION,
    int_annotation,
)
from controller_manager.controllers.deployment.replica_sets import (
    ReplicaSets,
    Resize,
    age_key,
    status_count,
    total_replicas,
)
from controller_manager.controllers.deployment.rolling import ROLLING, max_pods, strategy_of
from controller_manager.reconcile.replicas import replicas_of


def scaled_sizes(deployment: Obj, sets: ReplicaSets) -> list[Resize]:
    """Return the sizes that ReplicaSets should have after spec.replicas changed, or while the Deployment is paused.

    A set may have that size already: then only its size annotations are to be updated.
    """
    desired = replicas_of(deployment)
    if (only := active_or_latest(sets)) is not None:
        annotated = int_annotation(only, DESIRED_REPLICAS_ANNOTATION)
        # upstream skips a set that has the size already, and waits for ever if its annotation differs
        return [Resize(only, desired)] if replicas_of(only) != desired or annotated not in (None, desired) else []
    if is_saturated(deployment, sets.new):
        return [Resize(old, 0) for old in sets.old_active]
    if strategy_of(deployment) != ROLLING:
        return []
    return proportional_sizes(deployment, sets.active)


def active_or_latest(sets: ReplicaSets) -> Obj | None:
    """Return the only set with pods, the newest if none has any, or None if several do (FindActiveOrLatest)."""
    match sets.active:
        case ():
            return sets.new or (sets.old[-1] if sets.old else None)
        case (only,):
            return only
        case _:
            return None


def is_saturated(deployment: Obj, replica_set: Obj | None) -> bool:
    """Return whether the set has all the desired replicas: in its spec, its annotation and its available pods."""
    if replica_set is None:
        return False
    sizes = (
        replicas_of(replica_set),
        int_annotation(replica_set, DESIRED_REPLICAS_ANNOTATION),
        status_count(replica_set, "availableReplicas"),
    )
    return all(size == replicas_of(deployment) for size in sizes)


def proportional_sizes(deployment: Obj, active: Sequence[Obj]) -> list[Resize]:
    """Return each active set with its share of the pods to add or remove; the remainder goes to the largest."""
    allowed = max_pods(deployment) if replicas_of(deployment) else 0
    to_add = allowed - total_replicas(active)
    added, resizes = 0, []
    for replica_set in _largest_first(active, newer_first=to_add > 0):
        share = _share(deployment, replica_set, to_add - added)
        resizes.append(Resize(replica_set, replicas_of(replica_set) + share))
        added += share
    if resizes:
        resizes[0] = Resize(resizes[0].replica_set, max(0, resizes[0].size + to_add - added))
    return resizes


def _largest_first(sets: Sequence[Obj], *, newer_first: bool) -> list[Obj]:
    return sorted(sorted(sets, key=age_key, reverse=newer_first), key=replicas_of, reverse=True)


def _share(deployment: Obj, replica_set: Obj, left: int) -> int:
    """Return how many pods a set gains (or loses, if negative), at most what is left (GetReplicaSetProportion)."""
    if not left:
        return 0
    fraction = _fraction(deployment, replica_set)
    return min(fraction, left) if left > 0 else max(fraction, left)


def _fraction(deployment: Obj, replica_set: Obj) -> int:
    """Return by how much a set changes if it keeps its share of the whole (getReplicaSetFraction)."""
    size = replicas_of(replica_set)
    if not replicas_of(deployment):
        return -size
    whole = int_annotation(replica_set, MAX_REPLICAS_ANNOTATION) or status_count(deployment, "replicas")
    if whole <= 0:
        return 0
    return (2 * size * max_pods(deployment) + whole) // (2 * whole) - size  # rounded half up
