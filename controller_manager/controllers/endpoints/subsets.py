"""The subsets of Endpoints: which ports the pods of a Service have in common, cut to what one object may hold."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from apiserver.api.meta import Obj, labels_of
from controller_manager.controllers.endpoints.services import (
    CHANGED_AT,
    HEADLESS,
    IPV4,
    IPV6,
    Port,
    addresses_of,
    has_address,
    hostname_of,
    is_headless,
    ports_of,
    reference_to,
)
from controller_manager.reconcile.pods import is_ready

CAPACITY = 1000
"""How many addresses Endpoints hold at most (maxCapacity)."""
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MANAGED_BY, CONTROLLER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"


@dataclass(frozen=True, slots=True)
class Host:
    """An address with some of the ports that are behind it.

    Attributes:
        address: as a subset tells it.
        ports: None among them stands for an address without any.
    """

    address: Obj
    is_ready: bool
    ports: Sequence[Port | None]

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands among the addresses (LessEndpointAddress)."""
        return self.address["ip"], (self.address.get("targetRef") or {}).get("uid") or ""


def subsets_of(service: Obj, pods: Iterable[Obj]) -> list[Obj]:
    """All subsets of a Service (syncService)."""
    return packed(host for pod in pods if (host := _host(service, pod)) is not None)


def packed(hosts: Iterable[Host]) -> list[Obj]:
    """Subsets in which ports with the same addresses stand together (endpoints.RepackSubsets).

    Upstream sorts ports and subsets by hashes of how Go prints them; here they stand as names and numbers do.
    """
    ordered = sorted(hosts, key=lambda host: host.place)
    behind: defaultdict[Port | None, list[int]] = defaultdict(list)
    for i, host in enumerate(ordered):
        for port in host.ports:
            behind[port].append(i)
    shared: defaultdict[tuple[int, ...], list[Port]] = defaultdict(list)
    for port, numbers in behind.items():
        shared[tuple(numbers)] += [port] if port is not None else []
    groups = sorted(shared.items(), key=lambda item: sorted(item[1]))
    return [_subset([ordered[i] for i in numbers], sorted(ports)) for numbers, ports in groups]


def _host(service: Obj, pod: Obj) -> Host | None:
    """What is told of a pod, None where it has no address of the Service's first family, or is on its way out."""
    spec, meta = service["spec"], pod["metadata"]
    tolerant = bool(spec.get("publishNotReadyAddresses"))
    if not has_address(pod) or (meta.get("deletionTimestamp") and not tolerant):
        return None
    addresses = addresses_of(pod, _family(service, pod))
    if not addresses:
        return None
    address: Obj = {"ip": addresses[0], "targetRef": reference_to(pod)}
    if hostname := hostname_of(pod, service):
        address["hostname"] = hostname
    if node := pod["spec"].get("nodeName"):
        address["nodeName"] = node
    without_ports = not spec.get("ports") and spec.get("clusterIP") == "None"
    return Host(address, tolerant or is_ready(pod), (None,) if without_ports else ports_of(pod, service))


def _family(service: Obj, pod: Obj) -> str:
    """The one family of addresses that Endpoints have (podToEndpointAddressForService)."""
    spec = service["spec"]
    if families := spec.get("ipFamilies"):
        return str(families[0])
    known = (pod["status"].get("podIP") or "") if is_headless(service) else spec["clusterIP"]
    return IPV6 if ":" in known else IPV4


def _subset(hosts: Sequence[Host], ports: Sequence[Port]) -> Obj:
    subset: Obj = {
        "addresses": [host.address for host in hosts if host.is_ready],
        "notReadyAddresses": [host.address for host in hosts if not host.is_ready],
        "ports": [_port(port) for port in ports],
    }
    return {name: found for name, found in subset.items() if found}


def _port(port: Port) -> Obj:
    told: Obj = {"port": port.number, "protocol": port.protocol}
    if port.name:
        told["name"] = port.name
    if port.app_protocol:
        told["appProtocol"] = port.app_protocol
    return told


# -- what one object may hold ------------------------------------------------------------------------------------------


def _count(subsets: Iterable[Obj], field: str) -> int:
    return sum(len(subset.get(field) or ()) for subset in subsets)


def is_over_capacity(subsets: Sequence[Obj]) -> bool:
    """Whether these are more addresses than Endpoints hold."""
    return _count(subsets, "addresses") + _count(subsets, "notReadyAddresses") > CAPACITY


def truncated(subsets: Sequence[Obj]) -> list[Obj]:
    """As many addresses as Endpoints hold: ready ones first, of each subset its share (truncateEndpoints)."""
    ready, unready = _count(subsets, "addresses"), _count(subsets, "notReadyAddresses")
    if ready > CAPACITY:
        bare = [{name: found for name, found in s.items() if name != "notReadyAddresses"} for s in subsets]
        return _cut(bare, "addresses", total=ready, room=CAPACITY)
    return _cut(subsets, "notReadyAddresses", total=unready, room=CAPACITY - ready)


def _cut(subsets: Iterable[Obj], field: str, *, total: int, room: int) -> list[Obj]:
    """Keep so many of the addresses in a field, of each subset its share, rounded up while there is room."""
    left, cut = room, []
    for subset in subsets:
        found = subset.get(field) or ()
        kept = found[: min(ceil(len(found) / total * room), left)]
        left -= len(kept)
        rest = {name: value for name, value in subset.items() if name != field}
        cut.append(({field: list(kept)} if kept else {}) | rest)
    return cut


# -- the object --------------------------------------------------------------------------------------------------------


def endpoints_of(service: Obj, subsets: Sequence[Obj], old: Obj | None, *, changed_at: str) -> Obj | None:
    """The Endpoints of a Service, None where the old ones say all that.

    Args:
        service: the Service.
        subsets: all of them.
        old: the Endpoints that there are.
        changed_at: when what changed them happened, "" where nothing did.
    """
    over = is_over_capacity(subsets)
    subsets = truncated(subsets) if over else subsets
    before = (old or {}).get("metadata") or {}
    annotations = before.get("annotations") or {}
    is_same = old is not None and (old.get("subsets") or []) == subsets and _fits(service, labels_of(old))
    if is_same and (OVER_CAPACITY in annotations) == over:
        return None
    told = {CHANGED_AT: changed_at} if changed_at else {}
    told |= {OVER_CAPACITY: "truncated"} if over else {}
    kept = {name: text for name, text in annotations.items() if name not in (CHANGED_AT, OVER_CAPACITY)}
    meta = {"name": service["metadata"]["name"], "namespace": service["metadata"]["namespace"]} | before
    meta |= {"labels": _labels(service), "annotations": kept | told}
    return (old or {"apiVersion": "v1", "kind": "Endpoints"}) | {"metadata": meta, "subsets": list(subsets)}


def _labels(service: Obj) -> Mapping[str, str]:
    labels = {name: value for name, value in labels_of(service).items() if name != HEADLESS}
    return labels | ({HEADLESS: ""} if is_headless(service) else {}) | {MANAGED_BY: CONTROLLER}


def _fits(service: Obj, labels: Mapping[str, str]) -> bool:
    """Whether labels are those of the Service, but for what is added to them (labelsCorrectForEndpoints)."""
    added = (HEADLESS, MANAGED_BY)
    ours = {name: value for name, value in labels.items() if name not in added}
    theirs = {name: value for name, value in labels_of(service).items() if name not in added}
    return labels.get(MANAGED_BY) == CONTROLLER and ours == theirs
