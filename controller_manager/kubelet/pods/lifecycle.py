"""A pod's whole next status, worked out of the pod as stored and the time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.behaviour import evicted_after, problems
from controller_manager.kubelet.pods.containers import KILLED, STOPPED, is_done, live
from controller_manager.kubelet.pods.events import WARNING, KubeletEvent
from controller_manager.kubelet.pods.phases import FAILED
from controller_manager.kubelet.pods.pod_containers import Crew, crew_of
from controller_manager.kubelet.pods.pod_sync import DEBUG, INIT, MAIN, SIDECAR, Container, NodeContext, PodSync
from controller_manager.kubelet.pods.steps import Step
from controller_manager.kubelet.pods.stopping import stop
from controller_manager.reconcile.pods import DISRUPTION_TARGET, TERMINAL, is_terminal

NO_ADDRESS = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: plugin failed "
    "(add): failed to allocate for range 0: no IP addresses available in range set"
)
RETRIED = 10.0
"""Seconds after which a pod without an address tries again."""


def advance(pod: Obj, place: NodeContext, now: float) -> Step:
    """What becomes of a pod on a node.

    Args:
        pod: bound to the node; it stays as it is.
        place: the node.
        now: the time.
    """
    look = PodSync(pod, place, now)
    if pod["metadata"].get("deletionTimestamp"):
        return stop(look)
    if is_terminal(pod):
        return Step()
    if not (place.pod_ip or pod["spec"].get("hostNetwork")):
        return Step(told=(KubeletEvent("FailedCreatePodSandBox", NO_ADDRESS, WARNING),), wait=RETRIED)
    return _run(look)


def _run(look: PodSync) -> Step:
    status = look.pod.get("status") or {}
    if "startTime" not in status:
        look.tell(*(KubeletEvent("InvalidAnnotation", why, WARNING) for why in problems(look.asked)))
    crew, since = crew_of(look), look.since(status.get("startTime") or look.time)
    end = next((end for end, after in ENDS if look.is_due(since + after(look))), None)
    if end is not None:
        return _end(crew, end)
    _advance_all(crew, since)
    phase = _settle(crew)
    new = crew.pod_status(phase)
    wait = None if phase in TERMINAL or look.due == inf else max(look.due - look.now, 0.0)
    return Step(None if new == status else new, look.told, wait)


def _settle(crew: Crew) -> str:
    """The pod's phase; when the pod's own containers are done, or will never start, all others are let go."""
    phase = crew.phase()
    if phase in TERMINAL or all(is_done(each, crew.status(each)) for each in crew.of(MAIN)):
        crew.tell_stopping()
        crew.end(STOPPED)
        return crew.phase()
    return phase


# -- one container after the other -------------------------------------------------------------------------------------


def _advance_all(crew: Crew, turn: float) -> None:
    """Let every container live whose turn it is: init containers one after the other, then all others."""
    for container in crew.of(INIT, SIDECAR):
        status = _lived(crew, container, turn)
        if not (status["ready"] if container.role == INIT else status["started"] or _ran(status)):
            return
        turn = max(turn, _turned(crew.look, status))
    for container in crew.of(MAIN, DEBUG):
        _lived(crew, container, turn)


def _lived(crew: Crew, container: Container, turn: float) -> Obj:
    """The container's status after everything that is due; an init container that ended well is ready, and stays so."""
    status = crew.status(container)
    if container.role != INIT or not status["ready"]:
        status = _with_resources(container, live(crew.look, container, status, turn))
        if container.role == INIT and (status["state"].get("terminated") or {}).get("exitCode") == 0:
            status = status | {"ready": True}
        crew.statuses[container.name] = status
    return status


def _ran(status: Obj) -> bool:
    """Whether a sidecar ran before: the pod has been initialized, and does not wait for it again."""
    return bool(status.get("lastState")) or "terminated" in status["state"]


def _turned(look: PodSync, status: Obj) -> float:
    """When an init container let the next have its turn: it ended, or as a sidecar it started."""
    state = status["state"]
    if "running" in state:
        return look.since(state["running"]["startedAt"])
    return look.since(state["terminated"]["finishedAt"]) if "terminated" in state else 0.0


def _with_resources(container: Container, status: Obj) -> Obj:
    """The status with the resources that the container has now (KEP-1287)."""
    wanted = container.spec.get("resources")
    if not wanted or "containerID" not in status or status.get("resources") == wanted:
        return status
    requests = wanted.get("requests")
    return status | {"resources": wanted} | ({"allocatedResources": requests} if requests else {})


# -- what ends pods before their time ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class End:
    """How a pod ends before its containers do: the status' reason and message, and the event."""

    reason: str
    message: str
    told: KubeletEvent


TOO_LONG = "Pod was active on the node longer than the specified deadline"
NO_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
DEADLINE = End("DeadlineExceeded", TOO_LONG, KubeletEvent("DeadlineExceeded", TOO_LONG))
EVICTED = End("Evicted", NO_MEMORY, KubeletEvent("Evicted", NO_MEMORY, WARNING))


def _deadline(look: PodSync) -> float:
    """Seconds after a pod's start at which it has been active too long (active_deadline.go)."""
    limit = look.pod["spec"].get("activeDeadlineSeconds")
    return inf if limit is None else float(limit)


ENDS: Sequence[tuple[End, Callable[[PodSync], float]]] = (
    (DEADLINE, _deadline),
    (EVICTED, lambda look: evicted_after(look.asked)),
)
"""What ends pods → how many seconds after their start (kubelet's PodSyncHandlers)."""


def _end(crew: Crew, end: End) -> Step:
    crew.look.tell(end.told)
    crew.tell_stopping()
    crew.end(KILLED)
    new = crew.pod_status(FAILED) | {"reason": end.reason, "message": end.message}
    if end is EVICTED:
        others = [each for each in new["conditions"] if each["type"] != DISRUPTION_TARGET]
        new["conditions"] = [_disrupted(end, crew.look.time), *others]
    return Step(new, crew.look.told)


def _disrupted(end: End, time: str) -> Obj:
    """The condition of a pod that its node evicts (eviction_manager.go)."""
    return {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": time,
        "reason": "TerminationByKubelet",
        "message": end.message,
    }
