"""The phase of a pod, from the states of its containers (kubelet_pods.go getPhase)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.containers import is_to_restart
from controller_manager.kubelet.pods.pod_sync import INIT, MAIN, SIDECAR, Container

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"

Statuses = Mapping[str, Obj]
"""Container name → status."""


def phase_of(containers: Sequence[Container], statuses: Statuses, *, ended: bool = False) -> str:
    """Return the phase of a pod.

    Args:
        containers: all containers of the pod.
        statuses: their statuses.
        ended: True if nothing is restarted, whatever the policy.
    """
    counts: Counter[str] = Counter()
    for container in containers:
        status = statuses[container.name]
        if container.role == INIT:
            counts[_of_init(container, status)] += 1
        elif container.role == SIDECAR:
            counts.update(_of_sidecar(status))
        elif container.role == MAIN:
            counts.update(_of_main(container, status))
    if counts["init failed"]:
        return FAILED
    initialized = counts["running main"] or counts["stopped"]
    if counts["init pending"] or counts["waiting"] or (counts["sidecar pending"] and not initialized):
        return PENDING
    if counts["running"]:
        return RUNNING
    if counts["restarting"] and not ended:
        return RUNNING
    return SUCCEEDED if counts["stopped"] == counts["succeeded"] else FAILED


def _last_end(status: Obj) -> Obj | None:
    """Return how a container that is not running ended, None if it never ran."""
    ended: Obj | None = status["state"].get("terminated")
    return ended or (status.get("lastState") or {}).get("terminated")


def _of_init(container: Container, status: Obj) -> str:
    ended = None if "running" in status["state"] else _last_end(status)
    if ended is None:
        return "init pending"
    if ended["exitCode"] == 0:
        return "init pending" if "waiting" in status["state"] else "init done"
    return "init restarting" if is_to_restart(container, status) else "init failed"


def _of_sidecar(status: Obj) -> tuple[str, ...]:
    if "running" in status["state"]:
        return ("running",) if status["started"] else ("running", "sidecar pending")
    return () if _last_end(status) else ("waiting", "sidecar pending")


def _of_main(container: Container, status: Obj) -> tuple[str, ...]:
    if "running" in status["state"]:
        return ("running", "running main")
    ended = _last_end(status)
    if ended is None:
        return ("waiting",)
    if is_to_restart(container, status):
        return ("stopped", "restarting")
    return ("stopped", "succeeded") if ended["exitCode"] == 0 else ("stopped",)
