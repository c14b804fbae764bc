"""How each subset of a UnitedDeployment is looked at, as its schedule strategy has it."""

from dataclasses import replace

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import is_adaptive, reserves
from controller_manager.kruise.uniteddeployment.status import subset_conditions, updating_since
from controller_manager.kruise.uniteddeployment.subset_objects import Target
from controller_manager.kruise.uniteddeployment.subsets import Subset
from controller_manager.kruise.uniteddeployment.unschedulable import (
    SCHEDULABLE,
    Outlook,
    Update,
    adaptive_outlook,
    plain_outlook,
    reserved_outlook,
    times_of,
)
from controller_manager.reconcile.conditions import find


def outlook_of(parent: Obj, subset: Subset, *, current: str, update: str, now: float) -> Outlook:
    """What a look at a subset shows.

    Args:
        parent: the UnitedDeployment.
        subset: one that has a workload.
        current: the name of the revision that an update comes from.
        update: the name of the newest revision.
        now: the time.
    """
    spec = parent["spec"]
    if not is_adaptive(spec):
        return plain_outlook(subset)
    told, times = find(subset_conditions(parent, subset.name), SCHEDULABLE), times_of(spec)
    if not reserves(spec):
        return adaptive_outlook(subset, told, times=times, now=now)
    since = updating_since(parent, current, update, now=now)
    return reserved_outlook(subset, told, update=Update(update, subset.partition, since), times=times, now=now)


def relax_target(target: Target, subset: Subset | None, outlook: Outlook | None) -> Target:
    """The target of a subset that has reserved pods: these do not keep others from an update (SetMaxUnavailable)."""
    if subset is None or outlook is None or not outlook.standing.reserved:
        return target
    return replace(target, unavailable=max(subset.replicas - outlook.standing.ready + outlook.late, 1))
