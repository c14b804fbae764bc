"""Which subsets of an adaptive UnitedDeployment can be scheduled, as their pods show, and for how long that holds.

(openkruise/kruise pkg/controller/uniteddeployment calculateSubsetsStatusFor…AdaptiveStrategy,
CheckPodReallyInReservedStatus, and pkg/controller/util/pod_condition_utils.go)
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from apiserver.api.meta import Obj, labels_of
from apiserver.api.united_deployments import schedule_strategy
from controller_manager.kruise.uniteddeployment.allocation.subset_state import SubsetState
from controller_manager.kruise.uniteddeployment.subsets import RESERVED_LABEL, Subset, revision_of
from controller_manager.reconcile.conditions import FALSE, TRUE, condition_of, phase_of
from controller_manager.reconcile.pods import is_ready, ready_since
from controller_manager.reconcile.times import seconds, stamp

SCHEDULABLE = "Schedulable"
"""The type of a subset's condition."""


@dataclass(frozen=True, slots=True)
class Times:
    """How patient a UnitedDeployment is, in seconds.

    Attributes:
        patience: how old a pod may become that finds no node.
        recovery: for how long nothing more is tried where one found none, and how long one must be ready that did.
    """

    patience: float = 30.0
    recovery: float = 300.0


def times_of(spec: Obj) -> Times:
    """The times of a UnitedDeployment's schedule strategy."""
    adaptive, usual = schedule_strategy(spec).get("adaptive") or {}, Times()
    patience, recovery = adaptive.get("rescheduleCriticalSeconds"), adaptive.get("unschedulableDuration")
    return Times(usual.patience if patience is None else patience, usual.recovery if recovery is None else recovery)


@dataclass(frozen=True, slots=True)
class Label:
    """A pod whose label is to say whether another stands in for it."""

    pod: Obj
    reserved: bool


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a look at a subset has shown.

    Attributes:
        standing: how it stands for the allocation.
        conditions: what is told of it, one after the other: of two the second begins anew.
        labels: the pods to be labelled.
        late: how many ready pods of the old revision are reserved.
        wait: seconds after which time alone may show something else, None if it does not.
    """

    standing: SubsetState
    conditions: tuple[Obj, ...] = ()
    labels: Sequence[Label] = field(default_factory=list)
    late: int = 0
    wait: float | None = None


def plain_outlook(subset: Subset) -> Outlook:
    """How a subset stands where nobody asks whether it can be scheduled."""
    return Outlook(SubsetState(subset.replicas, subset.counted("readyReplicas")))


def condition(status: str, now: float, *, reason: str, message: str) -> Obj:
    """What is told of a subset."""
    return {
        "type": SCHEDULABLE,
        "status": status,
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "message": message,
    }


def is_unschedulable(pod: Obj) -> bool:
    """Whether the scheduler has found no node for the pod."""
    found = condition_of(pod, "PodScheduled")
    return found is not None and found.get("status") == FALSE and found.get("reason") == "Unschedulable"


def _overdue_in(pod: Obj, times: Times, now: float) -> float | None:
    """Seconds until a pod has looked for a node for too long, 0 or less if it has; None if it does not look for one."""
    if phase_of(pod) != "Pending" or pod["spec"].get("nodeName") or not is_unschedulable(pod):
        return None
    return seconds(pod["metadata"]["creationTimestamp"]) + times.patience - now


def _soonest(waits: Iterable[float | None]) -> float | None:
    return min((wait for wait in waits if wait is not None and wait > 0), default=None)


# -- pods that find no node go elsewhere -------------------------------------------------------------------------------


def adaptive_outlook(subset: Subset, told: Obj | None, *, times: Times, now: float) -> Outlook:
    """Whether pods of a subset have looked for a node for too long, or one did not so long ago.

    Args:
        subset: with a workload.
        told: its condition so far.
        times: how long is too long.
        now: the time.
    """
    conditions, unschedulable, recovers = list[Obj](), False, None
    if told is not None and told["status"] == FALSE:
        recovers = seconds(told["lastTransitionTime"]) + times.recovery - now
        unschedulable = recovers > 0
        if not unschedulable:
            message = f"unschedulable subset recovered after {times.recovery:f} seconds"
            conditions.append(condition(TRUE, now, reason="recover", message=message))
    overdue = [_overdue_in(pod, times, now) for pod in subset.pods]
    if any(due is not None and due <= 0 for due in overdue):
        conditions.append(condition(FALSE, now, reason="reschedule", message="timeout pending pods found"))
        recovers = recovers if unschedulable else times.recovery
        unschedulable = True
    standing = replace(plain_outlook(subset).standing, unschedulable=unschedulable)
    return Outlook(standing, tuple(conditions), wait=_soonest((recovers, *overdue)))


# -- pods that find no node stay, and others stand in for them ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Update:
    """Which of a subset's pods are new, and since when the others should be.

    Attributes:
        revision: the name of the newest revision.
        partition: how many pods may stay old.
        since: when the update began.
    """

    revision: str
    partition: int
    since: float


@dataclass(frozen=True, slots=True)
class _Verdict:
    reserved: bool
    wait: float | None = None


def reserved_outlook(subset: Subset, told: Obj | None, *, update: Update, times: Times, now: float) -> Outlook:
    """Which pods of a subset are reserved: they found no node in time, and have not run for long enough since.

    A pod that comes while the subset is unschedulable is reserved at once. An old one that is not updated in time is,
    too: its update waits for something.

    Args:
        subset: with a workload.
        told: its condition so far.
        update: which of its pods are new.
        times: how long is too long, and long enough.
        now: the time.
    """
    doubted = told is not None and told["status"] == FALSE
    stays = _staying(subset.pods, update)
    labels, waits, reserved, late = list[Label](), list[float | None](), 0, 0
    for pod in subset.pods:
        label = labels_of(pod).get(RESERVED_LABEL)
        verdict = _Verdict(reserved=True)
        if label is not None or not doubted:
            verdict = _judged(pod, update, stays=stays, times=times, now=now)
        if label != _text(verdict.reserved):
            labels.append(Label(pod, verdict.reserved))
        waits.append(verdict.wait)
        reserved += verdict.reserved
        late += verdict.reserved and revision_of(pod) != update.revision and is_ready(pod)
    if reserved:
        shown = condition(FALSE, now, reason="reschedule", message="reserved pods found")
    else:
        shown = condition(TRUE, now, reason="reschedule", message="no reserved pods")
    standing = SubsetState(subset.replicas, subset.counted("readyReplicas"), reserved > 0, doubted, reserved)
    return Outlook(standing, (shown,), labels, late, _soonest(waits))


def _text(reserved: bool) -> str:  # noqa: FBT001 - a label's value
    return "true" if reserved else "false"


def label_patch(label: Label) -> Obj:
    """The merge patch that labels a pod, unless it is another by now."""
    labels = {RESERVED_LABEL: _text(label.reserved)}
    return {"metadata": {"uid": label.pod["metadata"]["uid"], "labels": labels}}


def _staying(pods: Iterable[Obj], update: Update) -> Collection[str]:
    """The uids of the old pods that may stay so: of more than may stay, ready ones that nobody stands in for.

    Upstream knows of no partition here, and takes them all for late.
    """
    old = [pod for pod in pods if revision_of(pod) != update.revision]
    old.sort(key=lambda pod: (_is_reserved(pod), not is_ready(pod), pod["metadata"]["name"]))
    return {pod["metadata"]["uid"] for pod in old[: update.partition]}


def _is_reserved(pod: Obj) -> bool:
    return labels_of(pod).get(RESERVED_LABEL) == "true"


def _judged(pod: Obj, update: Update, *, stays: Collection[str], times: Times, now: float) -> _Verdict:
    fits = revision_of(pod) == update.revision or pod["metadata"]["uid"] in stays
    if _is_reserved(pod):
        since = ready_since(pod) if fits else None
        if since is None or phase_of(pod) != "Running":
            return _Verdict(reserved=True)
        wait = since + times.recovery - now
        return _Verdict(reserved=wait > 0, wait=wait)
    due = _overdue_in(pod, times, now) if fits else update.since + times.patience - now
    return _Verdict(reserved=due is not None and due <= 0, wait=due)


def scaled_again(outlook: Outlook, size: int, now: float) -> Outlook:
    """The outlook of a subset whose reserved pods run again, and which gets more pods (postProcessSubsetStatus…).

    The new ones are to be reserved until they are known to run: their stand-ins stay so long.
    """
    standing = outlook.standing
    if standing.unschedulable or not standing.doubted or size <= standing.replicas:
        return outlook
    shown = condition(FALSE, now, reason="reschedule", message="subset just recovered scaled up")
    return replace(outlook, conditions=(*outlook.conditions, shown))
