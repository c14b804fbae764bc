"""The deeds of a pass over a StatefulSet: claims and pods made, mended and deleted, and Events that tell of them."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.parts.updates import update
from controller_manager.planning.identity import (
    has_identity,
    has_storage,
    new_claims,
    new_pod,
    revision_name_of,
    with_identity,
    with_storage,
)
from controller_manager.planning.ordinals import Replica, pod_name
from controller_manager.planning.retention import has_other_controller, is_settled, settled
from controller_manager.planning.stateful import Work, due, leaving, outdated, owners_fit, version_for
from controller_manager.runtime.claims import owner_reference
from controller_manager.runtime.contract import WARNING, Action, Batch, Create, Delete, Emit, Plan, Update, key_of
from controller_manager.runtime.kinds import CLAIM, POD, STATEFUL_SET


def perform(work: Work) -> Generator[Action, Any, int]:
    """One pass: what is wanted first, then what is condemned, then updates (updateStatefulSet).

    Gives:
        How many pods of the current revision were deleted for the update.

    Raises:
        ApiError: something was refused, and nothing that comes after it was done.
    """
    needs = due(work)
    for replica in needs.mend:
        yield from _mend(work, replica)
    yield from _provide(work, needs.provide)
    if work.profile.recreates_failed_at_once:
        yield from _announce(work, needs.remove)
    yield from _remove(work, needs.remove)
    yield from _make(work, needs.make)
    if not needs.onward:
        return 0
    for replica in work.pods.condemned:
        if not owners_fit(work, replica):
            yield from _settle(work, replica)
    going = leaving(work)
    yield from _remove(work, going.remove)
    if not going.onward:
        return 0
    updated = yield from _outdated(work)
    yield from _remove(work, updated)
    return sum(revision_name_of(replica.created) == work.current.name for replica in updated)


def _outdated(work: Work) -> Generator[Action, Any, Sequence[Replica]]:
    try:
        return outdated(work)
    except ValueError as error:
        refusal = ApiError(422, "Invalid", f"invalid maxUnavailable: {error}")
    yield Emit(work.parent, "InvalidMaxUnavailable", refusal.message, WARNING)
    raise refusal


# -- pods --------------------------------------------------------------------------------------------------------------


def _make(work: Work, replicas: Sequence[Replica]) -> Plan:
    """Make the pods of ordinals, each after its claims (CreateStatefulPod)."""
    wrong = yield from _make_claims(work, replicas)
    for ordinal, errors in wrong.items():
        if errors:
            yield _told(work, "create", pod=pod_name(name_of(work.parent), ordinal), error=_together(errors))
    able = [replica for replica in replicas if replica.ordinal not in wrong]
    pods = [_pod(work, replica.ordinal) for replica in able]
    answers = (yield Batch([Create(POD, pod) for pod in pods], slow_start=True)) if pods else ()
    refusals = [error for errors in wrong.values() for error in errors]
    for replica, pod, answer in zip(able, pods, answers, strict=True):
        error = answer if isinstance(answer, ApiError) else None
        if error is not None:
            refusals.append(error)
        if answer is not None and not (error and error.reason == "AlreadyExists"):
            yield _told(work, "create", pod=name_of(pod), error=error)
        if answer is not None and error is None:
            yield from _warn(work, replica)
    if refusals:
        raise refusals[0]


def _pod(work: Work, ordinal: int) -> Obj:
    reference = owner_reference(STATEFUL_SET, work.parent)
    version = version_for(work, ordinal)
    return new_pod(work.parent, ordinal, version=version, reference=reference, profile=work.profile)


def _mend(work: Work, replica: Replica) -> Plan:
    """Put right what a pod lost: its labels, its claims, and their owners (UpdateStatefulPod)."""
    pod, ordinal = replica.created, replica.ordinal

    def mended(found: Obj) -> Obj:
        found = with_identity(found, ordinal, work.profile)
        return found if has_storage(work.parent, found, ordinal) else with_storage(work.parent, found, ordinal)

    try:
        if not has_storage(work.parent, pod, ordinal):
            wrong = yield from _make_claims(work, (replica,))
            if wrong:
                raise _together(wrong[ordinal])
        yield from _settle(work, replica)
        if not (has_identity(pod) and has_storage(work.parent, pod, ordinal)):
            yield from update(POD, pod, change=mended)
    except ApiError as error:
        yield _told(work, "update", pod=name_of(pod), error=error)
        raise
    yield _told(work, "update", pod=name_of(pod))


def _announce(work: Work, replicas: Iterable[Replica]) -> Plan:
    for replica in replicas:
        whose = f"StatefulSet {key_of(work.parent)}"
        message = f"{whose} is recreating failed Pod {name_of(replica.created)}"
        yield Emit(work.parent, "RecreatingFailedPod", message, WARNING)


def _remove(work: Work, replicas: Sequence[Replica]) -> Plan:
    """Delete the pods that were seen, and no others of their names (DeleteStatefulPod)."""
    if not replicas:
        return
    pods = [replica.created for replica in replicas]
    requests = [Delete(POD, key_of(pod), uid=pod["metadata"]["uid"]) for pod in pods]
    answers = yield Batch(requests, slow_start=True)
    refusals = []
    for pod, answer in zip(pods, answers, strict=True):
        if not isinstance(answer, ApiError):
            if answer is not None:
                yield _told(work, "delete", pod=name_of(pod))
        else:
            yield _told(work, "delete", pod=name_of(pod), error=answer)
            if answer.code != 404:
                refusals.append(answer)
    if refusals:
        raise refusals[0]


def _told(work: Work, verb: str, *, pod: str, error: ApiError | None = None) -> Emit:
    """The Event that a pod was acted upon, or why not (recordPodEvent)."""
    what = f"{verb} Pod {pod} in StatefulSet {name_of(work.parent)}"
    if error is None:
        return Emit(work.parent, f"Successful{verb.title()}", f"{what} successful")
    return Emit(work.parent, f"Failed{verb.title()}", f"{what} failed error: {error.message}", WARNING)


# -- claims ------------------------------------------------------------------------------------------------------------


def _provide(work: Work, replicas: Sequence[Replica]) -> Plan:
    """Make the claims that pending pods lack (createMissingPersistentVolumeClaims)."""
    wrong = yield from _make_claims(work, replicas)
    for replica in replicas:
        if replica.ordinal in wrong:
            continue
        try:
            yield from _settle(work, replica)
        except ApiError as error:
            yield _told(work, "update", pod=name_of(replica.created), error=error)
            raise
    for errors in wrong.values():
        if errors:
            raise _together(errors)


def _make_claims(work: Work, replicas: Sequence[Replica]) -> Generator[Action, Any, Mapping[int, Sequence[ApiError]]]:
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
                why = f"pvc {name_of(claim)} is being deleted"
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


def _owned(work: Work, replica: Replica, claim: Obj) -> Obj:
    """A new claim with the owners that the policy asks for, so that they need not be added to it at once."""
    owners = work.owners(replica)
    return settled(claim, owners) if owners.wanted else claim


def _claim_told(work: Work, replica: Replica, *, claim: Obj, answer: Obj | ApiError) -> Emit:
    """The Event that a claim was made, or why not (recordClaimEvent)."""
    parent, name = name_of(work.parent), name_of(claim)
    pod = pod_name(parent, replica.ordinal)
    if isinstance(answer, ApiError):
        message = f"create Claim {name} for Pod {pod} in StatefulSet {parent} failed error: {answer.message}"
        return Emit(work.parent, "FailedCreate", message, WARNING)
    return Emit(work.parent, "SuccessfulCreate", f"create Claim {name} Pod {pod} in StatefulSet {parent} success")


def _settle(work: Work, replica: Replica) -> Plan:
    """Give a replica's claims the owners that the policy asks for (UpdatePodClaimForRetentionPolicy)."""
    if owners_fit(work, replica):
        return
    yield from _warn(work, replica)
    owners = work.owners(replica)
    for claim in work.claims_of(replica):
        if is_settled(claim, owners):
            continue
        try:
            yield Update(CLAIM, settled(claim, owners))
        except ApiError as error:
            why = f"could not update claim {name_of(claim)} for delete policy ownerRefs: {error.message}"
            raise error.worded(why) from None


def _warn(work: Work, replica: Replica) -> Plan:
    """Tell of claims that somebody else controls: the policy does nothing about them."""
    for claim in work.claims_of(replica):
        if has_other_controller(claim, work.owners(replica)):
            message = (
                f"PersistentVolumeClaim {name_of(claim)} has a conflicting OwnerReference that acts as a manging "
                "controller, the retention policy is ignored for this claim"
            )
            yield Emit(work.parent, "ConflictingController", message, WARNING)


def _together(errors: Sequence[ApiError]) -> ApiError:
    """Several errors as one (utilerrors.NewAggregate)."""
    messages = list(dict.fromkeys(error.message for error in errors))
    return errors[0].worded(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
