"""Endpoints that somebody wrote by hand, as EndpointSlices (pkg/controller/endpointslicemirroring)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of, namespace_of
from controller_manager.controllers.endpoints.services import CHANGED_AT, IPV4, IPV6, Port
from controller_manager.controllers.endpoints.subsets import Host, packed
from controller_manager.controllers.endpointslice.filling import (
    MANAGED_BY,
    SERVICE_NAME,
    Changes,
    EndpointKey,
    key_of_endpoint,
    port_in,
    ports_in,
    reused,
    told_port,
)
from controller_manager.reconcile.pods import generate_name

CONTROLLER = "endpointslicemirroring-controller.k8s.io"
LARGEST = 1000
"""How many addresses of a subset are mirrored (--mirroring-max-endpoints-per-subset)."""

_SKIP = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_NOT_MIRRORED = (CHANGED_AT, "kubectl.kubernetes.io/last-applied-configuration")


def is_for_mirroring(endpoints: Obj, service: Obj) -> bool:
    """Whether the Endpoints of a Service are somebody's own, and he does not want them left alone (shouldMirror)."""
    annotations = annotations_of(endpoints)
    skips = labels_of(endpoints).get(_SKIP) == "true" or _LEADER in annotations
    return not skips and not service["spec"].get("selector")


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What is to be done so that slices tell what Endpoints tell, and how many addresses are left out."""

    changes: Changes
    skipped: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Endpoints of one family and one set of ports."""

    family: str
    ports: list[Port]
    endpoints: dict[EndpointKey, Obj] = field(default_factory=dict)


def mirrored(endpoints: Obj, reference: Obj, slices: Iterable[Obj]) -> Mirrored:
    """Mirror Endpoints, each subset in one slice of each family (reconcile).

    Args:
        endpoints: what somebody wrote.
        reference: the owner reference of its slices.
        slices: those that there are.
    """
    skipped, groups = 0, dict[tuple[str, frozenset[Port]], _Group]()
    for subset in _canonical(endpoints):
        ports = [port_in(told) for told in subset.get("ports") or ()]
        found = [*_endpoints(subset, "addresses"), *_endpoints(subset, "notReadyAddresses")]
        skipped += max(0, len(found) - LARGEST)
        for endpoint in found[:LARGEST]:
            family = IPV6 if ":" in endpoint["addresses"][0] else IPV4
            group = groups.setdefault((family, frozenset(ports)), _Group(family, ports))
            group.endpoints[key_of_endpoint(endpoint)] = endpoint
    filed: dict[tuple[str, frozenset[Port]], list[Obj]] = {}
    for each in slices:
        filed.setdefault((each["addressType"], ports_in(each)), []).append(each)
    changes = {family: Changes() for family in dict.fromkeys(family for family, _ in (*groups, *filed))}
    for (family, ports_of_it), group in groups.items():
        changes[family].add(_one_slice(endpoints, reference, group, filed.pop((family, ports_of_it), [])))
    for (family, _), unwanted in filed.items():
        changes[family].deletes.extend(unwanted)
    all_changes = Changes()
    for of_family in changes.values():
        all_changes.add(reused(of_family, endpoints["metadata"]["uid"]))
    return Mirrored(all_changes, skipped)


def _one_slice(endpoints: Obj, reference: Obj, group: _Group, slices: list[Obj]) -> Changes:
    """Have one slice tell of a group (reconcileByPortMapping)."""
    wanted = _slice(endpoints, reference, group)
    if not slices:
        return Changes(creates=[wanted])
    first, *others = slices
    meta = first["metadata"]
    told = {key_of_endpoint(endpoint): endpoint for endpoint in first.get("endpoints") or ()}
    wanted_meta = wanted["metadata"]
    annotations = wanted_meta.get("annotations") or {}
    if (
        told == group.endpoints
        and (meta.get("labels") or {}) == wanted_meta["labels"]
        and (meta.get("annotations") or {}) == annotations
    ):
        return Changes(deletes=others)
    new = meta | {"labels": wanted_meta["labels"], "annotations": annotations}
    return Changes(updates=[wanted | {"metadata": new}], deletes=others)


def _slice(endpoints: Obj, reference: Obj, group: _Group) -> Obj:
    """The slice that tells of a group, with the labels and annotations of the Endpoints (newEndpointSlice)."""
    name, given = name_of(endpoints), annotations_of(endpoints)
    annotations = {key: text for key, text in given.items() if key not in _NOT_MIRRORED}
    meta: Obj = {
        "generateName": generate_name(name),
        "namespace": namespace_of(endpoints),
        "labels": {**labels_of(endpoints), SERVICE_NAME: name, MANAGED_BY: CONTROLLER},
        "ownerReferences": [reference],
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": meta | ({"annotations": annotations} if annotations else {}),
        "addressType": group.family,
        "ports": [told_port(port) for port in group.ports],
        "endpoints": list(group.endpoints.values()),
    }


def _endpoints(subset: Obj, field_: str) -> list[Obj]:
    """The endpoints that addresses of a subset are (addressToEndpoint)."""
    kept = ("hostname", "nodeName", "targetRef")
    return [
        {"addresses": [address["ip"]], "conditions": {"ready": field_ == "addresses"}}
        | {name: address[name] for name in kept if address.get(name)}
        for address in subset.get(field_) or ()
    ]


def _canonical(endpoints: Obj) -> list[Obj]:
    """The subsets, each port with an address once; not to be ready counts more than to be ready."""
    addresses: dict[tuple[str, str], Obj] = {}
    ready: dict[tuple[str, str], dict[Port | None, bool]] = {}
    for subset in endpoints.get("subsets") or ():
        ports: list[Port | None] = [port_in(told) for told in subset.get("ports") or ()] or [None]
        for field_ in ("addresses", "notReadyAddresses"):
            for address in subset.get(field_) or ():
                key = (address["ip"], (address.get("targetRef") or {}).get("uid") or "")
                addresses.setdefault(key, address)
                _note(ready.setdefault(key, {}), ports, is_ready=field_ == "addresses")
    return packed(host for key, states in ready.items() for host in _hosts(addresses[key], states))


def _note(states: dict[Port | None, bool], ports: Iterable[Port | None], *, is_ready: bool) -> None:
    for port in ports:
        states[port] = states.get(port, True) and is_ready


def _hosts(address: Obj, states: Mapping[Port | None, bool]) -> Iterable[Host]:
    """An address with the ports on which it is ready, and with those on which it is not."""
    for state in (True, False):
        if ports := [port for port, is_ready in states.items() if is_ready is state]:
            yield Host(address, state, ports)
