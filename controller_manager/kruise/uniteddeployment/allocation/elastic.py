"""Fills subsets in their order: first all up to their minimum, then all up to their maximum (minMaxAllocator)."""

from collections.abc import Sequence
from dataclasses import replace

from controller_manager.kruise.uniteddeployment.allocation.subset_state import NEW_SUBSET, Bounds, Sizes, SubsetStates


def allocate_elastic(total: int, bounds: Sequence[Bounds]) -> Sizes:
    """Fill subsets between their bounds; with fewer pods, the last ones are emptied first."""
    sizes, left = dict.fromkeys((subset.name for subset in bounds), 0), total
    for subset in bounds:
        sizes[subset.name] = min(subset.minimum, left)
        left -= sizes[subset.name]
    for subset in bounds:
        more = min(subset.maximum - subset.minimum, left)
        sizes[subset.name] += more
        left -= more
    return sizes


def allocate_adaptive(total: int, bounds: Sequence[Bounds], states: SubsetStates) -> Sizes:
    """Fill subsets as far as their pods find nodes, and move no ready pods away.

    Pods beyond a subset's maximum are moved nevertheless; upstream leaves them there if the subset is unschedulable.

    Args:
        total: spec.replicas.
        bounds: the bounds of the subsets, in their order.
        states: name → state, for those that have a workload.
    """
    return allocate_elastic(total, [_narrowed(subset, states) for subset in bounds])


def _narrowed(bounds: Bounds, states: SubsetStates) -> Bounds:
    """Raise the minimum to the ready pods; if the subset is unschedulable, lower the maximum to the minimum."""
    state = states.get(bounds.name, NEW_SUBSET)
    least = min(max(state.ready, bounds.minimum), bounds.maximum)
    return replace(bounds, minimum=least, maximum=least if state.unschedulable else bounds.maximum)
