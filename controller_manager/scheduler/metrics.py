"""The scheduler's metrics (pkg/scheduler/metrics)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum

from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Gauge, Listers
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric, Sample, exponential
from controller_manager.scheduler.context import SCHEDULER_VIEW, SchedulerView
from controller_manager.scheduler.scheduling_queue import QueuePart


class Result(StrEnum):
    """The result of an attempt to schedule a pod."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


ATTEMPTS = MetricDef(
    "scheduler_schedule_attempts_total", "Attempts to place a pod, by what came of them.", ("result", "profile")
)
ATTEMPT_DURATION = MetricDef(
    "scheduler_scheduling_attempt_duration_seconds",
    "Seconds from the beginning of an attempt to its end, the binding included.",
    ("result", "profile"),
    exponential(0.001, 2, 15),
)
POD_ATTEMPTS = MetricDef(
    "scheduler_pod_scheduling_attempts", "How many attempts it took to place a pod.", buckets=exponential(1, 2, 5)
)
PREEMPTIONS = MetricDef("scheduler_preemption_attempts_total", "How often room was looked for by having other pods go.")
VICTIMS = MetricDef("scheduler_preemption_victims", "How many pods had to go for one.", buckets=exponential(1, 2, 7))
METRICS = (ATTEMPTS, ATTEMPT_DURATION, POD_ATTEMPTS, PREEMPTIONS, VICTIMS)

_QUEUE_NAMES = {QueuePart.ACTIVE: "active", QueuePart.BACKOFF: "backoff", QueuePart.UNSCHEDULABLE: "unschedulable"}


def count_attempts(results: Iterable[Result], scheduler: str) -> Iterator[RecordMetric]:
    """Count attempts that end now, by result.

    Args:
        results: one for each attempt.
        scheduler: the scheduler's name, which upstream calls a profile.
    """
    for result, times in Counter(results).items():
        yield RecordMetric(ATTEMPTS, labels=(result.value, scheduler), times=times)
        yield RecordMetric(ATTEMPT_DURATION, 0.0, labels=(result.value, scheduler), times=times, elapsed=True)


def observe_pod_attempts(failures: Iterable[int]) -> Iterator[RecordMetric]:
    """Observe how many attempts it took to schedule pods, given how many attempts failed before."""
    for before, times in Counter(failures).items():
        yield RecordMetric(POD_ATTEMPTS, before + 1.0, times=times)


def _pending_pods(listers: Listers) -> Iterable[Sample]:
    view: SchedulerView = listers.view(SCHEDULER_VIEW)
    parts = view.queue.sizes()
    yield from (Sample(parts[part], (name,)) for part, name in _QUEUE_NAMES.items())
    scheduler = listers.settings.scheduler_name
    yield Sample(sum(_is_gated(pod, scheduler) for pod in listers[POD]), ("gated",))


def _is_gated(pod: Obj, scheduler: str) -> bool:
    spec = pod["spec"]
    return bool(spec.get("schedulingGates")) and spec.get("schedulerName") == scheduler and not is_deleting(pod)


PENDING_PODS = Gauge(
    MetricDef("scheduler_pending_pods", "Pods that wait for a node, by where they wait.", ("queue",)), _pending_pods
)
