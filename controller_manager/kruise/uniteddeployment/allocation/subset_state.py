"""What allocation looks at: how subsets stand, and between which bounds they may be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import share_of

UNLIMITED = 2**31 - 1
"""The maximum of a subset that sets none (math.MaxInt32)."""

Sizes = dict[str, int]
"""Name of a subset → how many pods it is to have."""


class AllocationError(ValueError):
    """The replicas cannot be spread as the subsets ask for; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class SubsetState:
    """How a subset stands that has a workload.

    Attributes:
        replicas: how many pods its workload is to have.
        ready: how many are ready.
        unschedulable: whether pods that it gets now would find no node.
        doubted: whether that was so at the last look, as its condition says.
        reserved: how many of its pods others stand in for.
    """

    replicas: int = 0
    ready: int = 0
    unschedulable: bool = False
    doubted: bool = False
    reserved: int = 0


NEW = SubsetState()
"""A subset without a workload; it counts as schedulable."""
Standings = Mapping[str, SubsetState]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between how many pods a subset may have."""

    name: str
    least: int = 0
    most: int = UNLIMITED


def bounds_of(subsets: Iterable[Obj], total: int) -> list[Bounds]:
    """The bounds of subsets, in their order (calculateRawMinMaxMap).

    Raises:
        AllocationError: a minimum is above its maximum.
    """
    found = []
    for place, subset in enumerate(subsets):
        least = _share(subset.get("minReplicas"), total, 0)
        most = _share(subset.get("maxReplicas"), total, UNLIMITED)
        if least > most:
            why = f"maxReplicas({most}) must be more than or equal to minReplicas({least})"
            raise AllocationError(f"subset[{place}].{why}")
        found.append(Bounds(subset["name"], least, most))
    return found


def _share(value: int | str | None, total: int, absent: int) -> int:
    """What a bound means; one that means nothing bounds nothing, where upstream takes it for 0."""
    try:
        return absent if value is None else share_of(value, total)
    except ValueError:
        return absent
