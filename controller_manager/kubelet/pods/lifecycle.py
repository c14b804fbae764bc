"""The next status of a pod, from the stored pod and the time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.behaviour import evicted_after, invalid_override_messages
from controller_manager.kubelet.pods.containers import SIGKILL_CODE, SIGTERM_CODE, is_done, next_status
from controller_manager.kubelet.pods.events import WARNING, KubeletEvent
from controller_manager.kubelet.pods.phases import FAILED
from controller_manager.kubelet.pods.pod_containers import PodContainers, pod_containers_of
from controller_manager.kubelet.pods.pod_sync import DEBUG, INIT, MAIN, SIDECAR, Container, NodeContext, PodSync
from controller_manager.kubelet.pods.steps import Step
from controller_manager.reconcile.pods import DISRUPTION_TARGET, TERMINAL_PHASES, is_terminal
from controller_manager.reconcile.times import format_time, parse_time

NO_ADDRESS = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: plugin failed "
    "(add): failed to allocate for range 0: no IP addresses available in range set"
)
RETRY_SECONDS = 10.0
"""The seconds after which a pod without an address tries again."""


def next_step(pod: Obj, node_context: NodeContext, now: float) -> Step:
    """Return the next step of a pod on a node.

    Args:
        pod: bound to the node; it is not changed.
        node_context: the node.
        now: the time.
    """
    pod_sync = PodSync(pod, node_context, now)
    if pod["metadata"].get("deletionTimestamp"):
        return terminate(pod_sync)
    if is_terminal(pod):
        return Step()
    if not (node_context.pod_ip or pod["spec"].get("hostNetwork")):
        return Step(events=(KubeletEvent("FailedCreatePodSandBox", NO_ADDRESS, WARNING),), wait=RETRY_SECONDS)
    return _run_containers(pod_sync)


def _run_containers(pod_sync: PodSync) -> Step:
    status = pod_sync.pod.get("status") or {}
    if "startTime" not in status:
        pod_sync.record(
            *(
                KubeletEvent("InvalidAnnotation", problem, WARNING)
                for problem in invalid_override_messages(pod_sync.overrides)
            )
        )
    pod_containers, since = pod_containers_of(pod_sync), pod_sync.since(status.get("startTime") or pod_sync.time)
    end = next((end for end, after in EARLY_ENDS if pod_sync.is_due(since + after(pod_sync))), None)
    if end is not None:
        return _end_pod(pod_containers, end)
    _advance_all(pod_containers, since)
    phase = _settled_phase(pod_containers)
    new = pod_containers.pod_status(phase)
    wait = None if phase in TERMINAL_PHASES or pod_sync.due == inf else max(pod_sync.due - pod_sync.now, 0.0)
    return Step(None if new == status else new, pod_sync.events, wait)


def _settled_phase(pod_containers: PodContainers) -> str:
    """Return the pod's phase; end its other containers once its main ones are done, or will never start."""
    phase = pod_containers.phase()
    if phase in TERMINAL_PHASES or all(
        is_done(container, pod_containers.status(container)) for container in pod_containers.of(MAIN)
    ):
        pod_containers.record_stopping()
        pod_containers.end_running(SIGTERM_CODE)
        return pod_containers.phase()
    return phase


# -- one container after the other -------------------------------------------------------------------------------------


def _advance_all(pod_containers: PodContainers, turn: float) -> None:
    """Advance every container whose turn has come: init containers one after the other, then all others."""
    for container in pod_containers.of(INIT, SIDECAR):
        status = _advance(pod_containers, container, turn)
        if not (status["ready"] if container.role == INIT else status["started"] or _ran_before(status)):
            return
        turn = max(turn, _done_at(pod_containers.pod_sync, status))
    for container in pod_containers.of(MAIN, DEBUG):
        _advance(pod_containers, container, turn)


def _advance(pod_containers: PodContainers, container: Container, turn: float) -> Obj:
    """Return a container's status after everything that is due; a successful init container is ready, and stays so."""
    status = pod_containers.status(container)
    if container.role != INIT or not status["ready"]:
        status = _with_resources(container, next_status(pod_containers.pod_sync, container, status, turn))
        if container.role == INIT and (status["state"].get("terminated") or {}).get("exitCode") == 0:
            status = status | {"ready": True}
        pod_containers.statuses[container.name] = status
    return status


def _ran_before(status: Obj) -> bool:
    """Return True if a sidecar ran before: the pod has been initialized, and does not wait for it again."""
    return bool(status.get("lastState")) or "terminated" in status["state"]


def _done_at(pod_sync: PodSync, status: Obj) -> float:
    """Return when the next container's turn came: an init container ended, or a sidecar started."""
    state = status["state"]
    if "running" in state:
        return pod_sync.since(state["running"]["startedAt"])
    return pod_sync.since(state["terminated"]["finishedAt"]) if "terminated" in state else 0.0


def _with_resources(container: Container, status: Obj) -> Obj:
    """Return the status with the container's current resources (KEP-1287)."""
    resources = container.spec.get("resources")
    if not resources or "containerID" not in status or status.get("resources") == resources:
        return status
    requests = resources.get("requests")
    return status | {"resources": resources} | ({"allocatedResources": requests} if requests else {})


# -- ending pods early -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """An early end of a pod: the reason and message in its status, and the event."""

    reason: str
    message: str
    events: KubeletEvent


DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"
EVICTION_MESSAGE = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
DEADLINE = EarlyEnd("DeadlineExceeded", DEADLINE_MESSAGE, KubeletEvent("DeadlineExceeded", DEADLINE_MESSAGE))
EVICTED = EarlyEnd("Evicted", EVICTION_MESSAGE, KubeletEvent("Evicted", EVICTION_MESSAGE, WARNING))


def _deadline(pod_sync: PodSync) -> float:
    """Return the seconds after a pod's start at which it has been active too long (active_deadline.go)."""
    limit = pod_sync.pod["spec"].get("activeDeadlineSeconds")
    return inf if limit is None else float(limit)


EARLY_ENDS: Sequence[tuple[EarlyEnd, Callable[[PodSync], float]]] = (
    (DEADLINE, _deadline),
    (EVICTED, lambda pod_sync: evicted_after(pod_sync.overrides)),
)
"""The early end → a function that returns how many seconds after the pod's start it comes (PodSyncHandlers)."""


def _end_pod(pod_containers: PodContainers, end: EarlyEnd) -> Step:
    pod_containers.pod_sync.record(end.events)
    pod_containers.record_stopping()
    pod_containers.end_running(SIGKILL_CODE)
    new = pod_containers.pod_status(FAILED) | {"reason": end.reason, "message": end.message}
    if end is EVICTED:
        others = [condition for condition in new["conditions"] if condition["type"] != DISRUPTION_TARGET]
        new["conditions"] = [_disrupted(end, pod_containers.pod_sync.time), *others]
    return Step(new, pod_containers.pod_sync.events)


def _disrupted(end: EarlyEnd, time: str) -> Obj:
    """Return the condition of a pod that its node evicts (eviction_manager.go)."""
    return {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": time,
        "reason": "TerminationByKubelet",
        "message": end.message,
    }


# -- the deletion of a pod: its containers stop, then it goes (SyncTerminatingPod, SyncTerminatedPod) ------------------

_UNKNOWN = {
    "exitCode": SIGKILL_CODE,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
"""The end of a container that never ran."""


def terminate(pod_sync: PodSync) -> Step:
    """Return the next step of a pod that is being deleted.

    A pod whose grace period is over should be gone, unless a finalizer keeps it: the server stopped before it could
    remove
    it, and has to be asked again.
    """
    pod_containers, meta = pod_containers_of(pod_sync), pod_sync.pod["metadata"]
    grace = float(meta.get("deletionGracePeriodSeconds") or 0)
    stop_time = min(max(map(_stop_time, pod_containers.running()), default=0.0), grace)
    requested_at = pod_sync.since(format_time(parse_time(meta["deletionTimestamp"]) - grace))
    if stop_time and not pod_sync.is_due(requested_at + stop_time):
        pod_containers.record_stopping()
        return Step(None, pod_sync.events, pod_sync.due - pod_sync.now)
    if grace and not stop_time:
        pod_containers.record_stopping()
    held = bool(meta.get("finalizers"))  # the pod outlives this, and its finalizers' owners may look at how it ended
    status = (
        _last_status(pod_containers, SIGKILL_CODE if stop_time and stop_time == grace else SIGTERM_CODE)
        if held
        else None
    )
    return Step(status, pod_sync.events, delete=bool(grace) or not held)


def _stop_time(container: Container) -> float:
    """Return how long a container takes to stop: its preStop hook's sleep, and the time that it goes on by itself."""
    hook = ((container.spec.get("lifecycle") or {}).get("preStop") or {}).get("sleep") or {}
    return container.behaviour.stop_after + float(hook.get("seconds") or 0)


def _last_status(pod_containers: PodContainers, code: int) -> Obj | None:
    """Return the last status of a pod whose containers have stopped, None if it had ended before."""
    if is_terminal(pod_containers.pod_sync.pod):
        return None
    pod_containers.end_running(code)
    for container in pod_containers.of(MAIN):
        status = pod_containers.status(container)
        if "waiting" in status["state"]:
            pod_containers.statuses[container.name] = status | {"state": {"terminated": _UNKNOWN}}
    phase = pod_containers.phase(ended=True)
    return pod_containers.pod_status(phase if phase in TERMINAL_PHASES else FAILED)
