"""The claims of StatefulSets' pods: made before them, and given the owners with which they go."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.claim_retention import has_other_controller, is_settled, settled
from controller_manager.controllers.statefulset.identity import new_claims
from controller_manager.controllers.statefulset.ordinals import Replica, pod_name
from controller_manager.controllers.statefulset.sync import SyncInput, owners_fit
from controller_manager.reconcile.contract import WARNING, Action, Batch, Create, Plan, RecordEvent, Update
from controller_manager.reconcile.kinds import CLAIM


def make_claims(
    work: SyncInput, replicas: Sequence[Replica]
) -> Generator[Action, Any, Mapping[int, Sequence[ApiError]]]:
    """Make the claims that ordinals lack (createPersistentVolumeClaims).

    Gives:
        What went wrong, by ordinal; nothing where all claims exist; no errors where one was not tried any more.
    """
    wrong: dict[int, list[ApiError]] = {}
    missing: list[tuple[Replica, Obj]] = []
    for replica in replicas:
        for claim in new_claims(work.parent, replica.ordinal):
            found = work.claims.get(name_of(claim))
            if found is None:
                missing.append((replica, _owned(work, replica, claim)))
            elif found["metadata"].get("deletionTimestamp"):
                why = work.words.claim_leaves.format(name_of(claim))
                wrong.setdefault(replica.ordinal, []).append(ApiError(409, "Conflict", why))
    answers = (yield Batch([Create(CLAIM, claim) for _, claim in missing], slow_start=True)) if missing else ()
    for (replica, claim), answer in zip(missing, answers, strict=True):
        if isinstance(answer, ApiError):
            why = f"failed to create PVC {name_of(claim)}: {answer.message}"
            wrong.setdefault(replica.ordinal, []).append(answer.worded(why))
        elif answer is None:
            wrong.setdefault(replica.ordinal, [])
        if answer is not None and not (isinstance(answer, ApiError) and answer.reason == "AlreadyExists"):
            yield _claim_told(work, replica, claim=claim, answer=answer)
    return wrong


def _owned(work: SyncInput, replica: Replica, claim: Obj) -> Obj:
    """A new claim with the owners that the policy asks for, so that they need not be added to it at once."""
    owners = work.owners(replica)
    return settled(claim, owners) if owners.wanted else claim


def _claim_told(work: SyncInput, replica: Replica, *, claim: Obj, answer: Obj | ApiError) -> RecordEvent:
    """The Event that a claim was made, or why not (recordClaimEvent)."""
    parent, name = name_of(work.parent), name_of(claim)
    pod = pod_name(parent, replica.ordinal)
    if isinstance(answer, ApiError):
        message = f"create Claim {name} for Pod {pod} in StatefulSet {parent} failed error: {answer.message}"
        return RecordEvent(work.parent, "FailedCreate", message, WARNING)
    return RecordEvent(
        work.parent, "SuccessfulCreate", f"create Claim {name} Pod {pod} in StatefulSet {parent} success"
    )


def settle(work: SyncInput, replica: Replica) -> Plan:
    """Give a replica's claims the owners that the policy asks for (UpdatePodClaimForRetentionPolicy)."""
    if owners_fit(work, replica):
        return
    yield from warn(work, replica)
    owners = work.owners(replica)
    for claim in work.claims_of(replica):
        if is_settled(claim, owners):
            continue
        try:
            yield Update(CLAIM, settled(claim, owners))
        except ApiError as error:
            raise error.worded(work.words.claim_refused.format(name_of(claim), error.message)) from None


def warn(work: SyncInput, replica: Replica) -> Plan:
    """Tell of claims that somebody else controls: the policy does nothing about them."""
    for claim in work.claims_of(replica):
        if has_other_controller(claim, work.owners(replica)):
            message = (
                f"PersistentVolumeClaim {name_of(claim)} has a conflicting OwnerReference that acts as a manging "
                "controller, the retention policy is ignored for this claim"
            )
            yield RecordEvent(work.parent, "ConflictingController", message, WARNING)


def together(errors: Sequence[ApiError]) -> ApiError:
    """Several errors as one (utilerrors.NewAggregate)."""
    messages = list(dict.fromkeys(error.message for error in errors))
    return errors[0].worded(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
