"""The status of StatefulSets: counts of their pods, and the progress of an update."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.identity import revision_name_of
from controller_manager.controllers.statefulset.ordinals import HealthCriteria
from controller_manager.controllers.statefulset.sync import strategy_of
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import ReplicaFailure, replicas_of, with_failure

_COUNTS = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_REQUIRED_FIELDS = frozenset(("replicas", "availableReplicas", "collisionCount"))
"""The fields that the status has even if they are 0."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an update.

    Attributes:
        current: the name of the current revision.
        update: the name of the update revision.
        collisions: how many revision names were already taken.
        deleted: how many pods of the current revision this sync has just deleted, or changed, for the update.
        lost: how many pods of the update revision it has deleted on request.
    """

    current: str
    update: str
    collisions: int = 0
    deleted: int = 0
    lost: int = 0


def progress_of(parent: Obj) -> Progress:
    """Return the progress recorded in the set's status."""
    status = parent.get("status") or {}
    current, latest = status.get("currentRevision") or "", status.get("updateRevision") or ""
    return Progress(current, latest, status.get("collisionCount") or 0)


def count_pods(pods: Iterable[Obj], progress: Progress, *, health: HealthCriteria) -> dict[str, int]:
    """Return the pod counts (computeReplicaStatus); if both revisions are the same, its pods count for both."""
    totals = dict.fromkeys(_COUNTS, 0)
    for pod in pods:
        totals["replicas"] += 1
        totals["readyReplicas"] += health.is_ready(pod)
        totals["availableReplicas"] += health.is_available(pod)
        if not pod["metadata"].get("deletionTimestamp"):
            revision = revision_name_of(pod)
            totals["currentReplicas"] += revision == progress.current
            totals["updatedReplicas"] += revision == progress.update
    totals["currentReplicas"] -= min(progress.deleted, totals["currentReplicas"])
    totals["updatedReplicas"] -= min(progress.lost, totals["updatedReplicas"])
    return totals


def status_of(parent: Obj, numbers: dict[str, int], *, progress: Progress, profile: Profile) -> Obj:
    """Return the status that the set should have; equal to the existing one if there is nothing to write.

    An update is complete once as many pods as desired exist, are updated and are ready (completeRollingUpdate).
    """
    old, current = parent.get("status") or {}, progress.current
    rolling = strategy_of(parent).get("type") != "OnDelete"
    if rolling and all(numbers[name] == replicas_of(parent) for name in _COUNTS[:2] + _COUNTS[3:4]):
        current, numbers = progress.update, numbers | {"currentReplicas": numbers["updatedReplicas"]}
    fields: Obj = numbers | {
        "currentRevision": current,
        "updateRevision": progress.update,
        "collisionCount": progress.collisions,
        "observedGeneration": max(parent["metadata"].get("generation") or 0, old.get("observedGeneration") or 0),
    }
    if not profile.min_ready_stateful:
        del fields["availableReplicas"]
    kept = {name: value for name, value in old.items() if name not in fields}
    return kept | {name: value for name, value in fields.items() if value or name in _REQUIRED_FIELDS}


def with_condition(status: Obj, failure: ReplicaFailure | None, *, now: float) -> Obj:
    """Return the status with a condition for a failure, or without one if there is no failure.

    Upstream reports such failures by events alone; here the first one is a condition as well, until a sync succeeds.
    """
    conditions = with_failure(status.get("conditions") or (), failure, now=now)
    others = {name: value for name, value in status.items() if name != "conditions"}
    return others | {"conditions": conditions} if conditions else others


def is_same_status(status: Obj, other: Obj) -> bool:
    """Return whether two statuses are equal; fields that are 0 or empty may be absent, as in old servers."""
    return {name: value for name, value in status.items() if value} == {n: value for n, value in other.items() if value}
