"""How many pods a workload wants, and the status of ReplicaSets and their likes: pods counted, and what failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of
from controller_manager.reconcile import conditions
from controller_manager.reconcile.pods import is_available, is_ready, soonest_available
from controller_manager.reconcile.times import stamp

FAILURE = "ReplicaFailure"
"""The condition that pods could not be created or deleted."""


def replicas_of(obj: Obj) -> int:
    """spec.replicas of a workload, 1 where it is not told."""
    replicas: int | None = obj["spec"].get("replicas")
    return 1 if replicas is None else replicas


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pods there are.

    Attributes:
        labeled: pods with all labels of the template.
        available: ready for minReadySeconds.
        terminating: pods on their way out, None where the release does not count them.
        wait: seconds until a ready pod becomes available, None where time alone changes nothing.
    """

    replicas: int
    labeled: int
    ready: int
    available: int
    terminating: int | None = None
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why pods could not be managed: the reason and message of ReplicaFailure."""

    reason: str
    message: str


def count(spec: Obj, pods: Sequence[Obj], now: float, *, terminating: int | None, strict: bool = False) -> Counts:
    """Count pods (replica_set_utils.go calculateStatus).

    Args:
        spec: of the owner: minReadySeconds and the template's labels matter.
        pods: its active pods.
        now: the time.
        terminating: how many more are on their way out.
        strict: as in `is_available`.
    """
    minimum, wanted = spec.get("minReadySeconds") or 0, labels_of(spec["template"]).items()
    labeled = sum(wanted <= labels_of(pod).items() for pod in pods)
    ready = [pod for pod in pods if is_ready(pod)]
    if not minimum:
        return Counts(len(pods), labeled, len(ready), len(ready), terminating)
    available = sum(is_available(pod, now, minimum=minimum, strict=strict) for pod in ready)
    wait = soonest_available(ready, now, minimum=minimum) or float(minimum) if available < len(ready) else None
    return Counts(len(pods), labeled, len(ready), available, terminating, wait)


def status_of(owner: Obj, counts: Counts, failure: Failure | None, now: float) -> Obj:
    """The owner's status as it should be; equal to the one it has where there is nothing to write.

    ReplicaFailure comes when there is none, keeps what it first said, and goes when all went well.
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
    if told := with_failure(old.get("conditions") or (), failure, now=now):
        status["conditions"] = told
    return status


def with_failure(old: Sequence[Obj], failure: Failure | None, *, now: float) -> list[Obj]:
    """The conditions with ReplicaFailure, which keeps what it first said; without it where nothing failed."""
    if failure is None:
        return conditions.without(old, FAILURE)
    if conditions.find(old, FAILURE):
        return list(old)
    told = {"reason": failure.reason, "message": failure.message}
    return [*old, {"type": FAILURE, "status": conditions.TRUE, "lastTransitionTime": stamp(now)} | told]
