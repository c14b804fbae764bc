"""Pods that find no node stay where they are, and stand-ins come elsewhere until they run (reservationAllocator)."""

from collections.abc import Sequence
from dataclasses import dataclass

from controller_manager.kruise.uniteddeployment.allocation.subset_state import (
    NEW,
    UNLIMITED,
    Bounds,
    Sizes,
    Standings,
    SubsetState,
)


@dataclass(slots=True)
class _Subset:
    """A subset that is being filled.

    Attributes:
        size: how many pods it has been given.
        room: how many more are expected to run; below 0 that many of its pods are not.
    """

    size: int
    room: int

    def fill(self, size: int, left: int) -> int:
        """Give it as many pods as there are left, up to a size; tells how many of these are expected to run.

        Those that are not do not count: stand-ins for them come wherever there is room.
        """
        more = max(min(size - self.size, left), 0)
        running = max(min(more, self.room), 0)
        self.size += more
        self.room -= more
        return running


def reserved(total: int, bounds: Sequence[Bounds], standings: Standings) -> Sizes:
    """Fill subsets between their bounds, and count only what is expected to run.

    A subset with reserved pods gets no more than it has, but for its minimum; and until it is known that its pods run
    again, what it gets more is expected not to.

    Args:
        total: spec.replicas.
        bounds: what the subsets ask for, in their order.
        standings: name → how it stands, of those that have a workload.
    """
    subsets = {each.name: _Subset(0, _room(standings.get(each.name, NEW))) for each in bounds}
    left = total
    for each in bounds:
        left -= subsets[each.name].fill(each.least, left)
    for each in bounds:
        standing = standings.get(each.name, NEW)
        most = min(standing.replicas, each.most) if standing.unschedulable else each.most
        left -= subsets[each.name].fill(most, left)
    return {name: subset.size for name, subset in subsets.items()}


def _room(standing: SubsetState) -> int:
    if standing.unschedulable or standing.doubted:
        return standing.replicas - standing.reserved
    return UNLIMITED
