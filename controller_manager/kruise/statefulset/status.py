"""The status of Advanced StatefulSets: numbers of pods and claims, progress of an update, and failures.

(pkg/controller/statefulset/stateful_set_control.go updateStatus, statefulset_resize_pvc.go updatePVCStatus)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from apiserver.api.quantity import QuantityError, of
from controller_manager.controllers.statefulset.identity import claim_name, claim_templates, revision_name_of
from controller_manager.controllers.statefulset.ordinals import HealthCriteria, Replica
from controller_manager.controllers.statefulset.status import Progress, count_pods
from controller_manager.controllers.statefulset.sync import strategy_of
from controller_manager.reconcile import conditions
from controller_manager.reconcile.times import format_time

FAILED_CREATE, FAILED_UPDATE = "FailedCreatePod", "FailedUpdatePod"
"""The condition types for pods that could not be created, or not be updated."""

_OMIT_EMPTY = frozenset(("updatedReadyReplicas", "updatedAvailableReplicas", "observedGeneration", "volumeClaims"))
"""Fields that the status omits if they are 0 or empty."""


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """Numbers of pods and claims.

    Attributes:
        numbers: numbers of pods, by field of the status.
        claims: numbers of claims, by template.
    """

    numbers: Mapping[str, int]
    claims: Sequence[Obj] = ()


def count_pods_and_claims(
    parent: Obj,
    pods: Iterable[Obj],
    *,
    replicas: Iterable[Replica],
    claims: Mapping[str, Obj],
    progress: Progress,
    health: HealthCriteria,
) -> StatusCounts:
    """Count pods and claims (computeReplicaStatus, updatePVCStatus).

    Args:
        parent: the set.
        pods: all pods of the set.
        replicas: those with ordinals that the set asks for.
        claims: the existing claims, by name.
        progress: the revisions and the progress of an update.
        health: the judge of pods.
    """
    pods = list(pods)
    updated = [pod for pod in pods if revision_name_of(pod) == progress.update and health.is_ready(pod)]
    return StatusCounts(
        count_pods(pods, progress, health=health)
        | {
            "updatedReadyReplicas": len(updated),
            "updatedAvailableReplicas": sum(map(health.is_available, updated)),
        },
        _claim_counts(parent, [replica.ordinal for replica in replicas if replica.pod is not None], claims),
    )


def status_of(parent: Obj, counted: StatusCounts, *, progress: Progress, selector: str) -> Obj:
    """Return the new status without conditions; equal to the old one if nothing has changed.

    An update is complete once all existing pods, which may be more or fewer than spec.replicas, are updated and ready
    (completeRollingUpdate).

    Args:
        parent: the set.
        counted: numbers of pods and claims.
        progress: the set's revisions.
        selector: of its pods, as text.
    """
    numbers, current = dict(counted.numbers), progress.current
    if strategy_of(parent).get("type") != "OnDelete" and (
        numbers["replicas"] == numbers["updatedReplicas"] == numbers["readyReplicas"]
    ):
        current, numbers["currentReplicas"] = progress.update, numbers["updatedReplicas"]
    known = (parent.get("status") or {}).get("observedGeneration") or 0
    fields: Obj = numbers | {
        "observedGeneration": max(parent["metadata"].get("generation") or 0, known),
        "currentRevision": current,
        "updateRevision": progress.update,
        "collisionCount": progress.collisions,
        "labelSelector": selector,
        "volumeClaims": list(counted.claims),
    }
    return {name: value for name, value in fields.items() if value or name not in _OMIT_EMPTY}


def with_conditions(status: Obj, failures: Mapping[str, str], *, before: Sequence[Obj], now: float) -> Obj:
    """Return the status with a condition for each failure of the last sync, and none for what succeeded in it.

    Args:
        status: without conditions.
        failures: condition type → error message.
        before: the old conditions.
        now: the time.
    """
    new_conditions = [condition for condition in before if condition["type"] not in (FAILED_CREATE, FAILED_UPDATE)]
    for type_, message in failures.items():
        old = conditions.find_condition(before, type_)
        since = (old or {}).get("lastTransitionTime") or format_time(now)
        new_conditions.append(
            {"type": type_, "status": conditions.TRUE, "lastTransitionTime": since, "message": message}
        )
    return status | ({"conditions": new_conditions} if new_conditions else {})


# -- claims ------------------------------------------------------------------------------------------------------------


def _claim_counts(parent: Obj, ordinals: Sequence[int], claims: Mapping[str, Obj]) -> list[Obj]:
    """Return for each template how many claims of pods match it, and how many of those have enough capacity."""
    entries = []
    for template in claim_templates(parent):
        names = (claim_name(parent, template, ordinal) for ordinal in ordinals)
        pod_claims = [claims[name] for name in names if name in claims]
        fitting = [
            claim
            for claim in pod_claims
            if not claim["metadata"].get("deletionTimestamp") and _matches_template(claim, template)
        ]
        entries.append(
            {
                "volumeClaimName": name_of(template),
                "compatibleReplicas": len(fitting),
                "compatibleReadyReplicas": sum(map(_has_capacity, fitting)),
            }
        )
    return entries


def _matches_template(claim: Obj, template: Obj) -> bool:
    """Return True if a claim requests the template's class, access modes, and storage or more.

    (IsPVCCompatibleAndReady)
    """
    actual, desired = claim.get("spec") or {}, template.get("spec") or {}
    classes = [spec.get("storageClassName") for spec in (actual, desired)]
    if None not in classes and classes[0] != classes[1]:
        return False
    if (actual.get("accessModes") or []) != (desired.get("accessModes") or []):
        return False
    return _requested(actual) >= _requested(desired)


def _has_capacity(claim: Obj) -> bool:
    """Return True if a claim has the capacity that it requests."""
    return _storage((claim.get("status") or {}).get("capacity")) >= _requested(claim.get("spec") or {})


def _requested(spec: Obj) -> int:
    return _storage((spec.get("resources") or {}).get("requests"))


def _storage(resources: Obj | None) -> int:
    """Return the storage in a resource list, in billionths of a byte; an invalid quantity counts as 0."""
    try:
        return of((resources or {}).get("storage")).nanos
    except QuantityError:
        return 0
