"""The server's metrics as plain counters in dictionaries; `exposition` writes them for Prometheus."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from apiserver.component_base.histogram import Histogram

BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
"""Upper bounds, in seconds, of apiserver_request_duration_seconds (apiserver's endpoints/metrics)."""


class Labels(NamedTuple):
    """The labels of requests."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    dry_run: str = ""


class Tally:
    """Counts and durations of the requests that share their labels."""

    __slots__ = ("codes", "seconds")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.seconds = Histogram(BUCKETS)

    def add(self, code: int, seconds: float) -> None:
        """Count one request."""
        self.codes[code] = self.codes.get(code, 0) + 1
        self.seconds.add(seconds)


class Metrics:
    """All metrics of one server."""

    def __init__(self, objects: Callable[[], Mapping[str, int]]) -> None:
        """Start with empty counters.

        Args:
            objects: returns the number of stored objects of each resource ("deployments.apps").
        """
        self.objects = objects
        self._requests: dict[Labels, Tally] = {}
        self.inflight = {"readOnly": 0, "mutating": 0}
        self.longrunning: dict[Labels, int] = {}
        self.watch_events: dict[tuple[str, str, str], int] = {}

    def tally(self, labels: Labels) -> Tally:
        """Return the tally of requests with these labels."""
        tally = self._requests.get(labels)
        if tally is None:
            tally = self._requests[labels] = Tally()
        return tally

    def requests(self) -> list[tuple[Labels, Tally]]:
        """Return all tallies with their labels."""
        return list(self._requests.items())
