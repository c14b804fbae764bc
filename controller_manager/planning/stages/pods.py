"""A pod's whole next status, worked out of the pod as stored and the time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from apiserver.api.meta import Obj
from controller_manager.planning.stages import events
from controller_manager.planning.stages.behaviour import behaviour_of, evicted_after, problems
from controller_manager.planning.stages.conditions import State, conditions_of
from controller_manager.planning.stages.containers import (
    CREATING,
    INITIALIZING,
    KILLED,
    STOPPED,
    is_done,
    live,
    terminated,
    waiting,
)
from controller_manager.planning.stages.events import WARNING, Told
from controller_manager.planning.stages.images import image_of
from controller_manager.planning.stages.look import DEBUG, INIT, MAIN, SIDECAR, Container, Look, Place
from controller_manager.planning.stages.phases import FAILED, SUCCEEDED, phase_of
from controller_manager.planning.times import seconds, stamp

TERMINAL = frozenset((SUCCEEDED, FAILED))
NO_ADDRESS = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: plugin failed "
    "(add): failed to allocate for range 0: no IP addresses available in range set"
)
RETRIED = 10.0
"""Seconds after which a pod without an address tries again."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done about a pod.

    Attributes:
        status: to be written, None where it stays.
        told: events.
        wait: seconds until there is more to be done, None where time alone changes nothing.
        gone: whether everything has stopped, so that the pod can go.
    """

    status: Obj | None = None
    told: Sequence[Told] = ()
    wait: float | None = None
    gone: bool = False


def advance(pod: Obj, place: Place, now: float) -> Step:
    """What becomes of a pod on a node.

    Args:
        pod: bound to the node; it stays as it is.
        place: the node.
        now: the time.
    """
    look = Look(pod, place, now)
    if pod["metadata"].get("deletionTimestamp"):
        return _stop(look)
    if (pod.get("status") or {}).get("phase") in TERMINAL:
        return Step()
    if not (place.pod_ip or pod["spec"].get("hostNetwork")):
        return Step(told=(Told("FailedCreatePodSandBox", NO_ADDRESS, WARNING),), wait=RETRIED)
    return _run(look)


def _containers(look: Look) -> list[Container]:
    """All containers of a pod, in the order in which they start."""
    spec = look.pod["spec"]
    policy = spec.get("restartPolicy") or "Always"
    found = [
        _container(look, each, SIDECAR if each.get("restartPolicy") == "Always" else INIT, policy)
        for each in spec.get("initContainers") or ()
    ]
    found += [_container(look, each, MAIN, policy) for each in spec["containers"]]
    found += [_container(look, each, DEBUG, policy) for each in spec.get("ephemeralContainers") or ()]
    return found


def _container(look: Look, spec: Obj, role: str, policy: str) -> Container:
    behaviour = behaviour_of(spec, pod=look.pod, asked=look.asked, is_init=role == INIT)
    return Container(spec, role, behaviour, image_of(spec["image"]), policy)


def _statuses(look: Look, containers: Sequence[Container]) -> dict[str, Obj]:
    """The status of each container as it is."""
    status = look.pod.get("status") or {}
    known = {
        each["name"]: each
        for field in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for each in status.get(field) or ()
    }
    reason = INITIALIZING if any(container.role in (INIT, SIDECAR) for container in containers) else CREATING
    return {container.name: known.get(container.name) or waiting(container, reason) for container in containers}


# -- a pod that runs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class End:
    """How a pod ends before its containers do: the status' reason and message, and the event's."""

    reason: str
    message: str
    event: Told


TOO_LONG = "Pod was active on the node longer than the specified deadline"
NO_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. "
DEADLINE = End("DeadlineExceeded", TOO_LONG, Told("DeadlineExceeded", TOO_LONG))
EVICTED = End("Evicted", NO_MEMORY, Told("Evicted", NO_MEMORY, WARNING))


def _deadline(look: Look) -> float:
    """Seconds after a pod's start at which it has been active too long (active_deadline.go)."""
    limit = look.pod["spec"].get("activeDeadlineSeconds")
    return inf if limit is None else float(limit)


ENDS: Sequence[tuple[End, Callable[[Look], float]]] = (
    (DEADLINE, _deadline),
    (EVICTED, lambda look: evicted_after(look.asked)),
)
"""What ends pods → how many seconds after their start (kubelet's PodSyncHandlers)."""


def _run(look: Look) -> Step:
    status = look.pod.get("status") or {}
    began: str = status.get("startTime") or look.time
    if "startTime" not in status:
        look.tell(*(Told("InvalidAnnotation", why, WARNING) for why in problems(look.asked)))
    containers = _containers(look)
    statuses = _statuses(look, containers)
    since = look.since(began)
    end = next((end for end, after in ENDS if look.is_due(since + after(look))), None)
    if end is not None:
        return _end(look, containers, statuses, end)
    _advance_all(look, containers, statuses, since)
    if all(is_done(each, statuses[each.name]) for each in containers if each.role == MAIN):
        _let_go(look, containers, statuses)
    phase = phase_of(containers, statuses)
    if phase in TERMINAL:
        _let_go(look, containers, statuses)
    new = _status(look, containers, statuses, phase) | {"startTime": began}
    wait = None if phase in TERMINAL or look.due == inf else max(look.due - look.now, 0.0)
    return Step(None if new == status else new, look.told, wait)


def _end(look: Look, containers: Sequence[Container], statuses: dict[str, Obj], end: End) -> Step:
    look.tell(end.event)
    look.tell(*_stopping(containers, statuses))
    _terminate(look, containers, statuses, KILLED)
    new = _status(look, containers, statuses, FAILED) | {"reason": end.reason, "message": end.message}
    if end is EVICTED:
        others = [each for each in new["conditions"] if each["type"] != "DisruptionTarget"]
        new["conditions"] = [_disrupted(look, end), *others]
    return Step(new, look.told)


def _disrupted(look: Look, end: End) -> Obj:
    """The condition of a pod that its node evicts (eviction_manager.go)."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": look.time,
        "reason": "TerminationByKubelet",
        "message": end.message,
    }


def _advance_all(look: Look, containers: Sequence[Container], statuses: dict[str, Obj], turn: float) -> None:
    """Let every container live whose turn it is: init containers one after the other, then all others."""
    for container in containers:
        if container.role in (MAIN, DEBUG):
            continue
        status = statuses[container.name] = _lived(look, container, statuses[container.name], turn)
        if container.role == INIT and not status["ready"]:
            return
        if container.role == SIDECAR and not (status["started"] or _ran(status)):
            return
        turn = max(turn, _turned(look, container, status))
    for container in containers:
        if container.role in (MAIN, DEBUG):
            statuses[container.name] = _lived(look, container, statuses[container.name], turn)


def _lived(look: Look, container: Container, status: Obj, turn: float) -> Obj:
    if container.role == INIT and status["ready"]:
        return status
    status = _with_resources(container, live(look, container, status, turn))
    done = container.role == INIT and (status["state"].get("terminated") or {}).get("exitCode") == 0
    return status | {"ready": True} if done else status


def _ran(status: Obj) -> bool:
    """Whether a sidecar ran before: the pod has been initialized, and does not wait for it again."""
    return bool(status.get("lastState")) or "terminated" in status["state"]


def _turned(look: Look, container: Container, status: Obj) -> float:
    """When an init container let the next have its turn."""
    state = status["state"]
    if container.role == INIT:
        return look.since(state["terminated"]["finishedAt"])
    return look.since(state["running"]["startedAt"]) if "running" in state else 0.0


def _with_resources(container: Container, status: Obj) -> Obj:
    """The status with the resources that the container has now (KEP-1287)."""
    wanted = container.spec.get("resources")
    if not wanted or "containerID" not in status or status.get("resources") == wanted:
        return status
    requests = wanted.get("requests")
    return status | {"resources": wanted} | ({"allocatedResources": requests} if requests else {})


# -- a pod that ends ---------------------------------------------------------------------------------------------------


def _terminate(look: Look, containers: Sequence[Container], statuses: dict[str, Obj], code: int) -> None:
    """End all containers that run."""
    for container in containers:
        status = statuses[container.name]
        if "running" in status["state"]:
            statuses[container.name] = terminated(look, status, code)


def _let_go(look: Look, containers: Sequence[Container], statuses: dict[str, Obj]) -> None:
    """End sidecars, and whatever else outlived the pod's own containers."""
    look.tell(*_stopping(containers, statuses))
    _terminate(look, containers, statuses, STOPPED)


def _stopping(containers: Sequence[Container], statuses: dict[str, Obj]) -> Iterator[Told]:
    for container in containers:
        if "running" in statuses[container.name]["state"]:
            yield events.stopping(container.name, container.where)


def _stop(look: Look) -> Step:
    """A pod that is being deleted: its containers stop, then it goes (kubelet.go SyncTerminatingPod)."""
    containers = _containers(look)
    statuses = _statuses(look, containers)
    meta = look.pod["metadata"]
    grace = float(meta.get("deletionGracePeriodSeconds") or 0)
    patience = min(max((_stop_time(each, statuses) for each in containers), default=0.0), grace)
    asked = stamp(seconds(meta["deletionTimestamp"]) - grace)
    if patience and not look.is_due(look.since(asked) + patience):
        look.tell(*_stopping(containers, statuses))
        return Step(None, look.told, look.due - look.now)
    if not patience and grace:
        look.tell(*_stopping(containers, statuses))
    if meta.get("finalizers"):  # the pod outlives this, and who holds it wants to know how it ended
        code = KILLED if patience and patience == grace else STOPPED
        status = _last_status(look, containers, statuses, code)
    else:
        status = None
    return Step(status, look.told, gone=bool(grace))


def _stop_time(container: Container, statuses: dict[str, Obj]) -> float:
    """How long a container takes to stop: what its preStop hook sleeps, and what it goes on by itself."""
    if "running" not in statuses[container.name]["state"]:
        return 0.0
    hook = ((container.spec.get("lifecycle") or {}).get("preStop") or {}).get("sleep") or {}
    return container.behaviour.stop_after + float(hook.get("seconds") or 0)


def _last_status(look: Look, containers: Sequence[Container], statuses: dict[str, Obj], code: int) -> Obj | None:
    """The status of a pod whose containers have stopped, None where it had ended before."""
    status = look.pod.get("status") or {}
    if status.get("phase") in TERMINAL:
        return None
    _terminate(look, containers, statuses, code)
    for container in containers:
        if container.role == MAIN and "waiting" in statuses[container.name]["state"]:
            statuses[container.name] = statuses[container.name] | {"state": {"terminated": dict(_UNKNOWN)}}
    phase = phase_of(containers, statuses, ended=True)
    return _status(look, containers, statuses, phase if phase in TERMINAL else FAILED)


_UNKNOWN = {
    "exitCode": KILLED,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}


# -- its status --------------------------------------------------------------------------------------------------------


def _status(look: Look, containers: Sequence[Container], statuses: dict[str, Obj], phase: str) -> Obj:
    """The status that follows from those of the containers (kubelet_pods.go generateAPIPodStatus)."""
    pod, place = look.pod, look.place
    old = pod.get("status") or {}
    state = State(pod, containers, statuses, phase, has_sandbox=True)
    new = old | {"phase": phase, "conditions": conditions_of(state, look.time)}
    if generation := pod["metadata"].get("generation"):
        new["observedGeneration"] = generation
    if "startTime" not in new:
        new["startTime"] = look.time
    address = old.get("podIP") or place.pod_ip or place.host_ip
    new |= {
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "podIP": address,
        "podIPs": old.get("podIPs") or [{"ip": address}],
        "containerStatuses": [statuses[each.name] for each in containers if each.role == MAIN],
    }
    if any(each.role in (INIT, SIDECAR) for each in containers):
        new["initContainerStatuses"] = [statuses[each.name] for each in containers if each.role in (INIT, SIDECAR)]
    if any(each.role == DEBUG for each in containers):
        new["ephemeralContainerStatuses"] = [statuses[each.name] for each in containers if each.role == DEBUG]
    return new
