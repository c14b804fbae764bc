"""The life of a container: a stage for each state that its status can be in (pkg/kubelet/kuberuntime).

A stage gives the status that follows, or the status itself where its time has not come.
"""

from collections.abc import Callable, Mapping
from math import inf

from apiserver.api.meta import Obj
from controller_manager.planning.stages import events, probes
from controller_manager.planning.stages.durations import go_text
from controller_manager.planning.stages.look import DEBUG, INIT, Container, Look
from controller_manager.planning.stages.restarts import (
    NOTICED,
    TOLD,
    pull_attempt,
    pull_due,
    restart_delay,
    should_restart,
)
from controller_manager.planning.times import seconds, stamp

CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"
STOPPED, KILLED = 143, 137
"""Exit codes after SIGTERM and SIGKILL."""

Stage = Callable[[Look, Container, Obj, float], Obj]
"""(look, container, its status, since when it is its turn) → its status."""


def live(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    """The status of a container whose turn it is, after everything that is due.

    Args:
        look: at its pod.
        container: the container.
        status: as it is, or as `waiting` makes it.
        turn: when its turn came.
    """
    while True:
        after = STAGES.get(state_of(status), _create)(look, container, status, turn)
        if after is status:
            return status
        status = after


def state_of(status: Obj) -> str:
    """The key of STAGES: running, terminated, or why it waits."""
    state = status.get("state") or {}
    if "running" in state:
        return "running"
    if "terminated" in state:
        return "terminated"
    return (state.get("waiting") or {}).get("reason") or ""


def waiting(container: Container, reason: str) -> Obj:
    """The status of a container that never ran."""
    status = {
        "name": container.name,
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container.spec["image"],
        "imageID": "",
        "started": False,
    }
    mounts = container.spec.get("volumeMounts")
    return status | {"volumeMounts": [_mounted(mount) for mount in mounts]} if mounts else status


def _mounted(mount: Obj) -> Obj:
    shown = {"name": mount["name"], "mountPath": mount["mountPath"]}
    return shown | {"readOnly": True, "recursiveReadOnly": "Disabled"} if mount.get("readOnly") else shown


def terminated(look: Look, status: Obj, code: int, *, at: float = inf, reason: str = "") -> Obj:
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


def _create(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    if container.image.invalid:
        look.tell(
            events.not_inspected(container.image.invalid, container.where),
            events.not_started("InvalidImageName", container.where),
        )
        return _waits(status, "InvalidImageName", container.image.invalid)
    if not look.is_due(turn + container.behaviour.start_after):
        return status
    begun = turn + container.behaviour.start_after
    if _fails(container, pull_attempt(look.now - begun)):
        return _failed(look, container, status)
    return _start(look, container, status)


def _fails(container: Container, attempt: int) -> bool:
    behaviour = container.behaviour
    return bool(behaviour.pull_error) and attempt < behaviour.pull_failures


def _failed(look: Look, container: Container, status: Obj) -> Obj:
    """A pull failed."""
    image, where, why = container.spec["image"], container.where, container.behaviour.pull_error
    look.tell(
        events.pulling(image, where),
        events.pull_failed(image, why, where),
        events.not_started("ErrImagePull", where),
    )
    return _waits(status, "ErrImagePull", why)


def _after_failure(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    """From ErrImagePull to ImagePullBackOff, a little later."""
    begun = turn + container.behaviour.start_after
    attempt = pull_attempt(look.now - begun)
    if not _fails(container, attempt):
        return _start(look, container, status)
    if not look.is_due(begun + pull_due(attempt) + TOLD):
        return status
    image, where = container.spec["image"], container.where
    look.tell(events.pull_waits(image, where), events.not_started("ImagePullBackOff", where))
    why = f'Back-off pulling image "{image}": ErrImagePull: {container.behaviour.pull_error}'
    return _waits(status, "ImagePullBackOff", why)


def _before_pull(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    """From ImagePullBackOff to the next pull."""
    begun = turn + container.behaviour.start_after
    attempt = pull_attempt(look.now - begun)
    if not _fails(container, attempt):
        return _start(look, container, status)
    if attempt and look.now < begun + pull_due(attempt) + TOLD:
        return _failed(look, container, status)
    look.is_due(begun + pull_due(attempt + 1))
    return status


def _name_invalid(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    """Nothing helps but another name."""
    return status if container.image.invalid else _create(look, container, status, turn)


def _waits(status: Obj, reason: str, message: str) -> Obj:
    return status | {"state": {"waiting": {"reason": reason, "message": message}}}


def _start(look: Look, container: Container, status: Obj) -> Obj:
    image, where = container.spec["image"], container.where
    if container.spec.get("imagePullPolicy") == "Always":
        look.tell(events.pulling(image, where), events.pulled(image, where))
    else:
        look.tell(events.present(image, where))
    look.tell(events.created(where), events.started(where))
    ended = status["state"].get("terminated")
    last = {"terminated": ended} if ended else status.get("lastState") or {}
    restarts = status["restartCount"] + 1 if last else status["restartCount"]
    return status | {
        "state": {"running": {"startedAt": look.time}},
        "lastState": last,
        "restartCount": restarts,
        "image": container.image.reference,
        "imageID": container.image.id,
        "containerID": look.container_id(container.name, restarts),
    }


def _run(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    del turn
    if container.image.reference != status["image"] and container.role != INIT:
        look.tell(events.killed(container.name, "definition changed", container.where))
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
            events.killed(container.name, "failed liveness probe", container.where),
        )
        return terminated(look, status, KILLED, at=failing)
    return _ready(look, container, status, since)


def _ready(look: Look, container: Container, status: Obj, since: float) -> Obj:
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


def _complain(look: Look, container: Container) -> None:
    probe = container.spec.get("readinessProbe")
    if probe:
        look.tell(events.unhealthy("Readiness", probes.failure(probe, look.place.pod_ip), container.where))


def _end(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    """From its end to the next start, or to the wait for it."""
    del turn
    if not is_to_restart(container, status):
        return status
    ended = status["state"]["terminated"]
    finished, delay = look.since(ended["finishedAt"]), _delay(status, ended)
    if not look.is_due(finished + NOTICED):
        return status
    if look.now >= finished + delay:
        return _start(look, container, status)
    look.tell(events.backing_off(container.name, look.name(), container.where))
    why = f"back-off {go_text(delay)} restarting failed container={container.name} pod={look.name()}"
    return _waits(status, "CrashLoopBackOff", why) | {"lastState": {"terminated": ended}}


def _back_off(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    """From CrashLoopBackOff to the next start."""
    ended = (status.get("lastState") or {}).get("terminated")
    if ended is None:
        return _create(look, container, status, turn)
    due = seconds(ended["finishedAt"]) + _delay(status, ended)
    return _start(look, container, status) if look.is_due(due) else status


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
    CREATING: _create,
    INITIALIZING: _create,
    "ErrImagePull": _after_failure,
    "ImagePullBackOff": _before_pull,
    "InvalidImageName": _name_invalid,
    "running": _run,
    "terminated": _end,
    "CrashLoopBackOff": _back_off,
}
"""The state of a container → what comes next."""
