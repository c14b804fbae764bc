"""Metrics in Prometheus' text format, made out of plain numbers at each scrape."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from apiserver.component_base.histogram import Histogram

T = TypeVar("T")
Labeled: TypeAlias = Iterable[tuple[Sequence[str], T]]
"""Values, each with the values of its labels."""
TOTAL = "_total"


def exposition(families: Iterable[Metric]) -> bytes:
    """Return the text of these metrics and of those of the process.

    prometheus_client appends "_total" to the names of all counters, which some of upstream's do not have.
    """
    metrics = [*families]
    registry = CollectorRegistry()
    registry.register(_Families(metrics))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    text = generate_latest(registry)
    counters = (metric for metric in metrics if metric.type == "counter")
    for name in (each.name for each in counters if any(sample.name == each.name for sample in each.samples)):
        for head in ("HELP", "TYPE"):
            text = text.replace(f"# {head} {name}{TOTAL} ".encode(), f"# {head} {name} ".encode())
    return text


class _Families(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def counter(name: str, about: str, labels: Sequence[str], values: Labeled[float]) -> Metric:
    """Return a counter; most of their names end in "_total"."""
    if name.endswith(TOTAL):
        return _filled(CounterMetricFamily(name, about, labels=labels), values)
    family = Metric(name, about, "counter")
    for label_values, value in values:
        family.add_sample(name, dict(zip(labels, label_values, strict=True)), value)
    return family


def gauge(name: str, about: str, labels: Sequence[str], values: Labeled[float]) -> Metric:
    """Return a gauge."""
    return _filled(GaugeMetricFamily(name, about, labels=labels), values)


def _filled(family: Any, values: Labeled[float]) -> Metric:
    for label_values, value in values:
        family.add_metric(list(label_values), value)
    metric: Metric = family
    return metric


def histogram(name: str, about: str, labels: Sequence[str], values: Labeled[Histogram]) -> Metric:
    """Return a histogram with its bounds as Go writes them."""
    family = HistogramMetricFamily(name, about, labels=labels)
    for label_values, each in values:
        bounds = [*(repr(bound).removesuffix(".0") for bound in each.bounds), "+Inf"]
        not_above = map(float, accumulate(each.counts))
        family.add_metric(list(label_values), list(zip(bounds, not_above, strict=True)), each.total)
    return family
