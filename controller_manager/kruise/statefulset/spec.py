"""Advanced StatefulSets of OpenKruise: what they ask for beyond a StatefulSet, and which of their pods are updated now.

(pkg/controller/statefulset/stateful_set_control.go)
"""

from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.identity import REVISION_LABEL, revision_name_of
from controller_manager.controllers.statefulset.ordinals import Health, Replica
from controller_manager.controllers.statefulset.sync import SyncInput, Words, is_old, partition_of, strategy_of, targets
from controller_manager.kruise import invalid_spec
from controller_manager.kruise.pod_lifecycle import NORMAL, SPECIFIED_DELETE, UPDATING, in_state, is_calm, lifecycle_of
from controller_manager.reconcile.in_place import is_updated
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import is_active
from controller_manager.reconcile.replicas import replicas_of

WORDS = Words(
    claim_leaves="pvc {} is to be deleted",
    claim_refused="Could not update claim {} for delete policy ownerRefs: {}",
    pod_stays="failed to delete pod {}: {}",
)
"""What messages say in other words than those of StatefulSets."""

_LONGEST_WAIT = 300
_PREPARING_UPDATE, _UPDATED = "PreparingUpdate", "Updated"  # states of hooks, which others may have left on pods
_UPDATABLE = frozenset(("", "PreparingNormal", NORMAL, _PREPARING_UPDATE, UPDATING, _UPDATED))


# -- what is asked for -------------------------------------------------------------------------------------------------


def fault_of(parent: Obj, selector: LabelSelector) -> str:
    """Why nothing can be done about a set, "" where something can; upstream's webhook lets no such be stored."""
    if selector.empty:
        return "empty selector is invalid for statefulset"
    return invalid_spec.fault_of(parent, selector)


@dataclass(frozen=True, slots=True)
class Rollout:
    """How pods are updated: spec.updateStrategy.rollingUpdate.

    Attributes:
        paused: whether no pod is.
        policy: how one is: ReCreate, InPlaceIfPossible or InPlaceOnly.
        grace: seconds between a pod's becoming unready and its update in place.
        minimum: minReadySeconds, of which OpenKruise's webhook admits no more than 300.
    """

    paused: bool
    policy: str
    grace: int
    minimum: int


def rollout_of(parent: Obj) -> Rollout:
    """How the pods of a set are updated."""
    told = strategy_of(parent).get("rollingUpdate") or {}
    return Rollout(
        paused=bool(told.get("paused")),
        policy=told.get("podUpdatePolicy") or "ReCreate",
        grace=(told.get("inPlaceUpdateStrategy") or {}).get("gracePeriodSeconds") or 0,
        minimum=min(max(told.get("minReadySeconds") or 0, 0), _LONGEST_WAIT),
    )


def growth_of(parent: Obj) -> int | None:
    """How many pods may be unavailable while others are made (getScaleMaxUnavailable), None for any number.

    Raises:
        ValueError: what is said means no number.
    """
    given = (parent["spec"].get("scaleStrategy") or {}).get("maxUnavailable")
    return None if given is None else max(scaled(given, replicas_of(parent), round_up=False), 1)


def held_back(parent: Obj) -> int:
    """How many of the ordinals, from the lowest on, are made of the current revision (isCurrentRevisionNeeded)."""
    strategy = strategy_of(parent)
    if strategy.get("type") == "OnDelete":
        return 0
    if strategy.get("rollingUpdate") is not None:
        return partition_of(parent)
    return (parent.get("status") or {}).get("currentReplicas") or 0


# -- what pods are -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CalmHealth(Health):
    """How pods are judged that may be updated as they are: while one is, it is not available, ready or not."""

    def available(self, pod: Obj) -> bool:
        """Whether nothing is being done to the pod, and it has been ready for long enough (isRunningAndAvailable)."""
        return is_calm(pod) and Health.available(self, pod)

    def unhealthy(self, replica: Replica) -> bool:
        """Whether the replica is missing, on its way out, being updated, or not ready (isHealthy)."""
        pod = replica.pod
        return pod is None or replica.terminating or not is_calm(pod) or not self.ready(pod)


def health_of(rollout: Rollout, now: float) -> CalmHealth:
    """How the pods of a set are judged."""
    return CalmHealth(now, rollout.minimum)


def can_be_updated(pod: Obj) -> bool:
    """Whether the pod is in a state of its lifecycle in which it may be updated as it is (inPlaceUpdatePod)."""
    return lifecycle_of(pod) in _UPDATABLE


def new_and_normal(pod: Obj, now: float) -> Obj:
    """A new pod with the state of its lifecycle: no hook is waited for."""
    return in_state(pod, NORMAL, now)


def updating(pod: Obj, revision: str, now: float) -> Obj:
    """The pod as one that is being updated to a revision; its lifecycle is left alone if it has none."""
    labels = labels_of(pod) | {REVISION_LABEL: revision}
    pod = pod | {"metadata": pod["metadata"] | {"labels": labels}}
    return in_state(pod, UPDATING, now) if lifecycle_of(pod) else pod


def is_of(pod: Obj, revision: str) -> bool:
    """Whether a pod is of the revision of a name."""
    return revision_name_of(pod) == revision


# -- updates -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turnover:
    """The pods that are given up now, highest ordinal first.

    Attributes:
        specified: those that are deleted because somebody asked so by a label, of whatever revision.
        outdated: those that are brought to the update revision.
    """

    specified: tuple[Replica, ...]
    outdated: tuple[Replica, ...]


def turnover(work: SyncInput, budget: int) -> Turnover:
    """The pods that are given up now (rollingUpdateStatefulsetPods).

    What is unavailable already costs no budget. A labelled pod for which there is none lets others go before it; an
    outdated one does not. A partition holds no labelled pod.

    Args:
        work: the set and its pods, of which none waits to be made or deleted first.
        budget: how many may be unavailable.
    """
    down = {replica.ordinal for replica in work.pods.replicas if _is_down(work, replica)}
    beyond = work.pods.beyond

    def may_go(replica: Replica) -> bool:
        return replica.ordinal in down or len(down) + beyond < budget

    specified, outdated = dict[int, Replica](), list[Replica]()
    for replica in reversed(work.pods.replicas):
        if _is_specified(replica) and may_go(replica):
            specified[replica.ordinal] = replica
            down.add(replica.ordinal)
    for replica in targets(work):
        if replica.ordinal in specified or not is_old(work, replica):
            continue
        if not may_go(replica):
            break
        outdated.append(replica)
        down.add(replica.ordinal)
    return Turnover(tuple(specified.values()), tuple(outdated))


def _is_down(work: SyncInput, replica: Replica) -> bool:
    return work.health.unavailable(replica) or not is_updated(replica.created)


def _is_specified(replica: Replica) -> bool:
    return replica.pod is not None and is_active(replica.pod) and SPECIFIED_DELETE in labels_of(replica.pod)
