"""The status of StatefulSets: their pods counted, and how far an update has come."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.identity import revision_name_of
from controller_manager.controllers.statefulset.ordinals import Health
from controller_manager.controllers.statefulset.sync import strategy_of
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import Failure, replicas_of, with_failure

_COUNTS = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_ALWAYS = frozenset(("replicas", "availableReplicas", "collisionCount"))
"""What the status says even where it is 0."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an update stands.

    Attributes:
        current: the name of the current revision.
        update: that of the update revision.
        collisions: how many names of revisions were found taken.
        deleted: how many pods of the current revision this pass has just deleted, or changed, for the update.
        lost: how many pods of the update revision it has deleted because somebody asked for that.
    """

    current: str
    update: str
    collisions: int = 0
    deleted: int = 0
    lost: int = 0


def progress_of(parent: Obj) -> Progress:
    """How far the set says that it has come."""
    status = parent.get("status") or {}
    current, latest = status.get("currentRevision") or "", status.get("updateRevision") or ""
    return Progress(current, latest, status.get("collisionCount") or 0)


def counts(pods: Iterable[Obj], progress: Progress, *, health: Health) -> dict[str, int]:
    """How many pods there are (computeReplicaStatus); where both revisions are one, its pods count in both."""
    found = dict.fromkeys(_COUNTS, 0)
    for pod in pods:
        found["replicas"] += 1
        found["readyReplicas"] += health.ready(pod)
        found["availableReplicas"] += health.available(pod)
        if not pod["metadata"].get("deletionTimestamp"):
            revision = revision_name_of(pod)
            found["currentReplicas"] += revision == progress.current
            found["updatedReplicas"] += revision == progress.update
    found["currentReplicas"] -= min(progress.deleted, found["currentReplicas"])
    found["updatedReplicas"] -= min(progress.lost, found["updatedReplicas"])
    return found


def status_of(parent: Obj, numbers: dict[str, int], *, progress: Progress, profile: Profile) -> Obj:
    """The status as it should be; equal to the one that the set has where there is nothing to write.

    An update is complete once as many pods as are wanted exist, are updated and are ready (completeRollingUpdate).
    """
    old, current = parent.get("status") or {}, progress.current
    rolling = strategy_of(parent).get("type") != "OnDelete"
    if rolling and all(numbers[name] == replicas_of(parent) for name in _COUNTS[:2] + _COUNTS[3:4]):
        current, numbers = progress.update, numbers | {"currentReplicas": numbers["updatedReplicas"]}
    told: Obj = numbers | {
        "currentRevision": current,
        "updateRevision": progress.update,
        "collisionCount": progress.collisions,
        "observedGeneration": max(parent["metadata"].get("generation") or 0, old.get("observedGeneration") or 0),
    }
    if not profile.min_ready_stateful:
        del told["availableReplicas"]
    kept = {name: value for name, value in old.items() if name not in told}
    return kept | {name: value for name, value in told.items() if value or name in _ALWAYS}


def with_condition(status: Obj, failure: Failure | None, *, now: float) -> Obj:
    """The status with the condition that the set cannot be acted upon, or without it.

    Upstream tells of such failures by events alone; here the first one is a condition as well, until all goes well.
    """
    told = with_failure(status.get("conditions") or (), failure, now=now)
    others = {name: value for name, value in status.items() if name != "conditions"}
    return others | {"conditions": told} if told else others


def is_same_status(one: Obj, other: Obj) -> bool:
    """Whether two statuses say the same; what is 0 or empty may as well be absent, as old servers have it."""
    return {name: value for name, value in one.items() if value} == {n: value for n, value in other.items() if value}
