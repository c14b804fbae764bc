"""What the kubelet tells of containers and pods, in its own words (pkg/kubelet/events, and where they are recorded)."""

from dataclasses import dataclass

NORMAL, WARNING = "Normal", "Warning"


@dataclass(frozen=True, slots=True)
class Told:
    """An Event of the kubelet.

    Attributes:
        field_path: the part of the pod that it is about, "" for all of it.
    """

    reason: str
    message: str
    type: str = NORMAL
    field_path: str = ""


def pulling(image: str, where: str) -> Told:
    """A pull begins (image_manager.go)."""
    return Told("Pulling", f'Pulling image "{image}"', field_path=where)


def pulled(image: str, where: str) -> Told:
    """A pull ended well; it took no time, and the image no room (image_manager.go)."""
    done = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
    return Told("Pulled", done, field_path=where)


def present(image: str, where: str) -> Told:
    """No pull is needed (image_manager.go)."""
    there = f'Container image "{image}" already present on machine and can be accessed by the pod'
    return Told("Pulled", there, field_path=where)


def pull_failed(image: str, why: str, where: str) -> Told:
    """A pull ended badly (image_manager.go)."""
    return Told("Failed", f'Failed to pull image "{image}": {why}', WARNING, where)


def pull_waits(image: str, where: str) -> Told:
    """The next pull has to wait (image_manager.go)."""
    return Told("BackOff", f'Back-off pulling image "{image}"', field_path=where)


def not_inspected(why: str, where: str) -> Told:
    """The image's name is none (image_manager.go)."""
    return Told("InspectFailed", why, WARNING, where)


def not_started(error: str, where: str) -> Told:
    """Why a container was not started, by the name of the error (kuberuntime_container.go)."""
    return Told("Failed", f"Error: {error}", WARNING, where)


def created(where: str) -> Told:
    """A container is there (kuberuntime_container.go)."""
    return Told("Created", "Container created", field_path=where)


def started(where: str) -> Told:
    """A container runs (kuberuntime_container.go)."""
    return Told("Started", "Container started", field_path=where)


def stopping(name: str, where: str) -> Told:
    """A container is asked to stop (kuberuntime_container.go killContainer)."""
    return Told("Killing", f"Stopping container {name}", field_path=where)


def killed(name: str, why: str, where: str, *, init: bool = False) -> Told:
    """A container is stopped to be started again: it "failed liveness probe", or its "definition changed".

    Of one that is among the init containers nobody says that it will (kuberuntime_container.go).
    """
    told = f"Init container {name} {why}" if init else f"Container {name} {why}, will be restarted"
    return Told("Killing", told, field_path=where)


def backing_off(name: str, pod: str, where: str) -> Told:
    """The next start has to wait (kuberuntime_manager.go doBackOff)."""
    return Told("BackOff", f"Back-off restarting failed container {name} in pod {pod}", WARNING, where)


def unhealthy(probe: str, why: str, where: str) -> Told:
    """A probe failed (prober.go)."""
    return Told("Unhealthy", f"{probe} probe failed: {why}", WARNING, where)
