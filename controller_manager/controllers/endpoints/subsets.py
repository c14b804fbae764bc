"""The subsets of Endpoints: pods grouped by the ports they share, limited to what one object may hold."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from apiserver.api.meta import Obj, labels_of
from controller_manager.controllers.endpoints.services import (
    HEADLESS_LABEL,
    IPV4,
    IPV6,
    TRIGGER_TIME_ANNOTATION,
    Port,
    addresses_of,
    has_address,
    hostname_of,
    is_headless,
    ports_of,
    reference_to,
)
from controller_manager.reconcile.pods import is_ready

MAX_CAPACITY = 1000
"""The number of addresses that one Endpoints object holds at most (maxCapacity)."""
OVER_CAPACITY_ANNOTATION = "endpoints.kubernetes.io/over-capacity"
MANAGED_BY_LABEL, CONTROLLER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"


@dataclass(frozen=True, slots=True)
class Host:
    """An address and some of the ports behind it.

    Attributes:
        address: the EndpointAddress.
        ports: a None stands for an address without ports.
    """

    address: Obj
    is_ready: bool
    ports: Sequence[Port | None]

    @property
    def sort_key(self) -> tuple[str, str]:
        """The key that sorts addresses (LessEndpointAddress)."""
        return self.address["ip"], (self.address.get("targetRef") or {}).get("uid") or ""


def subsets_of(service: Obj, pods: Iterable[Obj]) -> list[Obj]:
    """Return all subsets of a Service (syncService)."""
    return repack(host for pod in pods if (host := _host(service, pod)) is not None)


def repack(hosts: Iterable[Host]) -> list[Obj]:
    """Return subsets that group the ports with the same addresses (endpoints.RepackSubsets).

    Upstream sorts ports and subsets by hashes of how Go prints them; here they are sorted by name and number.
    """
    ordered = sorted(hosts, key=lambda host: host.sort_key)
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
    """Return a pod's address and ports; None if it has no address of the Service's first family, or is terminating."""
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
    """Return the one address family that Endpoints use (podToEndpointAddressForService)."""
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
    return {name: value for name, value in subset.items() if value}


def _port(port: Port) -> Obj:
    result: Obj = {"port": port.number, "protocol": port.protocol}
    if port.name:
        result["name"] = port.name
    if port.app_protocol:
        result["appProtocol"] = port.app_protocol
    return result


# -- the capacity of one object ----------------------------------------------------------------------------------------


def _count(subsets: Iterable[Obj], field: str) -> int:
    return sum(len(subset.get(field) or ()) for subset in subsets)


def is_over_capacity(subsets: Sequence[Obj]) -> bool:
    """Return whether there are more addresses than Endpoints may hold."""
    return _count(subsets, "addresses") + _count(subsets, "notReadyAddresses") > MAX_CAPACITY


def truncate(subsets: Sequence[Obj]) -> list[Obj]:
    """Return the subsets cut to MAX_CAPACITY addresses: ready ones first, each subset its share (truncateEndpoints)."""
    ready, unready = _count(subsets, "addresses"), _count(subsets, "notReadyAddresses")
    if ready > MAX_CAPACITY:
        bare = [{name: value for name, value in s.items() if name != "notReadyAddresses"} for s in subsets]
        return _truncate_field(bare, "addresses", total=ready, room=MAX_CAPACITY)
    return _truncate_field(subsets, "notReadyAddresses", total=unready, room=MAX_CAPACITY - ready)


def _truncate_field(subsets: Iterable[Obj], field: str, *, total: int, room: int) -> list[Obj]:
    """Keep so many of the addresses in a field, a share of each subset's, rounded up while there is room."""
    left, cut = room, []
    for subset in subsets:
        addresses = subset.get(field) or ()
        kept = addresses[: min(ceil(len(addresses) / total * room), left)]
        left -= len(kept)
        rest = {name: value for name, value in subset.items() if name != field}
        cut.append(({field: list(kept)} if kept else {}) | rest)
    return cut


# -- the object --------------------------------------------------------------------------------------------------------


def endpoints_of(service: Obj, subsets: Sequence[Obj], old: Obj | None, *, changed_at: str) -> Obj | None:
    """Return the Endpoints of a Service, or None if the old ones need no change.

    Args:
        service: the Service.
        subsets: all subsets.
        old: the existing Endpoints.
        changed_at: when the change that affected them happened, "" if there was none.
    """
    over = is_over_capacity(subsets)
    subsets = truncate(subsets) if over else subsets
    before = (old or {}).get("metadata") or {}
    annotations = before.get("annotations") or {}
    is_same = old is not None and (old.get("subsets") or []) == subsets and _has_labels_of(service, labels_of(old))
    if is_same and (OVER_CAPACITY_ANNOTATION in annotations) == over:
        return None
    added = {TRIGGER_TIME_ANNOTATION: changed_at} if changed_at else {}
    added |= {OVER_CAPACITY_ANNOTATION: "truncated"} if over else {}
    kept = {
        name: text
        for name, text in annotations.items()
        if name not in (TRIGGER_TIME_ANNOTATION, OVER_CAPACITY_ANNOTATION)
    }
    meta = {"name": service["metadata"]["name"], "namespace": service["metadata"]["namespace"]} | before
    meta |= {"labels": _labels(service), "annotations": kept | added}
    return (old or {"apiVersion": "v1", "kind": "Endpoints"}) | {"metadata": meta, "subsets": list(subsets)}


def _labels(service: Obj) -> Mapping[str, str]:
    labels = {name: value for name, value in labels_of(service).items() if name != HEADLESS_LABEL}
    return labels | ({HEADLESS_LABEL: ""} if is_headless(service) else {}) | {MANAGED_BY_LABEL: CONTROLLER}


def _has_labels_of(service: Obj, labels: Mapping[str, str]) -> bool:
    """Return whether the labels are the Service's plus those that the controller adds (labelsCorrectForEndpoints)."""
    added = (HEADLESS_LABEL, MANAGED_BY_LABEL)
    ours = {name: value for name, value in labels.items() if name not in added}
    theirs = {name: value for name, value in labels_of(service).items() if name not in added}
    return labels.get(MANAGED_BY_LABEL) == CONTROLLER and ours == theirs
