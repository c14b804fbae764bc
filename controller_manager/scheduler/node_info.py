"""A node as the scheduler sees it: its resources, what its pods request of them, and its pods (framework.NodeInfo)."""

from collections.abc import Mapping
from typing import Self, TypeVar

from apiserver.api.meta import Obj
from controller_manager.scheduler.pod_info import ANY_ADDRESS, HostPort, PodInfo, PodRequirements
from controller_manager.scheduler.resources import CPU, MEMORY, PODS, parse_amounts
from controller_manager.scheduler.status import NODE_PORTS, NODE_RESOURCES_FIT, Status
from controller_manager.scheduler.topology import NO_POD_AFFINITY, PodAffinity

_T = TypeVar("_T")

_PORT_CONFLICT = Status(("node(s) didn't have free ports for the requested pod ports",), NODE_PORTS, resolvable=True)


class NodeInfo:
    """A node's free resources, and its pods grouped by PodInfo; updated by one addition or subtraction per pod.

    Attributes:
        order: when the node was first seen; breaks ties.
        stamp: rises when the node itself changes.
        exists: False for a node that pods name but that has not been seen, or that is gone.
        allocatable, free: by resource; free is allocatable less what pods request.
        cpu, memory: of allocatable.
        used_cpu, used_memory: the sum of its pods' requests.
        counted_cpu, counted_memory: the same, with defaults for containers without requests, as scores count them.
        pods: the number of its pods.
        present: PodInfo → number of pods.
        terminating: the same for those that are being deleted.
        pod_affinities: pod affinity → number of its pods that have it.
        nominated: uid → requirements of the pods that are nominated to this node.
    """

    __slots__ = (
        "_ports",
        "allocatable",
        "counted_cpu",
        "counted_memory",
        "cpu",
        "exists",
        "free",
        "labels",
        "memory",
        "name",
        "nominated",
        "order",
        "pod_affinities",
        "pods",
        "present",
        "stamp",
        "taints",
        "terminating",
        "unschedulable",
        "used_cpu",
        "used_memory",
    )

    def __init__(self, name: str, order: int) -> None:
        self.name = name
        self.order = order
        self.stamp = 0
        self.exists = False
        self.unschedulable = False
        self.labels: Mapping[str, str] = {}
        self.taints: tuple[Obj, ...] = ()
        self.allocatable: dict[str, int] = {}
        self.free: dict[str, int] = {}
        self.cpu = self.memory = 0
        self.used_cpu = self.used_memory = 0
        self.counted_cpu = self.counted_memory = 0
        self.pods = 0
        self.present: dict[PodInfo, int] = {}
        self.terminating: dict[PodInfo, int] = {}
        self.pod_affinities: dict[PodAffinity, int] = {}
        self.nominated: dict[str, PodRequirements] = {}
        self._ports: dict[HostPort, int] = {}

    def set_node(self, node: Obj | None) -> None:
        """Take over a node that came or changed; None if it is gone.

        Raises:
            QuantityError: an amount in allocatable is not a quantity.
        """
        spec, status = (node.get("spec") or {}, node.get("status") or {}) if node is not None else ({}, {})
        allocatable = parse_amounts(status.get("allocatable"))
        for name in {**self.allocatable, **allocatable}:
            had = self.allocatable.get(name, 0)
            self.free[name] = self.free.get(name, 0) + allocatable.get(name, 0) - had
        self.allocatable = allocatable
        self.cpu, self.memory = allocatable.get(CPU, 0), allocatable.get(MEMORY, 0)
        self.exists = node is not None
        self.labels = node["metadata"].get("labels") or {} if node is not None else {}
        self.taints = tuple(spec.get("taints") or ())
        self.unschedulable = bool(spec.get("unschedulable"))
        self.stamp += 1

    # -- its pods

    def add_pod(self, info: PodInfo) -> None:
        """Count a pod that is here, or is assumed to be."""
        self._count(info, 1)

    def remove_pod(self, info: PodInfo) -> None:
        """Stop counting a pod."""
        self._count(info, -1)

    def count_terminating(self, info: PodInfo, change: int) -> None:
        """Count a pod that is being deleted (1), or stop that since it is gone (-1)."""
        _add(self.terminating, info, change)

    def _count(self, info: PodInfo, sign: int) -> None:
        requirements = info.requirements
        free = self.free
        for name, amount in requirements.requests:
            free[name] = free.get(name, 0) - sign * amount
        self.used_cpu += sign * requirements.cpu
        self.used_memory += sign * requirements.memory
        self.counted_cpu += sign * requirements.counted_cpu
        self.counted_memory += sign * requirements.counted_memory
        self.pods += sign
        _add(self.present, info, sign)
        for port in requirements.ports:
            _add(self._ports, port, sign)
        if info.pod_affinity is not NO_POD_AFFINITY:
            _add(self.pod_affinities, info.pod_affinity, sign)

    def copy(self) -> Self:
        """Return a copy, to try out which pods would have to be preempted."""
        copied = type(self)(self.name, self.order)
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(copied, name, dict(value) if isinstance(value, dict) else value)
        return copied

    # -- filters

    def reason_not_to_fit(self, requirements: PodRequirements) -> Status | None:
        """Return why a pod does not fit, None if it does (NodePorts, NodeResourcesFit).

        Pods of the same or a higher priority that are nominated to this node count as if they were here
        (RunFilterPluginsWithNominatedPods).
        """
        nominated = (
            [s for s in self.nominated.values() if s.priority >= requirements.priority] if self.nominated else []
        )
        if requirements.ports and self._has_port_conflict(requirements.ports, nominated):
            return _PORT_CONFLICT
        return self._insufficient_resources(requirements, nominated)

    def has_room(self, requirements: PodRequirements) -> bool:
        """Return True if `reason_not_to_fit` would return None; this is faster."""
        if self.nominated or requirements.ports:
            return self.reason_not_to_fit(requirements) is None
        free = self.free
        for name, amount in requirements.requests:  # a loop, since a generator costs more than the tests
            if amount > free.get(name, 0):
                return False
        return self.pods < self.allocatable.get(PODS, 0)

    def _has_port_conflict(self, ports: tuple[HostPort, ...], nominated: list[PodRequirements]) -> bool:
        taken = (*self._ports, *(port for requirements in nominated for port in requirements.ports))
        return any(_ports_conflict(port, other) for port in ports for other in taken)

    def _insufficient_resources(self, requirements: PodRequirements, nominated: list[PodRequirements]) -> Status | None:
        """Return all resources that do not suffice, None if there are none (fitsRequest)."""
        reasons, resolvable = [], True
        if self.pods + len(nominated) >= self.allocatable.get(PODS, 0):
            reasons.append("Too many pods")
        for name, amount in requirements.requests:
            taken = sum(n for other in nominated for requested, n in other.requests if requested == name)
            if amount > self.free.get(name, 0) - taken:
                reasons.append(f"Insufficient {name}")
                resolvable = resolvable and amount <= self.allocatable.get(name, 0)
        return Status(tuple(reasons), NODE_RESOURCES_FIT, resolvable) if reasons else None

    # -- scores

    def score(self, requirements: PodRequirements) -> int:
        """Score how much is left, and how evenly, with the pod here: 0 to 200 (LeastAllocated, BalancedAllocation)."""
        cpu, memory = self.cpu, self.memory
        if not cpu or not memory:
            return self._score_without(requirements)
        of_cpu, of_memory = (
            cpu - self.counted_cpu - requirements.counted_cpu,
            memory - self.counted_memory - requirements.counted_memory,
        )
        least = (of_cpu * 100 // cpu if of_cpu > 0 else 0) + (of_memory * 100 // memory if of_memory > 0 else 0)
        if (
            not requirements.cpu and not requirements.memory
        ):  # for pods that request nothing the balance is not asked for
            return least // 2
        apart = min((self.used_cpu + requirements.cpu) / cpu, 1.0) - min(
            (self.used_memory + requirements.memory) / memory, 1.0
        )
        return least // 2 + int((1 - abs(apart) / 2) * 100)

    def _score_without(self, requirements: PodRequirements) -> int:
        """Return the score of a node that has no allocatable cpu or memory."""
        pairs = [
            (self.cpu, self.counted_cpu + requirements.counted_cpu),
            (self.memory, self.counted_memory + requirements.counted_memory),
        ]
        known = [(capacity, counted) for capacity, counted in pairs if capacity]
        least = sum(max(capacity - counted, 0) * 100 // capacity for capacity, counted in known)
        return (least if known else 0) + (100 if requirements.cpu or requirements.memory else 0)


def _add(counts: dict[_T, int], key: _T, change: int) -> None:
    left = counts.get(key, 0) + change
    if left:
        counts[key] = left
    else:
        del counts[key]


def _ports_conflict(one: HostPort, other: HostPort) -> bool:
    """Return True if two pods cannot both have their port (HostPortInfo.CheckConflict)."""
    if one.port != other.port:
        return False
    return one.address == other.address or ANY_ADDRESS in (one.address, other.address)
