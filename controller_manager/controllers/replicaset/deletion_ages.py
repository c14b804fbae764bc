"""How much older the pods that a ReplicaSet deletes are than its youngest."""

from collections.abc import Iterator, Sequence

from apiserver.api.meta import Obj
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.times import seconds


def age_ratios(ranked: Sequence[Obj], number: int, now: float) -> Iterator[float]:
    """The age of each ready pod that goes, as a whole multiple of the youngest ready pod's; none where that is no time.

    (replica_set.go reportSortingDeletionAgeRatioMetric)

    Args:
        ranked: all pods, those first that go first.
        number: how many of them go.
        now: the time.
    """
    youngest = min((_age(pod, now) for pod in ranked if is_ready(pod)), default=0)
    if youngest > 0:
        yield from (float(_age(pod, now) // youngest) for pod in ranked[:number] if is_ready(pod))


def _age(pod: Obj, now: float) -> int:
    """In milliseconds, of what was never stored none."""
    created = pod["metadata"].get("creationTimestamp")
    return int((now - seconds(created)) * 1000) if created else 0
