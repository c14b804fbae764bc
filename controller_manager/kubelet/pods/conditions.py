"""The conditions of a pod that its kubelet keeps (pkg/kubelet/status/generate.go)."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.phases import FAILED, SUCCEEDED, Statuses
from controller_manager.kubelet.pods.pod_sync import INIT, MAIN, SIDECAR, Container

KUBELET_CONDITIONS = frozenset(("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"))
"""The conditions that the kubelet keeps; all others are left as they are."""
_TERMINAL = {SUCCEEDED: "PodCompleted", FAILED: "PodFailed"}


@dataclass(frozen=True, slots=True)
class ConditionState:
    """The status, reason and message of a condition."""

    holds: bool
    reason: str = ""
    message: str = ""


TRUE_STATE = ConditionState(holds=True)


@dataclass(frozen=True, slots=True)
class PodState:
    """The inputs of the conditions."""

    pod: Obj
    containers: Sequence[Container]
    statuses: Statuses
    phase: str


def conditions_of(state: PodState, time: str) -> list[Obj]:
    """Return all conditions of a pod: those of others first, then the kubelet's own in upstream's order.

    Args:
        state: the pod's state.
        time: the time of transitions now.
    """
    before = (state.pod.get("status") or {}).get("conditions") or ()
    kept = {condition["type"]: condition for condition in before}
    foreign = [condition for condition in before if condition["type"] not in KUBELET_CONDITIONS]
    containers_ready = _containers_ready(state)
    verdicts = {
        "PodReadyToStartContainers": ConditionState(state.phase not in _TERMINAL),
        "Initialized": _initialized(state),
        "Ready": _ready(state, containers_ready, kept),
        "ContainersReady": containers_ready,
        "PodScheduled": TRUE_STATE,
    }
    generation = state.pod["metadata"].get("generation")
    return foreign + [
        _condition(type_, verdict, kept.get(type_), time=time, generation=generation)
        for type_, verdict in verdicts.items()
    ]


def _condition(type_: str, verdict: ConditionState, old: Obj | None, *, time: str, generation: int | None) -> Obj:
    status = "True" if verdict.holds else "False"
    since = old.get("lastTransitionTime") if old is not None and old["status"] == status else None
    condition = {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": since or time}
    if generation:
        condition["observedGeneration"] = generation
    if verdict.reason:
        condition["reason"] = verdict.reason
    if verdict.message:
        condition["message"] = verdict.message
    return condition


def _with_names(words: str, names: list[str]) -> str:
    return f"containers with {words}: [{' '.join(names)}]"


def _containers_ready(state: PodState) -> ConditionState:
    if state.phase in _TERMINAL:
        return ConditionState(False, _TERMINAL[state.phase])
    unready = [
        container.name
        for container in state.containers
        if container.role in (SIDECAR, MAIN) and not state.statuses[container.name]["ready"]
    ]
    return (
        ConditionState(False, "ContainersNotReady", _with_names("unready status", unready)) if unready else TRUE_STATE
    )


def _ready(state: PodState, containers_ready: ConditionState, conditions: dict[str, Obj]) -> ConditionState:
    """Return the pod's readiness: that of its containers, and of its readiness gates."""
    gates = state.pod["spec"].get("readinessGates")
    if not gates or not containers_ready.holds:
        return containers_ready
    closed = [reason for gate in gates if (reason := _closed_gate_message(gate["conditionType"], conditions))]
    return ConditionState(False, "ReadinessGatesNotReady", ", ".join(closed)) if closed else TRUE_STATE


def _closed_gate_message(gate: str, conditions: dict[str, Obj]) -> str:
    """Return why a readiness gate is closed, "" if it is open."""
    condition = conditions.get(gate)
    if condition is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    if condition["status"] == "True":
        return ""
    return f'the status of pod readiness gate "{gate}" is not "True", but {condition["status"]}'


def _initialized(state: PodState) -> ConditionState:
    if state.phase == SUCCEEDED:
        return ConditionState(True, "PodCompleted")
    waiting = [container.name for container in state.containers if not _is_initialized(container, state.statuses)]
    if not waiting or any(_has_run(container, state.statuses) for container in state.containers):
        return TRUE_STATE
    return ConditionState(False, "ContainersNotInitialized", _with_names("incomplete status", waiting))


def _is_initialized(container: Container, statuses: Statuses) -> bool:
    status = statuses[container.name]
    if container.role == INIT:
        return bool(status["ready"])
    return container.role != SIDECAR or bool(status["started"])


def _has_run(container: Container, statuses: Statuses) -> bool:
    status = statuses[container.name]
    return container.role == MAIN and ("waiting" not in status["state"] or bool(status.get("lastState")))
