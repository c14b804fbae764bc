"""The life of a container: a stage for each state that its status can be in (pkg/kubelet/kuberuntime).

A stage gives the status that follows, or the status itself where its time has not come.
"""

from collections.abc import Callable, Mapping
from math import inf

from apiserver.api.golang.durations import duration_text
from apiserver.api.meta import Obj
from controller_manager.kubelet.pods import events, probes
from controller_manager.kubelet.pods.pod_sync import DEBUG, INIT, SIDECAR, Container, PodSync
from controller_manager.kubelet.pods.restarts import NOTICED, restart_delay, should_restart
from controller_manager.kubelet.pods.starting import (
    CREATING,
    INITIALIZING,
    after_failure,
    before_pull,
    create,
    name_invalid,
    waits,
)
from controller_manager.reconcile.times import seconds, stamp

STOPPED, KILLED = 143, 137
"""Exit codes after SIGTERM and SIGKILL."""

Stage = Callable[[PodSync, Container, Obj, float], Obj]
"""(look, container, its status, since when it is its turn) → its status."""


def live(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """The status of a container whose turn it is, after everything that is due.

    Args:
        look: at its pod.
        container: the container.
        status: as it is, or as `waiting` makes it.
        turn: when its turn came.
    """
    while True:
        since = max(turn, _changed_at(look, container, status))
        after = STAGES.get(state_of(status), create)(look, container, status, since)
        if after is status:
            return status
        status = after


def is_changed(container: Container, status: Obj) -> bool:
    """Whether a container that ran is of another image by now (containerChanged); what init containers did stays."""
    return container.role != INIT and container.image.reference != status["image"]


def _changed_at(look: PodSync, container: Container, status: Obj) -> float:
    """Since when a container waits that was stopped because its image is another: its pulls begin anew."""
    ended = (status.get("lastState") or {}).get("terminated") if "waiting" in status["state"] else None
    return look.since(ended["finishedAt"]) if ended and is_changed(container, status) else 0.0


def state_of(status: Obj) -> str:
    """The key of STAGES: running, terminated, or why it waits."""
    state = status.get("state") or {}
    if "running" in state:
        return "running"
    if "terminated" in state:
        return "terminated"
    return (state.get("waiting") or {}).get("reason") or ""


def terminated(look: PodSync, status: Obj, code: int, *, at: float = inf, reason: str = "") -> Obj:
    """The status of a running container that has ended, at a time that has come or now."""
    started = status["state"]["running"]["startedAt"]
    ended = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "startedAt": started,
        "finishedAt": look.time if at >= look.now else stamp(max(at, seconds(started))),
        "containerID": status["containerID"],
    }
    return status | {"state": {"terminated": ended}, "ready": False, "started": False}


def _run(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    del turn
    if is_changed(container, status):
        look.tell(events.killed(container.name, "definition changed", container.where, init=container.role == SIDECAR))
        ended = terminated(look, status, STOPPED)
        return ended | {"state": {"waiting": {"reason": CREATING}}, "lastState": ended["state"]}
    since = look.since(status["state"]["running"]["startedAt"])
    ending = container.behaviour.ending(status["restartCount"])
    if look.is_due(since + ending.after):
        return terminated(look, status, ending.code, at=since + ending.after, reason=ending.reason)
    if (failing := probes.unhealthy_at(container, since)) < inf and look.is_due(failing):
        why = probes.failure(container.spec["livenessProbe"], look.place.pod_ip)
        look.tell(
            events.unhealthy("Liveness", why, container.where),
            events.killed(container.name, "failed liveness probe", container.where, init=container.role == SIDECAR),
        )
        return terminated(look, status, KILLED, at=failing)
    return _ready(look, container, status, since)


def _ready(look: PodSync, container: Container, status: Obj, since: float) -> Obj:
    """The same, started and ready as its probes have it."""
    if container.role in (INIT, DEBUG):
        started, ready = container.role == INIT, False
    else:
        started = look.is_due(probes.started_at(container, since))
        ready = started and look.is_due(probes.ready_at(container, since))
        if started and not ready and not status["started"] and container.behaviour.ready_after is not None:
            _complain(look, container)
    if status["started"] is started and status["ready"] is ready:
        return status
    return status | {"started": started, "ready": ready}


def _complain(look: PodSync, container: Container) -> None:
    probe = container.spec.get("readinessProbe")
    if probe:
        look.tell(events.unhealthy("Readiness", probes.failure(probe, look.place.pod_ip), container.where))


def _end(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """From its end to the next start, or to the wait for it."""
    if not is_to_restart(container, status):
        return status
    if is_changed(container, status):
        return create(look, container, status, turn)
    ended = status["state"]["terminated"]
    finished, delay = look.since(ended["finishedAt"]), _delay(status, ended)
    if not look.is_due(finished + NOTICED):
        return status
    if look.now >= finished + delay:
        return create(look, container, status, turn)
    look.tell(events.backing_off(container.name, look.name(), container.where))
    why = f"back-off {duration_text(delay)} restarting failed container={container.name} pod={look.name()}"
    return waits(status, "CrashLoopBackOff", why)


def _back_off(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """From CrashLoopBackOff to the next start."""
    ended = (status.get("lastState") or {}).get("terminated")
    if ended is None or is_changed(container, status):  # back-offs are of what a container was (getStableKey)
        return create(look, container, status, turn)
    due = seconds(ended["finishedAt"]) + _delay(status, ended)
    return create(look, container, status, turn) if look.is_due(due) else status


def _delay(status: Obj, ended: Obj) -> int:
    ran = seconds(ended["finishedAt"]) - seconds(ended["startedAt"]) if ended.get("startedAt") else 0.0
    return restart_delay(status["restartCount"], ran)


def is_to_restart(container: Container, status: Obj) -> bool:
    """Whether a container that ended, or waits after its end, starts again."""
    ended = status["state"].get("terminated") or (status.get("lastState") or {}).get("terminated")
    if ended is None or container.role == DEBUG:
        return False
    if container.role == INIT and ended["exitCode"] == 0:
        return False
    return should_restart(container.spec, container.policy, ended["exitCode"])


def is_done(container: Container, status: Obj) -> bool:
    """Whether a container has ended for good."""
    return "terminated" in status["state"] and not is_to_restart(container, status)


STAGES: Mapping[str, Stage] = {
    CREATING: create,
    INITIALIZING: create,
    "ErrImagePull": after_failure,
    "ImagePullBackOff": before_pull,
    "InvalidImageName": name_invalid,
    "running": _run,
    "terminated": _end,
    "CrashLoopBackOff": _back_off,
}
"""The state of a container → what comes next."""
