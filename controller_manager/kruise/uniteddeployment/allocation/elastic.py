"""Subsets are filled in their order: first all up to their minimum, then all up to their maximum (minMaxAllocator)."""

from collections.abc import Sequence
from dataclasses import replace

from controller_manager.kruise.uniteddeployment.allocation.subset_state import NEW, Bounds, Sizes, Standings


def elastic(total: int, bounds: Sequence[Bounds]) -> Sizes:
    """Fill subsets between their bounds; fewer pods undo the filling from its end."""
    sizes, left = dict.fromkeys((each.name for each in bounds), 0), total
    for each in bounds:
        sizes[each.name] = min(each.least, left)
        left -= sizes[each.name]
    for each in bounds:
        more = min(each.most - each.least, left)
        sizes[each.name] += more
        left -= more
    return sizes


def adaptive(total: int, bounds: Sequence[Bounds], standings: Standings) -> Sizes:
    """Fill subsets as far as their pods find nodes, and take no pod that is ready from where it is.

    What a subset has beyond its maximum it gives away nevertheless; upstream lets it stay where the subset is
    unschedulable.

    Args:
        total: spec.replicas.
        bounds: what the subsets ask for, in their order.
        standings: name → how it stands, of those that have a workload.
    """
    return elastic(total, [_narrowed(each, standings) for each in bounds])


def _narrowed(bounds: Bounds, standings: Standings) -> Bounds:
    """What is ready stays; where nothing more can be scheduled, nothing more comes than the minimum."""
    standing = standings.get(bounds.name, NEW)
    least = min(max(standing.ready, bounds.least), bounds.most)
    return replace(bounds, least=least, most=least if standing.unschedulable else bounds.most)
