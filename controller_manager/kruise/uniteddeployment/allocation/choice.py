"""Chooses the allocation algorithm of a UnitedDeployment (NewReplicaAllocator)."""

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import is_adaptive, reserves, share_of, subsets_of
from controller_manager.kruise.uniteddeployment.allocation.elastic import allocate_adaptive, allocate_elastic
from controller_manager.kruise.uniteddeployment.allocation.reservation import allocate_with_reservation
from controller_manager.kruise.uniteddeployment.allocation.specified import allocate_specified
from controller_manager.kruise.uniteddeployment.allocation.subset_state import Sizes, SubsetStates, bounds_of


def allocate(spec: Obj, states: SubsetStates) -> Sizes:
    """Return the number of pods of each subset of a UnitedDeployment.

    Args:
        spec: of the UnitedDeployment.
        states: name of a subset → its state, for those that have a workload.

    Raises:
        AllocationError: the subsets' requests cannot be met.
    """
    subsets, total = subsets_of(spec), spec.get("replicas")
    if is_adaptive(spec):
        bounds = bounds_of(subsets, total or 0)
        spread = allocate_with_reservation if reserves(spec) else allocate_adaptive
        return spread(total or 0, bounds, states)
    if any(subset.get(field) is not None for subset in subsets for field in ("minReplicas", "maxReplicas")):
        return allocate_elastic(total or 0, bounds_of(subsets, total or 0))
    return allocate_specified(
        total, [subset["name"] for subset in subsets], requested=_requested_sizes(spec), states=states
    )


def _requested_sizes(spec: Obj) -> Sizes:
    """Return the numbers that subsets request; a value that is not a number is ignored."""
    requested: Sizes = {}
    for subset in subsets_of(spec):
        if subset.get("replicas") is not None:
            try:
                requested[subset["name"]] = share_of(subset["replicas"], spec.get("replicas"))
            except ValueError:
                continue
    return requested
