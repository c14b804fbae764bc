"""A status: its phase, and its conditions, a list with at most one for each type.

A condition's lastTransitionTime changes only when its status does.
"""

from collections.abc import Sequence

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import format_time

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


def phase_of(obj: Obj) -> str:
    """Return status.phase, or "" if there is none."""
    return (obj.get("status") or {}).get("phase") or ""


def condition_of(obj: Obj, type_: str) -> Obj | None:
    """Return the condition of a type in an object's status, or None if there is none."""
    return find_condition((obj.get("status") or {}).get("conditions") or (), type_)


def find_condition(conditions: Sequence[Obj], type_: str) -> Obj | None:
    """Return the condition of a type, or None if there is none."""
    for condition in conditions:
        if condition["type"] == type_:
            return condition
    return None


def without_condition(conditions: Sequence[Obj], type_: str) -> list[Obj]:
    """Return the conditions without those of a type."""
    return [condition for condition in conditions if condition["type"] != type_]


def with_condition(conditions: Sequence[Obj], condition: Obj) -> list[Obj]:
    """Return the conditions with this one in place of its type's, unchanged if status and reason are the same.

    lastTransitionTime is kept if the status is the same (deployment_util.go SetDeploymentCondition, and similar
    functions).
    """
    current = find_condition(conditions, condition["type"])
    if current is not None and current["status"] == condition["status"]:
        if current.get("reason", "") == condition.get("reason", ""):
            return list(conditions)
        if "lastTransitionTime" in current:
            condition = condition | {"lastTransitionTime": current["lastTransitionTime"]}
    return [*without_condition(conditions, condition["type"]), condition]


def deployment_condition(type_: str, status: str, now: float, *, reason: str, message: str) -> Obj:
    """Return a new condition of a Deployment (NewDeploymentCondition)."""
    time = format_time(now)
    return {
        "type": type_,
        "status": status,
        "lastUpdateTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }
