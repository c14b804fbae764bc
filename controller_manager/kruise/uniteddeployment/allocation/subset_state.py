"""The input of the allocation: the states of subsets, and their bounds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import share_of

UNLIMITED = 2**31 - 1
"""The maximum of a subset without one (math.MaxInt32)."""

Sizes = dict[str, int]
"""Name of a subset → number of pods."""


class AllocationError(ValueError):
    """The replicas cannot be allocated as the subsets request; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class SubsetState:
    """The state of a subset that has a workload.

    Attributes:
        replicas: the number of pods in its workload's spec.
        ready: the number of ready pods.
        unschedulable: True if additional pods would find no node.
        was_unschedulable: True if that was so before, according to its condition.
        reserved: the number of its reserved pods, which others replace for the time being.
    """

    replicas: int = 0
    ready: int = 0
    unschedulable: bool = False
    was_unschedulable: bool = False
    reserved: int = 0


NEW_SUBSET = SubsetState()
"""A subset without a workload; it counts as schedulable."""
SubsetStates = Mapping[str, SubsetState]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The minimum and maximum number of pods of a subset."""

    name: str
    minimum: int = 0
    maximum: int = UNLIMITED


def bounds_of(subsets: Iterable[Obj], total: int) -> list[Bounds]:
    """Return the bounds of subsets, in their order (calculateRawMinMaxMap).

    Raises:
        AllocationError: a minimum is above its maximum.
    """
    bounds = []
    for index, subset in enumerate(subsets):
        least = _share(subset.get("minReplicas"), total, 0)
        most = _share(subset.get("maxReplicas"), total, UNLIMITED)
        if least > most:
            message = f"maxReplicas({most}) must be more than or equal to minReplicas({least})"
            raise AllocationError(f"subset[{index}].{message}")
        bounds.append(Bounds(subset["name"], least, most))
    return bounds


def _share(value: int | str | None, total: int, absent: int) -> int:
    """Return the number of a bound; an invalid one counts as absent, where upstream takes it for 0."""
    try:
        return absent if value is None else share_of(value, total)
    except ValueError:
        return absent
