"""CloneSets: what their spec asks for, in numbers, and what their pods are to them (pkg/controller/cloneset)."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of, name_of
from controller_manager.controllers.statefulset.identity import REVISION_LABEL
from controller_manager.kruise.pod_lifecycle import SPECIFIED_DELETE, is_calm
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.in_place import is_gate_closed
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import available_in, is_available
from controller_manager.reconcile.replicas import replicas_of

_DEFAULT_UNAVAILABLE = "20%"
_ON_DELETE = "OnDelete"
_UNLIMITED = 2**31 - 1


# -- what is asked for -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Strategy:
    """What a CloneSet's spec asks for.

    Attributes:
        replicas: how many pods.
        partition: how many of them are to stay of older revisions.
        max_unavailable: how many may be unavailable while pods are updated or deleted.
        max_surge: how many there may be beyond replicas meanwhile; none while the update is paused.
        most_unavailable_to_grow: how many may be unavailable while pods are made (scaleStrategy.maxUnavailable).
        paused: whether no pod is updated.
        on_delete: whether pods are updated only when somebody deletes them.
        policy: how a pod is updated.
        grace: seconds between a pod's becoming unready and its update in place.
        minimum: minReadySeconds.
        reuses_claims: whether claims of pods that are gone are kept for pods to come.
        named: the pods of scaleStrategy.podsToDelete.
    """

    replicas: int
    partition: int
    max_unavailable: int
    max_surge: int
    most_unavailable_to_grow: int
    paused: bool
    on_delete: bool
    policy: str
    grace: int
    minimum: int
    reuses_claims: bool
    named: frozenset[str]


def strategy_of(parent: Obj) -> Strategy:
    """What a CloneSet asks for (calculateDiffsWithExpectation); what means no number counts as 0, as there.

    A spec that was not defaulted is read as OpenKruise's webhook would default it: without rollingUpdate, but not under
    OnDelete, the block is there and empty (SetDefaultsCloneSetV1beta1).
    """
    spec = parent["spec"]
    update, scaling, replicas = spec.get("updateStrategy") or {}, spec.get("scaleStrategy") or {}, replicas_of(parent)
    on_delete, rolling = update.get("type") == _ON_DELETE, update.get("rollingUpdate")
    told, paused = rolling or {}, bool((rolling or {}).get("paused"))
    surge = 0 if paused else _number(told.get("maxSurge"), replicas)
    unavailable = told.get("maxUnavailable")
    round_up = surge == 0 and not (on_delete and rolling is None)
    most = scaling.get("maxUnavailable")
    return Strategy(
        replicas=replicas,
        partition=partition_of(told.get("partition"), replicas),
        max_unavailable=_number(
            _DEFAULT_UNAVAILABLE if unavailable is None else unavailable, replicas, round_up=round_up
        ),
        max_surge=surge,
        most_unavailable_to_grow=_UNLIMITED if most is None else _number(most, replicas),
        paused=paused,
        on_delete=on_delete,
        policy=told.get("podUpdatePolicy") or "ReCreate",
        grace=(told.get("inPlaceUpdateStrategy") or {}).get("gracePeriodSeconds") or 0,
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
    """How many pods a partition holds back (CalculatePartitionReplicas).

    A share of less than 100 % lets one of several pods go on, and one of more than 0 % holds one back.
    """
    held = _number(value, replicas)
    if isinstance(value, str) and replicas > 1 and held == replicas and value != "100%":
        held = replicas - 1
    return max(min(held, replicas), 0)


# -- what pods are -----------------------------------------------------------------------------------------------------


def short_hash(revision: str) -> str:
    """The hash at the end of a revision's name (GetShortHash)."""
    return revision.rpartition("-")[2]


def is_of(pod: Obj, revision: str) -> bool:
    """Whether a pod is of the revision of a name; its label has the name, or the hash alone (EqualToRevisionHash)."""
    told = labels_of(pod).get(REVISION_LABEL, "")
    return told == revision or short_hash(told) == short_hash(revision)


@dataclass(frozen=True, slots=True)
class Member:
    """An active pod of a CloneSet.

    Attributes:
        updated: whether it is of the update revision.
        leaving: whether somebody asked that it is deleted.
        ready: whether it runs, is ready, and no update in place is under way.
        available: whether nothing is being done to it, and it is ready for minReadySeconds.
    """

    pod: Obj
    updated: bool
    leaving: bool
    ready: bool
    available: bool

    @property
    def name(self) -> str:
        """Its name."""
        return name_of(self.pod)

    @property
    def serves(self) -> bool:
        """Whether nothing is being done to it, and it is ready (isPodReady)."""
        return self.ready and is_calm(self.pod)


def members_of(pods: Iterable[Obj], revision: str, *, strategy: Strategy, now: float) -> list[Member]:
    """The active pods as a CloneSet judges them, in the order of their names.

    Args:
        pods: active, and its own.
        revision: the name of the update revision.
        strategy: the set's.
        now: the time.
    """
    return [
        Member(
            pod,
            updated=is_of(pod, revision),
            leaving=SPECIFIED_DELETE in labels_of(pod) or name_of(pod) in strategy.named,
            ready=_is_ready(pod, now, minimum=0),
            available=is_calm(pod) and _is_ready(pod, now, minimum=strategy.minimum),
        )
        for pod in sorted(pods, key=name_of)
    ]


def _is_ready(pod: Obj, now: float, *, minimum: int) -> bool:
    """Whether the pod runs and is ready for so long, and not being updated (IsPodUpdateReady)."""
    return phase_of(pod) == "Running" and not is_gate_closed(pod) and is_available(pod, now, minimum=minimum)


def soonest(members: Iterable[Member], now: float, *, minimum: int) -> float | None:
    """Seconds until the first of the members becomes available by time alone, None where none does."""
    waits = (available_in(each.pod, now, minimum=minimum) for each in members if each.serves and not each.available)
    return min((wait for wait in waits if wait is not None), default=None)
