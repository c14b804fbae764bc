"""The spec of Advanced StatefulSets beyond that of StatefulSets, and the choice of pods to update now.

(pkg/controller/statefulset/stateful_set_control.go)
"""

from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.identity import REVISION_LABEL, revision_name_of
from controller_manager.controllers.statefulset.ordinals import HealthCriteria, Replica
from controller_manager.controllers.statefulset.sync import (
    Messages,
    SyncInput,
    is_outdated,
    partition_of,
    strategy_of,
    update_targets,
)
from controller_manager.kruise import invalid_spec
from controller_manager.kruise.pod_lifecycle import (
    NORMAL,
    SPECIFIED_DELETE,
    UPDATING,
    is_settled,
    lifecycle_of,
    with_state,
)
from controller_manager.reconcile.in_place import is_updated
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import is_active
from controller_manager.reconcile.replicas import replicas_of

MESSAGES = Messages(
    claim_leaves="pvc {} is to be deleted",
    claim_refused="Could not update claim {} for delete policy ownerRefs: {}",
    pod_stays="failed to delete pod {}: {}",
)
"""The messages that differ from those of StatefulSets."""

_MAX_GRACE_SECONDS = 300
_PREPARING_UPDATE, _UPDATED = "PreparingUpdate", "Updated"  # states of hooks, which others may have left on pods
_UPDATABLE_STATES = frozenset(("", "PreparingNormal", NORMAL, _PREPARING_UPDATE, UPDATING, _UPDATED))


# -- the spec ----------------------------------------------------------------------------------------------------------


def fault_of(parent: Obj, selector: LabelSelector) -> str:
    """Return why a set cannot work, "" if it can; upstream's webhook rejects such specs."""
    if selector.empty:
        return "empty selector is invalid for statefulset"
    return invalid_spec.fault_of(parent, selector)


@dataclass(frozen=True, slots=True)
class Rollout:
    """The numbers and switches in spec.updateStrategy.rollingUpdate.

    Attributes:
        paused: True if no pod is updated.
        policy: podUpdatePolicy: ReCreate, InPlaceIfPossible or InPlaceOnly.
        grace: seconds between a pod's becoming unready and its update in place.
        minimum: minReadySeconds; OpenKruise's webhook admits at most 300.
    """

    paused: bool
    policy: str
    grace: int
    minimum: int


def rollout_of(parent: Obj) -> Rollout:
    """Parse spec.updateStrategy.rollingUpdate."""
    rolling_update = strategy_of(parent).get("rollingUpdate") or {}
    return Rollout(
        paused=bool(rolling_update.get("paused")),
        policy=rolling_update.get("podUpdatePolicy") or "ReCreate",
        grace=(rolling_update.get("inPlaceUpdateStrategy") or {}).get("gracePeriodSeconds") or 0,
        minimum=min(max(rolling_update.get("minReadySeconds") or 0, 0), _MAX_GRACE_SECONDS),
    )


def scale_max_unavailable(parent: Obj) -> int | None:
    """Return how many pods may be unavailable while others are created (getScaleMaxUnavailable), None for any number.

    Raises:
        ValueError: the value is not a number.
    """
    limit = (parent["spec"].get("scaleStrategy") or {}).get("maxUnavailable")
    return None if limit is None else max(scaled(limit, replicas_of(parent), round_up=False), 1)


def held_back(parent: Obj) -> int:
    """Return how many of the lowest ordinals are created from the current revision (isCurrentRevisionNeeded)."""
    strategy = strategy_of(parent)
    if strategy.get("type") == "OnDelete":
        return 0
    if strategy.get("rollingUpdate") is not None:
        return partition_of(parent)
    return (parent.get("status") or {}).get("currentReplicas") or 0


# -- its pods ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InPlaceHealthCriteria(HealthCriteria):
    """Judges pods that may be updated in place: during an update a pod is not available, ready or not."""

    def is_available(self, pod: Obj) -> bool:
        """Return True if the pod is not being updated, and has been ready for long enough (isRunningAndAvailable)."""
        return is_settled(pod) and HealthCriteria.is_available(self, pod)

    def is_unhealthy(self, replica: Replica) -> bool:
        """Return True if the pod is missing, terminating, being updated, or not ready (isHealthy)."""
        pod = replica.pod
        return pod is None or replica.terminating or not is_settled(pod) or not self.is_ready(pod)


def health_of(rollout: Rollout, now: float) -> InPlaceHealthCriteria:
    """Return the judge of the set's pods."""
    return InPlaceHealthCriteria(now, rollout.minimum)


def can_be_updated(pod: Obj) -> bool:
    """Return True if the pod's lifecycle state allows an in-place update (inPlaceUpdatePod)."""
    return lifecycle_of(pod) in _UPDATABLE_STATES


def with_normal_state(pod: Obj, now: float) -> Obj:
    """Return a new pod with the lifecycle state Normal: no hook is waited for."""
    return with_state(pod, NORMAL, now)


def with_updating_state(pod: Obj, revision: str, now: float) -> Obj:
    """Return the pod as one that is being updated to a revision; its lifecycle is left alone if it has none."""
    labels = labels_of(pod) | {REVISION_LABEL: revision}
    pod = pod | {"metadata": pod["metadata"] | {"labels": labels}}
    return with_state(pod, UPDATING, now) if lifecycle_of(pod) else pod


def is_of(pod: Obj, revision: str) -> bool:
    """Return True if a pod is of the revision with that name."""
    return revision_name_of(pod) == revision


# -- updates -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PodsToUpdate:
    """The pods to replace or update now, highest ordinal first.

    Attributes:
        specified: pods of any revision to delete because a label requests it.
        outdated: pods to bring to the update revision.
    """

    specified: tuple[Replica, ...]
    outdated: tuple[Replica, ...]


def pods_to_update(work: SyncInput, budget: int) -> PodsToUpdate:
    """Return the pods to replace or update now (rollingUpdateStatefulsetPods).

    Pods that are unavailable already cost no budget. If there is none for a labelled pod, others may go before it; if
    there is none for an outdated pod, the update waits. The partition does not protect labelled pods.

    Args:
        work: the set and its pods; none of them has to be created or deleted first.
        budget: how many pods may be unavailable.
    """
    unavailable = {replica.ordinal for replica in work.pods.replicas if _is_down(work, replica)}
    beyond = work.pods.beyond

    def may_go(replica: Replica) -> bool:
        return replica.ordinal in unavailable or len(unavailable) + beyond < budget

    specified, outdated = dict[int, Replica](), list[Replica]()
    for replica in reversed(work.pods.replicas):
        if _is_specified(replica) and may_go(replica):
            specified[replica.ordinal] = replica
            unavailable.add(replica.ordinal)
    for replica in update_targets(work):
        if replica.ordinal in specified or not is_outdated(work, replica):
            continue
        if not may_go(replica):
            break
        outdated.append(replica)
        unavailable.add(replica.ordinal)
    return PodsToUpdate(tuple(specified.values()), tuple(outdated))


def _is_down(work: SyncInput, replica: Replica) -> bool:
    return work.health.is_unavailable(replica) or not is_updated(replica.created)


def _is_specified(replica: Replica) -> bool:
    return replica.pod is not None and is_active(replica.pod) and SPECIFIED_DELETE in labels_of(replica.pod)
