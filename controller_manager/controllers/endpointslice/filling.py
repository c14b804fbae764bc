"""Distribute endpoints over slices so that few slices change (reconcileByPortMapping of k8s.io/endpointslice)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.api.meta import Obj, labels_of
from controller_manager.controllers.endpoints.services import HEADLESS_LABEL, Port

MAX_ENDPOINTS_PER_SLICE = 100
"""The number of endpoints that a slice has at most (--max-endpoints-per-slice)."""
SERVICE_NAME_LABEL, MANAGED_BY_LABEL = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
RESERVED_LABELS = frozenset((SERVICE_NAME_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL))
"""The labels of slices that are not copied from a Service."""


class EndpointKey(NamedTuple):
    """The identity of an endpoint, which stays the same however its conditions change (hashEndpoint)."""

    addresses: tuple[str, ...]
    hostname: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class SliceChanges:
    """The slices to create, update and delete."""

    creates: list[Obj] = field(default_factory=list)
    updates: list[Obj] = field(default_factory=list)
    deletes: list[Obj] = field(default_factory=list)

    def extend(self, more: "SliceChanges") -> None:
        """Append more changes."""
        self.creates.extend(more.creates)
        self.updates.extend(more.updates)
        self.deletes.extend(more.deletes)


def endpoint_key(endpoint: Obj) -> EndpointKey:
    """Return the identity of an endpoint."""
    target = endpoint.get("targetRef") or {}
    return EndpointKey(
        tuple(sorted(endpoint["addresses"])),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def reconcile_slices(blank: Obj, slices: Iterable[Obj], desired: Mapping[EndpointKey, Obj]) -> SliceChanges:
    """Return the changes after which the slices of one set of ports hold exactly these endpoints.

    Endpoints stay where they are. New ones go first into slices that change anyway, then together into the slice that
    they fill best, and the rest into new slices.

    Args:
        blank: a new slice without endpoints.
        slices: the existing slices of these ports.
        desired: the endpoints.
    """
    changes, unchanged, rest = SliceChanges(), [], dict(desired)
    for endpoint_slice in slices:
        before = endpoint_slice.get("endpoints") or []
        after = [kept for endpoint in before if (kept := rest.pop(endpoint_key(endpoint), None)) is not None]
        if before and not after:
            changes.deletes.append(endpoint_slice)
        elif before != after or _labels_of_service(labels_of(endpoint_slice)) != _labels_of_service(labels_of(blank)):
            changes.updates.append(_with_endpoints(endpoint_slice, after, blank))
        else:
            unchanged.append(endpoint_slice)
    left = list(rest.values())
    for endpoint_slice in sorted(changes.updates, key=lambda endpoint_slice: -len(endpoint_slice["endpoints"])):
        _top_up(endpoint_slice["endpoints"], left)
    while left:
        best = _slice_to_fill(unchanged, len(left))
        taken = list(best.get("endpoints") or ()) if best is not None else []
        _top_up(taken, left)
        if best is None:
            changes.creates.append(blank | {"endpoints": taken})
        else:
            changes.updates.append(_with_endpoints(best, taken, blank))
    return changes


def _top_up(endpoints: list[Obj], left: list[Obj]) -> None:
    """Move endpoints from the list to a slice until it is full."""
    room = MAX_ENDPOINTS_PER_SLICE - len(endpoints)
    endpoints.extend(left[:room])
    del left[:room]


def _slice_to_fill(slices: Iterable[Obj], number: int) -> Obj | None:
    """Return the slice that so many more endpoints fill best, or None if none has room for them (getSliceToFill)."""
    candidates = [
        endpoint_slice
        for endpoint_slice in slices
        if len(endpoint_slice.get("endpoints") or ()) + number <= MAX_ENDPOINTS_PER_SLICE
    ]
    return max(candidates, key=lambda endpoint_slice: len(endpoint_slice.get("endpoints") or ()), default=None)


def _with_endpoints(endpoint_slice: Obj, endpoints: list[Obj], blank: Obj) -> Obj:
    return endpoint_slice | {
        "metadata": endpoint_slice["metadata"] | {"labels": blank["metadata"]["labels"]},
        "endpoints": endpoints,
    }


def _labels_of_service(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return the labels that come from the Service."""
    return {name: value for name, value in labels.items() if name not in RESERVED_LABELS}


def reuse_deleted(changes: SliceChanges, uid: str) -> SliceChanges:
    """Reuse slices that would be deleted as new ones (finalize), unless a former Service of the name owns them."""
    creates, updates, deletes = list(changes.creates), list(changes.updates), []
    for endpoint_slice in changes.deletes:
        if creates and is_owned_by(endpoint_slice, uid):
            new = creates.pop()
            meta = {name: new["metadata"][name] for name in ("labels", "ownerReferences")}
            updates.append(new | {"metadata": endpoint_slice["metadata"] | meta})
        else:
            deletes.append(endpoint_slice)
    return SliceChanges(creates, updates, deletes)


def is_owned_by(endpoint_slice: Obj, uid: str) -> bool:
    """Return whether the object with that uid owns a slice (ownedBy)."""
    return any(owner["uid"] == uid for owner in endpoint_slice["metadata"].get("ownerReferences") or ())


# -- slices and their ports --------------------------------------------------------------------------------------------


def slice_port(port: Port) -> Obj:
    """Return a port in the form that a slice has it."""
    result: Obj = {"name": port.name, "port": port.number, "protocol": port.protocol}
    return result | ({"appProtocol": port.app_protocol} if port.app_protocol else {})


def port_in(entry: Obj) -> Port:
    """Return the Port for an entry of a slice's or a subset's ports."""
    protocol, application = entry.get("protocol") or "TCP", entry.get("appProtocol") or ""
    return Port(entry.get("name") or "", entry.get("port") or 0, protocol, application)


def ports_in(endpoint_slice: Obj) -> frozenset[Port]:
    """Return the ports of a slice or a subset."""
    return frozenset(map(port_in, endpoint_slice.get("ports") or ()))
