"""What the kubelet tells of containers and pods, in its own words (pkg/kubelet/events, and where they are recorded)."""

from dataclasses import dataclass

NORMAL, WARNING = "Normal", "Warning"


@dataclass(frozen=True, slots=True)
class KubeletEvent:
    """An Event of the kubelet.

    Attributes:
        field_path: the part of the pod that it is about, "" for all of it.
    """

    reason: str
    message: str
    type: str = NORMAL
    field_path: str = ""


def pulling(image: str, where: str) -> KubeletEvent:
    """A pull begins (image_manager.go)."""
    return KubeletEvent("Pulling", f'Pulling image "{image}"', field_path=where)


def pulled(image: str, where: str) -> KubeletEvent:
    """A pull ended well; it took no time, and the image no room (image_manager.go)."""
    done = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
    return KubeletEvent("Pulled", done, field_path=where)


def present(image: str, where: str) -> KubeletEvent:
    """No pull is needed (image_manager.go)."""
    there = f'Container image "{image}" already present on machine and can be accessed by the pod'
    return KubeletEvent("Pulled", there, field_path=where)


def pull_failed(image: str, why: str, where: str) -> KubeletEvent:
    """A pull ended badly (image_manager.go)."""
    return KubeletEvent("Failed", f'Failed to pull image "{image}": {why}', WARNING, where)


def pull_waits(image: str, where: str) -> KubeletEvent:
    """The next pull has to wait (image_manager.go)."""
    return KubeletEvent("BackOff", f'Back-off pulling image "{image}"', field_path=where)


def not_inspected(why: str, where: str) -> KubeletEvent:
    """The image's name is none (image_manager.go)."""
    return KubeletEvent("InspectFailed", why, WARNING, where)


def not_started(error: str, where: str) -> KubeletEvent:
    """Why a container was not started, by the name of the error (kuberuntime_container.go)."""
    return KubeletEvent("Failed", f"Error: {error}", WARNING, where)


def created(where: str) -> KubeletEvent:
    """A container is there (kuberuntime_container.go)."""
    return KubeletEvent("Created", "Container created", field_path=where)


def started(where: str) -> KubeletEvent:
    """A container runs (kuberuntime_container.go)."""
    return KubeletEvent("Started", "Container started", field_path=where)


def stopping(name: str, where: str) -> KubeletEvent:
    """A container is asked to stop (kuberuntime_container.go killContainer)."""
    return KubeletEvent("Killing", f"Stopping container {name}", field_path=where)


def killed(name: str, why: str, where: str, *, init: bool = False) -> KubeletEvent:
    """A container is stopped to be started again: it "failed liveness probe", or its "definition changed".

    Of one that is among the init containers nobody says that it will (kuberuntime_container.go).
    """
    told = f"Init container {name} {why}" if init else f"Container {name} {why}, will be restarted"
    return KubeletEvent("Killing", told, field_path=where)


def backing_off(name: str, pod: str, where: str) -> KubeletEvent:
    """The next start has to wait (kuberuntime_manager.go doBackOff)."""
    return KubeletEvent("BackOff", f"Back-off restarting failed container {name} in pod {pod}", WARNING, where)


def unhealthy(probe: str, why: str, where: str) -> KubeletEvent:
    """A probe failed (prober.go)."""
    return KubeletEvent("Unhealthy", f"{probe} probe failed: {why}", WARNING, where)
