"""What the manager counts while it works, and what it can read off; `exposition` makes Prometheus' text of it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from controller_manager.reconcile.contract import Gauge, Listers, Spec
from controller_manager.reconcile.metric_defs import Measure, Meter, Reading, exponential
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.workqueue import WorkQueue

WORK_BUCKETS = exponential(1e-8, 10, 10)
"""Seconds, in both histograms of queues (component-base's workqueue)."""
WAITED = Meter(
    "workqueue_queue_duration_seconds", "How long keys wait before a worker takes them.", ("name",), WORK_BUCKETS
)
WORKED = Meter("workqueue_work_duration_seconds", "How long the work on a key takes.", ("name",), WORK_BUCKETS)

REQUESTS = Meter(
    "rest_client_requests_total", "Requests to the server, by status code, method and host.", ("code", "method", "host")
)
DURATIONS = Meter(
    "rest_client_request_duration_seconds",
    "How long the server's answers take, by method and host.",
    ("verb", "host"),
    (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),  # seconds (component-base's restclient)
)


class Histogram:
    """Counts of values by upper bounds, and of those above all of them."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


@dataclass(slots=True)
class QueueTally:
    """What is counted of one work queue."""

    adds: int = 0
    retries: int = 0
    waited: Histogram = field(default_factory=lambda: Histogram(WAITED.buckets))
    worked: Histogram = field(default_factory=lambda: Histogram(WORKED.buckets))

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


@dataclass(slots=True)
class Family:
    """What was measured with one meter, by the values of its labels."""

    meter: Meter
    counters: dict[tuple[str, ...], float] = field(default_factory=dict)
    histograms: dict[tuple[str, ...], Histogram] = field(default_factory=dict)

    def add(self, labels: tuple[str, ...], value: float, *, times: int = 1) -> None:
        """Count a value so many times."""
        if not self.meter.buckets:
            self.counters[labels] = self.counters.get(labels, 0.0) + value * times
            return
        found = self.histograms.get(labels)
        if found is None:
            found = self.histograms[labels] = Histogram(self.meter.buckets)
        found.add(value, times)


class Read(NamedTuple):
    """A gauge, and what it is read of."""

    gauge: Gauge
    listers: Listers

    def readings(self) -> Iterable[Reading]:
        """What it shows now."""
        return self.gauge.read(self.listers)


class Metrics:
    """All counts of one manager.

    Attributes:
        tallies: name of a queue → what is counted of it.
        queues: name → queue.
        requests: how many, by REQUESTS.
        durations: how long they take, by DURATIONS.
        leading: name of a Lease → whether this process leads.
        reconcilers: name of a queue whose controller has its runs counted → how many keys it works on at a time.
        families: what controllers measure, by the names of their meters.
        gauges: what can be read off.
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
        """Where a queue is counted."""
        return self.tallies.setdefault(name, QueueTally())

    def include(self, spec: Spec, listers: Listers) -> None:
        """Take in what a controller measures, and what can be read of it; what has no labels begins at nothing."""
        for meter in (meter for meter in spec.meters if meter.is_in(listers.profile)):
            family = self.families.setdefault(meter.name, Family(meter))
            if not meter.labels:
                family.add((), 0.0, times=0)
        self.gauges.extend(Read(gauge, listers) for gauge in spec.gauges if gauge.meter.is_in(listers.profile))

    def count(self, measure: Measure, elapsed: float) -> None:
        """A plan measured something, so many seconds after its run began; releases without the meter do not count."""
        family = self.families.get(measure.meter.name)
        if family is not None:
            family.add(measure.labels, measure.value + (elapsed if measure.elapsed else 0.0), times=measure.times)

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """A request was answered with a code, or failed with "<error>"."""
        self.requests.add((code, method, host), 1.0)
        self.durations.add((method, host), seconds)

    def under_way(self) -> Iterator[tuple[str, list[float]]]:
        """Name of a queue → how long each of its workers has been at it, in seconds."""
        now = self.clock.monotonic()
        for name, queue in self.queues.items():
            yield name, [max(0.0, now - began) for began in queue.running.values()]
