"""EndpointSlices: what is behind a Service, for each family of addresses and each set of ports in slices of its own.

From the reconciler of k8s.io/endpointslice. Hints come from a Service's trafficDistribution alone: what the annotation
service.kubernetes.io/topology-mode asks for depends on the processors of all zones, and is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from controller_manager.controllers.endpoints.services import (
    CHANGED_AT,
    HEADLESS,
    Port,
    addresses_of,
    families_of,
    has_address,
    hostname_of,
    is_headless,
    ports_of,
    reference_to,
)
from controller_manager.controllers.endpointslice.filling import (
    MANAGED_BY,
    RESERVED,
    SERVICE_NAME,
    Changes,
    EndpointKey,
    filled,
    is_owned,
    ports_in,
    reused,
    told_port,
)
from controller_manager.reconcile.pods import generate_name, is_ready

CONTROLLER = "endpointslice-controller.k8s.io"
ZONE = "topology.kubernetes.io/zone"

_MODES = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
_CLOSE, _ON_NODE = ("PreferClose", "PreferSameZone", "PreferSameNode"), "PreferSameNode"


@dataclass(frozen=True, slots=True)
class Backing:
    """What is behind a Service.

    Attributes:
        reference: the owner reference of its slices.
        pods: those that it selects.
        zones: of the nodes of the pods, "" for a node that tells none; what is missing is not there.
    """

    service: Obj
    reference: Obj
    pods: Sequence[Obj]
    zones: Mapping[str, str]

    @property
    def homeless(self) -> Sequence[Obj]:
        """The pods on nodes that are not there: they are in no slice, unless all addresses are to be published."""
        if self.service["spec"].get("publishNotReadyAddresses"):
            return ()
        return [p for p in self.pods if has_address(p) and p["spec"].get("nodeName", "") not in self.zones]


def changes_of(backing: Backing, slices: Iterable[Obj]) -> Changes:
    """What has to be done so that slices tell what is behind a Service (Reconcile).

    Args:
        backing: the Service and its pods.
        slices: those that are managed here, but for those that are being deleted.
    """
    families, changes = families_of(backing.service), Changes()
    filed: dict[str, list[Obj]] = {family: [] for family in families}
    for each in slices:
        filed.get(each["addressType"], changes.deletes).append(each)
    for family in families:
        changes.add(_of_family(backing, family, filed[family]))
    return changes


def _of_family(backing: Backing, family: str, slices: Sequence[Obj]) -> Changes:
    """The same for one family of addresses (reconcileByAddressType)."""
    uid, changes = backing.service["metadata"]["uid"], Changes()
    filed: dict[frozenset[Port], list[Obj]] = {}
    for each in slices:
        if is_owned(each, uid):
            filed.setdefault(ports_in(each), []).append(each)
        else:
            changes.deletes.append(each)
    for ports, group in _groups(backing, family).items():
        changes.add(filled(blank_slice(backing, family, group.ports), filed.pop(ports, ()), group.endpoints))
    for unwanted in filed.values():
        changes.deletes.extend(unwanted)
    if len(changes.deletes) == len(slices) and not changes.creates:
        _hold_place(blank_slice(backing, family, ()), changes)
    return reused(changes, uid)


def _hold_place(blank: Obj, changes: Changes) -> None:
    """Leave one slice, an empty one, where there would be none."""
    if len(changes.deletes) == 1:
        (left,) = changes.deletes
        if not left.get("endpoints") and not left.get("ports") and labels_of(left) == labels_of(blank):
            changes.deletes.clear()
            return
    changes.creates.append(blank)


def blank_slice(backing: Backing, family: str, ports: Sequence[Port]) -> Obj:
    """A slice without endpoints, which the server names after the Service (newEndpointSlice)."""
    service = backing.service
    name = name_of(service)
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": generate_name(name),
            "namespace": namespace_of(service),
            "labels": slice_labels(service),
            "ownerReferences": [backing.reference],
        },
        "addressType": family,
        "ports": [told_port(port) for port in ports],
        "endpoints": [],
    }


def slice_labels(service: Obj) -> dict[str, str]:
    """The labels of a Service's slices: its own, and what says whose they are (setEndpointSliceLabels)."""
    labels = {name: value for name, value in labels_of(service).items() if name not in RESERVED}
    labels |= {HEADLESS: ""} if is_headless(service) else {}
    return labels | {SERVICE_NAME: name_of(service), MANAGED_BY: CONTROLLER}


def stamped(each: Obj, changed_at: str) -> Obj:
    """A slice that tells when what changed it happened, "" for nothing (addTriggerTimeAnnotation)."""
    meta = each["metadata"]
    annotations = {name: text for name, text in (meta.get("annotations") or {}).items() if name != CHANGED_AT}
    annotations |= {CHANGED_AT: changed_at} if changed_at else {}
    rest = {name: value for name, value in meta.items() if name != "annotations"}
    return each | {"metadata": rest | ({"annotations": annotations} if annotations else {})}


# -- ports and endpoints -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """Endpoints of the same ports."""

    ports: Sequence[Port]
    endpoints: dict[EndpointKey, Obj] = field(default_factory=dict)


def _groups(backing: Backing, family: str) -> dict[frozenset[Port], _Group]:
    """The endpoints of a family, by ports; a set of ports is there even if none of its pods has such an address."""
    service, groups = backing.service, dict[frozenset[Port], _Group]()
    manner = _Manner.of(service)
    for pod in backing.pods:
        if not has_address(pod):
            continue
        ports = ports_of(pod, service)
        key = frozenset(ports)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(ports)
        zone = backing.zones.get(pod["spec"].get("nodeName", ""))
        addresses = addresses_of(pod, family)
        if addresses and (zone is not None or manner.publishes):
            hostname, meta = hostname_of(pod, service), pod["metadata"]
            key_of_it = EndpointKey(tuple(sorted(addresses)), hostname, meta["namespace"], meta["name"])
            group.endpoints[key_of_it] = manner.endpoint(pod, addresses, hostname=hostname, zone=zone or "")
    return groups


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a Service wants its endpoints told.

    Attributes:
        publishes: endpoints are ready whatever their pods are.
        hints_zone, hints_node: ready endpoints say that they are for their own zone, their own node.
    """

    publishes: bool
    hints_zone: bool
    hints_node: bool

    @classmethod
    def of(cls, service: Obj) -> "_Manner":
        """What the Service's spec asks for."""
        spec, annotations = service["spec"], annotations_of(service)
        mode = next((annotations[name] for name in _MODES if name in annotations), "")
        wish = "" if mode in ("Auto", "auto") else spec.get("trafficDistribution") or ""
        return cls(bool(spec.get("publishNotReadyAddresses")), wish in _CLOSE, wish == _ON_NODE)

    def endpoint(self, pod: Obj, addresses: Sequence[str], *, hostname: str, zone: str) -> Obj:
        """The endpoint that a pod is (podToEndpoint)."""
        serving, terminating = is_ready(pod), bool(pod["metadata"].get("deletionTimestamp"))
        ready = self.publishes or (serving and not terminating)
        told: Obj = {
            "addresses": list(addresses),
            "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
            "targetRef": reference_to(pod),
        }
        node = pod["spec"].get("nodeName")
        if node:
            told["nodeName"] = node
        if zone:
            told["zone"] = zone
        if hostname:
            told["hostname"] = hostname
        if ready and (hints := self._hints(node, zone)):
            told["hints"] = hints
        return told

    def _hints(self, node: str | None, zone: str) -> Obj:
        """For whom a ready endpoint is (k8s.io/endpointslice/trafficdist)."""
        hints: Obj = {"forZones": [{"name": zone}]} if self.hints_zone and zone else {}
        return hints | ({"forNodes": [{"name": node}]} if self.hints_node and node else {})
