"""A pod as the scheduler sees it; pods that are alike share one object (framework.PodInfo)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

import orjson

from apiserver.api.meta import Obj
from controller_manager.scheduler.node_affinity import NodeAffinity, node_affinity, tolerates_cordon
from controller_manager.scheduler.resources import CPU, DEFAULT_REQUESTS, MEMORY, in_order, pod_requests
from controller_manager.scheduler.topology import (
    NO_POD_AFFINITY,
    PodAffinity,
    SpreadConstraint,
    pod_affinity,
    spread_constraint,
)

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the default hostIP; nothing listens here


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod uses.

    Attributes:
        port: protocol and number: "TCP/80".
        address: of the node, ANY_ADDRESS for all.
    """

    port: str
    address: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodRequirements:
    """The parts of a pod's spec that decide which nodes suit it, apart from other pods; equal shapes are one object.

    Attributes:
        requests: resources and amounts, without those that are 0.
        counted_cpu, counted_memory: the requests as scores count them, with a default for containers without requests.
        cpu, memory: the requests as they are.
        ports: the host ports.
        affinity: the node selector and node affinity.
        names: the names of nodes that the affinity is limited to, None for any.
        tolerations: of taints.
        tolerates_cordon: True if it may go to cordoned nodes.
        priority: of the pod.
        may_preempt: False if its preemptionPolicy is Never.
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
    tolerates_cordon: bool
    priority: int
    may_preempt: bool


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodInfo:
    """The properties of a pod that matter for scheduling; alike pods share one object.

    Attributes:
        requirements: its requirements for nodes.
        labels, namespace: by which other pods select it.
        spread: its own topology spread constraints.
        pod_affinity: its affinity and anti-affinity to other pods.
        owner: the uid of its controller, "" for none; the owner's selector is used to spread pods without own
            constraints.
    """

    requirements: PodRequirements
    labels: Mapping[str, str]
    namespace: str
    spread: tuple[SpreadConstraint, ...]
    pod_affinity: PodAffinity
    owner: str


class PodInfoCache:
    """Gives alike pods the same PodInfo, which is kept as long as it is in use."""

    def __init__(self) -> None:
        self._infos: WeakValueDictionary[bytes, PodInfo] = WeakValueDictionary()
        self._requirements: WeakValueDictionary[bytes, PodRequirements] = WeakValueDictionary()
        self._pod_affinities: WeakValueDictionary[object, PodAffinity] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._infos)

    def of(self, pod: Obj) -> PodInfo:
        """Return the PodInfo of a pod.

        Raises:
            QuantityError, KeyError, TypeError: its spec is not one that an API server would accept.
        """
        meta, spec = pod["metadata"], pod["spec"]
        shape_key = _requirements_key(spec)
        labels, namespace = meta.get("labels") or {}, meta["namespace"]
        owner = _controller_uid(meta)
        constraints = spec.get("topologySpreadConstraints")
        key = shape_key + orjson.dumps((namespace, owner, labels, constraints), option=orjson.OPT_SORT_KEYS)
        info = self._infos.get(key)
        if info is None:
            info = self._infos[key] = PodInfo(
                self._pod_requirements(shape_key, spec),
                labels,
                namespace,
                tuple(spread_constraint(constraint, labels) for constraint in constraints or ()),
                self._pod_affinity(spec.get("affinity") or {}, labels, namespace=namespace),
                owner,
            )
        return info

    def _pod_requirements(self, key: bytes, spec: Obj) -> PodRequirements:
        requirements = self._requirements.get(key)
        if requirements is None:
            requirements = self._requirements[key] = _parse_requirements(spec)
        return requirements

    def _pod_affinity(self, affinity: Obj, labels: Mapping[str, str], *, namespace: str) -> PodAffinity:
        if not (affinity.get("podAffinity") or affinity.get("podAntiAffinity")):
            return NO_POD_AFFINITY
        parsed = pod_affinity(affinity, labels, namespace=namespace)
        return self._pod_affinities.setdefault(parsed.terms, parsed)


def _controller_uid(meta: Obj) -> str:
    for reference in meta.get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference["uid"])
    return ""


def _requirements_key(spec: Obj) -> bytes:
    """Return a key of everything that PodRequirements and a pod affinity are made from."""
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


def _parse_requirements(spec: Obj) -> PodRequirements:
    requests, counted = pod_requests(spec), pod_requests(spec, DEFAULT_REQUESTS)
    tolerations = tuple(spec.get("tolerations") or ())
    affinity = node_affinity(spec)
    return PodRequirements(
        in_order(requests),
        counted.get(CPU, 0),
        counted.get(MEMORY, 0),
        requests.get(CPU, 0),
        requests.get(MEMORY, 0),
        tuple(_host_ports(spec)),
        affinity,
        affinity.names,
        tolerations,
        tolerates_cordon(tolerations),
        spec.get("priority") or 0,
        spec.get("preemptionPolicy") != "Never",
    )


def _host_ports(spec: Obj) -> Iterator[HostPort]:
    """Yield the host ports of containers, and of init containers that go on running (schedutil.GetHostPorts)."""
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                yield HostPort(f"{port.get('protocol') or 'TCP'}/{number}", port.get("hostIP") or ANY_ADDRESS)
