"""Subsets that ask for a number get it, the others share the rest evenly (allocator.go specificAllocator)."""

from collections.abc import Mapping, Sequence

from controller_manager.kruise.uniteddeployment.allocation.subset_state import NEW, AllocationError, Sizes, Standings


def specified(total: int | None, names: Sequence[str], *, asked: Mapping[str, int], standings: Standings) -> Sizes:
    """Spread pods evenly over the subsets that ask for no number.

    What cannot be divided goes to those that have most, so that few pods move.

    Args:
        total: spec.replicas, None where it is not set.
        names: of the subsets.
        asked: name of a subset → how many pods it asks for.
        standings: name → how it stands, of those that have a workload.

    Raises:
        AllocationError: they ask for more than there is, or all of them for less, or not all where no total is set.
    """
    sizes = {name: asked[name] for name in names if name in asked}
    rest = [name for name in names if name not in asked]
    given = sum(sizes.values())
    _check(total, given, everybody=not rest)
    if total is None or not rest:
        return sizes
    even, more = divmod(total - given, len(rest))
    rest.sort(key=lambda name: (standings.get(name, NEW).replicas, name))
    return sizes | {name: even + (place >= len(rest) - more) for place, name in enumerate(rest)}


def _check(total: int | None, given: int, *, everybody: bool) -> None:
    if total is None:
        if not everybody:
            raise AllocationError("all subsets must be specified when UnitedDeployment replica is unspecified")
    elif given > total or (given < total and everybody):
        how = "greater" if given > total else "less"
        raise AllocationError(f"specified subsets' replica ({given}) is {how} than UnitedDeployment replica ({total})")
