"""The start of containers: their image is pulled, again if that fails (pkg/kubelet/images, kuberuntime).

A stage returns the next status, or the status itself if it is not time for the next one.
"""

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods import events
from controller_manager.kubelet.pods.pod_sync import Container, PodSync
from controller_manager.kubelet.pods.restarts import PULL_ERROR_SECONDS, pull_attempt, pull_due

CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"


def waiting_status(container: Container, reason: str) -> Obj:
    """Return the status of a container that never ran."""
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


def pull_and_start(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Start a container, for the first time or again, if its image can be pulled."""
    if container.image.invalid:
        pod_sync.record(
            events.not_inspected(container.image.invalid, container.field_path),
            events.not_started("InvalidImageName", container.field_path),
        )
        return with_waiting(status, "InvalidImageName", container.image.invalid)
    if not pod_sync.is_due(turn + container.behaviour.start_after):
        return status
    begun = turn + container.behaviour.start_after
    if _pull_error(container, pull_attempt(pod_sync.now - begun)):
        return _report_pull_error(pod_sync, container, status)
    return _start(pod_sync, container, status)


def _pull_error(container: Container, attempt: int) -> bool:
    behaviour = container.behaviour
    return bool(behaviour.pull_error) and attempt < behaviour.pull_failures


def _report_pull_error(pod_sync: PodSync, container: Container, status: Obj) -> Obj:
    """Let a pull fail."""
    image, where, pull_error = container.spec["image"], container.field_path, container.behaviour.pull_error
    pod_sync.record(
        events.pulling(image, where),
        events.pull_failed(image, pull_error, where),
        events.not_started("ErrImagePull", where),
    )
    return with_waiting(status, "ErrImagePull", pull_error)


def back_off_pull(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Move from ErrImagePull to ImagePullBackOff, a little later."""
    begun = turn + container.behaviour.start_after
    attempt = pull_attempt(pod_sync.now - begun)
    if not _pull_error(container, attempt):
        return pull_and_start(pod_sync, container, status, turn)
    if not pod_sync.is_due(begun + pull_due(attempt) + PULL_ERROR_SECONDS):
        return status
    image, where = container.spec["image"], container.field_path
    pod_sync.record(events.pull_waits(image, where), events.not_started("ImagePullBackOff", where))
    message = f"{_waits_for(container)}: ErrImagePull: {container.behaviour.pull_error}"
    return with_waiting(status, "ImagePullBackOff", message)


def _waits_for(container: Container) -> str:
    """Return the beginning of a back-off's message; back-offs belong to an image, so that another is pulled at once."""
    return f'Back-off pulling image "{container.spec["image"]}"'


def pull_again(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Pull again in ImagePullBackOff if it is time."""
    begun = turn + container.behaviour.start_after
    attempt = pull_attempt(pod_sync.now - begun)
    if not _pull_error(container, attempt):
        return pull_and_start(pod_sync, container, status, turn)
    is_due = attempt and pod_sync.now < begun + pull_due(attempt) + PULL_ERROR_SECONDS
    if is_due or not (status["state"]["waiting"].get("message") or "").startswith(_waits_for(container)):
        return _report_pull_error(pod_sync, container, status)
    pod_sync.is_due(begun + pull_due(attempt + 1))
    return status


def keep_invalid_name(pod_sync: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Wait until the invalid image name is changed."""
    return status if container.image.invalid else pull_and_start(pod_sync, container, status, turn)


def with_waiting(status: Obj, reason: str, message: str) -> Obj:
    """Return the status of a waiting container; if it has ended, its end becomes its last state."""
    ended = status["state"].get("terminated")
    now = status | {"state": {"waiting": {"reason": reason, "message": message}}}
    return now | {"lastState": {"terminated": ended}} if ended else now


def _start(pod_sync: PodSync, container: Container, status: Obj) -> Obj:
    image, where = container.spec["image"], container.field_path
    if container.spec.get("imagePullPolicy") == "Always":
        pod_sync.record(events.pulling(image, where), events.pulled(image, where))
    else:
        pod_sync.record(events.present(image, where))
    pod_sync.record(events.created(where), events.started(where))
    ended = status["state"].get("terminated")
    last = {"terminated": ended} if ended else status.get("lastState") or {}
    restarts = status["restartCount"] + 1 if last else status["restartCount"]
    return status | {
        "state": {"running": {"startedAt": pod_sync.time}},
        "lastState": last,
        "restartCount": restarts,
        "image": container.image.reference,
        "imageID": container.image.id,
        "containerID": pod_sync.container_id(container.name, restarts),
    }
