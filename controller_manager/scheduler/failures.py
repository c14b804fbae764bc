"""Pods that get no node: the event and condition that say why, and the preemption of others."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    WARNING,
    Batch,
    Delete,
    Enqueue,
    Key,
    Patch,
    Plan,
    RecordEvent,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.metric_defs import RecordMetric
from controller_manager.scheduler.context import Observed
from controller_manager.scheduler.metrics import PREEMPTIONS, VICTIMS, Result, count_attempts
from controller_manager.scheduler.schedule_one import FitError, ScheduleResult
from controller_manager.scheduler.scheduling_queue import QueuedPod
from controller_manager.scheduler.volume_binding import Bindings
from controller_manager.scheduler.writes import (
    NO_NOMINATION,
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    disruption_patch,
    truncate_message,
    unschedulable_patch,
)


@dataclass(frozen=True, slots=True)
class AttemptError:
    """An attempt that ended with an error; the pod is tried again.

    Attributes:
        error: the exception, if the server did not refuse a request.
    """

    message: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to schedule a pod, and its outcome."""

    queued: QueuedPod
    pod: Obj
    outcome: ScheduleResult | FitError | AttemptError

    @property
    def key(self) -> Key:
        """The pod's key."""
        return self.queued.key

    @property
    def node(self) -> str:
        """The name of the node that the pod gets."""
        assert isinstance(self.outcome, ScheduleResult)
        return self.outcome.node

    @property
    def bindings(self) -> Bindings:
        """The bindings and provisioning that the pod's claims need first."""
        assert isinstance(self.outcome, ScheduleResult)
        return self.outcome.bindings


def handle_failures(observed: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Report why pods have no node (handleSchedulingFailure), and preempt others for them."""
    patches = []
    for attempt in attempts:
        outcome, pod = attempt.outcome, attempt.pod
        assert not isinstance(outcome, ScheduleResult)
        yield RecordEvent(
            pod, "FailedScheduling", truncate_message(outcome.message), WARNING, component=observed.scheduler
        )
        reason, nominated = (
            (UNSCHEDULABLE, outcome.nominated) if isinstance(outcome, FitError) else (SCHEDULER_ERROR, "")
        )
        body = unschedulable_patch(pod, now, reason=reason, message=outcome.message, nominated=nominated)
        if body is not None:
            patches.append(_status_patch(attempt.key, body))
    if patches:
        yield Batch(patches)  # a status that cannot be written now is written next time
    for attempt in attempts:
        if isinstance(attempt.outcome, FitError) and attempt.outcome.candidate is not None:
            yield from _delete_victims(observed, attempt, attempt.outcome, now=now)
    yield from _count_attempts(attempts, observed.scheduler)


def _count_attempts(attempts: Sequence[Attempt], scheduler: str) -> Plan:
    """Count attempts that found no node; each unschedulable pod counts as a preemption attempt too."""
    refused = sum(isinstance(attempt.outcome, FitError) for attempt in attempts)
    yield from count_attempts([Result.UNSCHEDULABLE] * refused + [Result.ERROR] * (len(attempts) - refused), scheduler)
    if refused:
        yield RecordMetric(PREEMPTIONS, times=refused)


def _delete_victims(observed: Observed, attempt: Attempt, refused: FitError, *, now: float) -> Plan:
    """Delete the victims on the node that the attempt's pod is nominated to (preemption/executor.go)."""
    assert refused.candidate is not None
    queue = observed.view.queue
    retried_keys = [key for uid in refused.demoted_uids if (key := queue.retry(uid))]
    if retried_keys:
        yield Batch([_status_patch(key, NO_NOMINATION) for key in retried_keys])
    yield RecordMetric(VICTIMS, float(len(refused.candidate.victims)))
    victims = [victim.pod for victim in refused.candidate.victims if not is_deleting(victim.pod)]
    marks = {
        key_of(pod): body
        for pod in victims
        if (body := disruption_patch(pod, now, scheduler=observed.scheduler)) is not None
    }
    marked = yield Batch([_status_patch(key, body) for key, body in marks.items()])
    gone = yield Batch([Delete(POD, key_of(pod), uid=pod["metadata"]["uid"]) for pod in victims])
    for pod, answer in zip(victims, gone, strict=True):
        if not isinstance(answer, ApiError):
            message = f"Preempted by pod {attempt.queued.uid} on node {refused.nominated}"
            yield RecordEvent(pod, "Preempted", message, component=observed.scheduler)
    if any(isinstance(answer, ApiError) and answer.code != 404 for answer in (*marked, *gone)):
        queue.retry(attempt.queued.uid)
        retried_keys.append(attempt.key)
    if retried_keys:
        yield Enqueue(retried_keys)


def _status_patch(key: Key, body: Obj) -> Patch:
    return Patch(POD, key, body, subresource="status", content_type=STRATEGIC_PATCH)
