"""Gives subsets the number of pods that they request, and spreads the rest evenly (allocator.go specificAllocator)."""

from collections.abc import Mapping, Sequence

from controller_manager.kruise.uniteddeployment.allocation.subset_state import (
    NEW_SUBSET,
    AllocationError,
    Sizes,
    SubsetStates,
)


def allocate_specified(
    total: int | None, names: Sequence[str], *, requested: Mapping[str, int], states: SubsetStates
) -> Sizes:
    """Spread pods evenly over the subsets that request no number.

    The remainder goes to those that have most pods, so that few pods move.

    Args:
        total: spec.replicas, None if it is not set.
        names: of the subsets.
        requested: name of a subset → the number of pods that it requests.
        states: name → state, for those that have a workload.

    Raises:
        AllocationError: they request more than the total, or all of them less, or not all a number and no total is set.
    """
    sizes = {name: requested[name] for name in names if name in requested}
    rest = [name for name in names if name not in requested]
    assigned = sum(sizes.values())
    _check(total, assigned, everybody=not rest)
    if total is None or not rest:
        return sizes
    even, more = divmod(total - assigned, len(rest))
    rest.sort(key=lambda name: (states.get(name, NEW_SUBSET).replicas, name))
    return sizes | {name: even + (index >= len(rest) - more) for index, name in enumerate(rest)}


def _check(total: int | None, assigned: int, *, everybody: bool) -> None:
    if total is None:
        if not everybody:
            raise AllocationError("all subsets must be specified when UnitedDeployment replica is unspecified")
    elif assigned > total or (assigned < total and everybody):
        how = "greater" if assigned > total else "less"
        raise AllocationError(
            f"specified subsets' replica ({assigned}) is {how} than UnitedDeployment replica ({total})"
        )
