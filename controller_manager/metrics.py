"""What the manager counts, under upstream's names (component-base's workqueue and rest_client metrics)."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from controller_manager.runtime.clock import Clock
from controller_manager.runtime.workqueue import WorkQueue

WORK_BUCKETS = tuple(10.0**power for power in range(-8, 2))
"""Seconds (workqueue_queue_duration_seconds, workqueue_work_duration_seconds)."""
REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Seconds (rest_client_request_duration_seconds)."""


class Histogram:
    """Counts of values by upper bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Bound → how many values are not above it, as the exposition has it."""
        bounds = (*map(repr, self.bounds), "+Inf")
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))


@dataclass(slots=True)
class QueueTally:
    """What is counted of one work queue."""

    adds: int = 0
    retries: int = 0
    waited: Histogram = field(default_factory=lambda: Histogram(WORK_BUCKETS))
    worked: Histogram = field(default_factory=lambda: Histogram(WORK_BUCKETS))

    def added(self) -> None:
        """A key came into the queue."""
        self.adds += 1

    def retried(self) -> None:
        """A key comes again after a failure."""
        self.retries += 1

    def started(self, waited: float) -> None:
        """A worker has taken a key that waited so many seconds."""
        self.waited.add(waited)

    def finished(self, worked: float) -> None:
        """A worker has let go of a key after so many seconds."""
        self.worked.add(worked)


class Metrics:
    """All counts of one manager."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.tallies: dict[str, QueueTally] = {}
        self.queues: dict[str, WorkQueue] = {}
        self.requests: dict[tuple[str, str, str], int] = {}
        self.durations: dict[tuple[str, str], Histogram] = {}
        self.leading: dict[str, bool] = {}

    def tally(self, name: str) -> QueueTally:
        """Where the queue of a controller is counted."""
        return self.tallies.setdefault(name, QueueTally())

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """A request was answered with a code, or failed with "<error>"."""
        self.requests[code, method, host] = self.requests.get((code, method, host), 0) + 1
        found = self.durations.get((method, host))
        if found is None:
            found = self.durations[method, host] = Histogram(REQUEST_BUCKETS)
        found.add(seconds)

    def exposition(self) -> bytes:
        """The text that Prometheus scrapes, the process's own families among it."""
        registry = CollectorRegistry()
        registry.register(_Families(self))
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        return generate_latest(registry)


class _Families(Collector):
    """Makes the families of what was counted when they are asked for."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._gauges()
        yield from self._histograms()
        yield from self._requests()
        leading = GaugeMetricFamily("leader_election_master_status", "Whether this process leads.", labels=["name"])
        for name, leads in self._metrics.leading.items():
            leading.add_metric([name], float(leads))
        yield leading

    def _counters(self) -> Iterator[Metric]:
        adds = CounterMetricFamily("workqueue_adds", "Total number of adds handled by workqueue", labels=["name"])
        retries = CounterMetricFamily(
            "workqueue_retries", "Total number of retries handled by workqueue", labels=["name"]
        )
        for name, tally in self._metrics.tallies.items():
            adds.add_metric([name], tally.adds)
            retries.add_metric([name], tally.retries)
        yield adds
        yield retries

    def _gauges(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("workqueue_depth", "Current depth of workqueue", labels=["name"])
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds", "Seconds of work under way that is not counted yet", labels=["name"]
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds", "Seconds that the longest worker is at it", labels=["name"]
        )
        now = self._metrics.clock.monotonic()
        for name, queue in self._metrics.queues.items():
            ages = [max(0.0, now - began) for began in queue.running.values()]
            depth.add_metric([name], len(queue))
            unfinished.add_metric([name], sum(ages))
            longest.add_metric([name], max(ages, default=0.0))
        yield depth
        yield unfinished
        yield longest

    def _histograms(self) -> Iterator[Metric]:
        waited = HistogramMetricFamily(
            "workqueue_queue_duration_seconds", "Seconds that a key waits before it is worked on", labels=["name"]
        )
        worked = HistogramMetricFamily(
            "workqueue_work_duration_seconds", "Seconds that the work on a key takes", labels=["name"]
        )
        for name, tally in self._metrics.tallies.items():
            waited.add_metric([name], tally.waited.cumulative(), tally.waited.total)
            worked.add_metric([name], tally.worked.cumulative(), tally.worked.total)
        yield waited
        yield worked

    def _requests(self) -> Iterator[Metric]:
        total = CounterMetricFamily(
            "rest_client_requests",
            "Number of HTTP requests, by status code, method and host",
            labels=["code", "method", "host"],
        )
        for labels, count in self._metrics.requests.items():
            total.add_metric(list(labels), count)
        seconds = HistogramMetricFamily(
            "rest_client_request_duration_seconds",
            "Request latency in seconds, by verb and host",
            labels=["verb", "host"],
        )
        for place, histogram in self._metrics.durations.items():
            seconds.add_metric(list(place), histogram.cumulative(), histogram.total)
        yield total
        yield seconds
