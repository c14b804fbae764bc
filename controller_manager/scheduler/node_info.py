"""A node as the scheduler sees it: its resources, what its pods request of them, and its pods (framework.NodeInfo)."""

from collections.abc import Mapping
from typing import Self, TypeVar

from apiserver.api.meta import Obj
from controller_manager.scheduler.pod_info import ANY_ADDRESS, HostPort, PodInfo, Shape
from controller_manager.scheduler.resources import CPU, MEMORY, PODS, amounts
from controller_manager.scheduler.status import NODE_PORTS, NODE_RESOURCES_FIT, Status
from controller_manager.scheduler.topology import NO_POD_AFFINITY, PodAffinity

_T = TypeVar("_T")

_PORTS_TAKEN = Status(("node(s) didn't have free ports for the requested pod ports",), NODE_PORTS, resolvable=True)


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
        leaving: the same for those that are being deleted.
        pod_affinities: pod affinity → number of its pods that have it.
        nominated: uid → Shape of the pods that are nominated to this node.
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
        "leaving",
        "memory",
        "name",
        "nominated",
        "order",
        "pod_affinities",
        "pods",
        "present",
        "stamp",
        "taints",
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
        self.leaving: dict[PodInfo, int] = {}
        self.pod_affinities: dict[PodAffinity, int] = {}
        self.nominated: dict[str, Shape] = {}
        self._ports: dict[HostPort, int] = {}

    def set_node(self, node: Obj | None) -> None:
        """Take over a node that came or changed; None if it is gone.

        Raises:
            QuantityError: an amount in allocatable is not a quantity.
        """
        spec, status = (node.get("spec") or {}, node.get("status") or {}) if node is not None else ({}, {})
        allocatable = amounts(status.get("allocatable"))
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

    def add(self, info: PodInfo) -> None:
        """Count a pod that is here, or is assumed to be."""
        self._count(info, 1)

    def remove(self, info: PodInfo) -> None:
        """Stop counting a pod."""
        self._count(info, -1)

    def mark_leaving(self, info: PodInfo, change: int) -> None:
        """Count a pod that is being deleted (1), or stop that since it is gone (-1)."""
        _add(self.leaving, info, change)

    def _count(self, info: PodInfo, sign: int) -> None:
        shape = info.shape
        free = self.free
        for name, amount in shape.requests:
            free[name] = free.get(name, 0) - sign * amount
        self.used_cpu += sign * shape.cpu
        self.used_memory += sign * shape.memory
        self.counted_cpu += sign * shape.counted_cpu
        self.counted_memory += sign * shape.counted_memory
        self.pods += sign
        _add(self.present, info, sign)
        for port in shape.ports:
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

    def refusal(self, shape: Shape) -> Status | None:
        """Return why a pod does not fit, None if it does (NodePorts, NodeResourcesFit).

        Pods of the same or a higher priority that are nominated to this node count as if they were here
        (RunFilterPluginsWithNominatedPods).
        """
        nominated = [s for s in self.nominated.values() if s.priority >= shape.priority] if self.nominated else []
        if shape.ports and self._has_taken(shape.ports, nominated):
            return _PORTS_TAKEN
        return self._lacks(shape, nominated)

    def has_room(self, shape: Shape) -> bool:
        """Return True if `refusal` would be None, which is found faster."""
        if self.nominated or shape.ports:
            return self.refusal(shape) is None
        free = self.free
        for name, amount in shape.requests:  # a loop, since a generator costs more than the tests
            if amount > free.get(name, 0):
                return False
        return self.pods < self.allocatable.get(PODS, 0)

    def _has_taken(self, ports: tuple[HostPort, ...], nominated: list[Shape]) -> bool:
        taken = (*self._ports, *(port for shape in nominated for port in shape.ports))
        return any(_conflict(port, other) for port in ports for other in taken)

    def _lacks(self, shape: Shape, nominated: list[Shape]) -> Status | None:
        """Return all resources that do not suffice, None if there are none (fitsRequest)."""
        reasons, resolvable = [], True
        if self.pods + len(nominated) >= self.allocatable.get(PODS, 0):
            reasons.append("Too many pods")
        for name, amount in shape.requests:
            taken = sum(n for other in nominated for requested, n in other.requests if requested == name)
            if amount > self.free.get(name, 0) - taken:
                reasons.append(f"Insufficient {name}")
                resolvable = resolvable and amount <= self.allocatable.get(name, 0)
        return Status(tuple(reasons), NODE_RESOURCES_FIT, resolvable) if reasons else None

    # -- scores

    def score(self, shape: Shape) -> int:
        """Score how much is left, and how evenly, with the pod here: 0 to 200 (LeastAllocated, BalancedAllocation)."""
        cpu, memory = self.cpu, self.memory
        if not cpu or not memory:
            return self._score_without(shape)
        of_cpu, of_memory = (
            cpu - self.counted_cpu - shape.counted_cpu,
            memory - self.counted_memory - shape.counted_memory,
        )
        least = (of_cpu * 100 // cpu if of_cpu > 0 else 0) + (of_memory * 100 // memory if of_memory > 0 else 0)
        if not shape.cpu and not shape.memory:  # for pods that request nothing the balance is not asked for
            return least // 2
        apart = min((self.used_cpu + shape.cpu) / cpu, 1.0) - min((self.used_memory + shape.memory) / memory, 1.0)
        return least // 2 + int((1 - abs(apart) / 2) * 100)

    def _score_without(self, shape: Shape) -> int:
        """Return the score of a node that has no allocatable cpu or memory."""
        pairs = [
            (self.cpu, self.counted_cpu + shape.counted_cpu),
            (self.memory, self.counted_memory + shape.counted_memory),
        ]
        known = [(capacity, counted) for capacity, counted in pairs if capacity]
        least = sum(max(capacity - counted, 0) * 100 // capacity for capacity, counted in known)
        return (least if known else 0) + (100 if shape.cpu or shape.memory else 0)


def _add(counts: dict[_T, int], key: _T, change: int) -> None:
    left = counts.get(key, 0) + change
    if left:
        counts[key] = left
    else:
        del counts[key]


def _conflict(one: HostPort, other: HostPort) -> bool:
    """Return True if two pods cannot both have their port (HostPortInfo.CheckConflict)."""
    if one.port != other.port:
        return False
    return one.address == other.address or ANY_ADDRESS in (one.address, other.address)
