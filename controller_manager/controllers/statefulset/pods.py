"""The writes of a StatefulSet's sync: create, repair and delete pods, and record Events."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.statefulset.claims import aggregate, make_claims, update_owners, warn_of_conflicts
from controller_manager.controllers.statefulset.identity import (
    has_identity,
    has_storage,
    new_pod,
    revision_name_of,
    with_identity,
    with_storage,
)
from controller_manager.controllers.statefulset.ordinals import Replica, pod_name
from controller_manager.controllers.statefulset.sync import (
    SyncInput,
    actions_for_desired,
    claims_match_policy,
    condemned_to_delete,
    outdated_to_delete,
    version_for,
)
from controller_manager.reconcile.contract import WARNING, Action, Batch, Create, Delete, Plan, RecordEvent, key_of
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.retry_on_conflict import update


def sync_pods(inputs: SyncInput) -> Generator[Action, Any, int]:
    """Sync once: first the desired pods, then condemned ones, then updates (updateStatefulSet).

    Returns:
        How many pods of the current revision were deleted for the update.

    Raises:
        ApiError: a write was refused; the steps after it were not done.
    """
    actions = actions_for_desired(inputs)
    yield from repair_pods(inputs, actions.repair)
    yield from create_missing_claims(inputs, actions.create_claims)
    if inputs.profile.recreates_failed_at_once:
        yield from _report_claims(inputs, actions.delete)
    yield from delete_pods(inputs, actions.delete)
    yield from create_pods(inputs, actions.create)
    if not actions.proceed or not (yield from delete_condemned(inputs)):
        return 0
    updated = yield from _delete_outdated(inputs)
    yield from delete_pods(inputs, updated)
    return sum(revision_name_of(replica.created) == inputs.current.name for replica in updated)


def delete_condemned(inputs: SyncInput) -> Generator[Action, Any, bool]:
    """Delete condemned pods whose turn it is; return whether the sync may go on to updates.

    Raises:
        ApiError: the first refusal.
    """
    for replica in inputs.pods.condemned:
        if not claims_match_policy(inputs, replica):
            yield from update_owners(inputs, replica)
    leaving_now = condemned_to_delete(inputs)
    yield from delete_pods(inputs, leaving_now.delete)
    return leaving_now.proceed


def _delete_outdated(inputs: SyncInput) -> Generator[Action, Any, Sequence[Replica]]:
    try:
        return outdated_to_delete(inputs)
    except ValueError as error:
        refusal = ApiError(422, "Invalid", f"invalid maxUnavailable: {error}")
    yield RecordEvent(inputs.parent, "InvalidMaxUnavailable", refusal.message, WARNING)
    raise refusal


# -- pods --------------------------------------------------------------------------------------------------------------


def create_pods(inputs: SyncInput, replicas: Sequence[Replica]) -> Plan:
    """Create the pods of ordinals, each after its claims (CreateStatefulPod).

    Raises:
        ApiError: the first refusal.
    """
    failures = yield from make_claims(inputs, replicas)
    for ordinal, errors in failures.items():
        if errors:
            yield _pod_event(inputs, "create", pod=pod_name(name_of(inputs.parent), ordinal), error=aggregate(errors))
    creatable = [replica for replica in replicas if replica.ordinal not in failures]
    pods = [_pod(inputs, replica.ordinal) for replica in creatable]
    answers = (yield Batch([Create(POD, pod) for pod in pods], slow_start=True)) if pods else ()
    refusals = [error for errors in failures.values() for error in errors]
    for replica, pod, answer in zip(creatable, pods, answers, strict=True):
        error = answer if isinstance(answer, ApiError) else None
        if error is not None:
            refusals.append(error)
        if answer is not None and not (error and error.reason == "AlreadyExists"):
            yield _pod_event(inputs, "create", pod=name_of(pod), error=error)
        if answer is not None and error is None:
            yield from warn_of_conflicts(inputs, replica)
    if refusals:
        raise refusals[0]


def _pod(inputs: SyncInput, ordinal: int) -> Obj:
    version = version_for(inputs, ordinal)
    pod = new_pod(inputs.parent, ordinal, version=version, reference=inputs.reference, profile=inputs.profile)
    return inputs.finished(pod)


def repair_pods(inputs: SyncInput, replicas: Iterable[Replica]) -> Plan:
    """Repair labels, volumes and claims of pods.

    Raises:
        ApiError: the first refusal, after which the remaining pods are not checked.
    """
    for replica in replicas:
        yield from _repair(inputs, replica)


def _repair(inputs: SyncInput, replica: Replica) -> Plan:
    """Repair a pod's labels, its claims and their owners (UpdateStatefulPod)."""
    pod, ordinal = replica.created, replica.ordinal

    def repaired(current: Obj) -> Obj:
        current = with_identity(current, ordinal, inputs.profile)
        return (
            current if has_storage(inputs.parent, current, ordinal) else with_storage(inputs.parent, current, ordinal)
        )

    try:
        if not has_storage(inputs.parent, pod, ordinal):
            failures = yield from make_claims(inputs, (replica,))
            if failures:
                raise aggregate(failures[ordinal])
        yield from update_owners(inputs, replica)
        if not (has_identity(pod) and has_storage(inputs.parent, pod, ordinal)):
            yield from update(POD, pod, change=repaired)
    except ApiError as error:
        yield _pod_event(inputs, "update", pod=name_of(pod), error=error)
        raise
    yield _pod_event(inputs, "update", pod=name_of(pod))


def create_missing_claims(inputs: SyncInput, replicas: Sequence[Replica]) -> Plan:
    """Create the claims that pending pods lack (createMissingPersistentVolumeClaims).

    Raises:
        ApiError: the first refusal.
    """
    failures = yield from make_claims(inputs, replicas)
    for replica in replicas:
        if replica.ordinal in failures:
            continue
        try:
            yield from update_owners(inputs, replica)
        except ApiError as error:
            yield _pod_event(inputs, "update", pod=name_of(replica.created), error=error)
            raise
    for errors in failures.values():
        if errors:
            raise aggregate(errors)


def _report_claims(inputs: SyncInput, replicas: Iterable[Replica]) -> Plan:
    for replica in replicas:
        subject = f"StatefulSet {key_of(inputs.parent)}"
        message = f"{subject} is recreating failed Pod {name_of(replica.created)}"
        yield RecordEvent(inputs.parent, "RecreatingFailedPod", message, WARNING)


def delete_pods(inputs: SyncInput, replicas: Sequence[Replica]) -> Plan:
    """Delete the pods with the observed uids, and no others of the same names (DeleteStatefulPod).

    Raises:
        ApiError: the first refusal that is not a 404.
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
                yield _pod_event(inputs, "delete", pod=name_of(pod))
        else:
            yield _pod_event(inputs, "delete", pod=name_of(pod), error=answer)
            if inputs.messages.pod_stays:
                yield RecordEvent(
                    inputs.parent,
                    "FailedDelete",
                    inputs.messages.pod_stays.format(name_of(pod), answer.message),
                    WARNING,
                )
            if answer.code != 404:
                refusals.append(answer)
    if refusals:
        raise refusals[0]


def _pod_event(inputs: SyncInput, verb: str, *, pod: str, error: ApiError | None = None) -> RecordEvent:
    """Return the Event that a pod was created, updated or deleted, or why not (recordPodEvent)."""
    summary = f"{verb} Pod {pod} in StatefulSet {name_of(inputs.parent)}"
    if error is None:
        return RecordEvent(inputs.parent, f"Successful{verb.title()}", f"{summary} successful")
    return RecordEvent(inputs.parent, f"Failed{verb.title()}", f"{summary} failed error: {error.message}", WARNING)
