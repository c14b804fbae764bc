"""Metrics of reconciles as controller-runtime counts them, on which OpenKruise's controllers are built.

(sigs.k8s.io/controller-runtime pkg/internal/controller/metrics) Here a sync whose object is gone does not count.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Any

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Action, ControllerSpec, Plan, Requeue, RequeueAfter
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric

_LABELS = ("controller",)
RECONCILES = MetricDef(
    "controller_runtime_reconcile_total",
    "Runs, by what came of them: success, error, requeue or requeue_after.",
    (*_LABELS, "result"),
)
RECONCILE_ERRORS = MetricDef("controller_runtime_reconcile_errors_total", "Runs that ended with an error.", _LABELS)
RECONCILE_SECONDS = MetricDef(
    "controller_runtime_reconcile_time_seconds",
    "How long runs took.",
    _LABELS,
    buckets=(
        *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
        *(40.0, 50.0, 60.0),
    ),
)
MAX_CONCURRENT_RECONCILES = MetricDef(
    "controller_runtime_max_concurrent_reconciles", "How many keys are worked on at a time at most.", _LABELS
)
ACTIVE_WORKERS = MetricDef("controller_runtime_active_workers", "How many keys are being worked on.", _LABELS)


def with_reconcile_metrics(spec: ControllerSpec) -> ControllerSpec:
    """Return the controller's specification with its syncs counted under the name of its queue."""
    plan = partial(_count_reconcile, spec.queue or spec.name, spec.reconcile)
    return replace(spec, reconcile=plan, metrics=(*spec.metrics, RECONCILES, RECONCILE_ERRORS, RECONCILE_SECONDS))


def _count_reconcile(name: str, plan: Callable[[Any, float], Plan], observed: Any, now: float) -> Plan:
    try:
        result = yield from _result_of(plan(observed, now))
    except Exception:
        yield RecordMetric(RECONCILE_ERRORS, labels=(name,))
        yield from _measures(name, "error")
        raise
    yield from _measures(name, result)


def _measures(name: str, result: str) -> Plan:
    yield RecordMetric(RECONCILES, labels=(name, result))
    yield RecordMetric(RECONCILE_SECONDS, 0.0, labels=(name,), elapsed=True)


def _result_of(plan: Plan) -> Generator[Action, Any, str]:
    """Execute a plan and return its result label."""
    result = "success"
    try:
        action = next(plan)
        while True:
            if isinstance(action, RequeueAfter | Requeue):
                result = "requeue_after" if isinstance(action, RequeueAfter) else "requeue"
            try:
                answer = yield action
            except ApiError as error:
                action = plan.throw(error)
            else:
                action = plan.send(answer)
    except StopIteration:
        return result
    finally:
        plan.close()
