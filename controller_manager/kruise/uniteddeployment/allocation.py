"""Allocation of a UnitedDeployment's pods to its subsets, with four algorithms (allocator.go). Pure arithmetic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import is_adaptive, reserves, share_of, subsets_of

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


# -- in order: all subsets up to their minimum, then up to their maximum (minMaxAllocator) -----------------------------


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


# -- the numbers that subsets request, and the rest spread evenly (specificAllocator) ----------------------------------


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


# -- unschedulable pods stay, and others get pods until those run (reservationAllocator) -------------------------------


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


# -- the choice of the algorithm (NewReplicaAllocator) -----------------------------------------------------------------


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
