"""The schedulability of an adaptive UnitedDeployment's subsets, as their pods show it, and how long that holds.

(openkruise/kruise pkg/controller/uniteddeployment calculateSubsetsStatusFor…AdaptiveStrategy,
CheckPodReallyInReservedStatus, and pkg/controller/util/pod_condition_utils.go)
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from apiserver.api.meta import Obj, labels_of
from apiserver.api.united_deployments import schedule_strategy
from controller_manager.kruise.uniteddeployment.allocation import SubsetState
from controller_manager.kruise.uniteddeployment.subsets import RESERVED_LABEL, Subset, revision_of
from controller_manager.reconcile.conditions import FALSE, TRUE, condition_of, phase_of
from controller_manager.reconcile.pods import is_ready, ready_since
from controller_manager.reconcile.times import format_time, parse_time

SCHEDULABLE_CONDITION = "Schedulable"
"""The type of a subset's condition."""


@dataclass(frozen=True, slots=True)
class ScheduleTimeouts:
    """The timeouts of a UnitedDeployment's schedule strategy, in seconds.

    Attributes:
        patience: the age at which a pod without a node counts as unschedulable.
        recovery: how long an unschedulable subset gets no more pods, and how long a pod that recovered has to be ready.
    """

    patience: float = 30.0
    recovery: float = 300.0


def timeouts_of(spec: Obj) -> ScheduleTimeouts:
    """Return the timeouts of a UnitedDeployment's schedule strategy."""
    adaptive, usual = schedule_strategy(spec).get("adaptive") or {}, ScheduleTimeouts()
    patience, recovery = adaptive.get("rescheduleCriticalSeconds"), adaptive.get("unschedulableDuration")
    return ScheduleTimeouts(
        usual.patience if patience is None else patience, usual.recovery if recovery is None else recovery
    )


@dataclass(frozen=True, slots=True)
class ReservedLabel:
    """A pod whose reserved label is to be set."""

    pod: Obj
    reserved: bool


@dataclass(frozen=True, slots=True)
class Schedulability:
    """The schedulability of a subset.

    Attributes:
        state: the state for the allocation.
        conditions: the conditions to set, one after the other: a second one gets a new transition time.
        labels: the labels to set on pods.
        late: the number of ready pods of the old revision that are reserved.
        wait: seconds after which the result may differ just because of time, None if it cannot.
    """

    state: SubsetState
    conditions: tuple[Obj, ...] = ()
    labels: Sequence[ReservedLabel] = field(default_factory=list)
    late: int = 0
    wait: float | None = None


def plain_schedulability(subset: Subset) -> Schedulability:
    """Return the schedulability of a subset if the strategy is not adaptive."""
    return Schedulability(SubsetState(subset.replicas, subset.status_count("readyReplicas")))


def condition(status: str, now: float, *, reason: str, message: str) -> Obj:
    """Return a condition of a subset."""
    return {
        "type": SCHEDULABLE_CONDITION,
        "status": status,
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }


def is_unschedulable(pod: Obj) -> bool:
    """Return True if the scheduler has found no node for the pod."""
    scheduled = condition_of(pod, "PodScheduled")
    return scheduled is not None and scheduled.get("status") == FALSE and scheduled.get("reason") == "Unschedulable"


def _overdue_in(pod: Obj, times: ScheduleTimeouts, now: float) -> float | None:
    """Return the seconds until a pod has waited too long for a node, 0 or less if it has; None if it is not waiting."""
    if phase_of(pod) != "Pending" or pod["spec"].get("nodeName") or not is_unschedulable(pod):
        return None
    return parse_time(pod["metadata"]["creationTimestamp"]) + times.patience - now


def _soonest(waits: Iterable[float | None]) -> float | None:
    return min((wait for wait in waits if wait is not None and wait > 0), default=None)


# -- unschedulable pods are moved to other subsets ---------------------------------------------------------------------


def adaptive_schedulability(
    subset: Subset, old_condition: Obj | None, *, times: ScheduleTimeouts, now: float
) -> Schedulability:
    """Check if pods of a subset wait too long for a node, or did so not long ago.

    Args:
        subset: one that has a workload.
        old_condition: its old condition.
        times: the timeouts.
        now: the time.
    """
    conditions, unschedulable, recovers = list[Obj](), False, None
    if old_condition is not None and old_condition["status"] == FALSE:
        recovers = parse_time(old_condition["lastTransitionTime"]) + times.recovery - now
        unschedulable = recovers > 0
        if not unschedulable:
            message = f"unschedulable subset recovered after {times.recovery:f} seconds"
            conditions.append(condition(TRUE, now, reason="recover", message=message))
    overdue = [_overdue_in(pod, times, now) for pod in subset.pods]
    if any(due is not None and due <= 0 for due in overdue):
        conditions.append(condition(FALSE, now, reason="reschedule", message="timeout pending pods found"))
        recovers = recovers if unschedulable else times.recovery
        unschedulable = True
    state = replace(plain_schedulability(subset).state, unschedulable=unschedulable)
    return Schedulability(state, tuple(conditions), wait=_soonest((recovers, *overdue)))


# -- unschedulable pods stay, and others replace them for the time being -----------------------------------------------


@dataclass(frozen=True, slots=True)
class RevisionUpdate:
    """The newest revision of a subset's pods, and when the update to it began.

    Attributes:
        revision: the name of the newest revision.
        partition: how many pods may stay at the old revision.
        since: when the update began.
    """

    revision: str
    partition: int
    since: float


@dataclass(frozen=True, slots=True)
class _PodReservation:
    reserved: bool
    wait: float | None = None


def reserved_schedulability(
    subset: Subset, old_condition: Obj | None, *, update: RevisionUpdate, times: ScheduleTimeouts, now: float
) -> Schedulability:
    """Find the reserved pods of a subset: they found no node in time, and have not run for long enough since.

    A pod that is created while the subset is unschedulable is reserved at once. So is an old one that is not updated in
    time: something blocks its update.

    Args:
        subset: one that has a workload.
        old_condition: its old condition.
        update: tells new pods from old ones.
        times: the timeouts.
        now: the time.
    """
    was_unschedulable = old_condition is not None and old_condition["status"] == FALSE
    stays = _may_stay_old(subset.pods, update)
    labels, waits, reserved, late = list[ReservedLabel](), list[float | None](), 0, 0
    for pod in subset.pods:
        label = labels_of(pod).get(RESERVED_LABEL)
        verdict = _PodReservation(reserved=True)
        if label is not None or not was_unschedulable:
            verdict = _pod_reservation(pod, update, stays=stays, times=times, now=now)
        if label != _text(verdict.reserved):
            labels.append(ReservedLabel(pod, verdict.reserved))
        waits.append(verdict.wait)
        reserved += verdict.reserved
        late += verdict.reserved and revision_of(pod) != update.revision and is_ready(pod)
    if reserved:
        new_condition = condition(FALSE, now, reason="reschedule", message="reserved pods found")
    else:
        new_condition = condition(TRUE, now, reason="reschedule", message="no reserved pods")
    state = SubsetState(
        subset.replicas, subset.status_count("readyReplicas"), reserved > 0, was_unschedulable, reserved
    )
    return Schedulability(state, (new_condition,), labels, late, _soonest(waits))


def _text(reserved: bool) -> str:  # noqa: FBT001 - a label's value
    return "true" if reserved else "false"


def label_patch(label: ReservedLabel) -> Obj:
    """Return the merge patch that labels a pod, guarded by its uid."""
    labels = {RESERVED_LABEL: _text(label.reserved)}
    return {"metadata": {"uid": label.pod["metadata"]["uid"], "labels": labels}}


def _may_stay_old(pods: Iterable[Obj], update: RevisionUpdate) -> Collection[str]:
    """Return the uids of the pods that may stay at the old revision: up to partition, ready and unreserved ones first.

    Upstream ignores the partition here, and regards all of them as late.
    """
    old = [pod for pod in pods if revision_of(pod) != update.revision]
    old.sort(key=lambda pod: (_is_reserved(pod), not is_ready(pod), pod["metadata"]["name"]))
    return {pod["metadata"]["uid"] for pod in old[: update.partition]}


def _is_reserved(pod: Obj) -> bool:
    return labels_of(pod).get(RESERVED_LABEL) == "true"


def _pod_reservation(
    pod: Obj, update: RevisionUpdate, *, stays: Collection[str], times: ScheduleTimeouts, now: float
) -> _PodReservation:
    fits = revision_of(pod) == update.revision or pod["metadata"]["uid"] in stays
    if _is_reserved(pod):
        since = ready_since(pod) if fits else None
        if since is None or phase_of(pod) != "Running":
            return _PodReservation(reserved=True)
        wait = since + times.recovery - now
        return _PodReservation(reserved=wait > 0, wait=wait)
    due = _overdue_in(pod, times, now) if fits else update.since + times.patience - now
    return _PodReservation(reserved=due is not None and due <= 0, wait=due)


def with_scaled_size(schedulability: Schedulability, size: int, now: float) -> Schedulability:
    """Return the schedulability of a subset whose reserved pods run again, and which gets more pods now.

    (postProcessSubsetStatus…) The new pods are reserved until they are known to run, and their replacements stay so
    long.
    """
    state = schedulability.state
    if state.unschedulable or not state.was_unschedulable or size <= state.replicas:
        return schedulability
    new_condition = condition(FALSE, now, reason="reschedule", message="subset just recovered scaled up")
    return replace(schedulability, conditions=(*schedulability.conditions, new_condition))
