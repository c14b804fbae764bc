"""How containers start: their image is pulled, and pulled again where that failed (pkg/kubelet/images, kuberuntime).

A stage gives the status that follows, or the status itself where its time has not come.
"""

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods import events
from controller_manager.kubelet.pods.pod_sync import Container, PodSync
from controller_manager.kubelet.pods.restarts import TOLD, pull_attempt, pull_due

CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"


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


def create(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """To its start, for the first time or again, if its image can be had."""
    if container.image.invalid:
        look.tell(
            events.not_inspected(container.image.invalid, container.where),
            events.not_started("InvalidImageName", container.where),
        )
        return waits(status, "InvalidImageName", container.image.invalid)
    if not look.is_due(turn + container.behaviour.start_after):
        return status
    begun = turn + container.behaviour.start_after
    if _fails(container, pull_attempt(look.now - begun)):
        return _failed(look, container, status)
    return _start(look, container, status)


def _fails(container: Container, attempt: int) -> bool:
    behaviour = container.behaviour
    return bool(behaviour.pull_error) and attempt < behaviour.pull_failures


def _failed(look: PodSync, container: Container, status: Obj) -> Obj:
    """A pull failed."""
    image, where, why = container.spec["image"], container.where, container.behaviour.pull_error
    look.tell(
        events.pulling(image, where),
        events.pull_failed(image, why, where),
        events.not_started("ErrImagePull", where),
    )
    return waits(status, "ErrImagePull", why)


def after_failure(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """From ErrImagePull to ImagePullBackOff, a little later."""
    begun = turn + container.behaviour.start_after
    attempt = pull_attempt(look.now - begun)
    if not _fails(container, attempt):
        return create(look, container, status, turn)
    if not look.is_due(begun + pull_due(attempt) + TOLD):
        return status
    image, where = container.spec["image"], container.where
    look.tell(events.pull_waits(image, where), events.not_started("ImagePullBackOff", where))
    why = f"{_waits_for(container)}: ErrImagePull: {container.behaviour.pull_error}"
    return waits(status, "ImagePullBackOff", why)


def _waits_for(container: Container) -> str:
    """What a wait for the next pull begins with; back-offs are of an image, so that another is pulled at once."""
    return f'Back-off pulling image "{container.spec["image"]}"'


def before_pull(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """From ImagePullBackOff to the next pull."""
    begun = turn + container.behaviour.start_after
    attempt = pull_attempt(look.now - begun)
    if not _fails(container, attempt):
        return create(look, container, status, turn)
    is_due = attempt and look.now < begun + pull_due(attempt) + TOLD
    if is_due or not (status["state"]["waiting"].get("message") or "").startswith(_waits_for(container)):
        return _failed(look, container, status)
    look.is_due(begun + pull_due(attempt + 1))
    return status


def name_invalid(look: PodSync, container: Container, status: Obj, turn: float) -> Obj:
    """Nothing helps but another name."""
    return status if container.image.invalid else create(look, container, status, turn)


def waits(status: Obj, reason: str, message: str) -> Obj:
    """The status of a container that waits; how it ended, if it did, is its last state."""
    ended = status["state"].get("terminated")
    now = status | {"state": {"waiting": {"reason": reason, "message": message}}}
    return now | {"lastState": {"terminated": ended}} if ended else now


def _start(look: PodSync, container: Container, status: Obj) -> Obj:
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
