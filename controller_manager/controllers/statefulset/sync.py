"""One sync of a StatefulSet: which pods it creates, repairs and deletes, and which must wait for others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.claim_retention import ClaimOwners, has_right_owners, is_stale
from controller_manager.controllers.statefulset.identity import (
    Version,
    claim_names,
    has_identity,
    has_storage,
    revision_name_of,
)
from controller_manager.controllers.statefulset.ordinals import HealthCriteria, PodsByOrdinal, Replica
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import TERMINAL_PHASES
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
class Messages:
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
        current: the version of pods with ordinals below `held_back`.
        update: the version of the other pods.
        held_back: the first ordinal whose pod is created from the update revision.
        reach: the first ordinal whose pod is updated.
        health: the criteria by which pods are judged.
        claims: the existing claims of all relevant ordinals, by name.
        owners: gives the possible owners of a replica's claims.
        profile: the behaviour of the Kubernetes release.
        scale_max_unavailable: how many pods may be unavailable while others are created in parallel, None for any.
        messages: the wording of messages.
        finished: completes a new pod.
    """

    parent: Obj
    reference: Obj
    pods: PodsByOrdinal
    current: Version
    update: Version
    held_back: int
    reach: int
    health: HealthCriteria
    claims: Mapping[str, Obj]
    owners: Callable[[Replica], ClaimOwners]
    profile: Profile
    scale_max_unavailable: int | None = None
    messages: Messages = field(default_factory=Messages)
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
        repair: pods with wrong labels, volumes or owners of their claims.
        create_claims: pending pods that lack a claim, or have claims with wrong owners.
        delete: pods that have ended.
        create: ordinals without a pod; also those in `delete` if a release replaces pods in one sync.
        proceed: True if the sync may go on to condemned pods afterwards.
    """

    repair: list[Replica] = field(default_factory=list)
    create_claims: list[Replica] = field(default_factory=list)
    delete: list[Replica] = field(default_factory=list)
    create: list[Replica] = field(default_factory=list)
    proceed: bool = True


def actions_for_desired(inputs: SyncInput) -> Actions:
    """Return what the desired ordinals need (stateful_set_control.go processReplica).

    OrderedReady goes up to the first ordinal whose pod has to be created or waited for, and no further; Parallel goes
    up to the permitted number of those, if there is a limit.
    """
    actions, waiting = Actions(), 0
    for replica in inputs.pods.replicas:
        waiting += _add_actions(inputs, replica, actions=actions)
        if waiting and inputs.monotonic:
            return replace(actions, proceed=False)
        if inputs.scale_max_unavailable is not None and waiting >= inputs.scale_max_unavailable:
            break
    return actions


def _add_actions(inputs: SyncInput, replica: Replica, *, actions: Actions) -> bool:
    """Add what a replica needs to the actions; return whether the ordinals after it have to wait."""
    if replica.phase in _ended(inputs.profile):
        if inputs.profile.recreates_failed_at_once:
            actions.create.append(replica)
        if inputs.profile.recreates_failed_at_once or not replica.terminating:
            actions.delete.append(replica)
        return True
    if replica.pod is None:
        owners = inputs.owners(replica)
        if not any(is_stale(claim, owners) for claim in inputs.claims_of(replica)):
            actions.create.append(replica)
        return True
    pending = replica.phase == "Pending"
    if pending and not _has_claims(inputs, replica):
        actions.create_claims.append(replica)
    waits = inputs.health.is_unavailable(replica)
    if not (waits and inputs.monotonic) and not _owners_match(inputs, replica, claims=not pending):
        actions.repair.append(replica)
    return waits


def _ended(profile: Profile) -> frozenset[str]:
    return frozenset(("Failed",)) if profile.recreates_failed_at_once else TERMINAL_PHASES


def _has_claims(inputs: SyncInput, replica: Replica) -> bool:
    """Return whether all claims exist, are not being deleted, and have the right owners."""
    claims = inputs.claims_of(replica)
    if len(claims) < len(claim_names(inputs.parent, replica.ordinal)):
        return False
    return not any(claim["metadata"].get("deletionTimestamp") for claim in claims) and claims_match_policy(
        inputs, replica
    )


def claims_match_policy(inputs: SyncInput, replica: Replica) -> bool:
    """Return whether the owners of a replica's claims match the policy (ClaimsMatchRetentionPolicy)."""
    claims = inputs.claims_of(replica) if inputs.profile.retention else []
    return all(has_right_owners(claim, inputs.owners(replica)) for claim in claims)


def _owners_match(inputs: SyncInput, replica: Replica, *, claims: bool) -> bool:
    pod = replica.created
    return (
        has_identity(pod)
        and has_storage(inputs.parent, pod, replica.ordinal)
        and (not claims or claims_match_policy(inputs, replica))
    )


def version_for(inputs: SyncInput, ordinal: int) -> Version:
    """Return the version from which the pod of an ordinal is created."""
    return inputs.current if ordinal < inputs.held_back else inputs.update


# -- scaling down ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CondemnedPods:
    """The condemned pods to delete now, and whether the sync may go on to updates afterwards."""

    delete: tuple[Replica, ...]
    proceed: bool


def condemned_to_delete(inputs: SyncInput) -> CondemnedPods:
    """Return the condemned pods to delete now (processCondemned).

    OrderedReady deletes only the highest, once none is terminating, and only if it is healthy or no other is unhealthy.
    """
    condemned = inputs.pods.condemned
    if not inputs.monotonic:
        return CondemnedPods(tuple(replica for replica in condemned if not replica.terminating), proceed=True)
    if not condemned:
        return CondemnedPods((), proceed=True)
    highest, lower = condemned[0], condemned[1:]
    unhealthy = inputs.health.is_unhealthy
    first_unhealthy = unhealthy(highest) and not any(map(unhealthy, (*inputs.pods.replicas, *lower)))
    waits = highest.terminating or (not inputs.health.is_available(highest.created) and not first_unhealthy)
    return CondemnedPods(() if waits else (highest,), proceed=False)


# -- updates -----------------------------------------------------------------------------------------------------------


def outdated_to_delete(inputs: SyncInput) -> tuple[Replica, ...]:
    """Return the pods to delete now so that they are created again at the update revision, highest ordinal first.

    Raises:
        ValueError: spec.updateStrategy.rollingUpdate.maxUnavailable is not a number.
    """
    if inputs.on_delete:
        return ()
    above = update_targets(inputs)
    if not inputs.profile.max_unavailable:
        return _next_outdated(inputs, above)
    budget = (
        max_unavailable(inputs.parent)
        - inputs.pods.beyond
        - sum(map(inputs.health.is_unavailable, inputs.pods.replicas))
    )
    old = [target for target in above if is_outdated(inputs, target)]
    if inputs.monotonic:
        return tuple(old[: max(budget, 0)])
    broken = [target for target in old if not inputs.health.is_available(target.created)]
    sound = [target for target in old if inputs.health.is_available(target.created)]
    return (*broken, *sound[: max(budget, 0)])  # broken pods cost no budget (kubernetes/kubernetes#137666)


def update_targets(inputs: SyncInput) -> tuple[Replica, ...]:
    """Return the replicas that are not below the partition, highest first."""
    return tuple(replica for replica in reversed(inputs.pods.replicas) if replica.ordinal >= inputs.reach)


def is_outdated(inputs: SyncInput, replica: Replica) -> bool:
    """Return whether the replica has a pod of another revision that is neither being deleted nor ended."""
    if replica.pod is None or replica.terminating or replica.phase in _ended(inputs.profile):
        return False
    return revision_name_of(replica.pod) != inputs.update.name


def _next_outdated(inputs: SyncInput, above: tuple[Replica, ...]) -> tuple[Replica, ...]:
    """Return the highest old replica, if none above it is unavailable."""
    if inputs.pods.beyond:
        return ()
    for target in above:
        if is_outdated(inputs, target):
            return (target,)
        if inputs.health.is_unavailable(target):
            return ()
    return ()
