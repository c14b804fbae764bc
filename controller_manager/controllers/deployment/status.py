"""The status of a Deployment: what its ReplicaSets count, and whether it makes progress (sync.go, progress.go)."""

from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.deployment.invalid_spec import without_fault
from controller_manager.controllers.deployment.replica_sets import ReplicaSets, count, sum_status, terminating, wanted
from controller_manager.controllers.deployment.rolling import fewest_available
from controller_manager.reconcile import conditions
from controller_manager.reconcile.conditions import FALSE, TRUE, UNKNOWN, deployment_condition
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import FAILURE, replicas_of
from controller_manager.reconcile.times import seconds

AVAILABLE, PROGRESSING = "Available", "Progressing"

CREATED, FOUND, UPDATED = "NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"
COMPLETE, TIMED_OUT, FAILED_CREATE = "NewReplicaSetAvailable", "ProgressDeadlineExceeded", "ReplicaSetCreateError"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"

_NO_DEADLINE = 2**31 - 1


def has_deadline(deployment: Obj) -> bool:
    """Whether progress is watched at all (HasProgressDeadline)."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    return deadline is not None and deadline != _NO_DEADLINE


def condition_in(status: Obj, type_: str) -> Obj | None:
    """The condition of a type in a status, None where there is none."""
    return conditions.find(status.get("conditions") or (), type_)


def status_of(deployment: Obj) -> Obj:
    """Its status, empty where there is none yet."""
    return deployment.get("status") or {}


def progress_of(deployment: Obj) -> Obj | None:
    """Its condition Progressing, None where there is none."""
    return condition_in(status_of(deployment), PROGRESSING)


def with_collision(deployment: Obj) -> Obj:
    """The Deployment with one more collision, so that its next ReplicaSet gets another name."""
    status = status_of(deployment)
    return deployment | {"status": status | {"collisionCount": (status.get("collisionCount") or 0) + 1}}


def with_progress(deployment: Obj, status: str, now: float, *, reason: str, message: str) -> Obj:
    """The Deployment with a condition Progressing."""
    condition = deployment_condition(PROGRESSING, status, now, reason=reason, message=message)
    old = status_of(deployment)
    return deployment | {"status": old | {"conditions": conditions.put(old.get("conditions") or (), condition)}}


def with_pause_noted(deployment: Obj, now: float) -> Obj:
    """The Deployment saying that it is paused, or no more, so that a pause is no lack of progress.

    One whose progress is not watched, or which timed out before, stays as it is (checkPausedConditions).
    """
    current = progress_of(deployment) or {}
    paused, noted = bool(deployment["spec"].get("paused")), current.get("reason") == PAUSED
    if not has_deadline(deployment) or current.get("reason") == TIMED_OUT or paused == noted:
        return deployment
    reason, message = (PAUSED, "Deployment is paused") if paused else (RESUMED, "Deployment is resumed")
    return with_progress(deployment, UNKNOWN, now, reason=reason, message=message)


def is_complete(deployment: Obj, status: Obj) -> bool:
    """Whether a status tells that all pods are new, that there are as many as asked for, and all available."""
    desired, counts = replicas_of(deployment), ("updatedReplicas", "replicas", "availableReplicas")
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return seen and all(status.get(name, 0) == desired for name in counts)


def status_now(deployment: Obj, sets: ReplicaSets, now: float, *, profile: Profile) -> Obj:
    """The status by what the ReplicaSets count, its conditions kept but for Available (calculateStatus).

    As on the wire, what is zero is left out.
    """
    old = status_of(deployment)
    available = sum_status(sets.all, "availableReplicas")
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": sum_status(sets.all, "replicas"),
        "updatedReplicas": count(sets.new, "replicas") if sets.new else 0,
        "readyReplicas": sum_status(sets.all, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted(sets.all) - available),
    }
    status: Obj = {name: number for name, number in counts.items() if number}
    if profile.terminating_replicas and (going := terminating(sets.all)) is not None:
        status["terminatingReplicas"] = going
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    enough = available >= fewest_available(deployment)
    known = without_fault(old.get("conditions") or [])
    return status | {"conditions": conditions.put(known, _availability(now, enough=enough))}


def _availability(now: float, *, enough: bool) -> Obj:
    if enough:
        told = "Deployment has minimum availability."
        return deployment_condition(AVAILABLE, TRUE, now, reason="MinimumReplicasAvailable", message=told)
    told = "Deployment does not have minimum availability."
    return deployment_condition(AVAILABLE, FALSE, now, reason="MinimumReplicasUnavailable", message=told)


def rollout_status(deployment: Obj, sets: ReplicaSets, now: float, *, profile: Profile) -> Obj:
    """The status with the progress of the rollout and the failures of its ReplicaSets (syncRolloutStatus)."""
    status = status_now(deployment, sets, now, profile=profile)
    found = _progressed(deployment, sets, status, now)
    failure = _failure(sets)
    found = conditions.put(found, failure) if failure else conditions.without(found, FAILURE)
    return status | {"conditions": found}


def _progressed(deployment: Obj, sets: ReplicaSets, status: Obj, now: float) -> list[Obj]:
    """The conditions with Progressing as it is now; once complete, it stays whatever pods do later."""
    known: list[Obj] = status["conditions"]
    if not has_deadline(deployment):
        return conditions.without(known, PROGRESSING)
    current = progress_of(deployment)
    if status.get("replicas", 0) == status.get("updatedReplicas", 0) and current and current.get("reason") == COMPLETE:
        return known
    what = f'ReplicaSet "{name_of(sets.new)}"' if sets.new else f'Deployment "{name_of(deployment)}"'
    if is_complete(deployment, status):
        told = f"{what} has successfully progressed."
        return conditions.put(known, deployment_condition(PROGRESSING, TRUE, now, reason=COMPLETE, message=told))
    if _makes_progress(status_of(deployment), status):
        told = f"{what} is progressing."
        return _refreshed(known, deployment_condition(PROGRESSING, TRUE, now, reason=UPDATED, message=told))
    if _is_timed_out(deployment, current, now):
        told = f"{what} has timed out progressing."
        return conditions.put(known, deployment_condition(PROGRESSING, FALSE, now, reason=TIMED_OUT, message=told))
    return known


def _refreshed(known: list[Obj], condition: Obj) -> list[Obj]:
    """The conditions with one that is new in any case, since its lastUpdateTime is the news."""
    current = conditions.find(known, condition["type"])
    if current is not None and current["status"] == condition["status"]:
        condition = condition | {"lastTransitionTime": current.get("lastTransitionTime")}
    return [*conditions.without(known, condition["type"]), condition]


def _makes_progress(old: Obj, new: Obj) -> bool:
    """Whether there are more new pods, fewer old ones, or more that are ready or available (DeploymentProgressing)."""
    grown = any(
        new.get(name, 0) > old.get(name, 0) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grown or _old_pods(new) < _old_pods(old)


def _old_pods(status: Obj) -> int:
    found: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    return found


def _is_timed_out(deployment: Obj, current: Obj | None, now: float) -> bool:
    """Whether nothing has moved for too long (DeploymentTimedOut)."""
    if current is None or current.get("reason") == COMPLETE:
        return False
    return current.get("reason") == TIMED_OUT or _deadline(deployment, current) < now


def _deadline(deployment: Obj, condition: Obj) -> float:
    updated, allowed = condition.get("lastUpdateTime"), deployment["spec"]["progressDeadlineSeconds"]
    return (seconds(updated) if updated else 0.0) + float(allowed)


def look_again_in(deployment: Obj, status: Obj, now: float) -> float | None:
    """Seconds until a rollout that does not move is looked at again: a second after its deadline.

    (requeueStuckDeployment, which asks for a deployment that was complete once more and more often, to no end)

    Args:
        deployment: the Deployment.
        status: its status as of now.
        now: the time.

    Returns:
        None where time alone changes nothing.
    """
    current = progress_of(deployment)
    if not has_deadline(deployment) or current is None or is_complete(deployment, status):
        return None
    if current.get("reason") in (TIMED_OUT, COMPLETE):
        return None
    return max(0.0, _deadline(deployment, current) - now) + 1


def _failure(sets: ReplicaSets) -> Obj | None:
    """What keeps pods from being made, by the new ReplicaSet or else by any (getReplicaFailures)."""
    for replica_set in (*((sets.new,) if sets.new else ()), *sets.old):
        if (found := condition_in(status_of(replica_set), FAILURE)) is not None:
            return _as_of_deployment(found)
    return None


def _as_of_deployment(condition: Obj) -> Obj:
    """A condition of a ReplicaSet as one of its Deployment (ReplicaSetToDeploymentCondition)."""
    time = condition.get("lastTransitionTime")
    told = {name: condition[name] for name in ("reason", "message") if name in condition}
    return {
        "type": condition["type"],
        "status": condition["status"],
        "lastUpdateTime": time,
        "lastTransitionTime": time,
    } | told
