"""Runs of containers: what a pod's status tells of the present one and the one before."""

from collections.abc import Iterator
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.reconcile.times import seconds

FIELDS = (
    ("containers", "containerStatuses"),
    ("initContainers", "initContainerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
"""Where containers stand in a spec, and in the status."""


class NoLogError(Exception):
    """There is no log; the message is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a container.

    Attributes:
        id: the runtime's, such as "containerd://1f…".
        started, finished: when; finished is None while it runs.
        restarts: how many runs there were before.
    """

    id: str
    started: float
    finished: float | None = None
    restarts: int = 0


def container_of(pod: Obj, name: str) -> Obj | None:
    """A container of a pod's spec, of whatever kind; None where there is none of that name."""
    for field, _ in FIELDS:
        for container in pod["spec"].get(field) or ():
            if container["name"] == name:
                found: Obj = container
                return found
    return None


def running(pod: Obj, name: str) -> Run | None:
    """The run of a container that goes on, None where it does not run."""
    status = _status(pod, name)
    state = ((status or {}).get("state") or {}).get("running")
    if status is None or state is None:
        return None
    return Run(status.get("containerID") or "", _time(state.get("startedAt")), restarts=status.get("restartCount") or 0)


def running_containers(pod: Obj) -> Iterator[Obj]:
    """The containers of a pod that run."""
    for field, _ in FIELDS:
        for container in pod["spec"].get(field) or ():
            if running(pod, container["name"]):
                yield container


def logged(pod: Obj, name: str, *, previous: bool) -> Run:
    """The run whose log is asked for (kubelet_pods.go's validateContainerLogStatus).

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
        return _ended(last)
    if (going_on := running(pod, name)) is not None:
        return going_on
    for ended in (state.get("terminated") or {}, last):
        if ended.get("containerID"):
            return _ended(ended)
    if state.get("terminated") is not None or last:
        raise NoLogError(f"{what} is terminated")
    raise NoLogError(f"{what} is waiting to start{_why(state)}")


def _why(state: Obj) -> str:
    if state.get("waiting") is None:
        return " - no logs yet"
    reason = state["waiting"].get("reason") or ""
    known = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
    return f": {known.get(reason, reason)}"


def _ended(state: Obj) -> Run:
    finished = _time(state.get("finishedAt"))
    return Run(state["containerID"], _time(state.get("startedAt")) or finished, finished)


def _status(pod: Obj, name: str) -> Obj | None:
    for _, field in FIELDS:
        for status in (pod.get("status") or {}).get(field) or ():
            if status["name"] == name:
                found: Obj = status
                return found
    return None


def _time(text: str | None) -> float:
    return seconds(text) if text else 0.0
