"""The row of a pod: kubectl's READY, STATUS and RESTARTS, computed from the states of its containers."""

from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import AgeCell, age, epoch
from apiserver.groups.cells import NONE, Cells, count, has_condition, is_deleted, mapping, mappings, number_of, text_of

_TERMINAL = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class _Tally:
    """The numbers that a pass over container statuses adds up.

    Attributes:
        ready: the number of ready containers.
        restarts: the number of restarts of all of them.
        last: the time of the last restart in seconds since the epoch; 0 if unknown.
    """

    ready: int = 0
    restarts: int = 0
    last: float = 0.0

    def add_restarts(self, status: Obj) -> None:
        self.restarts += number_of(status, "restartCount")
        terminated = mapping(status, "lastState").get("terminated")
        if isinstance(terminated, dict):
            self.last = max(self.last, epoch(terminated.get("finishedAt")) or 0.0)

    def restarts_cell(self) -> AgeCell | str:
        if self.restarts and self.last:
            return AgeCell(self.last, f"{self.restarts} (%s ago)")
        return str(self.restarts)


def _exit_text(terminated: Obj) -> str:
    """Return why a container ended: its reason, else its signal, else its exit code."""
    reason = text_of(terminated, "reason")
    signal = number_of(terminated, "signal")
    return reason or (f"Signal:{signal}" if signal else f"ExitCode:{number_of(terminated, 'exitCode')}")


def _init_reason(statuses: list[Obj], sidecars: set[str], *, total: int, tally: _Tally, kept: _Tally) -> str:
    """Return the reason of the first init container that has not completed, or "" if all have.

    Args:
        statuses: the statuses of the init containers, in their order.
        sidecars: the names of the init containers that always restart.
        total: the number of init containers of the pod.
        tally: gets the restarts up to and including that container.
        kept: gets the numbers that count even after initialization: ready sidecars, and restarts of sidecars.
    """
    for position, status in enumerate(statuses):
        tally.add_restarts(status)
        is_sidecar = text_of(status, "name") in sidecars
        if is_sidecar:
            kept.add_restarts(status)
        state = mapping(status, "state")
        terminated = state.get("terminated")
        if isinstance(terminated, dict) and not number_of(terminated, "exitCode"):
            continue
        if is_sidecar and status.get("started") is True:
            kept.ready += status.get("ready") is True
            continue
        if isinstance(terminated, dict):
            return f"Init:{_exit_text(terminated)}"
        waiting = text_of(mapping(state, "waiting"), "reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{position}/{total}"
    return ""


def _running_reason(status: Obj, reason: str, tally: _Tally) -> str:
    """Return the pod's reason once it is initialized: the reason of the first container that has one.

    If that is "Completed" and another container still runs, the pod is not completed.
    """
    running = False
    for container in reversed(mappings(status, "containerStatuses")):
        tally.add_restarts(container)
        state = mapping(container, "state")
        terminated = state.get("terminated")
        if waiting := text_of(mapping(state, "waiting"), "reason"):
            reason = waiting
        elif isinstance(terminated, dict):
            reason = _exit_text(terminated)
        elif container.get("ready") is True and isinstance(state.get("running"), dict):
            running = True
            tally.ready += 1
    if reason != "Completed" or not running:
        return reason
    return "Running" if has_condition(status, "Ready") else "NotReady"


def _own_reason(status: Obj) -> str:
    for condition in mappings(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return text_of(status, "reason") or text_of(status, "phase")


def _deletion_reason(status: Obj, reason: str) -> str:
    """Return the reason of a pod that is being deleted: one that has ended keeps its own."""
    if text_of(status, "reason") == "NodeLost":
        return "Unknown"
    return reason if text_of(status, "phase") in _TERMINAL else "Terminating"


def _readiness_gates(spec: Obj, status: Obj) -> str:
    gates = mappings(spec, "readinessGates")
    if not gates:
        return NONE
    return f"{sum(has_condition(status, text_of(gate, 'conditionType')) for gate in gates)}/{len(gates)}"


def _pod_ip(status: Obj) -> str:
    # podIP is authoritative, and podIPs may lag behind it.
    return (
        text_of(status, "podIP") or next((text_of(address, "ip") for address in mappings(status, "podIPs")), "") or NONE
    )


def pod_cells(pod: Obj) -> Cells:
    """Return the cells of a pod (printPod of pkg/printers/internalversion)."""
    spec, status = mapping(pod, "spec"), mapping(pod, "status")
    reason = _own_reason(status)
    init_containers = mappings(spec, "initContainers")
    sidecars = {text_of(c, "name") for c in init_containers if c.get("restartPolicy") == "Always"}
    tally, kept = _Tally(), _Tally()
    statuses = mappings(status, "initContainerStatuses")
    init_reason = _init_reason(statuses, sidecars, total=len(init_containers), tally=tally, kept=kept)
    tally.ready = kept.ready
    if not init_reason or has_condition(status, "Initialized"):
        tally = kept
        reason = _running_reason(status, init_reason or reason, tally)
    else:
        reason = init_reason
    return [
        name_of(pod),
        f"{tally.ready}/{count(spec, 'containers') + len(sidecars)}",
        _deletion_reason(status, reason) if is_deleted(pod) else reason,
        tally.restarts_cell(),
        age(pod),
        _pod_ip(status),
        text_of(spec, "nodeName") or NONE,
        text_of(status, "nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


_ENDED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def pod_conditions(pod: Obj) -> list[Obj]:
    """Return the row's condition of a pod that has ended, by which clients may hide the row; [] before that."""
    phase = text_of(mapping(pod, "status"), "phase")
    message = _ENDED.get(phase)
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else []
