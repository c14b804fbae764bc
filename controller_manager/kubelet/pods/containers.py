"""The lifecycle of a container: a stage for each state of its status (pkg/kubelet/kuberuntime).

A stage returns the next status, or the status itself if it is not time for the next one.
"""

from collections.abc import Callable, Mapping
from math import inf

from apiserver.api.golang.durations import duration_text
from apiserver.api.meta import Obj
from controller_manager.kubelet.pods import events, probes
from controller_manager.kubelet.pods.pod_sync import DEBUG, INIT, SIDECAR, Container, PodSync
from controller_manager.kubelet.pods.restarts import RELIST_PERIOD, restart_delay, should_restart
from controller_manager.kubelet.pods.starting import (
    CREATING,
    INITIALIZING,
    back_off_pull,
    keep_invalid_name,
    pull_again,
    pull_and_start,
    with_waiting,
)
from controller_manager.reconcile.times import format_time, parse_time

SIGTERM_CODE, SIGKILL_CODE = 143, 137
"""Exit codes after SIGTERM and SIGKILL."""

Stage = Callable[[PodSync, Container, Obj, float], Obj]
"""(pod_sync, container, its status, when its turn came) → its next status."""


def next_status(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Return the status of a container whose turn has come, after everything that is due.

    Args:
        pod_sync: the sync of its pod.
        container: the container.
        status: its status, or what `waiting_status` returns.
        turn: when the container's turn came.
    """
    while True:
        since = max(turn, _changed_at(pod_sync, container, status))
        changed = STAGES.get(state_of(status), pull_and_start)(pod_sync, container, status, since)
        if changed is status:
            return status
        status = changed


def is_changed(container: Container, status: Obj) -> bool:
    """Return True if the image differs from the one that ran (containerChanged); init containers never change."""
    return container.role != INIT and container.image.reference != status["image"]


def _changed_at(pod_sync: PodSync, container: Container, status: Obj) -> float:
    """Return when a container was stopped because its image changed, which restarts its pulls; 0.0 if it was not."""
    ended = (status.get("lastState") or {}).get("terminated") if "waiting" in status["state"] else None
    return pod_sync.since(ended["finishedAt"]) if ended and is_changed(container, status) else 0.0


def state_of(status: Obj) -> str:
    """Return the key of STAGES: running, terminated, or the reason for waiting."""
    state = status.get("state") or {}
    if "running" in state:
        return "running"
    if "terminated" in state:
        return "terminated"
    return (state.get("waiting") or {}).get("reason") or ""


def terminated_status(pod_sync: PodSync, status: Obj, code: int, *, at: float = inf, reason: str = "") -> Obj:
    """Return the status of a running container that has ended, at a time that has come or now."""
    started = status["state"]["running"]["startedAt"]
    ended = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "startedAt": started,
        "finishedAt": pod_sync.time if at >= pod_sync.now else format_time(max(at, parse_time(started))),
        "containerID": status["containerID"],
    }
    return status | {"state": {"terminated": ended}, "ready": False, "started": False}


def _run_container(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    del turn
    if is_changed(container, status):
        pod_sync.record(
            events.killed(container.name, "definition changed", container.field_path, init=container.role == SIDECAR)
        )
        ended = terminated_status(pod_sync, status, SIGTERM_CODE)
        return ended | {"state": {"waiting": {"reason": CREATING}}, "lastState": ended["state"]}
    since = pod_sync.since(status["state"]["running"]["startedAt"])
    ending = container.behaviour.ending(status["restartCount"])
    if pod_sync.is_due(since + ending.after):
        return terminated_status(pod_sync, status, ending.code, at=since + ending.after, reason=ending.reason)
    if (failing := probes.unhealthy_at(container, since)) < inf and pod_sync.is_due(failing):
        why = probes.failure(container.spec["livenessProbe"], pod_sync.node_context.pod_ip)
        pod_sync.record(
            events.unhealthy("Liveness", why, container.field_path),
            events.killed(
                container.name, "failed liveness probe", container.field_path, init=container.role == SIDECAR
            ),
        )
        return terminated_status(pod_sync, status, SIGKILL_CODE, at=failing)
    return _update_readiness(pod_sync, container, status, since)


def _update_readiness(pod_sync: PodSync, container: Container, status: Obj, since: float) -> Obj:
    """Return the status with started and ready set according to the probes."""
    if container.role in (INIT, DEBUG):
        started, ready = container.role == INIT, False
    else:
        started = pod_sync.is_due(probes.started_at(container, since))
        ready = started and pod_sync.is_due(probes.ready_at(container, since))
        if started and not ready and not status["started"] and container.behaviour.ready_after is not None:
            _report_unhealthy(pod_sync, container)
    if status["started"] is started and status["ready"] is ready:
        return status
    return status | {"started": started, "ready": ready}


def _report_unhealthy(pod_sync: PodSync, container: Container) -> None:
    probe = container.spec.get("readinessProbe")
    if probe:
        pod_sync.record(
            events.unhealthy("Readiness", probes.failure(probe, pod_sync.node_context.pod_ip), container.field_path)
        )


def _end_container(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Restart a container that has ended, or let it wait in CrashLoopBackOff."""
    if not is_to_restart(container, status):
        return status
    if is_changed(container, status):
        return pull_and_start(pod_sync, container, status, turn)
    ended = status["state"]["terminated"]
    finished, delay = pod_sync.since(ended["finishedAt"]), _delay(status, ended)
    if not pod_sync.is_due(finished + RELIST_PERIOD):
        return status
    if pod_sync.now >= finished + delay:
        return pull_and_start(pod_sync, container, status, turn)
    pod_sync.record(events.backing_off(container.name, pod_sync.name(), container.field_path))
    why = f"back-off {duration_text(delay)} restarting failed container={container.name} pod={pod_sync.name()}"
    return with_waiting(status, "CrashLoopBackOff", why)


def _back_off(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Restart a container in CrashLoopBackOff if its time has come."""
    ended = (status.get("lastState") or {}).get("terminated")
    if ended is None or is_changed(container, status):  # a changed container has no back-off (getStableKey)
        return pull_and_start(pod_sync, container, status, turn)
    due = parse_time(ended["finishedAt"]) + _delay(status, ended)
    return pull_and_start(pod_sync, container, status, turn) if pod_sync.is_due(due) else status


def _delay(status: Obj, ended: Obj) -> int:
    ran = parse_time(ended["finishedAt"]) - parse_time(ended["startedAt"]) if ended.get("startedAt") else 0.0
    return restart_delay(status["restartCount"], ran)


def is_to_restart(container: Container, status: Obj) -> bool:
    """Return True if a container that ended, or waits after its end, is restarted."""
    ended = status["state"].get("terminated") or (status.get("lastState") or {}).get("terminated")
    if ended is None or container.role == DEBUG:
        return False
    if container.role == INIT and ended["exitCode"] == 0:
        return False
    return should_restart(container.spec, container.policy, ended["exitCode"])


def is_done(container: Container, status: Obj) -> bool:
    """Return True if a container has ended and is not restarted."""
    return "terminated" in status["state"] and not is_to_restart(container, status)


STAGES: Mapping[str, Stage] = {
    CREATING: pull_and_start,
    INITIALIZING: pull_and_start,
    "ErrImagePull": back_off_pull,
    "ImagePullBackOff": pull_again,
    "InvalidImageName": keep_invalid_name,
    "running": _run_container,
    "terminated": _end_container,
    "CrashLoopBackOff": _back_off,
}
"""The state of a container → the stage that follows."""
