"""Definitions of controllers' metrics: counted by plans, or read from caches when metrics are scraped."""

from dataclasses import dataclass
from itertools import accumulate, repeat

from controller_manager.reconcile.profile import Profile


@dataclass(frozen=True, slots=True)
class MetricDef:
    """A metric family: a counter or a gauge, or a histogram if it has buckets.

    Attributes:
        name: the full name in Prometheus; most counters end in "_total".
        help: the help text.
        labels: the names of the labels.
        buckets: the upper bounds of a histogram.
        feature: the attribute of Profile that must be true for a release to have it, "" for all releases.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    feature: str = ""

    def is_in(self, profile: Profile) -> bool:
        """Return whether a release has this metric."""
        return not self.feature or bool(getattr(profile, self.feature))


@dataclass(frozen=True, slots=True)
class RecordMetric:
    """An action that increases a counter by a value, or adds it to a histogram; it never fails.

    Attributes:
        labels: the values of the metric's labels, in their order.
        times: how many times the value is counted.
        elapsed: True to add the seconds since this sync of the key began.
    """

    metric: MetricDef
    value: float = 1.0
    labels: tuple[str, ...] = ()
    times: int = 1
    elapsed: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """The value of a gauge, with the values of its labels."""

    value: float
    labels: tuple[str, ...] = ()


def exponential(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Return so many bucket bounds, each a multiple of the previous one (component-base metrics.ExponentialBuckets).

    They are multiplied one after the other, as in Go, so that even the last digits are the same.
    """
    return tuple(accumulate(repeat(factor, count - 1), lambda bound, by: bound * by, initial=first))
