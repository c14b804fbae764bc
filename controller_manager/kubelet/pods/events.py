"""The kubelet's events about containers and pods, in upstream's words.

(pkg/kubelet/events, and where they are recorded)
"""

from dataclasses import dataclass

NORMAL, WARNING = "Normal", "Warning"


@dataclass(frozen=True, slots=True)
class KubeletEvent:
    """An Event of the kubelet.

    Attributes:
        field_path: the part of the pod that it is about, "" for the whole pod.
    """

    reason: str
    message: str
    type: str = NORMAL
    field_path: str = ""


def pulling(image: str, where: str) -> KubeletEvent:
    """Return the event of a pull that begins (image_manager.go)."""
    return KubeletEvent("Pulling", f'Pulling image "{image}"', field_path=where)


def pulled(image: str, where: str) -> KubeletEvent:
    """Return the event of a successful pull; it took no time, and the image no space (image_manager.go)."""
    message = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
    return KubeletEvent("Pulled", message, field_path=where)


def present(image: str, where: str) -> KubeletEvent:
    """Return the event of an image that need not be pulled (image_manager.go)."""
    message = f'Container image "{image}" already present on machine and can be accessed by the pod'
    return KubeletEvent("Pulled", message, field_path=where)


def pull_failed(image: str, error: str, where: str) -> KubeletEvent:
    """Return the event of a failed pull (image_manager.go)."""
    return KubeletEvent("Failed", f'Failed to pull image "{image}": {error}', WARNING, where)


def pull_waits(image: str, where: str) -> KubeletEvent:
    """Return the event of a pull that has to wait (image_manager.go)."""
    return KubeletEvent("BackOff", f'Back-off pulling image "{image}"', field_path=where)


def not_inspected(error: str, where: str) -> KubeletEvent:
    """Return the event of an invalid image name (image_manager.go)."""
    return KubeletEvent("InspectFailed", error, WARNING, where)


def not_started(error: str, where: str) -> KubeletEvent:
    """Return the event of a container that was not started, with the name of the error (kuberuntime_container.go)."""
    return KubeletEvent("Failed", f"Error: {error}", WARNING, where)


def created(where: str) -> KubeletEvent:
    """Return the event of a container that was created (kuberuntime_container.go)."""
    return KubeletEvent("Created", "Container created", field_path=where)


def started(where: str) -> KubeletEvent:
    """Return the event of a container that was started (kuberuntime_container.go)."""
    return KubeletEvent("Started", "Container started", field_path=where)


def stopping(name: str, where: str) -> KubeletEvent:
    """Return the event of a container that is asked to stop (kuberuntime_container.go killContainer)."""
    return KubeletEvent("Killing", f"Stopping container {name}", field_path=where)


def killed(name: str, cause: str, where: str, *, init: bool = False) -> KubeletEvent:
    """Return the event of a stop before a restart: a "failed liveness probe", or a "definition changed".

    For init containers it does not mention the restart (kuberuntime_container.go).
    """
    message = f"Init container {name} {cause}" if init else f"Container {name} {cause}, will be restarted"
    return KubeletEvent("Killing", message, field_path=where)


def backing_off(name: str, pod: str, where: str) -> KubeletEvent:
    """Return the event of a restart that has to wait (kuberuntime_manager.go doBackOff)."""
    return KubeletEvent("BackOff", f"Back-off restarting failed container {name} in pod {pod}", WARNING, where)


def unhealthy(probe: str, error: str, where: str) -> KubeletEvent:
    """Return the event of a failed probe (prober.go)."""
    return KubeletEvent("Unhealthy", f"{probe} probe failed: {error}", WARNING, where)
