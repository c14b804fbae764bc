"""Disruption budgets: how many pods must stay healthy, how many are, and the resulting status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from controller_manager.reconcile.conditions import FALSE, TRUE, condition_of, find_condition
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import DISRUPTION_TARGET, is_ready, is_terminal
from controller_manager.reconcile.times import format_time, parse_time

DELETION_TIMEOUT = 120.0
"""Seconds after which an evicted pod that was not deleted counts as not evicted (DeletionTimeout)."""
STALE_TIMEOUT = 120.0
"""Seconds after which a pod that is not deleted loses its condition DisruptionTarget (stalePodDisruptionTimeout)."""
DISRUPTION_ALLOWED = "DisruptionAllowed"

_REQUIREMENT_TYPE = "LabelSelectorRequirement"
_NO_DISRUPTIONS = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


@dataclass(frozen=True, slots=True)
class ExpectedPods:
    """The pods that a budget asks for.

    Attributes:
        pods: how many pods there should be.
        healthy: how many of them must be healthy.
    """

    pods: int
    healthy: int


def needs_scale(spec: Obj) -> bool:
    """Return whether the budget depends on the scale of the pods' controllers, not on the number of existing pods."""
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def expected_pods(spec: Obj, pods: int, scale: int) -> ExpectedPods:
    """Return the pods that a budget asks for (disruption.go getExpectedPodCount).

    Args:
        spec: the budget's spec.
        pods: how many pods exist.
        scale: how many pods their controllers ask for.

    Raises:
        ValueError: a string is not a percentage.
    """
    at_least, at_most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if at_most is not None:
        return ExpectedPods(scale, max(0, scale - scaled(at_most, scale, round_up=True)))
    if isinstance(at_least, str):
        return ExpectedPods(scale, scaled(at_least, scale, round_up=True))
    return ExpectedPods(0, 0) if at_least is None else ExpectedPods(pods, at_least)


@dataclass(frozen=True, slots=True)
class DisruptedPods:
    """Pods whose eviction was allowed.

    Attributes:
        awaited: pod name → time at which eviction was allowed; its deletion is still to come.
        missed: pods that should have been deleted by now and were not.
        wait: seconds until the next pod times out, or None if no deletion is awaited.
    """

    awaited: Mapping[str, str]
    missed: Sequence[Obj]
    wait: float | None


def disrupted_pods(allowed: Mapping[str, str], pods: Iterable[Obj], now: float) -> DisruptedPods:
    """Divide the evictions in status.disruptedPods into awaited and missed ones (buildDisruptedPodMap)."""
    existing = {name_of(pod): pod for pod in pods if not pod["metadata"].get("deletionTimestamp")} if allowed else {}
    ends = {name: parse_time(since) + DELETION_TIMEOUT for name, since in allowed.items() if name in existing}
    return DisruptedPods(
        awaited={name: allowed[name] for name, end in ends.items() if end > now},
        missed=[existing[name] for name, end in ends.items() if end <= now],
        wait=min((end - now for end in ends.values() if end > now), default=None),
    )


def count_healthy(pods: Iterable[Obj], awaited: Mapping[str, str]) -> int:
    """Return how many pods are ready, not being deleted, and not about to be (countHealthyPods)."""
    return sum(
        is_ready(pod) and not pod["metadata"].get("deletionTimestamp") and name_of(pod) not in awaited for pod in pods
    )


def status_of(budget: Obj, expectation: ExpectedPods, current: int, *, awaited: Mapping[str, str], now: float) -> Obj:
    """Return the budget's desired status (updatePdbStatus); if no pods are expected none may be disrupted."""
    allowed = max(0, current - expectation.healthy) if expectation.pods > 0 else 0
    status: Obj = {
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": expectation.healthy,
        "expectedPods": expectation.pods,
    }
    if awaited:
        status["disruptedPods"] = dict(awaited)
    if generation := budget["metadata"].get("generation"):
        status["observedGeneration"] = generation
    reason = "SufficientPods" if allowed else "InsufficientPods"
    condition = {"status": TRUE if allowed else FALSE, "reason": reason, "message": ""}
    return status | {"conditions": _with_condition(budget, condition | _observed_status(status), now)}


def failed_status(budget: Obj, why: str, now: float) -> Obj:
    """Return the status that allows no evictions while the pods cannot be counted (failSafe)."""
    status = _NO_DISRUPTIONS | (budget.get("status") or {}) | {"disruptionsAllowed": 0}
    condition = {"status": FALSE, "reason": "SyncFailed", "message": why}
    return status | {"conditions": _with_condition(budget, condition | _observed_status(status), now)}


def _observed_status(status: Obj) -> Obj:
    return {"observedGeneration": status["observedGeneration"]} if status.get("observedGeneration") else {}


def _with_condition(budget: Obj, condition: Obj, now: float) -> list[Obj]:
    """Return the conditions with a new DisruptionAllowed; lastTransitionTime changes only with its status."""
    old = (budget.get("status") or {}).get("conditions") or ()
    before = find_condition(old, DISRUPTION_ALLOWED)
    since = before["lastTransitionTime"] if before and before["status"] == condition["status"] else format_time(now)
    new = {"type": DISRUPTION_ALLOWED, "lastTransitionTime": since} | condition
    return [new if existing is before else existing for existing in old] if before else [*old, new]


def stale_in(pod: Obj, now: float) -> float | None:
    """Return the seconds until an undeleted pod stops being a disruption target, or None if it is not one.

    A condition that the kubelet set is never stale (nonTerminatingPodHasStaleDisruptionCondition).
    """
    condition = condition_of(pod, DISRUPTION_TARGET)
    if condition is None or pod["metadata"].get("deletionTimestamp") or is_terminal(pod):
        return None
    if condition["status"] != TRUE or condition.get("reason") == "TerminationByKubelet":
        return None
    since = condition.get("lastTransitionTime")
    return max(0.0, parse_time(since) + STALE_TIMEOUT - now) if since else 0.0


def status_without_target(pod: Obj, now: float) -> Obj:
    """Return the status of a pod that is no longer a disruption target."""
    status: Obj = pod["status"]
    cleared = {
        "type": DISRUPTION_TARGET,
        "status": FALSE,
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
    }
    return status | {
        "conditions": [
            cleared if condition["type"] == DISRUPTION_TARGET else condition for condition in status["conditions"]
        ]
    }


def format_selector(selector: Obj | None) -> str:
    """Return a label selector as Go prints the struct; events contain it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(map(_format_requirement, selector.get("matchExpressions") or ()))
    expressions = f"[]{_REQUIREMENT_TYPE}{{{terms}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:{expressions},}}"


def _format_requirement(expression: Obj) -> str:
    values = " ".join(expression.get("values") or ())
    return f"{_REQUIREMENT_TYPE}{{Key:{expression['key']},Operator:{expression['operator']},Values:[{values}],}},"
