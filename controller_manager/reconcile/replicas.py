"""The replicas of a workload, and the status of ReplicaSets and similar kinds: pod counts and failures."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of
from controller_manager.reconcile import conditions
from controller_manager.reconcile.pods import is_available, is_ready, soonest_available
from controller_manager.reconcile.times import format_time

REPLICA_FAILURE = "ReplicaFailure"
"""The condition that pods could not be created or deleted."""


def replicas_of(obj: Obj) -> int:
    """Return spec.replicas of a workload, or 1 if it is not set."""
    replicas: int | None = obj["spec"].get("replicas")
    return 1 if replicas is None else replicas


@dataclass(frozen=True, slots=True)
class PodCounts:
    """The numbers of a workload's pods.

    Attributes:
        labeled: pods with all labels of the template.
        available: pods that have been ready for minReadySeconds.
        terminating: terminating pods, or None if the release does not count them.
        wait: seconds until a ready pod becomes available, or None if time alone changes nothing.
    """

    replicas: int
    labeled: int
    ready: int
    available: int
    terminating: int | None = None
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class ReplicaFailure:
    """The reason and message of the condition ReplicaFailure."""

    reason: str
    message: str


def count_pods(spec: Obj, pods: Sequence[Obj], now: float, *, terminating: int | None) -> PodCounts:
    """Count pods (replica_set_utils.go calculateStatus).

    Args:
        spec: the owner's spec, with minReadySeconds and the template's labels.
        pods: its active pods.
        now: the time.
        terminating: how many other pods are terminating.
    """
    minimum, labels = spec.get("minReadySeconds") or 0, labels_of(spec["template"]).items()
    labeled = sum(labels <= labels_of(pod).items() for pod in pods)
    ready = [pod for pod in pods if is_ready(pod)]
    if not minimum:
        return PodCounts(len(pods), labeled, len(ready), len(ready), terminating)
    available = sum(is_available(pod, now, minimum=minimum) for pod in ready)
    wait = soonest_available(ready, now, minimum=minimum) or float(minimum) if available < len(ready) else None
    return PodCounts(len(pods), labeled, len(ready), available, terminating, wait)


def status_of(owner: Obj, counts: PodCounts, failure: ReplicaFailure | None, now: float) -> Obj:
    """Return the status that the owner should have; equal to the existing one if there is nothing to write.

    ReplicaFailure is added if there is none, keeps its first reason and message, and is removed when a sync succeeds.
    """
    old, meta = owner.get("status") or {}, owner["metadata"]
    numbers = {
        "fullyLabeledReplicas": counts.labeled,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.available,
        "observedGeneration": meta.get("generation") or 0,
    }
    status: Obj = {key: value for key, value in old.items() if key not in numbers and key != "conditions"}
    status |= {"replicas": counts.replicas} | {key: value for key, value in numbers.items() if value}
    if counts.terminating is not None:
        status["terminatingReplicas"] = counts.terminating
    if updated := with_failure(old.get("conditions") or (), failure, now=now):
        status["conditions"] = updated
    return status


def with_failure(old: Sequence[Obj], failure: ReplicaFailure | None, *, now: float) -> list[Obj]:
    """Return the conditions with ReplicaFailure, whose first message is kept; without it if there is no failure."""
    if failure is None:
        return conditions.without_condition(old, REPLICA_FAILURE)
    if conditions.find_condition(old, REPLICA_FAILURE):
        return list(old)
    fields = {"reason": failure.reason, "message": failure.message}
    return [*old, {"type": REPLICA_FAILURE, "status": conditions.TRUE, "lastTransitionTime": format_time(now)} | fields]
