"""What the server counts while it works: an increment of a dictionary; `exposition` makes Prometheus' text of it."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import NamedTuple

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
        self.objects = objects
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

    def requests(self) -> list[tuple[Labels, Tally]]:
        """Return all tallies by their labels."""
        return list(self._requests.items())
