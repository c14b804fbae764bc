"""The deeds of a pass over a StatefulSet: pods made, mended and deleted, and Events that tell of them."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.claims import make_claims, settle, together, warn
from controller_manager.controllers.statefulset.identity import (
    has_identity,
    has_storage,
    new_pod,
    revision_name_of,
    with_identity,
    with_storage,
)
from controller_manager.controllers.statefulset.ordinals import Replica, pod_name
from controller_manager.controllers.statefulset.sync import SyncInput, due, leaving, outdated, owners_fit, version_for
from controller_manager.reconcile.contract import WARNING, Action, Batch, Create, Delete, Plan, RecordEvent, key_of
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.retry_on_conflict import update


def perform(work: SyncInput) -> Generator[Action, Any, int]:
    """One pass: what is wanted first, then what is condemned, then updates (updateStatefulSet).

    Gives:
        How many pods of the current revision were deleted for the update.

    Raises:
        ApiError: something was refused, and nothing that comes after it was done.
    """
    needs = due(work)
    yield from mend(work, needs.mend)
    yield from provide(work, needs.provide)
    if work.profile.recreates_failed_at_once:
        yield from _announce(work, needs.remove)
    yield from remove(work, needs.remove)
    yield from make(work, needs.make)
    if not needs.onward or not (yield from dismiss(work)):
        return 0
    updated = yield from _outdated(work)
    yield from remove(work, updated)
    return sum(revision_name_of(replica.created) == work.current.name for replica in updated)


def dismiss(work: SyncInput) -> Generator[Action, Any, bool]:
    """Let condemned pods go whose turn it is; tells whether the pass may go on to updates.

    Raises:
        ApiError: the first refusal.
    """
    for replica in work.pods.condemned:
        if not owners_fit(work, replica):
            yield from settle(work, replica)
    going = leaving(work)
    yield from remove(work, going.remove)
    return going.onward


def _outdated(work: SyncInput) -> Generator[Action, Any, Sequence[Replica]]:
    try:
        return outdated(work)
    except ValueError as error:
        refusal = ApiError(422, "Invalid", f"invalid maxUnavailable: {error}")
    yield RecordEvent(work.parent, "InvalidMaxUnavailable", refusal.message, WARNING)
    raise refusal


# -- pods --------------------------------------------------------------------------------------------------------------


def make(work: SyncInput, replicas: Sequence[Replica]) -> Plan:
    """Make the pods of ordinals, each after its claims (CreateStatefulPod).

    Raises:
        ApiError: the first refusal.
    """
    wrong = yield from make_claims(work, replicas)
    for ordinal, errors in wrong.items():
        if errors:
            yield _told(work, "create", pod=pod_name(name_of(work.parent), ordinal), error=together(errors))
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
            yield from warn(work, replica)
    if refusals:
        raise refusals[0]


def _pod(work: SyncInput, ordinal: int) -> Obj:
    version = version_for(work, ordinal)
    pod = new_pod(work.parent, ordinal, version=version, reference=work.reference, profile=work.profile)
    return work.finished(pod)


def mend(work: SyncInput, replicas: Iterable[Replica]) -> Plan:
    """Put right what pods lost.

    Raises:
        ApiError: the first refusal, after which no other pod was looked at.
    """
    for replica in replicas:
        yield from _mend(work, replica)


def _mend(work: SyncInput, replica: Replica) -> Plan:
    """Put right what a pod lost: its labels, its claims, and their owners (UpdateStatefulPod)."""
    pod, ordinal = replica.created, replica.ordinal

    def mended(found: Obj) -> Obj:
        found = with_identity(found, ordinal, work.profile)
        return found if has_storage(work.parent, found, ordinal) else with_storage(work.parent, found, ordinal)

    try:
        if not has_storage(work.parent, pod, ordinal):
            wrong = yield from make_claims(work, (replica,))
            if wrong:
                raise together(wrong[ordinal])
        yield from settle(work, replica)
        if not (has_identity(pod) and has_storage(work.parent, pod, ordinal)):
            yield from update(POD, pod, change=mended)
    except ApiError as error:
        yield _told(work, "update", pod=name_of(pod), error=error)
        raise
    yield _told(work, "update", pod=name_of(pod))


def provide(work: SyncInput, replicas: Sequence[Replica]) -> Plan:
    """Make the claims that pending pods lack (createMissingPersistentVolumeClaims).

    Raises:
        ApiError: the first refusal.
    """
    wrong = yield from make_claims(work, replicas)
    for replica in replicas:
        if replica.ordinal in wrong:
            continue
        try:
            yield from settle(work, replica)
        except ApiError as error:
            yield _told(work, "update", pod=name_of(replica.created), error=error)
            raise
    for errors in wrong.values():
        if errors:
            raise together(errors)


def _announce(work: SyncInput, replicas: Iterable[Replica]) -> Plan:
    for replica in replicas:
        whose = f"StatefulSet {key_of(work.parent)}"
        message = f"{whose} is recreating failed Pod {name_of(replica.created)}"
        yield RecordEvent(work.parent, "RecreatingFailedPod", message, WARNING)


def remove(work: SyncInput, replicas: Sequence[Replica]) -> Plan:
    """Delete the pods that were seen, and no others of their names (DeleteStatefulPod).

    Raises:
        ApiError: the first refusal that is not because the pod is gone.
    """
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
            if work.words.pod_stays:
                yield RecordEvent(
                    work.parent, "FailedDelete", work.words.pod_stays.format(name_of(pod), answer.message), WARNING
                )
            if answer.code != 404:
                refusals.append(answer)
    if refusals:
        raise refusals[0]


def _told(work: SyncInput, verb: str, *, pod: str, error: ApiError | None = None) -> RecordEvent:
    """The Event that a pod was acted upon, or why not (recordPodEvent)."""
    what = f"{verb} Pod {pod} in StatefulSet {name_of(work.parent)}"
    if error is None:
        return RecordEvent(work.parent, f"Successful{verb.title()}", f"{what} successful")
    return RecordEvent(work.parent, f"Failed{verb.title()}", f"{what} failed error: {error.message}", WARNING)
