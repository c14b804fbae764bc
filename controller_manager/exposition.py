"""Exposes the manager's metrics for Prometheus: families with upstream's names, mostly component-base's."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from apiserver.component_base import exposition as prometheus
from apiserver.component_base.exposition import Labeled, counter, gauge, histogram
from controller_manager.metrics import WAITED, WORKED, Family, Metrics, Read
from controller_manager.reconcile.controller_runtime_metrics import ACTIVE_WORKERS, MAX_CONCURRENT_RECONCILES
from controller_manager.reconcile.metric_defs import MetricDef


def exposition(metrics: Metrics) -> bytes:
    """Return the text of all metrics that have samples, as upstream does, including those of the process."""
    return prometheus.exposition(family for family in _families(metrics) if family.samples)


def _families(metrics: Metrics) -> Iterator[Metric]:
    yield from _of_queues(metrics)
    yield _measured(metrics.requests)
    yield _measured(metrics.durations)
    yield _by_name(
        "leader_election_master_status",
        "1 where this process leads, 0 where it waits to, by the name of the Lease.",
        {name: float(leads) for name, leads in metrics.leading.items()},
    )
    yield from _of_reconcilers(metrics)
    yield from map(_measured, metrics.families.values())
    yield from map(_read, metrics.gauges)


def _of_queues(metrics: Metrics) -> Iterator[Metric]:
    tallies = {(name,): tally for name, tally in metrics.tallies.items()}
    adds = ((name, tally.adds) for name, tally in tallies.items())
    retries = ((name, tally.retries) for name, tally in tallies.items())
    yield counter("workqueue_adds_total", "Keys that came into a queue.", ["name"], adds)
    yield counter("workqueue_retries_total", "Keys that came again after a failure.", ["name"], retries)
    under_way = dict(metrics.under_way())
    depths = {name: float(len(queue)) for name, queue in metrics.queues.items()}
    unfinished = {name: sum(ages) for name, ages in under_way.items()}
    longest = {name: max(ages, default=0.0) for name, ages in under_way.items()}
    yield _by_name("workqueue_depth", "Keys that wait for a worker.", depths)
    yield _by_name("workqueue_unfinished_work_seconds", "Work under way that is not counted as done.", unfinished)
    yield _by_name("workqueue_longest_running_processor_seconds", "How long the slowest worker is at it.", longest)
    for metric, histograms in (
        (WAITED, {name: tally.waited for name, tally in tallies.items()}),
        (WORKED, {name: tally.worked for name, tally in tallies.items()}),
    ):
        yield histogram(metric.name, metric.help, metric.labels, histograms.items())


def _by_name(name: str, about: str, values: dict[str, float]) -> Metric:
    return gauge(name, about, ["name"], (((label,), value) for label, value in values.items()))


def _of_reconcilers(metrics: Metrics) -> Iterator[Metric]:
    """Yield the numbers of workers and of keys under way, for controllers with controller-runtime's metrics."""
    reconcilers = metrics.reconcilers
    yield _gauge(MAX_CONCURRENT_RECONCILES, (((name,), float(most)) for name, most in reconcilers.items()))
    yield _gauge(ACTIVE_WORKERS, (((name,), float(len(metrics.queues[name].processing))) for name in reconcilers))


def _measured(family: Family) -> Metric:
    metric = family.metric
    if metric.buckets:
        return histogram(metric.name, metric.help, metric.labels, family.histograms.items())
    return counter(metric.name, metric.help, metric.labels, family.counters.items())


def _read(read: Read) -> Metric:
    return _gauge(read.gauge.metric, ((reading.labels, reading.value) for reading in read.readings()))


def _gauge(metric: MetricDef, values: Labeled[float]) -> Metric:
    return gauge(metric.name, metric.help, metric.labels, values)
