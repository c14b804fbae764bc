"""Rolling out: how many pods each ReplicaSet of a Deployment may have now (rolling.go, util/deployment_util.go)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, Resize, count, wanted
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.replicas import replicas_of

RECREATE, ROLLING = "Recreate", "RollingUpdate"


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a rollout may go from the number of pods that is asked for.

    Attributes:
        surge: so many more may there be.
        unavailable: so many fewer may be available.
    """

    surge: int
    unavailable: int


def fenceposts(surge: int | str | None, unavailable: int | str | None, desired: int) -> Limits:
    """What maxSurge and maxUnavailable mean for a number of pods; both zero would be a standstill (ResolveFenceposts).

    Raises:
        ValueError: one of them is text that is no share in percent.
    """
    more, fewer = scaled(surge, desired, round_up=True), scaled(unavailable, desired, round_up=False)
    return Limits(more, fewer or (0 if more else 1))


def strategy_of(deployment: Obj) -> str:
    """spec.strategy.type, "" where it is not told."""
    return (deployment["spec"].get("strategy") or {}).get("type") or ""


def limits_of(deployment: Obj) -> Limits:
    """How far a rollout of this Deployment may go; not at all where it does not roll (MaxSurge, MaxUnavailable)."""
    if strategy_of(deployment) != ROLLING:
        return Limits(0, 0)
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    desired = replicas_of(deployment)
    limits = fenceposts(rolling.get("maxSurge"), rolling.get("maxUnavailable"), desired)
    return Limits(limits.surge, min(limits.unavailable, desired))


def max_pods(deployment: Obj) -> int:
    """How many pods there may be."""
    return replicas_of(deployment) + limits_of(deployment).surge


def fewest_available(deployment: Obj) -> int:
    """How many pods are to be available at any time."""
    return replicas_of(deployment) - limits_of(deployment).unavailable


def first_size(deployment: Obj, sets: ReplicaSets) -> int:
    """The size with which the new ReplicaSet is made, and to which it may grow (NewRSNewReplicas)."""
    desired, size = replicas_of(deployment), replicas_of(sets.new) if sets.new else 0
    if strategy_of(deployment) == RECREATE:
        return desired
    room = max_pods(deployment) - wanted(sets.all)
    return size if room <= 0 else size + min(room, desired - size)


def next_size(deployment: Obj, sets: ReplicaSets) -> int:
    """The size that the new ReplicaSet should have next (reconcileNewReplicaSet)."""
    return min(replicas_of(deployment), first_size(deployment, sets))


def without_unhealthy(deployment: Obj, sets: ReplicaSets) -> list[Resize] | None:
    """What old ReplicaSets lose first: pods that are not available, which nobody misses (cleanupUnhealthyReplicas).

    How many may go is reckoned by what the sets want and not by what is ready, so that a rollout goes on, or back,
    though its newest pods never get ready.

    Returns:
        The sets that shrink, oldest first; None where nothing may go now, not even healthy pods.
    """
    budget = _budget(deployment, sets)
    if budget <= 0 or not sets.old_active:
        return None
    cuts = []
    for old in sets.old_active:
        if budget <= 0:
            break
        unhealthy = replicas_of(old) - count(old, "availableReplicas")
        if unhealthy < 0:  # it was shrunk, and its pods have yet to go: they must not be counted on
            return None
        if cut := min(budget, unhealthy):
            cuts.append(Resize(old, replicas_of(old) - cut))
            budget -= cut
    return cuts


def _budget(deployment: Obj, sets: ReplicaSets) -> int:
    assert sets.new is not None
    not_available = replicas_of(sets.new) - _reliable(sets.new)
    return wanted(sets.all) - fewest_available(deployment) - not_available


def without_surplus(deployment: Obj, sets: ReplicaSets) -> list[Resize]:
    """What old ReplicaSets lose of available pods, oldest first (scaleDownOldReplicaSetsForRollingUpdate).

    Upstream counts every pod that is told of, and takes too many where statuses are late; here only _reliable ones.
    """
    surplus = sum(map(_reliable, sets.all)) - fewest_available(deployment)
    cuts = []
    for old in sets.old_active:
        if surplus <= 0:
            break
        cut = min(replicas_of(old), surplus)
        cuts.append(Resize(old, replicas_of(old) - cut))
        surplus -= cut
    return cuts


def _reliable(replica_set: Obj) -> int:
    """How many of a set's available pods are there for certain, and stay.

    A status counts the pods from before what its run deleted, and those go that are not available first: of what it
    tells, as many stay as the size that it has observed. Of a set that got another size since none is certain: it may
    have been shrunk and grown again, and the pods in the status be those that it lost.
    """
    if count(replica_set, "observedGeneration") < replica_set["metadata"].get("generation", 0):
        return 0
    return min(count(replica_set, "availableReplicas"), replicas_of(replica_set))
