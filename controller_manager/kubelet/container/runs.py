"""Runs of containers: the current one and the one before, from a pod's status."""

from collections.abc import Iterator
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import parse_time

CONTAINER_FIELDS = (
    ("containers", "containerStatuses"),
    ("initContainers", "initContainerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
"""The fields with containers in a pod's spec, and with their statuses."""


class NoLogError(Exception):
    """There is no log; the message is the kubelet's."""


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One run of a container.

    Attributes:
        id: the runtime's id, such as "containerd://1f…".
        started, finished: the times; finished is None while it runs.
        restarts: the number of runs before it.
    """

    id: str
    started: float
    finished: float | None = None
    restarts: int = 0


def container_of(pod: Obj, name: str) -> Obj | None:
    """Return a container of any kind from a pod's spec; None if there is none with that name."""
    for field, _ in CONTAINER_FIELDS:
        for container in pod["spec"].get(field) or ():
            if container["name"] == name:
                match: Obj = container
                return match
    return None


def current_run(pod: Obj, name: str) -> ContainerRun | None:
    """Return the current run of a container, None if it is not running."""
    status = _status(pod, name)
    state = ((status or {}).get("state") or {}).get("running")
    if status is None or state is None:
        return None
    return ContainerRun(
        status.get("containerID") or "", _time(state.get("startedAt")), restarts=status.get("restartCount") or 0
    )


def running_containers(pod: Obj) -> Iterator[Obj]:
    """Return the running containers of a pod."""
    for field, _ in CONTAINER_FIELDS:
        for container in pod["spec"].get(field) or ():
            if current_run(pod, container["name"]):
                yield container


def run_to_log(pod: Obj, name: str, *, previous: bool) -> ContainerRun:
    """Return the run whose log is requested (kubelet_pods.go's validateContainerLogStatus).

    Raises:
        NoLogError: there is none.
    """
    what = f'container "{name}" in pod "{pod["metadata"]["name"]}"'
    status = _status(pod, name)
    if status is None:
        raise NoLogError(f"{what} is not available")
    state = status.get("state") or {}
    last: Obj = (status.get("lastState") or {}).get("terminated") or {}
    if previous:
        if not last.get("containerID"):
            raise NoLogError(f"previous terminated {what} not found")
        return _run_of_ended(last)
    if (current := current_run(pod, name)) is not None:
        return current
    for ended in (state.get("terminated") or {}, last):
        if ended.get("containerID"):
            return _run_of_ended(ended)
    if state.get("terminated") is not None or last:
        raise NoLogError(f"{what} is terminated")
    raise NoLogError(f"{what} is waiting to start{_reason(state)}")


def _reason(state: Obj) -> str:
    if state.get("waiting") is None:
        return " - no logs yet"
    reason = state["waiting"].get("reason") or ""
    known = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
    return f": {known.get(reason, reason)}"


def _run_of_ended(state: Obj) -> ContainerRun:
    finished = _time(state.get("finishedAt"))
    return ContainerRun(state["containerID"], _time(state.get("startedAt")) or finished, finished)


def _status(pod: Obj, name: str) -> Obj | None:
    for _, field in CONTAINER_FIELDS:
        for status in (pod.get("status") or {}).get(field) or ():
            if status["name"] == name:
                match: Obj = status
                return match
    return None


def _time(text: str | None) -> float:
    return parse_time(text) if text else 0.0
