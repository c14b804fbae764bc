"""Metrics in Prometheus' text format, with upstream's names (component-base's workqueue, restclient and leader)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from controller_manager.metrics import WAITED, WORKED, Family, Histogram, Metrics, QueueTally, Read
from controller_manager.reconcile.controller_runtime_metrics import ACTIVE, MOST
from controller_manager.reconcile.metric_defs import Meter

TOTAL = "_total"


def exposition(metrics: Metrics) -> bytes:
    """Return the text of all metrics that have samples, including those of the process.

    prometheus_client appends "_total" to the names of all counters, which some of upstream's do not have.
    """
    registry = CollectorRegistry()
    registry.register(_Families(metrics))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    text = generate_latest(registry)
    for name in (name for name in metrics.families if not name.endswith(TOTAL)):
        for head in ("HELP", "TYPE"):
            text = text.replace(f"# {head} {name}{TOTAL} ".encode(), f"# {head} {name} ".encode())
    return text


class _Families(Collector):
    """Creates the metric families at each scrape; like upstream's, without empty ones."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        metrics = self._metrics
        families = (
            *_of_queues(metrics),
            _measured(metrics.requests),
            _measured(metrics.durations),
            _leading(metrics),
            *_of_reconcilers(metrics),
            *map(_measured, metrics.families.values()),
            *map(_read, metrics.gauges),
        )
        return (family for family in families if family.samples)


def _of_queues(metrics: Metrics) -> Iterator[Metric]:
    tallies = metrics.tallies
    yield _counter("workqueue_adds_total", "Keys that came into a queue.", tallies, lambda tally: tally.adds)
    yield _counter("workqueue_retries_total", "Keys that came again after a failure.", tallies, lambda t: t.retries)
    under_way = dict(metrics.under_way())
    depths = {name: float(len(queue)) for name, queue in metrics.queues.items()}
    unfinished = {name: sum(ages) for name, ages in under_way.items()}
    longest = {name: max(ages, default=0.0) for name, ages in under_way.items()}
    yield _gauge("workqueue_depth", "Keys that wait for a worker.", depths)
    yield _gauge("workqueue_unfinished_work_seconds", "Work under way that is not counted as done.", unfinished)
    yield _gauge("workqueue_longest_running_processor_seconds", "How long the slowest worker is at it.", longest)
    yield _histograms(WAITED, {(name,): tally.waited for name, tally in tallies.items()})
    yield _histograms(WORKED, {(name,): tally.worked for name, tally in tallies.items()})


def _counter(name: str, about: str, tallies: dict[str, QueueTally], count: Callable[[QueueTally], int]) -> Metric:
    family = CounterMetricFamily(name, about, labels=["name"])
    for queue, tally in tallies.items():
        family.add_metric([queue], count(tally))
    return family


def _gauge(name: str, about: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=["name"])
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def _leading(metrics: Metrics) -> Metric:
    about = "1 where this process leads, 0 where it waits to, by the name of the Lease."
    return _gauge(
        "leader_election_master_status", about, {name: float(leads) for name, leads in metrics.leading.items()}
    )


def _of_reconcilers(metrics: Metrics) -> Iterator[Metric]:
    """Yield the numbers of workers and of keys under way, for controllers with controller-runtime's metrics."""
    reconcilers = metrics.reconcilers
    yield _filled(GaugeMetricFamily, MOST, (((name,), float(most)) for name, most in reconcilers.items()))
    yield _filled(
        GaugeMetricFamily, ACTIVE, (((name,), float(len(metrics.queues[name].running))) for name in reconcilers)
    )


def _measured(family: Family) -> Metric:
    meter = family.meter
    if meter.buckets:
        return _histograms(meter, family.histograms)
    if meter.name.endswith(TOTAL):
        return _filled(CounterMetricFamily, meter, family.counters.items())
    counter = Metric(meter.name, meter.about, "counter")
    for labels, value in family.counters.items():
        counter.add_sample(meter.name, dict(zip(meter.labels, labels, strict=True)), value)
    return counter


def _histograms(meter: Meter, histograms: Mapping[tuple[str, ...], Histogram]) -> Metric:
    metric_family = HistogramMetricFamily(meter.name, meter.about, labels=meter.labels)
    bounds = [*(repr(bound).removesuffix(".0") for bound in meter.buckets), "+Inf"]  # as Go writes them
    for labels, histogram in histograms.items():
        not_above = map(float, accumulate(histogram.counts))
        metric_family.add_metric(list(labels), list(zip(bounds, not_above, strict=True)), histogram.total)
    return metric_family


def _read(read: Read) -> Metric:
    readings = ((reading.labels, reading.value) for reading in read.readings())
    return _filled(GaugeMetricFamily, read.gauge.meter, readings)


def _filled(make: Callable[..., Any], meter: Meter, values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = make(meter.name, meter.about, labels=meter.labels)
    for labels, value in values:
        family.add_metric(list(labels), value)
    metric: Metric = family
    return metric
