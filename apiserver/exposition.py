"""Exposes the metrics for Prometheus: families with upstream's names, help texts and labels."""

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from apiserver.metrics import BUCKETS, Metrics

_REQUEST = ("verb", "group", "version", "resource", "subresource", "scope")
_COMPONENT = "apiserver"
_BOUNDS = (*(str(bound).removesuffix(".0") for bound in BUCKETS), "+Inf")
"""The bounds of buckets as Go writes them."""


def exposition(metrics: Metrics) -> bytes:
    """Return the text of all families, including those of the process."""
    registry = CollectorRegistry()
    registry.register(_Families(metrics))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return generate_latest(registry)


class _Families(Collector):
    """Makes the families of the server's metrics at each scrape."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._requests()
        yield self._inflight()
        yield self._longrunning()
        yield self._watch_events()
        yield from self._stored()

    def _requests(self) -> Iterator[Metric]:
        total = CounterMetricFamily(
            "apiserver_request_total",
            "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, "
            "component, and HTTP response code.",
            labels=[*_REQUEST, "dry_run", "component", "code"],
        )
        duration = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
            "subresource, scope and component.",
            labels=[*_REQUEST, "dry_run", "component"],
        )
        for labels, tally in self._metrics.requests():
            for code, count in tally.codes.items():
                total.add_metric([*labels, _COMPONENT, str(code)], count)
            duration.add_metric([*labels, _COMPONENT], _cumulative(tally.buckets), tally.seconds)
        yield total
        yield duration

    def _inflight(self) -> Metric:
        family = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Number of requests under way of this apiserver per request kind, long-running ones left out.",
            labels=["request_kind"],
        )
        for kind, count in self._metrics.inflight.items():
            family.add_metric([kind], count)
        return family

    def _longrunning(self) -> Metric:
        family = GaugeMetricFamily(
            "apiserver_longrunning_requests",
            "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope "
            "and component.",
            labels=[*_REQUEST, "component"],
        )
        for labels, count in self._metrics.longrunning.items():
            family.add_metric([*labels[:6], _COMPONENT], count)
        return family

    def _watch_events(self) -> Metric:
        family = CounterMetricFamily(
            "apiserver_watch_events_total",
            "Number of events sent in watch clients",
            labels=["group", "version", "resource"],
        )
        for labels, count in self._metrics.watch_events.items():
            family.add_metric(list(labels), count)
        return family

    def _stored(self) -> Iterator[Metric]:
        help_text = "Number of stored objects at the time of last check split by kind."
        older = GaugeMetricFamily("apiserver_storage_objects", help_text, labels=["resource"])
        newer = GaugeMetricFamily("apiserver_resource_objects", help_text, labels=["group", "resource"])
        for name, count in self._metrics.objects().items():
            older.add_metric([name], count)
            resource, _, group = name.partition(".")
            newer.add_metric([group, resource], count)
        yield older
        yield newer


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    """Return bound → the number of requests up to it."""
    return list(zip(_BOUNDS, map(float, accumulate(buckets)), strict=True))
