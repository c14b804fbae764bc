"""What the server counts, with upstream's names and labels; counting is a dictionary's increment, Prometheus' client formats.

The families are built when somebody scrapes, so the import of prometheus_client, and its locks, cost requests nothing.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds, in seconds, of apiserver_request_duration_seconds (apiserver's endpoints/metrics)."""


class Labels(NamedTuple):
    """What requests are told apart by."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    dry_run: str = ""


class Tally:
    """Counts and durations of the requests that share their labels."""

    __slots__ = ("buckets", "codes", "seconds")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0

    def add(self, code: int, seconds: float) -> None:
        """Count one request."""
        self.codes[code] = self.codes.get(code, 0) + 1
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


class Metrics:
    """All counts of one server."""

    def __init__(self, objects: Callable[[], Mapping[str, int]]) -> None:
        """Begin to count.

        Args:
            objects: tells how many objects of each resource ("deployments.apps") are stored.
        """
        self._objects = objects
        self._requests: dict[Labels, Tally] = {}
        self.inflight = {"readOnly": 0, "mutating": 0}
        self.longrunning: dict[Labels, int] = {}
        self.watch_events: dict[tuple[str, str, str], int] = {}

    def tally(self, labels: Labels) -> Tally:
        """Where requests with these labels are counted."""
        found = self._requests.get(labels)
        if found is None:
            found = self._requests[labels] = Tally()
        return found

    def exposition(self) -> bytes:
        """The text that Prometheus scrapes."""
        from prometheus_client import (
            CollectorRegistry,
            GCCollector,
            PlatformCollector,
            ProcessCollector,
            generate_latest,
        )  # noqa: PLC0415 - paid for by who scrapes

        registry = CollectorRegistry()
        registry.register(self)  # type: ignore[arg-type]
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        return generate_latest(registry)

    def collect(self) -> "Iterator[Metric]":
        """The families, as prometheus_client asks for them."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily  # noqa: PLC0415

        names = ["verb", "group", "version", "resource", "subresource", "scope"]
        total = CounterMetricFamily(
            "apiserver_request_total",
            "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, "
            "component, and HTTP response code.",
            labels=[*names, "dry_run", "component", "code"],
        )
        duration = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
            "subresource, scope and component.",
            labels=[*names, "dry_run", "component"],
        )
        for labels, tally in list(self._requests.items()):
            for code, count in tally.codes.items():
                total.add_metric([*labels, "apiserver", str(code)], count)
            duration.add_metric([*labels, "apiserver"], _cumulative(tally.buckets), tally.seconds)
        yield total
        yield duration
        inflight = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Maximal number of currently used inflight request limit of this apiserver per request kind in last second.",
            labels=["request_kind"],
        )
        for kind, count in self.inflight.items():
            inflight.add_metric([kind], count)
        yield inflight
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests",
            "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope "
            "and component. Not all requests are tracked this way.",
            labels=[*names, "component"],
        )
        for labels, count in self.longrunning.items():
            running.add_metric([*labels[:6], "apiserver"], count)
        yield running
        events = CounterMetricFamily(
            "apiserver_watch_events_total",
            "Number of events sent in watch clients",
            labels=["group", "version", "resource"],
        )
        for place, count in self.watch_events.items():
            events.add_metric(list(place), count)
        yield events
        stored = GaugeMetricFamily(
            "apiserver_storage_objects",
            "Number of stored objects at the time of last check split by kind.",
            labels=["resource"],
        )
        for resource, count in self._objects().items():
            stored.add_metric([resource], count)
        yield stored


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    found, count = [], 0
    for bound, more in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
        count += more
        found.append((bound, float(count)))
    return found
