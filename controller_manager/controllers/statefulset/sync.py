"""What one pass over a StatefulSet does: which pods it makes, mends and deletes, and which must wait for others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.claim_retention import Owners, is_settled, is_stale
from controller_manager.controllers.statefulset.identity import (
    Version,
    claim_names,
    has_identity,
    has_storage,
    revision_name_of,
)
from controller_manager.controllers.statefulset.ordinals import Arrangement, Health, Replica
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import TERMINAL
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import replicas_of


def strategy_of(parent: Obj) -> Obj:
    """spec.updateStrategy of a StatefulSet."""
    found: Obj = parent["spec"].get("updateStrategy") or {}
    return found


def max_unavailable(parent: Obj) -> int:
    """How many replicas may be unavailable: at least one, percents rounded down (getStatefulSetMaxUnavailable).

    Raises:
        ValueError: what is said means no number.
    """
    given = (strategy_of(parent).get("rollingUpdate") or {}).get("maxUnavailable")
    return max(scaled(1 if given is None else given, replicas_of(parent), round_up=False), 1)


def partition_of(parent: Obj) -> int:
    """How many of the wanted ordinals, from the lowest on, are not updated."""
    return max((strategy_of(parent).get("rollingUpdate") or {}).get("partition") or 0, 0)


def held_back(parent: Obj) -> int:
    """How many of the wanted ordinals, from the lowest on, are made of the current revision.

    (newVersionedStatefulSetPod) A partition counts whatever the strategy's type, as it does upstream.
    """
    strategy = strategy_of(parent)
    if strategy.get("rollingUpdate") is not None:
        return partition_of(parent)
    is_on_delete = strategy.get("type") == "OnDelete"
    return 0 if is_on_delete else (parent.get("status") or {}).get("currentReplicas") or 0


@dataclass(frozen=True, slots=True)
class Words:
    """What is said of claims and pods by StatefulSets; OpenKruise's say it a little differently.

    Attributes:
        claim_leaves: why no pod is made while a claim goes.
        claim_refused: why a claim's owners could not be written.
        pod_stays: a second Event's message where a pod could not be deleted, "" for none.
    """

    claim_leaves: str = "pvc {} is being deleted"
    claim_refused: str = "could not update claim {} for delete policy ownerRefs: {}"
    pod_stays: str = ""


def _as_made(pod: Obj) -> Obj:
    return pod


@dataclass(frozen=True, slots=True)
class SyncInput:
    """A StatefulSet and all that a pass over it looks at.

    Attributes:
        parent: the set.
        reference: the controlling owner reference to it.
        pods: its pods by ordinal.
        current: what pods of ordinals below `held` are made of.
        update: what the others are made of.
        held: the first ordinal whose pod is made of the update revision.
        reach: the first ordinal whose pod is updated.
        health: how pods are judged.
        claims: the claims that exist, of all ordinals in question, by name.
        owners: who may own a replica's claims.
        profile: how the release behaves.
        growth: how many pods may be unavailable while others are made in parallel, None for any number.
        words: what messages say.
        finished: what a new pod has besides.
    """

    parent: Obj
    reference: Obj
    pods: Arrangement
    current: Version
    update: Version
    held: int
    reach: int
    health: Health
    claims: Mapping[str, Obj]
    owners: Callable[[Replica], Owners]
    profile: Profile
    growth: int | None = None
    words: Words = field(default_factory=Words)
    finished: Callable[[Obj], Obj] = _as_made

    @property
    def monotonic(self) -> bool:
        """Whether pods are made and deleted one by one (podManagementPolicy OrderedReady)."""
        return bool(self.parent["spec"].get("podManagementPolicy") != "Parallel")

    @property
    def on_delete(self) -> bool:
        """Whether pods are replaced only when somebody deletes them."""
        return bool(strategy_of(self.parent).get("type") == "OnDelete")

    def claims_of(self, replica: Replica) -> list[Obj]:
        """The claims of a replica that exist."""
        names = claim_names(self.parent, replica.ordinal)
        return [self.claims[name] for name in names if name in self.claims]


@dataclass(frozen=True, slots=True)
class Actions:
    """What the wanted ordinals need, in the order in which it is done.

    Attributes:
        mend: pods whose labels, volumes or claims' owners are not as they should be.
        provide: pending pods that lack a claim, or whose claims' owners are not as they should be.
        remove: ended pods.
        make: ordinals without a pod; those in `remove` as well, where a release replaces pods in one pass.
        onward: whether the pass may go on to condemned pods once this is done.
    """

    mend: list[Replica] = field(default_factory=list)
    provide: list[Replica] = field(default_factory=list)
    remove: list[Replica] = field(default_factory=list)
    make: list[Replica] = field(default_factory=list)
    onward: bool = True


def due(work: SyncInput) -> Actions:
    """What the wanted ordinals need (stateful_set_control.go processReplica).

    OrderedReady goes up to the first ordinal whose pod has to be made, or waited for, and no further; Parallel up to as
    many of those as may be, if there is a limit.
    """
    needs, waiting = Actions(), 0
    for replica in work.pods.replicas:
        waiting += _attend(work, replica, needs=needs)
        if waiting and work.monotonic:
            return replace(needs, onward=False)
        if work.growth is not None and waiting >= work.growth:
            break
    return needs


def _attend(work: SyncInput, replica: Replica, *, needs: Actions) -> bool:
    """Note what a replica needs; tells whether those after it have to wait."""
    if replica.phase in _ended(work.profile):
        if work.profile.recreates_failed_at_once:
            needs.make.append(replica)
        if work.profile.recreates_failed_at_once or not replica.terminating:
            needs.remove.append(replica)
        return True
    if replica.pod is None:
        owners = work.owners(replica)
        if not any(is_stale(claim, owners) for claim in work.claims_of(replica)):
            needs.make.append(replica)
        return True
    pending = replica.phase == "Pending"
    if pending and not _is_provided(work, replica):
        needs.provide.append(replica)
    waits = work.health.unavailable(replica)
    if not (waits and work.monotonic) and not _fits(work, replica, claims=not pending):
        needs.mend.append(replica)
    return waits


def _ended(profile: Profile) -> frozenset[str]:
    return frozenset(("Failed",)) if profile.recreates_failed_at_once else TERMINAL


def _is_provided(work: SyncInput, replica: Replica) -> bool:
    """Whether all claims exist, will stay, and have the owners they should have."""
    claims = work.claims_of(replica)
    if len(claims) < len(claim_names(work.parent, replica.ordinal)):
        return False
    return not any(claim["metadata"].get("deletionTimestamp") for claim in claims) and owners_fit(work, replica)


def owners_fit(work: SyncInput, replica: Replica) -> bool:
    """Whether the owners of a replica's claims are as the policy has them (ClaimsMatchRetentionPolicy)."""
    claims = work.claims_of(replica) if work.profile.retention else []
    return all(is_settled(claim, work.owners(replica)) for claim in claims)


def _fits(work: SyncInput, replica: Replica, *, claims: bool) -> bool:
    pod = replica.created
    return (
        has_identity(pod)
        and has_storage(work.parent, pod, replica.ordinal)
        and (not claims or owners_fit(work, replica))
    )


def version_for(work: SyncInput, ordinal: int) -> Version:
    """What the pod of an ordinal is made of."""
    return work.current if ordinal < work.held else work.update


# -- scaling down ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaving:
    """Which condemned pods go now, and whether the pass may go on to updates once they do."""

    remove: tuple[Replica, ...]
    onward: bool


def leaving(work: SyncInput) -> Leaving:
    """The condemned pods that go now (processCondemned).

    OrderedReady deletes the highest alone, once none is terminating, and only if it is healthy or no other is not.
    """
    condemned = work.pods.condemned
    if not work.monotonic:
        return Leaving(tuple(replica for replica in condemned if not replica.terminating), onward=True)
    if not condemned:
        return Leaving((), onward=True)
    highest, lower = condemned[0], condemned[1:]
    unhealthy = work.health.unhealthy
    first_unhealthy = unhealthy(highest) and not any(map(unhealthy, (*work.pods.replicas, *lower)))
    waits = highest.terminating or (not work.health.available(highest.created) and not first_unhealthy)
    return Leaving(() if waits else (highest,), onward=False)


# -- updates -----------------------------------------------------------------------------------------------------------


def outdated(work: SyncInput) -> tuple[Replica, ...]:
    """The pods that are deleted now so that they come back at the update revision, highest ordinal first.

    Raises:
        ValueError: spec.updateStrategy.rollingUpdate.maxUnavailable means no number.
    """
    if work.on_delete:
        return ()
    above = targets(work)
    if not work.profile.max_unavailable:
        return _next_one(work, above)
    budget = max_unavailable(work.parent) - work.pods.beyond - sum(map(work.health.unavailable, work.pods.replicas))
    old = [target for target in above if is_old(work, target)]
    if work.monotonic:
        return tuple(old[: max(budget, 0)])
    broken = [target for target in old if not work.health.available(target.created)]
    sound = [target for target in old if work.health.available(target.created)]
    return (*broken, *sound[: max(budget, 0)])  # what is broken already costs no budget (kubernetes/kubernetes#137666)


def targets(work: SyncInput) -> tuple[Replica, ...]:
    """The replicas that are not below the partition, highest first."""
    return tuple(replica for replica in reversed(work.pods.replicas) if replica.ordinal >= work.reach)


def is_old(work: SyncInput, replica: Replica) -> bool:
    """Whether the replica has a pod of another revision, which nobody has asked to go yet, and which has not ended."""
    if replica.pod is None or replica.terminating or replica.phase in _ended(work.profile):
        return False
    return revision_name_of(replica.pod) != work.update.name


def _next_one(work: SyncInput, above: tuple[Replica, ...]) -> tuple[Replica, ...]:
    """The highest old one, if none above it is unavailable."""
    if work.pods.beyond:
        return ()
    for target in above:
        if is_old(work, target):
            return (target,)
        if work.health.unavailable(target):
            return ()
    return ()
