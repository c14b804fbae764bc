"""Which way of spreading pods counts for a UnitedDeployment (NewReplicaAllocator)."""

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import is_adaptive, reserves, share_of, subsets_of
from controller_manager.kruise.uniteddeployment.allocation.elastic import adaptive, elastic
from controller_manager.kruise.uniteddeployment.allocation.reservation import reserved
from controller_manager.kruise.uniteddeployment.allocation.specified import specified
from controller_manager.kruise.uniteddeployment.allocation.subset_state import Sizes, Standings, bounds_of


def sizes_of(spec: Obj, standings: Standings) -> Sizes:
    """How many pods each subset of a UnitedDeployment is to have.

    Args:
        spec: of the UnitedDeployment.
        standings: name of a subset → how it stands, of those that have a workload.

    Raises:
        AllocationError: what the subsets ask for cannot be had.
    """
    subsets, total = subsets_of(spec), spec.get("replicas")
    if is_adaptive(spec):
        bounds = bounds_of(subsets, total or 0)
        spread = reserved if reserves(spec) else adaptive
        return spread(total or 0, bounds, standings)
    if any(subset.get(field) is not None for subset in subsets for field in ("minReplicas", "maxReplicas")):
        return elastic(total or 0, bounds_of(subsets, total or 0))
    return specified(total, [subset["name"] for subset in subsets], asked=_asked(spec), standings=standings)


def _asked(spec: Obj) -> Sizes:
    """What subsets ask for; what means no number is not heeded."""
    found: Sizes = {}
    for subset in subsets_of(spec):
        if subset.get("replicas") is not None:
            try:
                found[subset["name"]] = share_of(subset["replicas"], spec.get("replicas"))
            except ValueError:
                continue
    return found
