"""The deletion of a pod: its containers stop, then it goes (kubelet.go SyncTerminatingPod, SyncTerminatedPod)."""

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.containers import SIGKILL_CODE, SIGTERM_CODE
from controller_manager.kubelet.pods.phases import FAILED
from controller_manager.kubelet.pods.pod_containers import PodContainers, pod_containers_of
from controller_manager.kubelet.pods.pod_sync import MAIN, Container, PodSync
from controller_manager.kubelet.pods.steps import Step
from controller_manager.reconcile.pods import TERMINAL_PHASES, is_terminal
from controller_manager.reconcile.times import format_time, parse_time

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
