"""The manager's counters and gauges; `exposition` formats them for Prometheus."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.component_base.histogram import Histogram
from controller_manager.reconcile.contract import ControllerSpec, Gauge, Listers
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric, Sample, exponential
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.workqueue import WorkQueue

WORK_BUCKETS = exponential(1e-8, 10, 10)
"""The seconds in both histograms of queues (component-base's workqueue)."""
WAITED = MetricDef(
    "workqueue_queue_duration_seconds", "How long keys wait before a worker takes them.", ("name",), WORK_BUCKETS
)
WORKED = MetricDef("workqueue_work_duration_seconds", "How long the work on a key takes.", ("name",), WORK_BUCKETS)

REQUESTS = MetricDef(
    "rest_client_requests_total", "Requests to the server, by status code, method and host.", ("code", "method", "host")
)
DURATIONS = MetricDef(
    "rest_client_request_duration_seconds",
    "How long the server's answers take, by method and host.",
    ("verb", "host"),
    (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),  # seconds (component-base's restclient)
)


@dataclass(slots=True)
class QueueTally:
    """The counts of one work queue."""

    adds: int = 0
    retries: int = 0
    waited: Histogram = field(default_factory=lambda: Histogram(WAITED.buckets))
    worked: Histogram = field(default_factory=lambda: Histogram(WORKED.buckets))

    def added(self) -> None:
        """Count a key that was added to the queue."""
        self.adds += 1

    def retried(self) -> None:
        """Count a key that is added again after a failure."""
        self.retries += 1

    def started(self, waited: float) -> None:
        """Count a key that a worker has taken after it waited that many seconds."""
        self.waited.add(waited)

    def finished(self, worked: float) -> None:
        """Count a key that a worker has finished after that many seconds."""
        self.worked.add(worked)


@dataclass(slots=True)
class Family:
    """The values measured with one metric, by label values."""

    metric: MetricDef
    counters: dict[tuple[str, ...], float] = field(default_factory=dict)
    histograms: dict[tuple[str, ...], Histogram] = field(default_factory=dict)

    def add(self, labels: tuple[str, ...], value: float, *, times: int = 1) -> None:
        """Add a value, that many times."""
        if not self.metric.buckets:
            self.counters[labels] = self.counters.get(labels, 0.0) + value * times
            return
        histogram = self.histograms.get(labels)
        if histogram is None:
            histogram = self.histograms[labels] = Histogram(self.metric.buckets)
        histogram.add(value, times)


class Read(NamedTuple):
    """A gauge, and the listers that it reads."""

    gauge: Gauge
    listers: Listers

    def readings(self) -> Iterable[Sample]:
        """Return its current values."""
        return self.gauge.read(self.listers)


class Metrics:
    """All metrics of one manager.

    Attributes:
        tallies: name of a queue → its counts.
        queues: name → queue.
        requests: the number of requests, by REQUESTS.
        durations: the durations of requests, by DURATIONS.
        leading: name of a Lease → True if this process leads.
        reconcilers: name of a queue of a controller with controller-runtime's metrics → number of its workers.
        families: the controllers' own metrics, by name of the metric.
        gauges: the controllers' gauges.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.tallies: dict[str, QueueTally] = {}
        self.queues: dict[str, WorkQueue] = {}
        self.requests = Family(REQUESTS)
        self.durations = Family(DURATIONS)
        self.leading: dict[str, bool] = {}
        self.reconcilers: dict[str, int] = {}
        self.families: dict[str, Family] = {}
        self.gauges: list[Read] = []

    def tally(self, name: str) -> QueueTally:
        """Return the counts of a queue."""
        return self.tallies.setdefault(name, QueueTally())

    def include(self, spec: ControllerSpec, listers: Listers) -> None:
        """Add a controller's metrics and gauges; metrics without labels start at 0."""
        for metric in (metric for metric in spec.metrics if metric.is_in(listers.profile)):
            family = self.families.setdefault(metric.name, Family(metric))
            if not metric.labels:
                family.add((), 0.0, times=0)
        self.gauges.extend(Read(gauge, listers) for gauge in spec.gauges if gauge.metric.is_in(listers.profile))

    def count(self, measurement: RecordMetric, elapsed: float) -> None:
        """Count a plan's measurement that many seconds after its run began; ignore metrics that the release lacks."""
        family = self.families.get(measurement.metric.name)
        if family is not None:
            family.add(
                measurement.labels,
                measurement.value + (elapsed if measurement.elapsed else 0.0),
                times=measurement.times,
            )

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """Count a request that was answered with a code, or failed with "<error>"."""
        self.requests.add((code, method, host), 1.0)
        self.durations.add((method, host), seconds)

    def under_way(self) -> Iterator[tuple[str, list[float]]]:
        """Yield the name of each queue with the seconds for which each of its workers has been busy."""
        now = self.clock.monotonic()
        for name, queue in self.queues.items():
            yield name, [max(0.0, now - began) for began in queue.processing.values()]
