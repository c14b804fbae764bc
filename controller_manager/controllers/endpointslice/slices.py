"""The EndpointSlices of a Service: separate slices for each address family and each set of ports.

As in the reconciler of k8s.io/endpointslice. Hints come from a Service's trafficDistribution alone: hints of the
annotation service.kubernetes.io/topology-mode would depend on the CPUs of all zones, and are not supported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from controller_manager.controllers.endpoints.services import (
    HEADLESS_LABEL,
    TRIGGER_TIME_ANNOTATION,
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
    MANAGED_BY_LABEL,
    RESERVED_LABELS,
    SERVICE_NAME_LABEL,
    EndpointKey,
    SliceChanges,
    is_owned_by,
    ports_in,
    reconcile_slices,
    reuse_deleted,
    slice_port,
)
from controller_manager.reconcile.pods import generate_name, is_ready

CONTROLLER = "endpointslice-controller.k8s.io"

_TOPOLOGY_ANNOTATIONS = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")
_SAME_ZONE_DISTRIBUTIONS, _SAME_NODE_DISTRIBUTION = (
    ("PreferClose", "PreferSameZone", "PreferSameNode"),
    "PreferSameNode",
)


@dataclass(frozen=True, slots=True)
class ServiceBackends:
    """A Service and the pods behind it.

    Attributes:
        reference: the owner reference for its slices.
        pods: the pods that it selects.
        zones: node name → zone of the pods' nodes, "" for a node without a zone; nodes that do not exist are missing.
    """

    service: Obj
    reference: Obj
    pods: Sequence[Obj]
    zones: Mapping[str, str]

    @property
    def pods_on_missing_nodes(self) -> Sequence[Obj]:
        """The pods on nodes that do not exist: in no slice, unless not-ready addresses are to be published."""
        if self.service["spec"].get("publishNotReadyAddresses"):
            return ()
        return [pod for pod in self.pods if has_address(pod) and pod["spec"].get("nodeName", "") not in self.zones]


def slice_changes(backing: ServiceBackends, slices: Iterable[Obj]) -> SliceChanges:
    """Return the changes after which the slices match the pods behind a Service (Reconcile).

    Args:
        backing: the Service and its pods.
        slices: the slices that this controller manages, except those being deleted.
    """
    families, changes = families_of(backing.service), SliceChanges()
    by_family: dict[str, list[Obj]] = {family: [] for family in families}
    for endpoint_slice in slices:
        by_family.get(endpoint_slice["addressType"], changes.deletes).append(endpoint_slice)
    for family in families:
        changes.extend(_family_changes(backing, family, by_family[family]))
    return changes


def _family_changes(backing: ServiceBackends, family: str, slices: Sequence[Obj]) -> SliceChanges:
    """Return the changes for one address family (reconcileByAddressType)."""
    uid, changes = backing.service["metadata"]["uid"], SliceChanges()
    by_ports: dict[frozenset[Port], list[Obj]] = {}
    for endpoint_slice in slices:
        if is_owned_by(endpoint_slice, uid):
            by_ports.setdefault(ports_in(endpoint_slice), []).append(endpoint_slice)
        else:
            changes.deletes.append(endpoint_slice)
    for ports, group in _endpoint_groups(backing, family).items():
        changes.extend(
            reconcile_slices(blank_slice(backing, family, group.ports), by_ports.pop(ports, ()), group.endpoints)
        )
    for unwanted in by_ports.values():
        changes.deletes.extend(unwanted)
    if len(changes.deletes) == len(slices) and not changes.creates:
        _keep_placeholder(blank_slice(backing, family, ()), changes)
    return reuse_deleted(changes, uid)


def _keep_placeholder(blank: Obj, changes: SliceChanges) -> None:
    """Keep or create one empty slice if there would be none."""
    if len(changes.deletes) == 1:
        (left,) = changes.deletes
        if not left.get("endpoints") and not left.get("ports") and labels_of(left) == labels_of(blank):
            changes.deletes.clear()
            return
    changes.creates.append(blank)


def blank_slice(backing: ServiceBackends, family: str, ports: Sequence[Port]) -> Obj:
    """Return a new slice without endpoints, named by the server after the Service (newEndpointSlice)."""
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
        "ports": [slice_port(port) for port in ports],
        "endpoints": [],
    }


def slice_labels(service: Obj) -> dict[str, str]:
    """Return the labels of a Service's slices: its own, the Service's name and the manager (setEndpointSliceLabels)."""
    labels = {name: value for name, value in labels_of(service).items() if name not in RESERVED_LABELS}
    labels |= {HEADLESS_LABEL: ""} if is_headless(service) else {}
    return labels | {SERVICE_NAME_LABEL: name_of(service), MANAGED_BY_LABEL: CONTROLLER}


def with_trigger_time(endpoint_slice: Obj, changed_at: str) -> Obj:
    """Return a slice with this trigger time as annotation, or without it if it is "" (addTriggerTimeAnnotation)."""
    meta = endpoint_slice["metadata"]
    annotations = {
        name: text for name, text in (meta.get("annotations") or {}).items() if name != TRIGGER_TIME_ANNOTATION
    }
    annotations |= {TRIGGER_TIME_ANNOTATION: changed_at} if changed_at else {}
    rest = {name: value for name, value in meta.items() if name != "annotations"}
    return endpoint_slice | {"metadata": rest | ({"annotations": annotations} if annotations else {})}


# -- ports and endpoints -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _EndpointGroup:
    """Endpoints with the same ports."""

    ports: Sequence[Port]
    endpoints: dict[EndpointKey, Obj] = field(default_factory=dict)


def _endpoint_groups(backing: ServiceBackends, family: str) -> dict[frozenset[Port], _EndpointGroup]:
    """Return the endpoints of a family by ports; a set of ports is included even if no pod has such an address."""
    service, groups = backing.service, dict[frozenset[Port], _EndpointGroup]()
    options = _EndpointOptions.of(service)
    for pod in backing.pods:
        if not has_address(pod):
            continue
        ports = ports_of(pod, service)
        key = frozenset(ports)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _EndpointGroup(ports)
        zone = backing.zones.get(pod["spec"].get("nodeName", ""))
        addresses = addresses_of(pod, family)
        if addresses and (zone is not None or options.publish_not_ready):
            hostname, meta = hostname_of(pod, service), pod["metadata"]
            endpoint_key = EndpointKey(tuple(sorted(addresses)), hostname, meta["namespace"], meta["name"])
            group.endpoints[endpoint_key] = options.endpoint(pod, addresses, hostname=hostname, zone=zone or "")
    return groups


@dataclass(frozen=True, slots=True)
class _EndpointOptions:
    """The settings of a Service for its endpoints.

    Attributes:
        publish_not_ready: endpoints are ready even if their pods are not (publishNotReadyAddresses).
        hints_zone, hints_node: ready endpoints have hints for their own zone, their own node.
    """

    publish_not_ready: bool
    hints_zone: bool
    hints_node: bool

    @classmethod
    def of(cls, service: Obj) -> "_EndpointOptions":
        """Return the settings in the Service's spec."""
        spec, annotations = service["spec"], annotations_of(service)
        mode = next((annotations[name] for name in _TOPOLOGY_ANNOTATIONS if name in annotations), "")
        distribution = "" if mode in ("Auto", "auto") else spec.get("trafficDistribution") or ""
        return cls(
            bool(spec.get("publishNotReadyAddresses")),
            distribution in _SAME_ZONE_DISTRIBUTIONS,
            distribution == _SAME_NODE_DISTRIBUTION,
        )

    def endpoint(self, pod: Obj, addresses: Sequence[str], *, hostname: str, zone: str) -> Obj:
        """Return the endpoint for a pod (podToEndpoint)."""
        serving, terminating = is_ready(pod), bool(pod["metadata"].get("deletionTimestamp"))
        ready = self.publish_not_ready or (serving and not terminating)
        endpoint: Obj = {
            "addresses": list(addresses),
            "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
            "targetRef": reference_to(pod),
        }
        node = pod["spec"].get("nodeName")
        if node:
            endpoint["nodeName"] = node
        if zone:
            endpoint["zone"] = zone
        if hostname:
            endpoint["hostname"] = hostname
        if ready and (hints := self._hints(node, zone)):
            endpoint["hints"] = hints
        return endpoint

    def _hints(self, node: str | None, zone: str) -> Obj:
        """Return the zone and the node that a ready endpoint should serve (k8s.io/endpointslice/trafficdist)."""
        hints: Obj = {"forZones": [{"name": zone}]} if self.hints_zone and zone else {}
        return hints | ({"forNodes": [{"name": node}]} if self.hints_node and node else {})
