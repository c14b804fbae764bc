"""Numbers that controllers tell of their work: counted by plans, or read from caches when somebody asks."""

from dataclasses import dataclass
from itertools import accumulate, repeat

from controller_manager.reconcile.profile import Profile


@dataclass(frozen=True, slots=True)
class Meter:
    """A family of numbers: a counter or a gauge, or a histogram where it has buckets.

    Attributes:
        name: in full, as Prometheus sees it; that of a counter ends in "_total" in most cases.
        about: what it tells.
        labels: their names.
        buckets: the upper bounds of a histogram.
        feature: the attribute of the Profile without which a release does not have it, "" for what all have.
    """

    name: str
    about: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    feature: str = ""

    def is_in(self, profile: Profile) -> bool:
        """Whether a release has it."""
        return not self.feature or bool(getattr(profile, self.feature))


@dataclass(frozen=True, slots=True)
class Measure:
    """The action of counting: a counter grows by the value, a histogram takes it in; it never fails.

    Attributes:
        labels: the values of the meter's labels, in their order.
        times: how often the value is counted.
        elapsed: whether the seconds since this run of the key began are added to it.
    """

    meter: Meter
    value: float = 1.0
    labels: tuple[str, ...] = ()
    times: int = 1
    elapsed: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a gauge shows, with the values of its labels."""

    value: float
    labels: tuple[str, ...] = ()


def exponential(first: float, factor: float, count: int) -> tuple[float, ...]:
    """So many bounds, each a multiple of the one before (component-base metrics.ExponentialBuckets).

    They are multiplied one after the other, as there, so that also their last digits are the same.
    """
    return tuple(accumulate(repeat(factor, count - 1), lambda bound, by: bound * by, initial=first))
