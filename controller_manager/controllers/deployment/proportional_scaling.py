"""Resizing a Deployment in the middle of a rollout: each ReplicaSet gets its share (sync.go scale).

For example, 10 replicas with maxSurge 3 are being rolled out, 8 by the old set and 5 by the new one, when
spec.replicas becomes 15. Then 15 + 3 pods are allowed, 5 more than the 13 there are:

    old: 8 * 18/13 = 11.08, rounded 11: 3 more
    new: 5 * 18/13 =  6.92, rounded  7: 2 more, which uses up the 5; a remainder would go to the largest set
"""

from collections.abc import Sequence

from apiserver.api.meta import Obj
from controller_manager.controllers.deployment.history import DESIRED, MOST, number_in
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, Resize, age, count, wanted
from controller_manager.controllers.deployment.rolling import ROLLING, max_pods, strategy_of
from controller_manager.reconcile.replicas import replicas_of


def resized(deployment: Obj, sets: ReplicaSets) -> list[Resize]:
    """The sizes that ReplicaSets are to have now that spec.replicas changed, or while the Deployment is paused.

    A size may be the one that the set has: then only what it is told of sizes is to be brought up to date.
    """
    desired = replicas_of(deployment)
    if (only := active_or_latest(sets)) is not None:
        told = number_in(only, DESIRED)
        # upstream leaves a set alone that has the size already, and if it was told another waits for ever
        return [Resize(only, desired)] if replicas_of(only) != desired or told not in (None, desired) else []
    if is_saturated(deployment, sets.new):
        return [Resize(old, 0) for old in sets.old_active]
    if strategy_of(deployment) != ROLLING:
        return []
    return in_proportion(deployment, sets.active)


def active_or_latest(sets: ReplicaSets) -> Obj | None:
    """The one set that has pods; the newest where none has; None where several have (FindActiveOrLatest)."""
    match sets.active:
        case ():
            return sets.new or (sets.old[-1] if sets.old else None)
        case (only,):
            return only
        case _:
            return None


def is_saturated(deployment: Obj, replica_set: Obj | None) -> bool:
    """Whether the set has all that is asked for: by size, by what it was told, and by pods that are available."""
    if replica_set is None:
        return False
    sizes = (replicas_of(replica_set), number_in(replica_set, DESIRED), count(replica_set, "availableReplicas"))
    return all(size == replicas_of(deployment) for size in sizes)


def in_proportion(deployment: Obj, active: Sequence[Obj]) -> list[Resize]:
    """All active sets with their shares of what is to be added or taken away; what is left over goes to the largest."""
    allowed = max_pods(deployment) if replicas_of(deployment) else 0
    to_add = allowed - wanted(active)
    added, found = 0, []
    for replica_set in _largest_first(active, newer_first=to_add > 0):
        share = _share(deployment, replica_set, to_add - added)
        found.append(Resize(replica_set, replicas_of(replica_set) + share))
        added += share
    if found:
        found[0] = Resize(found[0].replica_set, max(0, found[0].size + to_add - added))
    return found


def _largest_first(sets: Sequence[Obj], *, newer_first: bool) -> list[Obj]:
    return sorted(sorted(sets, key=age, reverse=newer_first), key=replicas_of, reverse=True)


def _share(deployment: Obj, replica_set: Obj, left: int) -> int:
    """What a set gains or loses, at most what is left (GetReplicaSetProportion)."""
    if not left:
        return 0
    fraction = _fraction(deployment, replica_set)
    return min(fraction, left) if left > 0 else max(fraction, left)


def _fraction(deployment: Obj, replica_set: Obj) -> int:
    """By how much a set changes when it keeps its part of the whole (getReplicaSetFraction)."""
    size = replicas_of(replica_set)
    if not replicas_of(deployment):
        return -size
    whole = number_in(replica_set, MOST) or count(deployment, "replicas")
    if whole <= 0:
        return 0
    return (2 * size * max_pods(deployment) + whole) // (2 * whole) - size  # rounded, halves up
