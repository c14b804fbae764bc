"""Pods as controllers count them: active, ready, available; which go first, and how one is made and named."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, annotations_of, name_of
from controller_manager.reconcile.conditions import condition_of, phase_of
from controller_manager.reconcile.profile import NEWEST, Profile
from controller_manager.reconcile.times import seconds

TERMINAL = frozenset(("Succeeded", "Failed"))
"""The phases that no pod leaves."""
DISRUPTION_TARGET = "DisruptionTarget"
"""The condition of a pod that somebody is about to delete for others' sake."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_COST = re.compile(r"0|-[0-9]+|[1-9][0-9]*")
_INT32 = range(-(2**31), 2**31)
_PHASES = {"Unknown": 1, "Running": 2}  # Pending, and no phase yet, are 0


def is_terminal(pod: Obj) -> bool:
    """Whether the pod has ended for good (podutil.IsPodTerminal)."""
    return (pod.get("status") or {}).get("phase") in TERMINAL


def is_active(pod: Obj) -> bool:
    """Whether the pod has not ended and nobody asked for its deletion (controller_utils.go IsPodActive)."""
    return not pod["metadata"].get("deletionTimestamp") and (pod.get("status") or {}).get("phase") not in TERMINAL


def is_ready(pod: Obj) -> bool:
    """Whether the pod's Ready condition is True (podutil.IsPodReady)."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return bool(condition.get("status") == "True")
    return False


def ready_since(pod: Obj) -> float | None:
    """Since when the pod is ready: 0 where it does not tell, None where it is not ready."""
    ready = condition_of(pod, "Ready")
    if ready is None or ready.get("status") != "True":
        return None
    since = ready.get("lastTransitionTime")
    return seconds(since) if since else 0.0


def is_available(pod: Obj, now: float, *, minimum: int = 0, strict: bool = False) -> bool:
    """Whether the pod has been ready for long enough (podutil.IsPodAvailable).

    Args:
        pod: the pod.
        now: the time.
        minimum: minReadySeconds.
        strict: a pod is available only after the last of those seconds, not with it (Profile.strict_ready_time).
    """
    if not minimum:
        return is_ready(pod)
    since = ready_since(pod)
    if not since:
        return False
    return since + minimum < now if strict else since + minimum <= now


def available_in(pod: Obj, now: float, *, minimum: int) -> float | None:
    """Seconds until a ready pod becomes available by time alone, None where it is, or where time does not do it.

    (controller_utils.go nextPodAvailabilityCheck)
    """
    since = ready_since(pod) if minimum else None
    rest = since + minimum - now if since else 0.0
    return rest if rest > 0 else None


def soonest_available(pods: Iterable[Obj], now: float, *, minimum: int) -> float | None:
    """Seconds until the first of the pods becomes available by time alone (FindMinNextPodAvailabilityCheck)."""
    waits = (available_in(pod, now, minimum=minimum) for pod in pods)
    return min((wait for wait in waits if wait is not None), default=None)


def counts_differently(old: Obj, new: Obj) -> bool:
    """Whether a change of a pod may change how its owners count it; where it runs, and its containers, do not."""
    before, after = old["metadata"], new["metadata"]
    return (
        is_terminal(old) != is_terminal(new)
        or before.get("deletionTimestamp") != after.get("deletionTimestamp")
        or before.get("labels") != after.get("labels")
        or before.get("ownerReferences") != after.get("ownerReferences")
        or condition_of(old, "Ready") != condition_of(new, "Ready")
    )


# -- which pods go first -----------------------------------------------------------------------------------------------


def deletion_cost(pod: Obj) -> int:
    """What the pod's annotation says that its deletion costs, 0 where it says nothing that is a canonical int32.

    (pkg/apis/core/v1/helper GetDeletionCostFromPodAnnotations)
    """
    text = annotations_of(pod).get(DELETION_COST)
    if text is None or not _COST.fullmatch(text) or len(text) > 32:
        return 0
    return cost if (cost := int(text)) in _INT32 else 0


def in_deletion_order(
    pods: Sequence[Obj], now: float, *, related: Iterable[Obj], profile: Profile = NEWEST
) -> list[Obj]:
    """The pods, those first that go first (controller_utils.go ActivePodsWithRanks).

    Upstream's comparison of ages by powers of two is no order where some ready times are equal and others are not; here
    pods that became ready at the same time stand together, where the smallest uid among them would stand. Of any two
    pods the same one goes first.

    Args:
        pods: active pods of one owner.
        now: the time.
        related: all pods that count when a node is called crowded: those of every ReplicaSet of the same Deployment.
        profile: what the release heeds.
    """
    crowds = Counter(_node(pod) for pod in related if is_active(pod))
    ages = _Ages(now, profile.logarithmic_ages)
    since = {pod["metadata"]["uid"]: ready_since(pod) for pod in pods}
    leaders = _leaders(since) if profile.logarithmic_ages else {}

    def rank(pod: Obj) -> tuple[object, ...]:
        meta, node = pod["metadata"], _node(pod)
        ready, created, restarts = since[meta["uid"]], meta.get("creationTimestamp"), _restarts(pod)
        return (
            bool(node),
            _PHASES.get(phase_of(pod), 0),
            ready is not None,
            deletion_cost(pod) if profile.deletion_cost else 0,
            -crowds[node],
            ages.rank(ready),
            leaders.get(ready, ""),
            -restarts.containers,
            -restarts.sidecars,
            ages.rank(seconds(created) if created else None),
            meta["uid"],
        )

    return sorted(pods, key=rank)


def _node(pod: Obj) -> str:
    return pod["spec"].get("nodeName") or ""


def _leaders(since: Mapping[str, float | None]) -> dict[float | None, str]:
    """The smallest uid of each time since when pods are ready; times that are none have none."""
    found: dict[float | None, str] = {}
    for uid, time in since.items():
        if time and uid <= found.get(time, uid):
            found[time] = uid
    return found


@dataclass(frozen=True, slots=True)
class _Ages:
    """How times are compared: no time first, then what is younger; by powers of two nanoseconds, or exactly."""

    now: float
    logarithmic: bool

    def rank(self, since: float | None) -> float:
        if not since:
            return float("-inf")
        if not self.logarithmic:
            return -since
        return int((self.now - since) * 1e9).bit_length() - 1 if since < self.now else -1


@dataclass(frozen=True, slots=True)
class _Restarts:
    containers: int
    sidecars: int


def _restarts(pod: Obj) -> _Restarts:
    """How often its most restarted container and sidecar were restarted (maxContainerRestarts)."""
    status, initial = pod.get("status") or {}, pod["spec"].get("initContainers")
    always = {c["name"] for c in initial if c.get("restartPolicy") == "Always"} if initial else frozenset()
    sidecars = [c for c in status.get("initContainerStatuses") or () if c["name"] in always] if always else ()
    return _Restarts(_most(status.get("containerStatuses") or ()), _most(sidecars))


def _most(statuses: Iterable[Obj]) -> int:
    return max((c.get("restartCount") or 0 for c in statuses), default=0)


# -- pods that are made ------------------------------------------------------------------------------------------------


def pod_from_template(template: Obj, owner: Obj, reference: Obj) -> Obj:
    """The pod that a template asks for, named by the server after its owner (controller_utils.go GetPodFromTemplate).

    Its spec and what its metadata holds are the template's own, so they are for reading only.

    Args:
        template: spec.template of the owner.
        owner: the workload.
        reference: the controlling owner reference.
    """
    given = template.get("metadata") or {}
    meta: Obj = {key: given[key] for key in ("labels", "annotations", "finalizers") if given.get(key)}
    meta["generateName"] = generate_name(name_of(owner))
    meta["ownerReferences"] = [reference]
    meta["namespace"] = owner["metadata"]["namespace"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


_LONGEST = 252  # with its dash it is a DNS subdomain


def generate_name(owner: str) -> str:
    """The metadata.generateName of what is made for an object of a name: with a dash, where that is a name still.

    (controller_utils.go GetPodFromTemplate, endpointslice/utils.go getEndpointSlicePrefix)
    """
    return f"{owner}-" if len(owner) <= _LONGEST else owner
