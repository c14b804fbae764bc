"""Disruption budgets: how many pods must stay healthy, how many are, and the status that says so."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from controller_manager.reconcile.conditions import FALSE, TRUE, condition_of, find
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import DISRUPTION_TARGET, is_ready, is_terminal
from controller_manager.reconcile.times import seconds, stamp

DELETION_TIMEOUT = 120.0
"""Seconds after which an eviction that was allowed is taken not to happen any more (DeletionTimeout)."""
STALE_TIMEOUT = 120.0
"""Seconds after which a pod that is not being deleted is no target of a disruption (stalePodDisruptionTimeout)."""
ALLOWED = "DisruptionAllowed"

_TERM = "LabelSelectorRequirement"
_ZEROES = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a budget asks for.

    Attributes:
        pods: how many pods there should be.
        healthy: how many of them must be healthy.
    """

    pods: int
    healthy: int


def asks_for_scale(spec: Obj) -> bool:
    """Whether the budget is a matter of how many pods their controllers want, not of how many there are."""
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def expected(spec: Obj, pods: int, scale: int) -> Expected:
    """What a budget asks for (disruption.go getExpectedPodCount).

    Args:
        spec: of the budget.
        pods: how many there are.
        scale: how many their controllers want.

    Raises:
        ValueError: a share is not given in percent.
    """
    at_least, at_most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if at_most is not None:
        return Expected(scale, max(0, scale - scaled(at_most, scale, round_up=True)))
    if isinstance(at_least, str):
        return Expected(scale, scaled(at_least, scale, round_up=True))
    return Expected(0, 0) if at_least is None else Expected(pods, at_least)


@dataclass(frozen=True, slots=True)
class Disrupted:
    """Pods whose eviction was allowed.

    Attributes:
        awaited: pod → when it was allowed: their deletion is still to be seen.
        missed: pods that should have been deleted and were not.
        wait: seconds until the next one is missed, None where none is awaited.
    """

    awaited: Mapping[str, str]
    missed: Sequence[Obj]
    wait: float | None


def disrupted(allowed: Mapping[str, str], pods: Iterable[Obj], now: float) -> Disrupted:
    """What became of the evictions that status.disruptedPods tells of (buildDisruptedPodMap)."""
    there = {name_of(pod): pod for pod in pods if not pod["metadata"].get("deletionTimestamp")} if allowed else {}
    ends = {name: seconds(since) + DELETION_TIMEOUT for name, since in allowed.items() if name in there}
    return Disrupted(
        awaited={name: allowed[name] for name, end in ends.items() if end > now},
        missed=[there[name] for name, end in ends.items() if end <= now],
        wait=min((end - now for end in ends.values() if end > now), default=None),
    )


def healthy(pods: Iterable[Obj], awaited: Mapping[str, str]) -> int:
    """How many pods are ready, and neither are nor will be deleted (countHealthyPods)."""
    return sum(
        is_ready(pod) and not pod["metadata"].get("deletionTimestamp") and name_of(pod) not in awaited for pod in pods
    )


def status_of(budget: Obj, wanted: Expected, current: int, *, awaited: Mapping[str, str], now: float) -> Obj:
    """The budget's status as it should be (updatePdbStatus); without any pod expected nothing may be disrupted."""
    allowed = max(0, current - wanted.healthy) if wanted.pods > 0 else 0
    status: Obj = {
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": wanted.healthy,
        "expectedPods": wanted.pods,
    }
    if awaited:
        status["disruptedPods"] = dict(awaited)
    if generation := budget["metadata"].get("generation"):
        status["observedGeneration"] = generation
    reason = "SufficientPods" if allowed else "InsufficientPods"
    condition = {"status": TRUE if allowed else FALSE, "reason": reason, "message": ""}
    return status | {"conditions": _with(budget, condition | _observed(status), now)}


def failed_status(budget: Obj, why: str, now: float) -> Obj:
    """The status that lets nobody evict while nothing is known (failSafe)."""
    status = _ZEROES | (budget.get("status") or {}) | {"disruptionsAllowed": 0}
    condition = {"status": FALSE, "reason": "SyncFailed", "message": why}
    return status | {"conditions": _with(budget, condition | _observed(status), now)}


def _observed(status: Obj) -> Obj:
    return {"observedGeneration": status["observedGeneration"]} if status.get("observedGeneration") else {}


def _with(budget: Obj, condition: Obj, now: float) -> list[Obj]:
    """The conditions with this DisruptionAllowed, whose last transition stays where its status does."""
    old = (budget.get("status") or {}).get("conditions") or ()
    before = find(old, ALLOWED)
    since = before["lastTransitionTime"] if before and before["status"] == condition["status"] else stamp(now)
    new = {"type": ALLOWED, "lastTransitionTime": since} | condition
    return [new if found is before else found for found in old] if before else [*old, new]


def stale_in(pod: Obj, now: float) -> float | None:
    """Seconds until a pod that nobody deletes is no target of a disruption any more, None where it is none.

    What the kubelet says is never stale (nonTerminatingPodHasStaleDisruptionCondition).
    """
    found = condition_of(pod, DISRUPTION_TARGET)
    if found is None or pod["metadata"].get("deletionTimestamp") or is_terminal(pod):
        return None
    if found["status"] != TRUE or found.get("reason") == "TerminationByKubelet":
        return None
    since = found.get("lastTransitionTime")
    return max(0.0, seconds(since) + STALE_TIMEOUT - now) if since else 0.0


def no_target(pod: Obj, now: float) -> Obj:
    """The status of a pod that is no target of a disruption any more."""
    status: Obj = pod["status"]
    calm = {"type": DISRUPTION_TARGET, "status": FALSE, "lastProbeTime": None, "lastTransitionTime": stamp(now)}
    return status | {
        "conditions": [calm if found["type"] == DISRUPTION_TARGET else found for found in status["conditions"]]
    }


def printed(selector: Obj | None) -> str:
    """A label selector as Go prints the struct, which is how an event names it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(map(_term, selector.get("matchExpressions") or ()))
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]{_TERM}{{{terms}}},}}"


def _term(expression: Obj) -> str:
    values = " ".join(expression.get("values") or ())
    return f"{_TERM}{{Key:{expression['key']},Operator:{expression['operator']},Values:[{values}],}},"
