"""The schedulability of each subset of a UnitedDeployment, according to its schedule strategy."""

from dataclasses import replace

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import is_adaptive, reserves
from controller_manager.kruise.uniteddeployment.status import subset_conditions, updating_since
from controller_manager.kruise.uniteddeployment.subset_objects import SubsetTarget
from controller_manager.kruise.uniteddeployment.subsets import Subset
from controller_manager.kruise.uniteddeployment.unschedulable import (
    SCHEDULABLE_CONDITION,
    RevisionUpdate,
    Schedulability,
    adaptive_schedulability,
    plain_schedulability,
    reserved_schedulability,
    timeouts_of,
)
from controller_manager.reconcile.conditions import find_condition


def schedulability_of(parent: Obj, subset: Subset, *, current: str, update: str, now: float) -> Schedulability:
    """Return the schedulability of a subset.

    Args:
        parent: the UnitedDeployment.
        subset: one that has a workload.
        current: the name of the revision that an update starts from.
        update: the name of the newest revision.
        now: the time.
    """
    spec = parent["spec"]
    if not is_adaptive(spec):
        return plain_schedulability(subset)
    old_condition, times = (
        find_condition(subset_conditions(parent, subset.name), SCHEDULABLE_CONDITION),
        timeouts_of(spec),
    )
    if not reserves(spec):
        return adaptive_schedulability(subset, old_condition, times=times, now=now)
    since = updating_since(parent, current, update, now=now)
    return reserved_schedulability(
        subset, old_condition, update=RevisionUpdate(update, subset.partition, since), times=times, now=now
    )


def relax_target(target: SubsetTarget, subset: Subset | None, schedulability: Schedulability | None) -> SubsetTarget:
    """Return a subset's target, relaxed if it has reserved pods: these do not block an update (SetMaxUnavailable)."""
    if subset is None or schedulability is None or not schedulability.state.reserved:
        return target
    return replace(target, unavailable=max(subset.replicas - schedulability.state.ready + schedulability.late, 1))
