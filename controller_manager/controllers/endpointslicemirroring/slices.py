"""Convert Endpoints that users wrote to EndpointSlices (pkg/controller/endpointslicemirroring)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from controller_manager.controllers.endpoints.services import IPV4, IPV6, LEADER, TRIGGER_TIME_ANNOTATION, Port
from controller_manager.controllers.endpoints.subsets import Host, repack
from controller_manager.controllers.endpointslice.filling import (
    MANAGED_BY_LABEL,
    SERVICE_NAME_LABEL,
    EndpointKey,
    SliceChanges,
    endpoint_key,
    port_in,
    ports_in,
    reuse_deleted,
    slice_port,
)
from controller_manager.reconcile.pods import generate_name

CONTROLLER = "endpointslicemirroring-controller.k8s.io"
MAX_ENDPOINTS_PER_SUBSET = 1000
"""The number of addresses of a subset that are mirrored (--mirroring-max-endpoints-per-subset)."""

_SKIP_MIRROR_LABEL = "endpointslice.kubernetes.io/skip-mirror"
_ANNOTATIONS_TO_SKIP = (TRIGGER_TIME_ANNOTATION, "kubectl.kubernetes.io/last-applied-configuration")


def is_for_mirroring(endpoints: Obj, service: Obj) -> bool:
    """Return whether the Endpoints are a user's own and not excluded from mirroring (shouldMirror)."""
    annotations = annotations_of(endpoints)
    skips = labels_of(endpoints).get(_SKIP_MIRROR_LABEL) == "true" or LEADER in annotations
    return not skips and not service["spec"].get("selector")


@dataclass(frozen=True, slots=True)
class MirrorResult:
    """The changes after which slices mirror Endpoints, and the number of addresses left out."""

    changes: SliceChanges
    skipped: int


@dataclass(frozen=True, slots=True)
class _EndpointGroup:
    """Endpoints of one address family and one set of ports."""

    family: str
    ports: list[Port]
    endpoints: dict[EndpointKey, Obj] = field(default_factory=dict)


def mirror(endpoints: Obj, reference: Obj, slices: Iterable[Obj]) -> MirrorResult:
    """Mirror Endpoints, each subset to one slice per address family (reconcile).

    Args:
        endpoints: the Endpoints to mirror.
        reference: the owner reference for the slices.
        slices: the existing slices.
    """
    skipped, groups = 0, dict[tuple[str, frozenset[Port]], _EndpointGroup]()
    for subset in _without_duplicates(endpoints):
        ports = [port_in(entry) for entry in subset.get("ports") or ()]
        mirrored_endpoints = [*_endpoints(subset, "addresses"), *_endpoints(subset, "notReadyAddresses")]
        skipped += max(0, len(mirrored_endpoints) - MAX_ENDPOINTS_PER_SUBSET)
        for endpoint in mirrored_endpoints[:MAX_ENDPOINTS_PER_SUBSET]:
            family = IPV6 if ":" in endpoint["addresses"][0] else IPV4
            group = groups.setdefault((family, frozenset(ports)), _EndpointGroup(family, ports))
            group.endpoints[endpoint_key(endpoint)] = endpoint
    existing: dict[tuple[str, frozenset[Port]], list[Obj]] = {}
    for endpoint_slice in slices:
        existing.setdefault((endpoint_slice["addressType"], ports_in(endpoint_slice)), []).append(endpoint_slice)
    changes = {family: SliceChanges() for family in dict.fromkeys(family for family, _ in (*groups, *existing))}
    for (family, port_set), group in groups.items():
        changes[family].extend(_one_slice(endpoints, reference, group, existing.pop((family, port_set), [])))
    for (family, _), unwanted in existing.items():
        changes[family].deletes.extend(unwanted)
    all_changes = SliceChanges()
    for family_changes in changes.values():
        all_changes.extend(reuse_deleted(family_changes, endpoints["metadata"]["uid"]))
    return MirrorResult(all_changes, skipped)


def _one_slice(endpoints: Obj, reference: Obj, group: _EndpointGroup, slices: list[Obj]) -> SliceChanges:
    """Return the changes after which exactly one slice holds a group (reconcileByPortMapping)."""
    desired = _slice(endpoints, reference, group)
    if not slices:
        return SliceChanges(creates=[desired])
    first, *others = slices
    meta = first["metadata"]
    existing = {endpoint_key(endpoint): endpoint for endpoint in first.get("endpoints") or ()}
    desired_meta = desired["metadata"]
    annotations = desired_meta.get("annotations") or {}
    if (
        existing == group.endpoints
        and (meta.get("labels") or {}) == desired_meta["labels"]
        and (meta.get("annotations") or {}) == annotations
    ):
        return SliceChanges(deletes=others)
    new = meta | {"labels": desired_meta["labels"], "annotations": annotations}
    return SliceChanges(updates=[desired | {"metadata": new}], deletes=others)


def _slice(endpoints: Obj, reference: Obj, group: _EndpointGroup) -> Obj:
    """Return the slice for a group, with the labels and annotations of the Endpoints (newEndpointSlice)."""
    name, all_annotations = name_of(endpoints), annotations_of(endpoints)
    annotations = {key: text for key, text in all_annotations.items() if key not in _ANNOTATIONS_TO_SKIP}
    meta: Obj = {
        "generateName": generate_name(name),
        "namespace": namespace_of(endpoints),
        "labels": {**labels_of(endpoints), SERVICE_NAME_LABEL: name, MANAGED_BY_LABEL: CONTROLLER},
        "ownerReferences": [reference],
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": meta | ({"annotations": annotations} if annotations else {}),
        "addressType": group.family,
        "ports": [slice_port(port) for port in group.ports],
        "endpoints": list(group.endpoints.values()),
    }


def _endpoints(subset: Obj, field_: str) -> list[Obj]:
    """Return the endpoints for a subset's addresses (addressToEndpoint)."""
    kept = ("hostname", "nodeName", "targetRef")
    return [
        {"addresses": [address["ip"]], "conditions": {"ready": field_ == "addresses"}}
        | {name: address[name] for name in kept if address.get(name)}
        for address in subset.get(field_) or ()
    ]


def _without_duplicates(endpoints: Obj) -> list[Obj]:
    """Return the subsets with each address and port once; not ready takes precedence over ready."""
    addresses: dict[tuple[str, str], Obj] = {}
    ready: dict[tuple[str, str], dict[Port | None, bool]] = {}
    for subset in endpoints.get("subsets") or ():
        ports: list[Port | None] = [port_in(entry) for entry in subset.get("ports") or ()] or [None]
        for field_ in ("addresses", "notReadyAddresses"):
            for address in subset.get(field_) or ():
                key = (address["ip"], (address.get("targetRef") or {}).get("uid") or "")
                addresses.setdefault(key, address)
                _merge_readiness(ready.setdefault(key, {}), ports, is_ready=field_ == "addresses")
    return repack(host for key, states in ready.items() for host in _hosts(addresses[key], states))


def _merge_readiness(states: dict[Port | None, bool], ports: Iterable[Port | None], *, is_ready: bool) -> None:
    for port in ports:
        states[port] = states.get(port, True) and is_ready


def _hosts(address: Obj, states: Mapping[Port | None, bool]) -> Iterable[Host]:
    """Yield an address with the ports on which it is ready, and again with those on which it is not."""
    for state in (True, False):
        if ports := [port for port, is_ready in states.items() if is_ready is state]:
            yield Host(address, state, ports)
