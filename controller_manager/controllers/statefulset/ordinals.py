"""Ordinals: which pods belong to a StatefulSet by name, which are desired, and how healthy they are."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

from apiserver.api.meta import Obj, name_of
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.pods import is_available, is_ready
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import replicas_of

_ORDINAL = re.compile(r"0|[1-9][0-9]*")
MAX_ORDINAL = 2**31 - 1
"""The highest ordinal: an int32."""
_MAX_CREATED = 500
"""The number of pods that one sync creates at most; upstream allocates an entry for every desired ordinal."""


def ordinal_of(parent: str, name: str) -> int | None:
    """Return the ordinal in a pod's name, or None if the name does not belong to the StatefulSet.

    The part before the last dash is the set's name, so "web-1-0" belongs to "web-1" and not to "web"
    (stateful_set_utils.go getParentNameAndOrdinal). A number with leading zeros would be a second name of an ordinal,
    and one over int32 is not an ordinal at all: unlike upstream such names do not belong to the set.
    """
    owner, _, number = name.rpartition("-")
    if owner != parent or len(number) > 10 or not _ORDINAL.fullmatch(number):
        return None
    return ordinal if (ordinal := int(number)) <= MAX_ORDINAL else None


def pod_name(parent: str, ordinal: int) -> str:
    """Return the name of the pod with an ordinal (getPodName)."""
    return f"{parent}-{ordinal}"


def desired_ordinals(parent: Obj, profile: Profile) -> range:
    """Return the desired ordinals: spec.replicas of them, from spec.ordinals.start (KEP-3335)."""
    start = (parent["spec"].get("ordinals") or {}).get("start") or 0 if profile.ordinals else 0
    return range(start, start + replicas_of(parent))


@dataclass(frozen=True, slots=True)
class Replica:
    """An ordinal and its pod, or None if there is no pod."""

    ordinal: int
    pod: Obj | None

    @property
    def created(self) -> Obj:
        """The pod, which must exist."""
        assert self.pod is not None
        return self.pod

    @property
    def phase(self) -> str:
        """The pod's phase, or "" if there is no pod."""
        return phase_of(self.pod) if self.pod is not None else ""

    @property
    def terminating(self) -> bool:
        """True if the pod is being deleted."""
        return self.pod is not None and bool(self.pod["metadata"].get("deletionTimestamp"))


@dataclass(frozen=True, slots=True)
class PodsByOrdinal:
    """The pods of a StatefulSet by ordinal.

    Attributes:
        replicas: the desired ordinals, ascending: all with a pod, and the lowest of those without one.
        condemned: the pods that are no longer desired, from the highest ordinal down.
        beyond: how many more desired ordinals have no pod; later syncs create them.
    """

    replicas: tuple[Replica, ...]
    condemned: tuple[Replica, ...]
    beyond: int = 0


def group_by_ordinal(parent: str, pods: Iterable[Obj], desired: Collection[int]) -> PodsByOrdinal:
    """Arrange a StatefulSet's pods by ordinal."""
    by_ordinal: dict[int, Obj] = {}
    for pod in pods:
        if (ordinal := ordinal_of(parent, name_of(pod))) is not None:
            by_ordinal[ordinal] = pod
    kept = [ordinal for ordinal in by_ordinal if ordinal in desired]
    gaps = list(islice((ordinal for ordinal in desired if ordinal not in by_ordinal), _MAX_CREATED))
    return PodsByOrdinal(
        tuple(Replica(ordinal, by_ordinal.get(ordinal)) for ordinal in sorted([*kept, *gaps])),
        tuple(Replica(ordinal, by_ordinal[ordinal]) for ordinal in sorted(by_ordinal.keys() - set(kept), reverse=True)),
        len(desired) - len(kept) - len(gaps),
    )


@dataclass(frozen=True, slots=True)
class HealthCriteria:
    """The criteria by which pods are judged at one time.

    Attributes:
        now: the time.
        minimum: spec.minReadySeconds.
    """

    now: float
    minimum: int = 0

    def is_ready(self, pod: Obj) -> bool:
        """Return whether the pod runs and is ready (isRunningAndReady)."""
        return phase_of(pod) == "Running" and is_ready(pod)

    def is_available(self, pod: Obj) -> bool:
        """Return whether the pod runs and has been ready for minReadySeconds (isRunningAndAvailable)."""
        return self.is_ready(pod) and is_available(pod, self.now, minimum=self.minimum)

    def is_unavailable(self, replica: Replica) -> bool:
        """Return whether the replica is missing, terminating, or not available (isUnavailable)."""
        return replica.pod is None or replica.terminating or not self.is_available(replica.pod)

    def is_unhealthy(self, replica: Replica) -> bool:
        """Return whether the replica is unhealthy; an unhealthy condemned pod is deleted only if no other is."""
        return self.is_unavailable(replica)


def health_of(parent: Obj, now: float, profile: Profile) -> HealthCriteria:
    """Return the health criteria for the pods of a StatefulSet."""
    minimum = parent["spec"].get("minReadySeconds") or 0 if profile.min_ready_stateful else 0
    return HealthCriteria(now, minimum)
