"""The spec of CloneSets in numbers, and their pods as members (pkg/controller/cloneset)."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.controllers.statefulset.identity import REVISION_LABEL
from controller_manager.kruise.pod_lifecycle import SPECIFIED_DELETE, is_settled
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.in_place import is_gate_closed
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import available_in, is_available
from controller_manager.reconcile.replicas import replicas_of

_DEFAULT_UNAVAILABLE = "20%"
_ON_DELETE = "OnDelete"
_UNLIMITED = 2**31 - 1


# -- the spec ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Strategy:
    """The numbers and switches in a CloneSet's spec.

    Attributes:
        replicas: the number of pods.
        partition: how many of them stay at older revisions.
        max_unavailable: how many pods may be unavailable while pods are updated or deleted.
        max_surge: how many pods there may be beyond replicas meanwhile; 0 while the update is paused.
        scale_max_unavailable: how many pods may be unavailable while pods are created
            (scaleStrategy.maxUnavailable).
        paused: True if no pod is updated.
        on_delete: True if pods are updated only when somebody deletes them.
        policy: podUpdatePolicy.
        grace: seconds between a pod's becoming unready and its update in place.
        minimum: minReadySeconds.
        reuses_claims: True if claims of deleted pods are kept for new pods.
        named: the names in scaleStrategy.podsToDelete.
    """

    replicas: int
    partition: int
    max_unavailable: int
    max_surge: int
    scale_max_unavailable: int
    paused: bool
    on_delete: bool
    policy: str
    grace: int
    minimum: int
    reuses_claims: bool
    named: frozenset[str]


def strategy_of(parent: Obj) -> Strategy:
    """Parse a CloneSet's spec (calculateDiffsWithExpectation); like there, a value that is not a number counts as 0.

    A spec that was not defaulted is read as OpenKruise's webhook would default it: a missing rollingUpdate counts as an
    empty one, except under OnDelete (SetDefaultsCloneSetV1beta1).
    """
    spec = parent["spec"]
    update, scaling, replicas = spec.get("updateStrategy") or {}, spec.get("scaleStrategy") or {}, replicas_of(parent)
    on_delete, rolling = update.get("type") == _ON_DELETE, update.get("rollingUpdate")
    rolling_update, paused = rolling or {}, bool((rolling or {}).get("paused"))
    surge = 0 if paused else _number(rolling_update.get("maxSurge"), replicas)
    unavailable = rolling_update.get("maxUnavailable")
    round_up = surge == 0 and not (on_delete and rolling is None)
    max_while_growing = scaling.get("maxUnavailable")
    return Strategy(
        replicas=replicas,
        partition=partition_of(rolling_update.get("partition"), replicas),
        max_unavailable=_number(
            _DEFAULT_UNAVAILABLE if unavailable is None else unavailable, replicas, round_up=round_up
        ),
        max_surge=surge,
        scale_max_unavailable=_UNLIMITED if max_while_growing is None else _number(max_while_growing, replicas),
        paused=paused,
        on_delete=on_delete,
        policy=rolling_update.get("podUpdatePolicy") or "ReCreate",
        grace=(rolling_update.get("inPlaceUpdateStrategy") or {}).get("gracePeriodSeconds") or 0,
        minimum=spec.get("minReadySeconds") or 0,
        reuses_claims=bool(scaling.get("enablePVCReuse")),
        named=frozenset(scaling.get("podsToDelete") or ()),
    )


def _number(value: int | str | None, total: int, *, round_up: bool = True) -> int:
    try:
        return scaled(value, total, round_up=round_up)
    except ValueError:
        return 0


def partition_of(value: int | str | None, replicas: int) -> int:
    """Return how many pods a partition holds back (CalculatePartitionReplicas).

    A percentage below 100 % lets at least one of several pods go on, and one above 0 % holds at least one back.
    """
    count = _number(value, replicas)
    if isinstance(value, str) and replicas > 1 and count == replicas and value != "100%":
        count = replicas - 1
    return max(min(count, replicas), 0)


# -- its pods ----------------------------------------------------------------------------------------------------------


def short_hash(revision: str) -> str:
    """Return the hash at the end of a revision's name (GetShortHash)."""
    return revision.rpartition("-")[2]


def is_of(pod: Obj, revision: str) -> bool:
    """Return True if a pod is of a revision; its label has the revision's name, or only the hash.

    (EqualToRevisionHash)
    """
    label = labels_of(pod).get(REVISION_LABEL, "")
    return label == revision or short_hash(label) == short_hash(revision)


@dataclass(frozen=True, slots=True)
class Member:
    """An active pod of a CloneSet.

    Attributes:
        updated: True if it is of the update revision.
        terminating: True if its deletion was requested.
        ready: True if it runs, is ready, and no in-place update is under way.
        available: True if no update is under way, and it has been ready for minReadySeconds.
    """

    pod: Obj
    updated: bool
    terminating: bool
    ready: bool
    available: bool

    @property
    def name(self) -> str:
        """The pod's name."""
        return name_of(self.pod)

    @property
    def is_serving(self) -> bool:
        """True if no update is under way, and the pod is ready (isPodReady)."""
        return self.ready and is_settled(self.pod)


def members_of(pods: Iterable[Obj], revision: str, *, strategy: Strategy, now: float) -> list[Member]:
    """Return the active pods as members, in the order of their names.

    Args:
        pods: the set's active pods.
        revision: the name of the update revision.
        strategy: the set's strategy.
        now: the time.
    """
    return [
        Member(
            pod,
            updated=is_of(pod, revision),
            terminating=SPECIFIED_DELETE in labels_of(pod) or name_of(pod) in strategy.named,
            ready=_is_ready(pod, now, minimum=0),
            available=is_settled(pod) and _is_ready(pod, now, minimum=strategy.minimum),
        )
        for pod in sorted(pods, key=name_of)
    ]


def _is_ready(pod: Obj, now: float, *, minimum: int) -> bool:
    """Return True if the pod runs, has been ready for that long, and is not being updated (IsPodUpdateReady)."""
    return phase_of(pod) == "Running" and not is_gate_closed(pod) and is_available(pod, now, minimum=minimum)


def next_available_in(members: Iterable[Member], now: float, *, minimum: int) -> float | None:
    """Return the seconds until the next member becomes available just by waiting, None if none does."""
    waits = (
        available_in(member.pod, now, minimum=minimum)
        for member in members
        if member.is_serving and not member.available
    )
    return min((wait for wait in waits if wait is not None), default=None)
