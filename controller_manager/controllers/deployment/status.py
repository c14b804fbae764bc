"""The status of a Deployment: counts of its ReplicaSets' pods, and rollout progress (sync.go, progress.go)."""

from apiserver.api.meta import Obj, name_of
from controller_manager.controllers.deployment.invalid_spec import without_fault
from controller_manager.controllers.deployment.replica_sets import (
    ReplicaSets,
    status_count,
    sum_status,
    terminating_replicas,
    total_replicas,
)
from controller_manager.controllers.deployment.rolling import min_available
from controller_manager.reconcile import conditions
from controller_manager.reconcile.conditions import FALSE, TRUE, UNKNOWN, deployment_condition
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import REPLICA_FAILURE, replicas_of
from controller_manager.reconcile.times import parse_time

AVAILABLE, PROGRESSING = "Available", "Progressing"

CREATED, FOUND, UPDATED = "NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"
COMPLETE, TIMED_OUT, FAILED_CREATE = "NewReplicaSetAvailable", "ProgressDeadlineExceeded", "ReplicaSetCreateError"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"

_NO_DEADLINE = 2**31 - 1


def has_deadline(deployment: Obj) -> bool:
    """Return whether the controller watches progress at all (HasProgressDeadline)."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    return deadline is not None and deadline != _NO_DEADLINE


def condition_in(status: Obj, type_: str) -> Obj | None:
    """Return the condition of a type in a status, or None if there is none."""
    return conditions.find_condition(status.get("conditions") or (), type_)


def status_of(deployment: Obj) -> Obj:
    """Return the Deployment's status, empty if it is not set yet."""
    return deployment.get("status") or {}


def progress_of(deployment: Obj) -> Obj | None:
    """Return the Deployment's condition Progressing, or None if there is none."""
    return condition_in(status_of(deployment), PROGRESSING)


def with_collision(deployment: Obj) -> Obj:
    """Return the Deployment with its collisionCount increased by one, so that its next ReplicaSet gets another name."""
    status = status_of(deployment)
    return deployment | {"status": status | {"collisionCount": (status.get("collisionCount") or 0) + 1}}


def with_progress(deployment: Obj, status: str, now: float, *, reason: str, message: str) -> Obj:
    """Return the Deployment with the given condition Progressing."""
    condition = deployment_condition(PROGRESSING, status, now, reason=reason, message=message)
    old = status_of(deployment)
    return deployment | {
        "status": old | {"conditions": conditions.with_condition(old.get("conditions") or (), condition)}
    }


def with_pause_condition(deployment: Obj, now: float) -> Obj:
    """Return the Deployment with a condition for being paused or resumed, so that a pause does not count as a timeout.

    If it has no progress deadline, or timed out before, it stays as it is (checkPausedConditions).
    """
    current = progress_of(deployment) or {}
    paused, was_paused = bool(deployment["spec"].get("paused")), current.get("reason") == PAUSED
    if not has_deadline(deployment) or current.get("reason") == TIMED_OUT or paused == was_paused:
        return deployment
    reason, message = (PAUSED, "Deployment is paused") if paused else (RESUMED, "Deployment is resumed")
    return with_progress(deployment, UNKNOWN, now, reason=reason, message=message)


def is_complete(deployment: Obj, status: Obj) -> bool:
    """Return whether a status shows that all pods are new, as many as desired, and available."""
    desired, counts = replicas_of(deployment), ("updatedReplicas", "replicas", "availableReplicas")
    is_observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return is_observed and all(status.get(name, 0) == desired for name in counts)


def calculate_status(deployment: Obj, sets: ReplicaSets, now: float, *, profile: Profile) -> Obj:
    """Return the status calculated from the ReplicaSets, with the old conditions except Available (calculateStatus).

    As on the wire, zero values are left out.
    """
    old = status_of(deployment)
    available = sum_status(sets.all, "availableReplicas")
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": sum_status(sets.all, "replicas"),
        "updatedReplicas": status_count(sets.new, "replicas") if sets.new else 0,
        "readyReplicas": sum_status(sets.all, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total_replicas(sets.all) - available),
    }
    status: Obj = {name: number for name, number in counts.items() if number}
    if profile.terminating_replicas and (count_terminating := terminating_replicas(sets.all)) is not None:
        status["terminatingReplicas"] = count_terminating
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    is_available = available >= min_available(deployment)
    old_conditions = without_fault(old.get("conditions") or [])
    return status | {
        "conditions": conditions.with_condition(old_conditions, _available_condition(now, enough=is_available))
    }


def _available_condition(now: float, *, enough: bool) -> Obj:
    if enough:
        message = "Deployment has minimum availability."
        return deployment_condition(AVAILABLE, TRUE, now, reason="MinimumReplicasAvailable", message=message)
    message = "Deployment does not have minimum availability."
    return deployment_condition(AVAILABLE, FALSE, now, reason="MinimumReplicasUnavailable", message=message)


def rollout_status(deployment: Obj, sets: ReplicaSets, now: float, *, profile: Profile) -> Obj:
    """Return the status with the rollout's progress and its ReplicaSets' failures (syncRolloutStatus)."""
    status = calculate_status(deployment, sets, now, profile=profile)
    updated = _with_progressing(deployment, sets, status, now)
    failure = _replica_failure(sets)
    updated = (
        conditions.with_condition(updated, failure)
        if failure
        else conditions.without_condition(updated, REPLICA_FAILURE)
    )
    return status | {"conditions": updated}


def _with_progressing(deployment: Obj, sets: ReplicaSets, status: Obj, now: float) -> list[Obj]:
    """Return the conditions with an up-to-date Progressing; once complete, it stays so even if pods fail later."""
    old: list[Obj] = status["conditions"]
    if not has_deadline(deployment):
        return conditions.without_condition(old, PROGRESSING)
    current = progress_of(deployment)
    if status.get("replicas", 0) == status.get("updatedReplicas", 0) and current and current.get("reason") == COMPLETE:
        return old
    subject = f'ReplicaSet "{name_of(sets.new)}"' if sets.new else f'Deployment "{name_of(deployment)}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return conditions.with_condition(
            old, deployment_condition(PROGRESSING, TRUE, now, reason=COMPLETE, message=message)
        )
    if _makes_progress(status_of(deployment), status):
        message = f"{subject} is progressing."
        return _with_replaced(old, deployment_condition(PROGRESSING, TRUE, now, reason=UPDATED, message=message))
    if _is_timed_out(deployment, current, now):
        message = f"{subject} has timed out progressing."
        return conditions.with_condition(
            old, deployment_condition(PROGRESSING, FALSE, now, reason=TIMED_OUT, message=message)
        )
    return old


def _with_replaced(known: list[Obj], condition: Obj) -> list[Obj]:
    """Return the conditions with this one replaced in any case, since its lastUpdateTime has changed."""
    current = conditions.find_condition(known, condition["type"])
    if current is not None and current["status"] == condition["status"]:
        condition = condition | {"lastTransitionTime": current.get("lastTransitionTime")}
    return [*conditions.without_condition(known, condition["type"]), condition]


def _makes_progress(old: Obj, new: Obj) -> bool:
    """Return whether new, ready or available pods increased, or old pods decreased (DeploymentProgressing)."""
    grown = any(
        new.get(name, 0) > old.get(name, 0) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grown or _old_pods(new) < _old_pods(old)


def _old_pods(status: Obj) -> int:
    number: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    return number


def _is_timed_out(deployment: Obj, current: Obj | None, now: float) -> bool:
    """Return whether nothing has changed for longer than the deadline (DeploymentTimedOut)."""
    if current is None or current.get("reason") == COMPLETE:
        return False
    return current.get("reason") == TIMED_OUT or _deadline(deployment, current) < now


def _deadline(deployment: Obj, condition: Obj) -> float:
    updated, allowed = condition.get("lastUpdateTime"), deployment["spec"]["progressDeadlineSeconds"]
    return (parse_time(updated) if updated else 0.0) + float(allowed)


def progress_check_in(deployment: Obj, status: Obj, now: float) -> float | None:
    """Return the seconds until a rollout without progress is checked again: one second after its deadline.

    (requeueStuckDeployment, which requeues a Deployment that was complete once again and again, without end)

    Args:
        deployment: the Deployment.
        status: its status as of now.
        now: the time.

    Returns:
        None if the passing of time alone changes nothing.
    """
    current = progress_of(deployment)
    if not has_deadline(deployment) or current is None or is_complete(deployment, status):
        return None
    if current.get("reason") in (TIMED_OUT, COMPLETE):
        return None
    return max(0.0, _deadline(deployment, current) - now) + 1


def _replica_failure(sets: ReplicaSets) -> Obj | None:
    """Return the condition ReplicaFailure of the new ReplicaSet, or else of any; None if none (getReplicaFailures)."""
    for replica_set in (*((sets.new,) if sets.new else ()), *sets.old):
        if (condition := condition_in(status_of(replica_set), REPLICA_FAILURE)) is not None:
            return _to_deployment_condition(condition)
    return None


def _to_deployment_condition(condition: Obj) -> Obj:
    """Return a ReplicaSet's condition as one of its Deployment (ReplicaSetToDeploymentCondition)."""
    time = condition.get("lastTransitionTime")
    optional = {name: condition[name] for name in ("reason", "message") if name in condition}
    return {
        "type": condition["type"],
        "status": condition["status"],
        "lastUpdateTime": time,
        "lastTransitionTime": time,
    } | optional
