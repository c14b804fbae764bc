"""Pods as controllers count them (active, ready, available), their order of deletion, and how one is created."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, annotations_of, name_of
from controller_manager.reconcile.conditions import condition_of, phase_of
from controller_manager.reconcile.profile import NEWEST, Profile
from controller_manager.reconcile.times import parse_time

TERMINAL_PHASES = frozenset(("Succeeded", "Failed"))
"""The phases that no pod leaves."""
DISRUPTION_TARGET = "DisruptionTarget"
"""The condition of a pod that is about to be deleted by a disruption."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_COST = re.compile(r"0|-[0-9]+|[1-9][0-9]*")
_INT32 = range(-(2**31), 2**31)
_PHASES = {"Unknown": 1, "Running": 2}


def is_terminal(pod: Obj) -> bool:
    """Return whether the pod has ended for good (podutil.IsPodTerminal)."""
    return (pod.get("status") or {}).get("phase") in TERMINAL_PHASES


def is_active(pod: Obj) -> bool:
    """Return whether the pod has not ended and is not being deleted (controller_utils.go IsPodActive)."""
    return (
        not pod["metadata"].get("deletionTimestamp") and (pod.get("status") or {}).get("phase") not in TERMINAL_PHASES
    )


def is_ready(pod: Obj) -> bool:
    """Return whether the pod's Ready condition is True (podutil.IsPodReady)."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return bool(condition.get("status") == "True")
    return False


def ready_since(pod: Obj) -> float | None:
    """Return the time since which the pod is ready: 0 if it is unknown, None if it is not ready."""
    ready = condition_of(pod, "Ready")
    if ready is None or ready.get("status") != "True":
        return None
    since = ready.get("lastTransitionTime")
    return parse_time(since) if since else 0.0


def is_available(pod: Obj, now: float, *, minimum: int = 0) -> bool:
    """Return whether the pod has been ready for minReadySeconds, `minimum` (podutil.IsPodAvailable)."""
    if not minimum:
        return is_ready(pod)
    since = ready_since(pod)
    return bool(since and since + minimum <= now)


def available_in(pod: Obj, now: float, *, minimum: int) -> float | None:
    """Return the seconds until a ready pod becomes available by time alone; None if it is, or cannot in this way.

    (controller_utils.go nextPodAvailabilityCheck)
    """
    since = ready_since(pod) if minimum else None
    rest = since + minimum - now if since else 0.0
    return rest if rest > 0 else None


def soonest_available(pods: Iterable[Obj], now: float, *, minimum: int) -> float | None:
    """Return the seconds until the first pod becomes available by time alone (FindMinNextPodAvailabilityCheck)."""
    waits = (available_in(pod, now, minimum=minimum) for pod in pods)
    return min((wait for wait in waits if wait is not None), default=None)


def counts_differently(old: Obj, new: Obj) -> bool:
    """Return whether a change of a pod may change how owners count it; its node and containers do not matter."""
    before, after = old["metadata"], new["metadata"]
    return (
        is_terminal(old) != is_terminal(new)
        or before.get("deletionTimestamp") != after.get("deletionTimestamp")
        or before.get("labels") != after.get("labels")
        or before.get("ownerReferences") != after.get("ownerReferences")
        or condition_of(old, "Ready") != condition_of(new, "Ready")
    )


# -- the order of deletion ---------------------------------------------------------------------------------------------


def deletion_cost(pod: Obj) -> int:
    """Return the pod's annotated deletion cost, or 0 if the annotation is not a canonical int32.

    (pkg/apis/core/v1/helper GetDeletionCostFromPodAnnotations)
    """
    text = annotations_of(pod).get(DELETION_COST)
    if text is None or not _COST.fullmatch(text) or len(text) > 32:
        return 0
    return cost if (cost := int(text)) in _INT32 else 0


def phase_rank(pod: Obj) -> int:
    """Return the rank of a pod's phase: pods that run are deleted last; Pending, or no phase yet, is 0."""
    return _PHASES.get(phase_of(pod), 0)


def in_deletion_order(
    pods: Sequence[Obj], now: float, *, related: Iterable[Obj], profile: Profile = NEWEST
) -> list[Obj]:
    """Return the pods in the order in which they should be deleted (controller_utils.go ActivePodsWithRanks).

    Upstream's comparison of ages by powers of two is not a consistent order if some ready times are equal and others
    are not; here pods that became ready at the same time are adjacent, at the position of the smallest uid among them.
    The order of any two pods is the same as upstream.

    Args:
        pods: active pods of one owner.
        now: the time.
        related: all pods that count when nodes are compared: those of every ReplicaSet of the same Deployment.
        profile: which criteria the release uses.
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
            phase_rank(pod),
            ready is not None,
            deletion_cost(pod) if profile.deletion_cost else 0,
            -crowds[node],
            ages.rank(ready),
            leaders.get(ready, ""),
            -restarts.containers,
            -restarts.sidecars,
            ages.rank(parse_time(created) if created else None),
            meta["uid"],
        )

    return sorted(pods, key=rank)


def _node(pod: Obj) -> str:
    return pod["spec"].get("nodeName") or ""


def _leaders(since: Mapping[str, float | None]) -> dict[float | None, str]:
    """Return the smallest uid for each time at which pods became ready; pods without a time are left out."""
    leaders: dict[float | None, str] = {}
    for uid, time in since.items():
        if time and uid <= leaders.get(time, uid):
            leaders[time] = uid
    return leaders


@dataclass(frozen=True, slots=True)
class _Ages:
    """Ranks times: no time first, then the youngest; by powers of two nanoseconds, or exactly."""

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
    """Return the highest restart counts of a container and of a sidecar (maxContainerRestarts)."""
    status, initial = pod.get("status") or {}, pod["spec"].get("initContainers")
    always = (
        {container["name"] for container in initial if container.get("restartPolicy") == "Always"}
        if initial
        else frozenset()
    )
    sidecars = (
        [container for container in status.get("initContainerStatuses") or () if container["name"] in always]
        if always
        else ()
    )
    return _Restarts(_max_restarts(status.get("containerStatuses") or ()), _max_restarts(sidecars))


def _max_restarts(statuses: Iterable[Obj]) -> int:
    return max((status.get("restartCount") or 0 for status in statuses), default=0)


# -- new pods ----------------------------------------------------------------------------------------------------------


def pod_from_template(template: Obj, owner: Obj, reference: Obj) -> Obj:
    """Return the pod for a template, named by the server after its owner (controller_utils.go GetPodFromTemplate).

    Its spec and the values in its metadata are shared with the template, so they are read-only.

    Args:
        template: the owner's spec.template.
        owner: the workload.
        reference: the controlling owner reference.
    """
    template_meta = template.get("metadata") or {}
    meta: Obj = {key: template_meta[key] for key in ("labels", "annotations", "finalizers") if template_meta.get(key)}
    meta["generateName"] = generate_name(name_of(owner))
    meta["ownerReferences"] = [reference]
    meta["namespace"] = owner["metadata"]["namespace"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


_MAX_PREFIX_LENGTH = 252  # with the dash it is still a DNS subdomain


def generate_name(owner: str) -> str:
    """Return the metadata.generateName for an owner's name: with a dash, if the result is still a valid name.

    (controller_utils.go GetPodFromTemplate, endpointslice/utils.go getEndpointSlicePrefix)
    """
    return f"{owner}-" if len(owner) <= _MAX_PREFIX_LENGTH else owner
