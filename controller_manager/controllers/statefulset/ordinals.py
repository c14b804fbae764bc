"""Ordinals: which pods are a StatefulSet's by their names, which of them are wanted, and in what health they are."""

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
MOST = 2**31 - 1
"""The highest ordinal: an int32."""
_AT_ONCE = 500
"""How many pods a pass makes at the most; upstream keeps a place for every ordinal that somebody asks for."""


def ordinal_of(parent: str, name: str) -> int | None:
    """The ordinal that a pod's name gives it in the StatefulSet of a name, None where it is none of that set.

    What stands before the last dash is the set's name, so "web-1-0" is of "web-1" and not of "web"
    (stateful_set_utils.go getParentNameAndOrdinal). A number with leading zeros would be an ordinal's second name, and
    one over int32 no ordinal at all: unlike upstream these are no names of the set.
    """
    owner, _, number = name.rpartition("-")
    if owner != parent or len(number) > 10 or not _ORDINAL.fullmatch(number):
        return None
    return found if (found := int(number)) <= MOST else None


def pod_name(parent: str, ordinal: int) -> str:
    """The name of the pod with an ordinal (getPodName)."""
    return f"{parent}-{ordinal}"


def wanted_ordinals(parent: Obj, profile: Profile) -> range:
    """The ordinals that a StatefulSet asks for: spec.replicas of them, from spec.ordinals.start (KEP-3335)."""
    start = (parent["spec"].get("ordinals") or {}).get("start") or 0 if profile.ordinals else 0
    return range(start, start + replicas_of(parent))


@dataclass(frozen=True, slots=True)
class Replica:
    """An ordinal and its pod, None where there is none."""

    ordinal: int
    pod: Obj | None

    @property
    def created(self) -> Obj:
        """The pod, which must be there."""
        assert self.pod is not None
        return self.pod

    @property
    def phase(self) -> str:
        """The pod's phase, "" where there is no pod."""
        return phase_of(self.pod) if self.pod is not None else ""

    @property
    def terminating(self) -> bool:
        """Whether somebody asked for the pod's deletion."""
        return self.pod is not None and bool(self.pod["metadata"].get("deletionTimestamp"))


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The pods of a StatefulSet by ordinal.

    Attributes:
        replicas: wanted ordinals, ascending: all that have a pod, and the lowest of those that have none.
        condemned: the pods that nobody asks for any more, from the highest ordinal down.
        beyond: how many more ordinals are wanted and have no pod; their turn comes later.
    """

    replicas: tuple[Replica, ...]
    condemned: tuple[Replica, ...]
    beyond: int = 0


def arrange(parent: str, pods: Iterable[Obj], wanted: Collection[int]) -> Arrangement:
    """The pods of a StatefulSet of a name in the order of their ordinals; those that are wanted come ascending."""
    found: dict[int, Obj] = {}
    for pod in pods:
        if (ordinal := ordinal_of(parent, name_of(pod))) is not None:
            found[ordinal] = pod
    kept = [ordinal for ordinal in found if ordinal in wanted]
    gaps = list(islice((ordinal for ordinal in wanted if ordinal not in found), _AT_ONCE))
    return Arrangement(
        tuple(Replica(ordinal, found.get(ordinal)) for ordinal in sorted([*kept, *gaps])),
        tuple(Replica(ordinal, found[ordinal]) for ordinal in sorted(found.keys() - set(kept), reverse=True)),
        len(wanted) - len(kept) - len(gaps),
    )


@dataclass(frozen=True, slots=True)
class Health:
    """How pods are judged at a time.

    Attributes:
        now: the time.
        minimum: spec.minReadySeconds.
        strict: Profile.strict_ready_time.
    """

    now: float
    minimum: int = 0
    strict: bool = False

    def ready(self, pod: Obj) -> bool:
        """Whether the pod runs and is ready (isRunningAndReady)."""
        return phase_of(pod) == "Running" and is_ready(pod)

    def available(self, pod: Obj) -> bool:
        """Whether the pod runs and has been ready for long enough (isRunningAndAvailable)."""
        return self.ready(pod) and is_available(pod, self.now, minimum=self.minimum, strict=self.strict)

    def unavailable(self, replica: Replica) -> bool:
        """Whether the replica is missing, on its way out, or not available (isUnavailable)."""
        return replica.pod is None or replica.terminating or not self.available(replica.pod)

    def unhealthy(self, replica: Replica) -> bool:
        """Whether the replica is one for whose sake a condemned pod may go though it is not available itself."""
        return self.unavailable(replica)


def health_of(parent: Obj, now: float, profile: Profile) -> Health:
    """How the pods of a StatefulSet are judged."""
    minimum = parent["spec"].get("minReadySeconds") or 0 if profile.min_ready_stateful else 0
    return Health(now, minimum, profile.strict_ready_time)
