"""Runs that are counted as controller-runtime counts them."""

import pytest

from apiserver.api.errors import not_found
from controller_manager.reconcile.contract import (
    ControllerSpec,
    Delete,
    RecordEvent,
    Requeue,
    RequeueAfter,
    Watch,
    enqueue_self,
)
from controller_manager.reconcile.controller_runtime_metrics import (
    RECONCILE_ERRORS,
    RECONCILE_SECONDS,
    RECONCILES,
    with_reconcile_metrics,
)
from controller_manager.reconcile.kinds import CONFIG_MAP
from controller_manager.reconcile.metric_defs import RecordMetric

GONE = not_found("", "configmaps", "x")
REMOVAL = Delete(CONFIG_MAP, "ns/x")


def nothing(seen, now):
    yield from ()


def later(seen, now):
    yield RequeueAfter(3.0)
    yield RecordEvent(seen, "Waits", "a while")


def again(seen, now):
    yield Requeue()


def fails(seen, now):
    yield REMOVAL


def recovers(seen, now):
    try:
        yield REMOVAL
    except type(GONE):
        yield RecordEvent(seen, "Gone", "already")


def breaks(seen, now):
    yield RecordEvent(seen, "Breaks", "now")
    raise KeyError("x")


def spec(plan, **more):
    watches = (Watch(CONFIG_MAP, enqueue_self),)
    return with_reconcile_metrics(
        ControllerSpec("x", watches, lambda world, key: world[CONFIG_MAP].get(key), plan, **more)
    )


@pytest.mark.parametrize(
    ("plan", "result"),
    [
        (nothing, "success"),
        (recovers, "success"),
        (later, "requeue_after"),
        (again, "requeue"),
        (fails, "error"),
    ],
)
def test_each_run_is_counted_by_what_came_of_it(reconcile, plan, result):
    objects = {CONFIG_MAP: [{"metadata": {"name": "x", "namespace": "ns"}}]}

    done = reconcile(spec(plan, queue="x-controller"), "ns/x", objects, lambda _: GONE)

    name = ("x-controller",)
    errors = [RecordMetric(RECONCILE_ERRORS, labels=name)] if result == "error" else []
    counted = [
        RecordMetric(RECONCILES, labels=(*name, result)),
        RecordMetric(RECONCILE_SECONDS, 0.0, labels=name, elapsed=True),
    ]
    assert done.of(RecordMetric) == errors + counted
    assert done.error is (GONE if result == "error" else None)


def test_a_run_that_breaks_is_counted_and_breaks_all_the_same(reconcile):
    raising_spec = spec(breaks)
    plan = raising_spec.reconcile({"metadata": {"name": "x"}}, 0.0)
    assert isinstance(next(plan), RecordEvent)
    assert next(plan) == RecordMetric(RECONCILE_ERRORS, labels=("x",))
    with pytest.raises(KeyError):
        list(plan)


def test_what_a_controller_measures_otherwise_stays():
    assert spec(nothing, metrics=(RECONCILES,)).metrics == (RECONCILES, RECONCILES, RECONCILE_ERRORS, RECONCILE_SECONDS)
