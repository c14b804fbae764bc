"""The claims of StatefulSets' pods: created before the pods, with owner references as the retention policy asks."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.claim_retention import (
    has_other_controller,
    has_right_owners,
    with_owners,
)
from controller_manager.controllers.statefulset.identity import new_claims
from controller_manager.controllers.statefulset.ordinals import Replica, pod_name
from controller_manager.controllers.statefulset.sync import SyncInput, claims_match_policy
from controller_manager.reconcile.contract import WARNING, Action, Batch, Create, Plan, RecordEvent, Update
from controller_manager.reconcile.kinds import CLAIM


def make_claims(
    inputs: SyncInput, replicas: Sequence[Replica]
) -> Generator[Action, Any, Mapping[int, Sequence[ApiError]]]:
    """Create the claims that ordinals lack (createPersistentVolumeClaims).

    Returns:
        Errors by ordinal: an ordinal is missing if all its claims exist; its errors are empty if a claim was not tried.
    """
    failures: dict[int, list[ApiError]] = {}
    missing: list[tuple[Replica, Obj]] = []
    for replica in replicas:
        for claim in new_claims(inputs.parent, replica.ordinal):
            existing = inputs.claims.get(name_of(claim))
            if existing is None:
                missing.append((replica, _with_initial_owners(inputs, replica, claim)))
            elif existing["metadata"].get("deletionTimestamp"):
                message = inputs.messages.claim_leaves.format(name_of(claim))
                failures.setdefault(replica.ordinal, []).append(ApiError(409, "Conflict", message))
    answers = (yield Batch([Create(CLAIM, claim) for _, claim in missing], slow_start=True)) if missing else ()
    for (replica, claim), answer in zip(missing, answers, strict=True):
        if isinstance(answer, ApiError):
            message = f"failed to create PVC {name_of(claim)}: {answer.message}"
            failures.setdefault(replica.ordinal, []).append(answer.with_message(message))
        elif answer is None:
            failures.setdefault(replica.ordinal, [])
        if answer is not None and not (isinstance(answer, ApiError) and answer.reason == "AlreadyExists"):
            yield _claim_event(inputs, replica, claim=claim, answer=answer)
    return failures


def _with_initial_owners(inputs: SyncInput, replica: Replica, claim: Obj) -> Obj:
    """Return a new claim with the owners that the policy asks for, so that it need not be updated at once."""
    owners = inputs.owners(replica)
    return with_owners(claim, owners) if owners.desired else claim


def _claim_event(inputs: SyncInput, replica: Replica, *, claim: Obj, answer: Obj | ApiError) -> RecordEvent:
    """Return the Event that a claim was created, or why not (recordClaimEvent)."""
    parent, name = name_of(inputs.parent), name_of(claim)
    pod = pod_name(parent, replica.ordinal)
    if isinstance(answer, ApiError):
        message = f"create Claim {name} for Pod {pod} in StatefulSet {parent} failed error: {answer.message}"
        return RecordEvent(inputs.parent, "FailedCreate", message, WARNING)
    return RecordEvent(
        inputs.parent, "SuccessfulCreate", f"create Claim {name} Pod {pod} in StatefulSet {parent} success"
    )


def update_owners(inputs: SyncInput, replica: Replica) -> Plan:
    """Update a replica's claims to the owners that the policy asks for (UpdatePodClaimForRetentionPolicy)."""
    if claims_match_policy(inputs, replica):
        return
    yield from warn_of_conflicts(inputs, replica)
    owners = inputs.owners(replica)
    for claim in inputs.claims_of(replica):
        if has_right_owners(claim, owners):
            continue
        try:
            yield Update(CLAIM, with_owners(claim, owners))
        except ApiError as error:
            raise error.with_message(inputs.messages.claim_refused.format(name_of(claim), error.message)) from None


def warn_of_conflicts(inputs: SyncInput, replica: Replica) -> Plan:
    """Record an Event for each claim that another object controls: the policy ignores it."""
    for claim in inputs.claims_of(replica):
        if has_other_controller(claim, inputs.owners(replica)):
            message = (
                f"PersistentVolumeClaim {name_of(claim)} has a conflicting OwnerReference that acts as a manging "
                "controller, the retention policy is ignored for this claim"
            )
            yield RecordEvent(inputs.parent, "ConflictingController", message, WARNING)


def aggregate(errors: Sequence[ApiError]) -> ApiError:
    """Combine several errors into one (utilerrors.NewAggregate)."""
    messages = list(dict.fromkeys(error.message for error in errors))
    return errors[0].with_message(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
