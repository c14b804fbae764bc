"""Lets unschedulable pods stay in their subset, and adds pods to others until they run (reservationAllocator)."""

from collections.abc import Sequence
from dataclasses import dataclass

from controller_manager.kruise.uniteddeployment.allocation.subset_state import (
    NEW_SUBSET,
    UNLIMITED,
    Bounds,
    Sizes,
    SubsetState,
    SubsetStates,
)


@dataclass(slots=True)
class _Subset:
    """A subset that is being filled.

    Attributes:
        size: the number of pods allocated so far.
        room: how many more pods are expected to run; below 0, how many of its pods are not.
    """

    size: int
    room: int

    def fill(self, size: int, left: int) -> int:
        """Allocate up to `left` pods to it, up to a size; return how many of these are expected to run.

        The others do not count: pods to replace them are added wherever there is room.
        """
        more = max(min(size - self.size, left), 0)
        running = max(min(more, self.room), 0)
        self.size += more
        self.room -= more
        return running


def allocate_with_reservation(total: int, bounds: Sequence[Bounds], states: SubsetStates) -> Sizes:
    """Fill subsets between their bounds, and count only pods that are expected to run.

    A subset with reserved pods gets no more than it has, except for its minimum; until its pods are known to run again,
    additional pods are expected not to.

    Args:
        total: spec.replicas.
        bounds: the bounds of the subsets, in their order.
        states: name → state, for those that have a workload.
    """
    subsets = {
        subset_bounds.name: _Subset(0, _room(states.get(subset_bounds.name, NEW_SUBSET))) for subset_bounds in bounds
    }
    left = total
    for subset_bounds in bounds:
        left -= subsets[subset_bounds.name].fill(subset_bounds.minimum, left)
    for subset_bounds in bounds:
        state = states.get(subset_bounds.name, NEW_SUBSET)
        most = min(state.replicas, subset_bounds.maximum) if state.unschedulable else subset_bounds.maximum
        left -= subsets[subset_bounds.name].fill(most, left)
    return {name: subset.size for name, subset in subsets.items()}


def _room(state: SubsetState) -> int:
    if state.unschedulable or state.was_unschedulable:
        return state.replicas - state.reserved
    return UNLIMITED
