"""Calculate how many pods each ReplicaSet may have during a rollout (rolling.go, util/deployment_util.go)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, Resize, status_count, total_replicas
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.replicas import replicas_of

RECREATE, ROLLING = "Recreate", "RollingUpdate"


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """Limits for the deviation of a rollout from the desired number of pods.

    Attributes:
        surge: how many pods more than desired may exist.
        unavailable: how many pods fewer than desired may be available.
    """

    surge: int
    unavailable: int


def fenceposts(surge: int | str | None, unavailable: int | str | None, desired: int) -> RolloutLimits:
    """Resolve maxSurge and maxUnavailable to numbers of pods, which are never both zero (ResolveFenceposts).

    Raises:
        ValueError: one of them is a string that is not a percentage.
    """
    more, fewer = scaled(surge, desired, round_up=True), scaled(unavailable, desired, round_up=False)
    return RolloutLimits(more, fewer or (0 if more else 1))


def strategy_of(deployment: Obj) -> str:
    """Return spec.strategy.type, or "" if it is not set."""
    return (deployment["spec"].get("strategy") or {}).get("type") or ""


def limits_of(deployment: Obj) -> RolloutLimits:
    """Return the limits of a rollout; both 0 unless the strategy is RollingUpdate (MaxSurge, MaxUnavailable)."""
    if strategy_of(deployment) != ROLLING:
        return RolloutLimits(0, 0)
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    desired = replicas_of(deployment)
    limits = fenceposts(rolling.get("maxSurge"), rolling.get("maxUnavailable"), desired)
    return RolloutLimits(limits.surge, min(limits.unavailable, desired))


def max_pods(deployment: Obj) -> int:
    """Return the highest number of pods allowed."""
    return replicas_of(deployment) + limits_of(deployment).surge


def min_available(deployment: Obj) -> int:
    """Return the lowest number of available pods allowed."""
    return replicas_of(deployment) - limits_of(deployment).unavailable


def new_replica_set_size(deployment: Obj, sets: ReplicaSets) -> int:
    """Return the size with which the new ReplicaSet is created, and to which it may grow (NewRSNewReplicas)."""
    desired, size = replicas_of(deployment), replicas_of(sets.new) if sets.new else 0
    if strategy_of(deployment) == RECREATE:
        return desired
    room = max_pods(deployment) - total_replicas(sets.all)
    return size if room <= 0 else size + min(room, desired - size)


def next_size(deployment: Obj, sets: ReplicaSets) -> int:
    """Return the new ReplicaSet's next size, never above spec.replicas: it also shrinks (reconcileNewReplicaSet)."""
    return min(replicas_of(deployment), new_replica_set_size(deployment, sets))


def clean_up_unhealthy(deployment: Obj, sets: ReplicaSets) -> list[Resize] | None:
    """Return the cuts of unavailable pods in old ReplicaSets (cleanupUnhealthyReplicas).

    How many may go is calculated from spec.replicas of the sets, not from their ready pods, so that a rollout (or a
    rollback) continues even if its newest pods never become ready.

    Returns:
        The sets that shrink, oldest first; None if no pods may be removed now, not even healthy ones.
    """
    budget = _max_scale_down(deployment, sets)
    if budget <= 0 or not sets.old_active:
        return None
    cuts = []
    for old in sets.old_active:
        if budget <= 0:
            break
        unhealthy = replicas_of(old) - status_count(old, "availableReplicas")
        if unhealthy < 0:  # it was scaled down and its pods are still going: do not count on them
            return None
        if cut := min(budget, unhealthy):
            cuts.append(Resize(old, replicas_of(old) - cut))
            budget -= cut
    return cuts


def _max_scale_down(deployment: Obj, sets: ReplicaSets) -> int:
    assert sets.new is not None
    not_available = replicas_of(sets.new) - _stable_available(sets.new)
    return total_replicas(sets.all) - min_available(deployment) - not_available


def scale_down_available(deployment: Obj, sets: ReplicaSets) -> list[Resize]:
    """Return the cuts of available pods, oldest set first (scaleDownOldReplicaSetsForRollingUpdate).

    Upstream counts every pod in the statuses, and removes too many if these are late; here only those count that
    `_stable_available` counts.
    """
    surplus = sum(map(_stable_available, sets.all)) - min_available(deployment)
    cuts = []
    for old in sets.old_active:
        if surplus <= 0:
            break
        cut = min(replicas_of(old), surplus)
        cuts.append(Resize(old, replicas_of(old) - cut))
        surplus -= cut
    return cuts


def _stable_available(replica_set: Obj) -> int:
    """Return how many of a set's available pods certainly exist and will stay.

    A status may still count pods that its sync deleted. Pods that are not available are deleted first, so of the
    available pods that the status counts at least as many stay as the size that it has observed. If the size changed
    since then none is certain: the set may have been scaled down and up again, and the status may count pods that it
    lost.
    """
    if status_count(replica_set, "observedGeneration") < replica_set["metadata"].get("generation", 0):
        return 0
    return min(status_count(replica_set, "availableReplicas"), replicas_of(replica_set))
