"""The phase of a pod, by what its containers do (kubelet_pods.go getPhase)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.containers import is_to_restart
from controller_manager.kubelet.pods.pod_sync import INIT, MAIN, SIDECAR, Container

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"

Statuses = Mapping[str, Obj]
"""The status of each container by its name."""


def phase_of(containers: Sequence[Container], statuses: Statuses, *, ended: bool = False) -> str:
    """The phase.

    Args:
        containers: all of the pod.
        statuses: theirs.
        ended: whether nothing is started again, whatever the policy.
    """
    seen: Counter[str] = Counter()
    for container in containers:
        status = statuses[container.name]
        if container.role == INIT:
            seen[_of_init(container, status)] += 1
        elif container.role == SIDECAR:
            seen.update(_of_sidecar(status))
        elif container.role == MAIN:
            seen.update(_of_main(container, status))
    if seen["init failed"]:
        return FAILED
    initialized = seen["running main"] or seen["stopped"]
    if seen["init pending"] or seen["waiting"] or (seen["sidecar pending"] and not initialized):
        return PENDING
    if seen["running"]:
        return RUNNING
    if seen["restarting"] and not ended:
        return RUNNING
    return SUCCEEDED if seen["stopped"] == seen["succeeded"] else FAILED


def _last_end(status: Obj) -> Obj | None:
    """How a container ended that does not run."""
    found: Obj | None = status["state"].get("terminated")
    return found or (status.get("lastState") or {}).get("terminated")


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
