"""The ages of the pods that a ReplicaSet deletes, relative to its youngest."""

from collections.abc import Iterator, Sequence

from apiserver.api.meta import Obj
from controller_manager.reconcile.pods import is_ready
from controller_manager.reconcile.times import parse_time


def age_ratios(ranked: Sequence[Obj], number: int, now: float) -> Iterator[float]:
    """Yield the age of each deleted ready pod, as a multiple of the youngest's; nothing if that age is not positive.

    (replica_set.go reportSortingDeletionAgeRatioMetric)

    Args:
        ranked: all pods, in the order of deletion.
        number: how many of them are deleted.
        now: the time.
    """
    youngest = min((_age(pod, now) for pod in ranked if is_ready(pod)), default=0)
    if youngest > 0:
        yield from (float(_age(pod, now) // youngest) for pod in ranked[:number] if is_ready(pod))


def _age(pod: Obj, now: float) -> int:
    """Return a pod's age in milliseconds, or 0 if it has no creation time."""
    created = pod["metadata"].get("creationTimestamp")
    return int((now - parse_time(created)) * 1000) if created else 0
