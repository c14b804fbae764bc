"""Metrics as text: those that reconciles record, those read from caches, and those left out."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from running_controller import no_plan

from controller_manager.exposition import exposition
from controller_manager.metrics import Metrics
from controller_manager.reconcile.contract import ControllerSpec, Gauge
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric, Sample
from controller_manager.reconcile.profile import PROFILES
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.clock import Clock

COUNTER = MetricDef("made_total", "What was made.")
BY_KIND = MetricDef("made_by_kind_total", "What was made, by kind.", ("kind",))
LATENCY = MetricDef("latency_seconds", "How long.", ("kind",), (0.5, 1, 10))
LEAKS = MetricDef("leakage", "What was not seen.", ("namespace", "name"))
NEW = MetricDef("new_total", "What only newer releases have.", feature="ordinals")
READ = Gauge(MetricDef("now", "What is there.", ("name",)), lambda _: [Sample(3, ("a",)), Sample(4.5, ("b",))])
EMPTY = Gauge(MetricDef("nothing", "Of this there is nothing."), lambda _: [])


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(Clock())


def spec(*metrics, gauges=()) -> ControllerSpec:
    return ControllerSpec("x", (), lambda *_: None, no_plan, metrics=metrics, gauges=gauges)


def samples_of(metrics) -> dict[str, dict[tuple[str, ...], float]]:
    """Name of a sample → values of its labels, by their names → value, of families that are not the process's."""
    samples: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(exposition(metrics).decode()):
        if not family.name.startswith(("process_", "python_")):
            for sample in family.samples:
                samples.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return samples


def test_what_has_no_labels_begins_at_nothing_and_the_rest_is_left_out(metrics) -> None:
    metrics.include(spec(COUNTER, BY_KIND, LATENCY), Caches())
    assert samples_of(metrics) == {"made_total": {(): 0}}


def test_counters_grow_and_histograms_take_values_in(metrics) -> None:
    metrics.include(spec(COUNTER, BY_KIND, LATENCY), Caches())
    metrics.count(RecordMetric(COUNTER), elapsed=9.0)
    metrics.count(RecordMetric(COUNTER, 2.0, times=3), elapsed=9.0)
    metrics.count(RecordMetric(BY_KIND, labels=("pod",)), elapsed=9.0)
    metrics.count(RecordMetric(LATENCY, 0.5, ("pod",)), elapsed=9.0)
    metrics.count(RecordMetric(LATENCY, 0.6, ("pod",), times=2), elapsed=9.0)
    metrics.count(RecordMetric(LATENCY, 2.0, ("pod",), elapsed=True), elapsed=9.0)
    samples = samples_of(metrics)
    assert samples["made_total"] == {(): 7}
    assert samples["made_by_kind_total"] == {("pod",): 1}
    buckets = {("pod", "0.5"): 1, ("pod", "1"): 3, ("pod", "10"): 3, ("pod", "+Inf"): 4}
    assert {tuple(sorted(key, key="pod".__ne__)): v for key, v in samples["latency_seconds_bucket"].items()} == buckets
    assert samples["latency_seconds_count"] == {("pod",): 4}
    assert samples["latency_seconds_sum"] == {("pod",): pytest.approx(12.7)}


def test_a_counter_that_upstream_names_without_total_is_named_so(metrics) -> None:
    metrics.include(spec(LEAKS), Caches())
    assert "leakage" not in samples_of(metrics)
    metrics.count(RecordMetric(LEAKS, labels=("ns", "web")), elapsed=9.0)
    lines = [line for line in exposition(metrics).decode().splitlines() if "leakage" in line]
    assert lines == [
        "# HELP leakage What was not seen.",
        "# TYPE leakage counter",
        'leakage{name="web",namespace="ns"} 1.0',
    ]


def test_gauges_are_read_when_somebody_asks(metrics) -> None:
    metrics.include(spec(gauges=(READ, EMPTY)), Caches())
    assert samples_of(metrics) == {"now": {("a",): 3, ("b",): 4.5}}


@pytest.mark.parametrize(("release", "metric"), [("1.20", {}), ("1.30", {"new_total": {(): 1}})])
def test_a_release_that_lacks_a_meter_does_not_count_by_it(metrics, release, metric) -> None:
    metrics.include(spec(NEW), Caches(PROFILES[release]))
    metrics.count(RecordMetric(NEW), elapsed=0.0)
    assert samples_of(metrics) == metric


def test_two_controllers_may_share_a_meter(metrics) -> None:
    for _ in range(2):
        metrics.include(spec(COUNTER), Caches())
        metrics.count(RecordMetric(COUNTER), elapsed=0.0)
    assert samples_of(metrics) == {"made_total": {(): 2}}


def test_requests_are_counted_and_timed(metrics) -> None:
    metrics.requested("GET", "host:1", "200", 0.3)
    metrics.requested("GET", "host:1", "404", 70.0)
    samples = samples_of(metrics)
    assert samples["rest_client_requests_total"] == {("200", "host:1", "GET"): 1, ("404", "host:1", "GET"): 1}
    assert samples["rest_client_request_duration_seconds_sum"] == {("host:1", "GET"): pytest.approx(70.3)}
    buckets = samples["rest_client_request_duration_seconds_bucket"]
    assert [buckets["host:1", bound, "GET"] for bound in ("0.25", "0.5", "60", "+Inf")] == [0, 1, 1, 2]


def test_what_keys_wait_and_take_is_timed_by_queue(metrics) -> None:
    tally = metrics.tally("q")
    tally.started(0.02)
    tally.finished(5.0)
    samples = samples_of(metrics)
    assert samples["workqueue_queue_duration_seconds_sum"] == {("q",): 0.02}
    assert samples["workqueue_work_duration_seconds_sum"] == {("q",): 5.0}
    assert samples["workqueue_work_duration_seconds_count"] == {("q",): 1}
