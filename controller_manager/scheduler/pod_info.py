"""What the scheduler needs to know of a pod, the same object for all pods that are alike in it (framework.PodInfo)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

import orjson

from apiserver.api.meta import Obj
from controller_manager.scheduler.node_affinity import NodeAffinity, ignores_cordon, node_affinity
from controller_manager.scheduler.resources import CPU, MEMORY, MISSING, in_order, requests_of
from controller_manager.scheduler.topology import ANY_COMPANY, Company, SpreadConstraint, company, spread_constraint

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - what a hostIP is where none is given; nothing listens here


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod takes.

    Attributes:
        port: protocol and number: "TCP/80".
        address: of the node, ANY_ADDRESS for all.
    """

    port: str
    address: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Shape:
    """What of a pod's spec says which nodes may have it, apart from other pods; equal shapes are one object.

    Attributes:
        requests: resource and amount, of what is requested at all.
        counted_cpu, counted_memory: the requests as scores count them, with a default where there is none.
        cpu, memory: the requests as they are.
        ports: of the node.
        affinity: to nodes.
        names: the nodes that it asks for by name, None for any.
        tolerations: of taints.
        ignores_cordon: whether it goes to nodes that are closed to new pods.
        priority: of the pod.
        preempts: whether others may have to go for it.
    """

    requests: tuple[tuple[str, int], ...]
    counted_cpu: int
    counted_memory: int
    cpu: int
    memory: int
    ports: tuple[HostPort, ...]
    affinity: NodeAffinity
    names: frozenset[str] | None
    tolerations: tuple[Obj, ...]
    ignores_cordon: bool
    priority: int
    preempts: bool


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodInfo:
    """A pod to the scheduler; alike pods are one object.

    Attributes:
        shape: what it asks of nodes.
        labels, namespace: by which other pods find it.
        spread: its own constraints.
        company: the pods that it wants near or far.
        owner: the uid of its controller, "" for none: by whose selector it is spread where it says nothing itself.
    """

    shape: Shape
    labels: Mapping[str, str]
    namespace: str
    spread: tuple[SpreadConstraint, ...]
    company: Company
    owner: str


class PodInfos:
    """Gives alike pods one PodInfo, for as long as there is one of them."""

    def __init__(self) -> None:
        self._infos: WeakValueDictionary[bytes, PodInfo] = WeakValueDictionary()
        self._shapes: WeakValueDictionary[bytes, Shape] = WeakValueDictionary()
        self._companies: WeakValueDictionary[object, Company] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._infos)

    def of(self, pod: Obj) -> PodInfo:
        """What the scheduler needs to know of a pod.

        Raises:
            QuantityError, KeyError, TypeError: its spec is nothing that a server lets through.
        """
        meta, spec = pod["metadata"], pod["spec"]
        shape_key = _shape_key(spec)
        labels, namespace = meta.get("labels") or {}, meta["namespace"]
        owner = _controller_uid(meta)
        constraints = spec.get("topologySpreadConstraints")
        key = shape_key + orjson.dumps((namespace, owner, labels, constraints), option=orjson.OPT_SORT_KEYS)
        found = self._infos.get(key)
        if found is None:
            found = self._infos[key] = PodInfo(
                self._shape(shape_key, spec),
                labels,
                namespace,
                tuple(spread_constraint(constraint, labels) for constraint in constraints or ()),
                self._company(spec.get("affinity") or {}, labels, namespace=namespace),
                owner,
            )
        return found

    def _shape(self, key: bytes, spec: Obj) -> Shape:
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = _shape(spec)
        return found

    def _company(self, affinity: Obj, labels: Mapping[str, str], *, namespace: str) -> Company:
        if not (affinity.get("podAffinity") or affinity.get("podAntiAffinity")):
            return ANY_COMPANY
        made = company(affinity, labels, namespace=namespace)
        return self._companies.setdefault(made.terms, made)


def _controller_uid(meta: Obj) -> str:
    for reference in meta.get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference["uid"])
    return ""


def _shape_key(spec: Obj) -> bytes:
    """Everything that a Shape and a Company are made of."""
    return orjson.dumps(
        (
            [(c.get("resources"), c.get("ports")) for c in spec.get("containers") or ()],
            [(c.get("resources"), c.get("ports"), c.get("restartPolicy")) for c in spec.get("initContainers") or ()],
            spec.get("resources"),
            spec.get("overhead"),
            spec.get("nodeSelector"),
            spec.get("affinity"),
            spec.get("tolerations"),
            spec.get("priority"),
            spec.get("preemptionPolicy"),
        ),
        option=orjson.OPT_SORT_KEYS,
    )


def _shape(spec: Obj) -> Shape:
    requests, counted = requests_of(spec), requests_of(spec, MISSING)
    tolerations = tuple(spec.get("tolerations") or ())
    affinity = node_affinity(spec)
    return Shape(
        in_order(requests),
        counted.get(CPU, 0),
        counted.get(MEMORY, 0),
        requests.get(CPU, 0),
        requests.get(MEMORY, 0),
        tuple(_host_ports(spec)),
        affinity,
        affinity.names,
        tolerations,
        ignores_cordon(tolerations),
        spec.get("priority") or 0,
        spec.get("preemptionPolicy") != "Never",
    )


def _host_ports(spec: Obj) -> Iterator[HostPort]:
    """The ports of containers, and of init containers that go on running (schedutil.GetHostPorts)."""
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield HostPort(f"{port.get('protocol') or 'TCP'}/{number}", port.get("hostIP") or ANY_ADDRESS)
