"""The status of CloneSets: their pods counted, how far an update has come, and what went wrong.

(pkg/controller/cloneset/cloneset_status.go)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kruise.cloneset.spec import Member, Strategy
from controller_manager.reconcile import conditions
from controller_manager.reconcile.conditions import deployment_condition
from controller_manager.reconcile.times import seconds, stamp

FAILED_SCALE, FAILED_UPDATE = "FailedScale", "FailedUpdate"
PROGRESSING = "Progressing"
AVAILABLE, PAUSED, PARTLY_AVAILABLE = "CloneSetAvailable", "CloneSetPaused", "ProgressPartitionAvailable"
UPDATED, TIMED_OUT = "CloneSetUpdated", "ProgressDeadlineExceeded"

_NO_DEADLINE = 2**31 - 1
_OMITTED = frozenset(("observedGeneration", "updatedAvailableReplicas", "expectedUpdatedReplicas"))
"""What the status does not say where it is 0."""


@dataclass(frozen=True, slots=True)
class RevisionState:
    """Where a CloneSet stands in its history.

    Attributes:
        current: the name of the current revision.
        update: that of the update revision.
        collisions: how many names of revisions were found taken.
    """

    current: str
    update: str
    collisions: int


def counts(members: Sequence[Member]) -> dict[str, int]:
    """How many pods there are (calculateStatus)."""
    return {
        "replicas": len(members),
        "readyReplicas": sum(each.ready for each in members),
        "availableReplicas": sum(each.available for each in members),
        "updatedReplicas": sum(each.updated for each in members),
        "updatedReadyReplicas": sum(each.updated and each.ready for each in members),
        "updatedAvailableReplicas": sum(each.updated and each.available for each in members),
    }


def status_of(
    parent: Obj, numbers: Mapping[str, int], *, strategy: Strategy, standing: RevisionState, selector: str
) -> Obj:
    """The status as it should be, with the conditions as they were.

    The update revision becomes the current one once all pods are of it and as many as are wanted, ready or not.

    Args:
        parent: the CloneSet.
        numbers: as `counts` has them.
        strategy: what it asks for.
        standing: its revisions.
        selector: of its pods, as text.
    """
    complete = numbers["updatedReplicas"] == numbers["replicas"] == strategy.replicas
    told: Obj = {
        "observedGeneration": parent["metadata"].get("generation") or 0,
        **numbers,
        "expectedUpdatedReplicas": strategy.replicas - strategy.partition,
        "updateRevision": standing.update,
        "currentRevision": standing.update if complete else standing.current,
        "collisionCount": standing.collisions,
        "labelSelector": selector,
    }
    told = {name: value for name, value in told.items() if value or name not in _OMITTED}
    before = (parent.get("status") or {}).get("conditions")
    return told | ({"conditions": before} if before else {})


def with_failure(status: Obj, type_: str, why: str, now: float) -> Obj:
    """The status with the condition that something failed; what it first said, it says for ever, as upstream.

    Args:
        status: as it was to be.
        type_: FAILED_SCALE or FAILED_UPDATE.
        why: the error.
        now: the time.
    """
    failed = {"type": type_, "status": conditions.TRUE, "lastTransitionTime": stamp(now), "message": why}
    return status | {"conditions": conditions.put(status.get("conditions") or (), failed)}


# -- progress ----------------------------------------------------------------------------------------------------------


def with_progress(parent: Obj, status: Obj, *, strategy: Strategy, now: float) -> Obj:
    """The status with the condition Progressing, without it where there is no deadline (calculateProgressingStatus)."""
    known = status.get("conditions") or ()
    deadline = deadline_of(parent)
    if deadline is None:
        told = conditions.without(known, PROGRESSING)
    else:
        told = conditions.put(known, _progress(status, strategy, deadline=deadline, now=now))
    rest = {name: value for name, value in status.items() if name != "conditions"}
    return rest | ({"conditions": told} if told else {})


def deadline_of(parent: Obj) -> int | None:
    """Seconds after which an update that does not end has failed, None for never (HasProgressDeadline)."""
    found: int | None = parent["spec"].get("progressDeadlineSeconds")
    return None if found == _NO_DEADLINE else found


def _progress(status: Obj, strategy: Strategy, *, deadline: int, now: float) -> Obj:
    progressing = conditions.find(status.get("conditions") or (), PROGRESSING)
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
    """Whether the update goes on for too long (CloneSetDeadlineExceeded).

    Upstream also counts from when the set became available, or was held back, so that after a rest longer than the
    deadline each update is late at once; its API and its proposal say otherwise, and so does this.
    """
    reason = progressing.get("reason")
    return reason == TIMED_OUT or (reason == UPDATED and _told_at(progressing) + deadline < now)


def _told_at(progressing: Obj) -> float:
    told = progressing.get("lastUpdateTime")
    return seconds(told) if told else 0.0


def next_look(parent: Obj, status: Obj, now: float) -> float | None:
    """Seconds until an update that goes on may be late, None where none goes on (getRequeueSecondsFromCondition)."""
    deadline, progressing = deadline_of(parent), conditions.find(status.get("conditions") or (), PROGRESSING)
    if deadline is None or progressing is None or progressing.get("reason") != UPDATED:
        return None
    return max(_told_at(progressing) + deadline - now, 0.0) + 1
