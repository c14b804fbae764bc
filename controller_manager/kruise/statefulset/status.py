"""The status of Advanced StatefulSets: their pods and claims counted, how far an update has come, what failed.

(pkg/controller/statefulset/stateful_set_control.go updateStatus, statefulset_resize_pvc.go updatePVCStatus)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from apiserver.api.quantity import QuantityError, of
from controller_manager.controllers.statefulset.identity import claim_name, claim_templates, revision_name_of
from controller_manager.controllers.statefulset.ordinals import Health, Replica
from controller_manager.controllers.statefulset.status import Progress, counts
from controller_manager.controllers.statefulset.sync import strategy_of
from controller_manager.reconcile import conditions
from controller_manager.reconcile.times import stamp

FAILED_CREATE, FAILED_UPDATE = "FailedCreatePod", "FailedUpdatePod"
"""The conditions that a pod could not be made, or not be put right."""

_OMITTED = frozenset(("updatedReadyReplicas", "updatedAvailableReplicas", "observedGeneration", "volumeClaims"))
"""What the status does not say where it is 0 or empty."""


@dataclass(frozen=True, slots=True)
class Census:
    """What is counted of a set.

    Attributes:
        numbers: of its pods, by the status' names.
        claims: of its claims, template by template.
    """

    numbers: Mapping[str, int]
    claims: Sequence[Obj] = ()


def census(
    parent: Obj,
    pods: Iterable[Obj],
    *,
    replicas: Iterable[Replica],
    claims: Mapping[str, Obj],
    progress: Progress,
    health: Health,
) -> Census:
    """Count pods and claims (computeReplicaStatus, updatePVCStatus).

    Args:
        parent: the set.
        pods: its own, all of them.
        replicas: those whose ordinals are wanted.
        claims: those that exist, by name.
        progress: how far an update is.
        health: how pods are judged.
    """
    pods = list(pods)
    updated = [pod for pod in pods if revision_name_of(pod) == progress.update and health.ready(pod)]
    return Census(
        counts(pods, progress, health=health)
        | {
            "updatedReadyReplicas": len(updated),
            "updatedAvailableReplicas": sum(map(health.available, updated)),
        },
        _claims_told(parent, [replica.ordinal for replica in replicas if replica.pod is not None], claims),
    )


def status_of(parent: Obj, found: Census, *, progress: Progress, selector: str) -> Obj:
    """The status as it should be, without conditions; equal to what the set has where there is nothing to write.

    An update is complete once all pods that there are, be they as many as are wanted or not, are updated and ready
    (completeRollingUpdate).

    Args:
        parent: the set.
        found: its pods and claims.
        progress: its revisions.
        selector: of its pods, as text.
    """
    numbers, current = dict(found.numbers), progress.current
    if strategy_of(parent).get("type") != "OnDelete" and (
        numbers["replicas"] == numbers["updatedReplicas"] == numbers["readyReplicas"]
    ):
        current, numbers["currentReplicas"] = progress.update, numbers["updatedReplicas"]
    known = (parent.get("status") or {}).get("observedGeneration") or 0
    told: Obj = numbers | {
        "observedGeneration": max(parent["metadata"].get("generation") or 0, known),
        "currentRevision": current,
        "updateRevision": progress.update,
        "collisionCount": progress.collisions,
        "labelSelector": selector,
        "volumeClaims": list(found.claims),
    }
    return {name: value for name, value in told.items() if value or name not in _OMITTED}


def with_conditions(status: Obj, failures: Mapping[str, str], *, before: Sequence[Obj], now: float) -> Obj:
    """The status with a condition for each failure of the last pass, and none for what went well in it.

    Args:
        status: without conditions.
        failures: what went wrong, by the condition's type.
        before: the conditions that there were.
        now: the time.
    """
    told = [condition for condition in before if condition["type"] not in (FAILED_CREATE, FAILED_UPDATE)]
    for type_, why in failures.items():
        former = conditions.find(before, type_)
        since = (former or {}).get("lastTransitionTime") or stamp(now)
        told.append({"type": type_, "status": conditions.TRUE, "lastTransitionTime": since, "message": why})
    return status | ({"conditions": told} if told else {})


# -- claims ------------------------------------------------------------------------------------------------------------


def _claims_told(parent: Obj, ordinals: Sequence[int], claims: Mapping[str, Obj]) -> list[Obj]:
    """For each template: how many claims of pods are as it has them, and how many of those have room enough."""
    told = []
    for template in claim_templates(parent):
        names = (claim_name(parent, template, ordinal) for ordinal in ordinals)
        found = [claims[name] for name in names if name in claims]
        fitting = [each for each in found if not each["metadata"].get("deletionTimestamp") and _fits(each, template)]
        told.append(
            {
                "volumeClaimName": name_of(template),
                "compatibleReplicas": len(fitting),
                "compatibleReadyReplicas": sum(map(_has_room, fitting)),
            }
        )
    return told


def _fits(claim: Obj, template: Obj) -> bool:
    """Whether a claim asks for what its template does, or for more room (IsPVCCompatibleAndReady)."""
    asked, wanted = claim.get("spec") or {}, template.get("spec") or {}
    classes = [each.get("storageClassName") for each in (asked, wanted)]
    if None not in classes and classes[0] != classes[1]:
        return False
    if (asked.get("accessModes") or []) != (wanted.get("accessModes") or []):
        return False
    return _requested(asked) >= _requested(wanted)


def _has_room(claim: Obj) -> bool:
    """Whether a claim has as much room as it asks for."""
    return _storage((claim.get("status") or {}).get("capacity")) >= _requested(claim.get("spec") or {})


def _requested(spec: Obj) -> int:
    return _storage((spec.get("resources") or {}).get("requests"))


def _storage(resources: Obj | None) -> int:
    """The storage of a list of resources, in billionths of a byte; what is no quantity is none."""
    try:
        return of((resources or {}).get("storage")).nanos
    except QuantityError:
        return 0
