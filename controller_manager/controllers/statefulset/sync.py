"""One sync of a StatefulSet: which pods it creates, repairs and deletes, and which must wait for others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.claim_retention import Owners, has_right_owners, is_stale
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
    """Return spec.updateStrategy of a StatefulSet."""
    strategy: Obj = parent["spec"].get("updateStrategy") or {}
    return strategy


def max_unavailable(parent: Obj) -> int:
    """Return how many replicas may be unavailable, at least one (getStatefulSetMaxUnavailable).

    Percentages are rounded down.

    Raises:
        ValueError: the value is not a number.
    """
    value = (strategy_of(parent).get("rollingUpdate") or {}).get("maxUnavailable")
    return max(scaled(1 if value is None else value, replicas_of(parent), round_up=False), 1)


def partition_of(parent: Obj) -> int:
    """Return how many of the desired ordinals, from the lowest on, are not updated."""
    return max((strategy_of(parent).get("rollingUpdate") or {}).get("partition") or 0, 0)


def held_back(parent: Obj) -> int:
    """Return how many of the desired ordinals, from the lowest on, are created from the current revision.

    (newVersionedStatefulSetPod) A partition counts whatever the strategy's type, as it does upstream.
    """
    strategy = strategy_of(parent)
    if strategy.get("rollingUpdate") is not None:
        return partition_of(parent)
    is_on_delete = strategy.get("type") == "OnDelete"
    return 0 if is_on_delete else (parent.get("status") or {}).get("currentReplicas") or 0


@dataclass(frozen=True, slots=True)
class Words:
    """Messages about claims and pods; OpenKruise's StatefulSets word them differently.

    Attributes:
        claim_leaves: why no pod is created while a claim is being deleted.
        claim_refused: why a claim's owners could not be updated.
        pod_stays: the message of a second Event if a pod could not be deleted, or "".
    """

    claim_leaves: str = "pvc {} is being deleted"
    claim_refused: str = "could not update claim {} for delete policy ownerRefs: {}"
    pod_stays: str = ""


def _unchanged(pod: Obj) -> Obj:
    return pod


@dataclass(frozen=True, slots=True)
class SyncInput:
    """A StatefulSet and everything that one sync of it reads.

    Attributes:
        parent: the set.
        reference: the controlling owner reference to it.
        pods: its pods by ordinal.
        current: the version of pods with ordinals below `held`.
        update: the version of the other pods.
        held: the first ordinal whose pod is created from the update revision.
        reach: the first ordinal whose pod is updated.
        health: the criteria by which pods are judged.
        claims: the existing claims of all relevant ordinals, by name.
        owners: gives the possible owners of a replica's claims.
        profile: the behaviour of the Kubernetes release.
        growth: how many pods may be unavailable while others are created in parallel, or None for any number.
        words: the wording of messages.
        finished: completes a new pod.
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
    finished: Callable[[Obj], Obj] = _unchanged

    @property
    def monotonic(self) -> bool:
        """True if pods are created and deleted one by one (podManagementPolicy OrderedReady)."""
        return bool(self.parent["spec"].get("podManagementPolicy") != "Parallel")

    @property
    def on_delete(self) -> bool:
        """True if pods are replaced only when a user deletes them."""
        return bool(strategy_of(self.parent).get("type") == "OnDelete")

    def claims_of(self, replica: Replica) -> list[Obj]:
        """Return the existing claims of a replica."""
        names = claim_names(self.parent, replica.ordinal)
        return [self.claims[name] for name in names if name in self.claims]


@dataclass(frozen=True, slots=True)
class Actions:
    """Actions for the desired ordinals, in the order in which they are done.

    Attributes:
        mend: pods with wrong labels, volumes or owners of their claims.
        provide: pending pods that lack a claim, or have claims with wrong owners.
        remove: pods that have ended.
        make: ordinals without a pod; also those in `remove` if a release replaces pods in one sync.
        onward: True if the sync may go on to condemned pods afterwards.
    """

    mend: list[Replica] = field(default_factory=list)
    provide: list[Replica] = field(default_factory=list)
    remove: list[Replica] = field(default_factory=list)
    make: list[Replica] = field(default_factory=list)
    onward: bool = True


def due(inputs: SyncInput) -> Actions:
    """Return what the desired ordinals need (stateful_set_control.go processReplica).

    OrderedReady goes up to the first ordinal whose pod has to be created or waited for, and no further; Parallel goes
    up to the permitted number of those, if there is a limit.
    """
    actions, waiting = Actions(), 0
    for replica in inputs.pods.replicas:
        waiting += _add_actions(inputs, replica, actions=actions)
        if waiting and inputs.monotonic:
            return replace(actions, onward=False)
        if inputs.growth is not None and waiting >= inputs.growth:
            break
    return actions


def _add_actions(inputs: SyncInput, replica: Replica, *, actions: Actions) -> bool:
    """Add what a replica needs to the actions; return whether the ordinals after it have to wait."""
    if replica.phase in _ended(inputs.profile):
        if inputs.profile.recreates_failed_at_once:
            actions.make.append(replica)
        if inputs.profile.recreates_failed_at_once or not replica.terminating:
            actions.remove.append(replica)
        return True
    if replica.pod is None:
        owners = inputs.owners(replica)
        if not any(is_stale(claim, owners) for claim in inputs.claims_of(replica)):
            actions.make.append(replica)
        return True
    pending = replica.phase == "Pending"
    if pending and not _is_provided(inputs, replica):
        actions.provide.append(replica)
    waits = inputs.health.unavailable(replica)
    if not (waits and inputs.monotonic) and not _fits(inputs, replica, claims=not pending):
        actions.mend.append(replica)
    return waits


def _ended(profile: Profile) -> frozenset[str]:
    return frozenset(("Failed",)) if profile.recreates_failed_at_once else TERMINAL


def _is_provided(inputs: SyncInput, replica: Replica) -> bool:
    """Return whether all claims exist, are not being deleted, and have the right owners."""
    claims = inputs.claims_of(replica)
    if len(claims) < len(claim_names(inputs.parent, replica.ordinal)):
        return False
    return not any(claim["metadata"].get("deletionTimestamp") for claim in claims) and owners_fit(inputs, replica)


def owners_fit(inputs: SyncInput, replica: Replica) -> bool:
    """Return whether the owners of a replica's claims match the policy (ClaimsMatchRetentionPolicy)."""
    claims = inputs.claims_of(replica) if inputs.profile.retention else []
    return all(has_right_owners(claim, inputs.owners(replica)) for claim in claims)


def _fits(inputs: SyncInput, replica: Replica, *, claims: bool) -> bool:
    pod = replica.created
    return (
        has_identity(pod)
        and has_storage(inputs.parent, pod, replica.ordinal)
        and (not claims or owners_fit(inputs, replica))
    )


def version_for(inputs: SyncInput, ordinal: int) -> Version:
    """Return the version from which the pod of an ordinal is created."""
    return inputs.current if ordinal < inputs.held else inputs.update


# -- scaling down ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaving:
    """The condemned pods to delete now, and whether the sync may go on to updates afterwards."""

    remove: tuple[Replica, ...]
    onward: bool


def leaving(inputs: SyncInput) -> Leaving:
    """Return the condemned pods to delete now (processCondemned).

    OrderedReady deletes only the highest, once none is terminating, and only if it is healthy or no other is unhealthy.
    """
    condemned = inputs.pods.condemned
    if not inputs.monotonic:
        return Leaving(tuple(replica for replica in condemned if not replica.terminating), onward=True)
    if not condemned:
        return Leaving((), onward=True)
    highest, lower = condemned[0], condemned[1:]
    unhealthy = inputs.health.unhealthy
    first_unhealthy = unhealthy(highest) and not any(map(unhealthy, (*inputs.pods.replicas, *lower)))
    waits = highest.terminating or (not inputs.health.available(highest.created) and not first_unhealthy)
    return Leaving(() if waits else (highest,), onward=False)


# -- updates -----------------------------------------------------------------------------------------------------------


def outdated(inputs: SyncInput) -> tuple[Replica, ...]:
    """Return the pods to delete now so that they are created again at the update revision, highest ordinal first.

    Raises:
        ValueError: spec.updateStrategy.rollingUpdate.maxUnavailable is not a number.
    """
    if inputs.on_delete:
        return ()
    above = targets(inputs)
    if not inputs.profile.max_unavailable:
        return _next_one(inputs, above)
    budget = (
        max_unavailable(inputs.parent) - inputs.pods.beyond - sum(map(inputs.health.unavailable, inputs.pods.replicas))
    )
    old = [target for target in above if is_old(inputs, target)]
    if inputs.monotonic:
        return tuple(old[: max(budget, 0)])
    broken = [target for target in old if not inputs.health.available(target.created)]
    sound = [target for target in old if inputs.health.available(target.created)]
    return (*broken, *sound[: max(budget, 0)])  # broken pods cost no budget (kubernetes/kubernetes#137666)


def targets(inputs: SyncInput) -> tuple[Replica, ...]:
    """Return the replicas that are not below the partition, highest first."""
    return tuple(replica for replica in reversed(inputs.pods.replicas) if replica.ordinal >= inputs.reach)


def is_old(inputs: SyncInput, replica: Replica) -> bool:
    """Return whether the replica has a pod of another revision that is neither being deleted nor ended."""
    if replica.pod is None or replica.terminating or replica.phase in _ended(inputs.profile):
        return False
    return revision_name_of(replica.pod) != inputs.update.name


def _next_one(inputs: SyncInput, above: tuple[Replica, ...]) -> tuple[Replica, ...]:
    """Return the highest old replica, if none above it is unavailable."""
    if inputs.pods.beyond:
        return ()
    for target in above:
        if is_old(inputs, target):
            return (target,)
        if inputs.health.unavailable(target):
            return ()
    return ()
