"""Deletes pods that nothing else removes: excess terminated ones, and those whose node is gone or was never set."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    STRATEGIC_PATCH,
    Batch,
    Change,
    ControllerSpec,
    DelayedKey,
    Delete,
    Get,
    Key,
    Listers,
    Patch,
    Plan,
    RequeueAfter,
    Watch,
    key_of,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.kinds import NODE, POD
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric
from controller_manager.reconcile.pods import DISRUPTION_TARGET, is_ready, is_terminal
from controller_manager.reconcile.times import format_time

SWEEP_KEY: Key = ""
"""The key of the sweep over all pods; every other key is a node's name."""
SWEEP_SECONDS = 20.0
"""Seconds between two sweeps (gcCheckPeriod)."""
LABELS = ("namespace", "reason")
FORCED_DELETIONS = MetricDef(
    "pod_gc_collector_force_delete_pods_total", "Pods that were deleted at once, by why.", LABELS
)
FAILED_DELETIONS = MetricDef(
    "pod_gc_collector_force_delete_pod_errors_total",
    "Pods that could not be deleted at once, by why they were.",
    LABELS,
)
TERMINATED, OUT_OF_SERVICE, UNSCHEDULED, ORPHANED = "terminated", "out-of-service", "unscheduled", "orphaned"
"""The reasons for deleting pods (podgc/metrics)."""
QUARANTINE_SECONDS = 40.0
"""Seconds after which the server is asked for a missing node (quarantineTime)."""
OUT_OF_SERVICE_TAINT = "node.kubernetes.io/out-of-service"

_ACTIVE_PHASES = frozenset(("Pending", "Running", "Unknown"))


@dataclass(frozen=True, slots=True)
class Garbage:
    """Pods to delete.

    Attributes:
        pods: the pods, each once.
        reasons: the reason for each of them.
        node: the missing node's name, or "" if that is not the reason.
    """

    pods: Sequence[Obj]
    reasons: Sequence[str]
    node: str = ""


def observe(listers: Listers, key: Key) -> Garbage | None:
    """Return the pods that a sweep deletes, or those of a node that no cache has."""
    if key == SWEEP_KEY:
        ended = _terminated(listers)
        known = {key_of(pod) for pod in ended}
        stranded = [pod for pod in _terminating_without_kubelet(listers) if key_of(pod) not in known]
        reasons = [OUT_OF_SERVICE if pod["spec"].get("nodeName") else UNSCHEDULED for pod in stranded]
        return Garbage([*ended, *stranded], [TERMINATED] * len(ended) + reasons) if ended or stranded else None
    if listers[NODE].get(key) is not None:
        return None
    lost = listers[POD].by_index(PODS_BY_NODE.name, key)
    return Garbage(list(lost), [ORPHANED] * len(lost), key) if lost else None


def _terminated(listers: Listers) -> Sequence[Obj]:
    """Return the terminated pods beyond the threshold: evicted ones first, then the oldest (gcTerminated)."""
    threshold = listers.settings.terminated_pod_gc_threshold
    if threshold <= 0:
        return ()
    ended = [pod for pod in listers[POD] if (pod.get("status") or {}).get("phase") not in _ACTIVE_PHASES]
    return sorted(ended, key=_age)[: len(ended) - threshold] if len(ended) > threshold else ()


def _age(pod: Obj) -> tuple[bool, tuple[str, str]]:
    status = pod.get("status") or {}
    evicted = status.get("phase") == "Failed" and status.get("reason") == "Evicted"
    return not evicted, (pod["metadata"].get("creationTimestamp") or "", name_of(pod))


def _terminating_without_kubelet(listers: Listers) -> Iterable[Obj]:
    """Yield pods being deleted that no kubelet stops: on no node, or on one out of service (gcTerminating)."""
    for pod in listers[POD]:
        if is_deleting(pod):
            node = pod["spec"].get("nodeName")
            if not node or _is_out_of_service(listers[NODE].get(node)):
                yield pod


def _is_out_of_service(node: Obj | None) -> bool:
    """Return whether the node is not ready and has the out-of-service taint."""
    if node is None or is_ready(node):
        return False
    return any(taint["key"] == OUT_OF_SERVICE_TAINT for taint in node["spec"].get("taints") or ())


def pod_changed(listers: Listers, change: Change) -> Iterable[DelayedKey]:
    """Yield the node of a pod, to be checked after the quarantine, if it is missing."""
    if change.new is not None:
        node = change.new["spec"].get("nodeName")
        if node and listers[NODE].get(node) is None:
            yield DelayedKey(node, QUARANTINE_SECONDS)


def node_changed(_: Listers, change: Change) -> Iterable[DelayedKey]:
    """Yield a node that was deleted, to be checked after the quarantine."""
    if change.new is None:
        yield DelayedKey(name_of(change.obj), QUARANTINE_SECONDS)


def reconcile(garbage: Garbage, now: float) -> Plan:
    """Mark the pods as failed, then delete them with no grace period (gc_controller.go).

    Raises:
        ApiError: the first refused write.
    """
    condition = None
    if garbage.node:
        try:
            yield Get(NODE, garbage.node)
        except ApiError as error:
            if error.code != 404:
                raise
        else:
            yield RequeueAfter(QUARANTINE_SECONDS)
            return
        condition = {"reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    living = [pod for pod in garbage.pods if not is_terminal(pod)]
    answers = yield Batch([_failure_patch(pod, condition, now) for pod in living])
    refused = {key_of(pod): answer for pod, answer in zip(living, answers, strict=True) if isinstance(answer, ApiError)}
    rest = [pod for pod in garbage.pods if key_of(pod) not in refused]
    answers = yield Batch(
        [Delete(POD, key_of(pod), uid=pod["metadata"]["uid"], grace_period_seconds=0) for pod in rest]
    )
    refused |= {key_of(pod): answer for pod, answer in zip(rest, answers, strict=True) if isinstance(answer, ApiError)}
    yield from _count_deletions(garbage, refused)
    for answer in refused.values():
        if answer.code not in (404, 409):  # gone, or replaced by another of the same name
            raise answer


def _count_deletions(garbage: Garbage, refused: Collection[Key]) -> Iterator[RecordMetric]:
    """Count the pods to delete, and those that could not be deleted (gc_controller.go counts both)."""
    for pod, reason in zip(garbage.pods, garbage.reasons, strict=True):
        labels = (namespace_of(pod), reason)
        yield RecordMetric(FORCED_DELETIONS, labels=labels)
        if key_of(pod) in refused:
            yield RecordMetric(FAILED_DELETIONS, labels=labels)


def _failure_patch(pod: Obj, condition: Obj | None, now: float) -> Patch:
    """Return the patch that sets a pod's phase to Failed, so that controllers that count it see how it ended."""
    status: Obj = {"phase": "Failed"}
    if condition:
        before = condition_of(pod, DISRUPTION_TARGET) or {}
        since = before.get("lastTransitionTime") if before.get("status") == "True" else None
        target = {"type": DISRUPTION_TARGET, "status": "True", "lastProbeTime": None}
        status["conditions"] = [target | condition | {"lastTransitionTime": since or format_time(now)}]
    body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
    return Patch(POD, key_of(pod), body, "status", STRATEGIC_PATCH)


SPEC = ControllerSpec(
    name="podgc",
    account="pod-garbage-collector",
    watches=(Watch(POD, pod_changed), Watch(NODE, node_changed)),
    observe=observe,
    reconcile=reconcile,
    workers=1,
    sync_period=SWEEP_SECONDS,
    periodic_keys=(SWEEP_KEY,),
    indexes=(PODS_BY_NODE,),
    queue="orphaned_pods_nodes",
    metrics=(FORCED_DELETIONS, FAILED_DELETIONS),
)
