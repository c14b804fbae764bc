"""The status of CloneSets: numbers of pods, progress of an update, and failures.

(pkg/controller/cloneset/cloneset_status.go)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.reconcile import conditions
from controller_manager.reconcile.conditions import deployment_condition
from controller_manager.reconcile.times import format_time, parse_time

FAILED_SCALE, FAILED_UPDATE = "FailedScale", "FailedUpdate"
PROGRESSING = "Progressing"
AVAILABLE, PAUSED, PARTLY_AVAILABLE = "CloneSetAvailable", "CloneSetPaused", "ProgressPartitionAvailable"
UPDATED, TIMED_OUT = "CloneSetUpdated", "ProgressDeadlineExceeded"

_NO_DEADLINE = 2**31 - 1
_OMIT_EMPTY = frozenset(("observedGeneration", "updatedAvailableReplicas", "expectedUpdatedReplicas"))
"""Fields that the status omits if they are 0."""


@dataclass(frozen=True, slots=True)
class RevisionState:
    """The revisions in a CloneSet's status.

    Attributes:
        current: the name of the current revision.
        update: the name of the update revision.
        collisions: how many names of revisions were already taken.
    """

    current: str
    update: str
    collisions: int


def counts(members: Sequence[Member]) -> dict[str, int]:
    """Count the pods (calculateStatus)."""
    return {
        "replicas": len(members),
        "readyReplicas": sum(member.ready for member in members),
        "availableReplicas": sum(member.available for member in members),
        "updatedReplicas": sum(member.updated for member in members),
        "updatedReadyReplicas": sum(member.updated and member.ready for member in members),
        "updatedAvailableReplicas": sum(member.updated and member.available for member in members),
    }


def status_of(
    parent: Obj, numbers: Mapping[str, int], *, strategy: Strategy, revision_state: RevisionState, selector: str
) -> Obj:
    """Return the new status, with the old conditions.

    The update revision becomes the current one once all pods are of it and match spec.replicas, ready or not.

    Args:
        parent: the CloneSet.
        numbers: as returned by `counts`.
        strategy: its strategy.
        revision_state: its revisions.
        selector: of its pods, as text.
    """
    complete = numbers["updatedReplicas"] == numbers["replicas"] == strategy.replicas
    fields: Obj = {
        "observedGeneration": parent["metadata"].get("generation") or 0,
        **numbers,
        "expectedUpdatedReplicas": strategy.replicas - strategy.partition,
        "updateRevision": revision_state.update,
        "currentRevision": revision_state.update if complete else revision_state.current,
        "collisionCount": revision_state.collisions,
        "labelSelector": selector,
    }
    fields = {name: value for name, value in fields.items() if value or name not in _OMIT_EMPTY}
    before = (parent.get("status") or {}).get("conditions")
    return fields | ({"conditions": before} if before else {})


def with_failure(status: Obj, type_: str, message: str, now: float) -> Obj:
    """Return the status with the condition that something failed; as upstream, its first message stays.

    Args:
        status: the new status.
        type_: FAILED_SCALE or FAILED_UPDATE.
        message: the error.
        now: the time.
    """
    failed = {"type": type_, "status": conditions.TRUE, "lastTransitionTime": format_time(now), "message": message}
    return status | {"conditions": conditions.with_condition(status.get("conditions") or (), failed)}


# -- progress ----------------------------------------------------------------------------------------------------------


def with_progress(parent: Obj, status: Obj, *, strategy: Strategy, now: float) -> Obj:
    """Return the status with the condition Progressing, or without it if no deadline is set.

    (calculateProgressingStatus)
    """
    old_conditions = status.get("conditions") or ()
    deadline = deadline_of(parent)
    if deadline is None:
        new_conditions = conditions.without_condition(old_conditions, PROGRESSING)
    else:
        new_conditions = conditions.with_condition(
            old_conditions, _progress(status, strategy, deadline=deadline, now=now)
        )
    other_fields = {name: value for name, value in status.items() if name != "conditions"}
    return other_fields | ({"conditions": new_conditions} if new_conditions else {})


def deadline_of(parent: Obj) -> int | None:
    """Return the seconds after which an unfinished update has failed, None for never (HasProgressDeadline)."""
    seconds_allowed: int | None = parent["spec"].get("progressDeadlineSeconds")
    return None if seconds_allowed == _NO_DEADLINE else seconds_allowed


def _progress(status: Obj, strategy: Strategy, *, deadline: int, now: float) -> Obj:
    progressing = conditions.find_condition(status.get("conditions") or (), PROGRESSING)
    holds, reason, message = conditions.TRUE, UPDATED, "CloneSet is progressing"
    if _is_available(status, strategy):
        reason, message = AVAILABLE, "CloneSet is available"
    elif strategy.paused:
        reason, message = PAUSED, "CloneSet is paused"
    elif _is_partly_available(status, strategy):
        reason, message = PARTLY_AVAILABLE, "CloneSet has been paused due to partition ready"
    elif progressing is not None and _is_late(progressing, deadline, now):
        holds, reason = conditions.FALSE, TIMED_OUT
        message = f"CloneSet revision {status['updateRevision']} has timed out progressing"
    return deployment_condition(PROGRESSING, holds, now, reason=reason, message=message)


def _is_available(status: Obj, strategy: Strategy) -> bool:
    names = ("replicas", "updatedReplicas", "updatedAvailableReplicas")
    complete = all(status.get(name, 0) == strategy.replicas for name in names)
    return complete and status["currentRevision"] == status["updateRevision"]


def _is_partly_available(status: Obj, strategy: Strategy) -> bool:
    expected = strategy.replicas - strategy.partition
    return expected < strategy.replicas and expected <= status.get("updatedAvailableReplicas", 0)


def _is_late(progressing: Obj, deadline: int, now: float) -> bool:
    """Return True if the update takes too long (CloneSetDeadlineExceeded).

    Upstream also counts from when the set became available, or was held back, so that after a pause longer than the
    deadline each update is late at once; its API and its proposal say otherwise, and so does this.
    """
    reason = progressing.get("reason")
    return reason == TIMED_OUT or (reason == UPDATED and _last_update(progressing) + deadline < now)


def _last_update(progressing: Obj) -> float:
    updated = progressing.get("lastUpdateTime")
    return parse_time(updated) if updated else 0.0


def progress_deadline_in(parent: Obj, status: Obj, now: float) -> float | None:
    """Return the seconds until a running update may be late, None if none is running.

    (getRequeueSecondsFromCondition)
    """
    deadline, progressing = deadline_of(parent), conditions.find_condition(status.get("conditions") or (), PROGRESSING)
    if deadline is None or progressing is None or progressing.get("reason") != UPDATED:
        return None
    return max(_last_update(progressing) + deadline - now, 0.0) + 1
