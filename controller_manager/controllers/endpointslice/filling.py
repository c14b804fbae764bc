"""Slices of a hundred endpoints, filled so that few of them change (reconcileByPortMapping of k8s.io/endpointslice)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.api.meta import Obj, labels_of
from controller_manager.controllers.endpoints.services import HEADLESS, Port

LARGEST = 100
"""How many endpoints a slice has at most (--max-endpoints-per-slice)."""
SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
RESERVED = frozenset((SERVICE_NAME, MANAGED_BY, HEADLESS))
"""The labels of slices that a Service does not decide."""


class EndpointKey(NamedTuple):
    """By what an endpoint is the same one, however its conditions change (hashEndpoint)."""

    addresses: tuple[str, ...]
    hostname: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What has to be done with slices."""

    creates: list[Obj] = field(default_factory=list)
    updates: list[Obj] = field(default_factory=list)
    deletes: list[Obj] = field(default_factory=list)

    def add(self, more: "Changes") -> None:
        """Do that as well."""
        self.creates.extend(more.creates)
        self.updates.extend(more.updates)
        self.deletes.extend(more.deletes)


def key_of_endpoint(endpoint: Obj) -> EndpointKey:
    """By what an endpoint is told from others."""
    target = endpoint.get("targetRef") or {}
    return EndpointKey(
        tuple(sorted(endpoint["addresses"])),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def filled(blank: Obj, slices: Iterable[Obj], wanted: Mapping[EndpointKey, Obj]) -> Changes:
    """What has to be done so that slices of the same ports hold exactly these endpoints.

    Endpoints stay where they are; new ones go where something changes anyhow, then together into the slice that they
    fill best, and else into new slices.

    Args:
        blank: a new slice, without endpoints.
        slices: those that there are.
        wanted: the endpoints.
    """
    changes, unchanged, rest = Changes(), [], dict(wanted)
    for each in slices:
        before = each.get("endpoints") or []
        after = [found for endpoint in before if (found := rest.pop(key_of_endpoint(endpoint), None)) is not None]
        if before and not after:
            changes.deletes.append(each)
        elif before != after or _own(labels_of(each)) != _own(labels_of(blank)):
            changes.updates.append(_with(each, after, blank))
        else:
            unchanged.append(each)
    left = list(rest.values())
    for each in sorted(changes.updates, key=lambda each: -len(each["endpoints"])):
        _top_up(each["endpoints"], left)
    while left:
        fit = _fitting(unchanged, len(left))
        taken = list(fit.get("endpoints") or ()) if fit is not None else []
        _top_up(taken, left)
        if fit is None:
            changes.creates.append(blank | {"endpoints": taken})
        else:
            changes.updates.append(_with(fit, taken, blank))
    return changes


def _top_up(endpoints: list[Obj], left: list[Obj]) -> None:
    """Move endpoints to a slice until it is full."""
    room = LARGEST - len(endpoints)
    endpoints.extend(left[:room])
    del left[:room]


def _fitting(slices: Iterable[Obj], number: int) -> Obj | None:
    """The slice that so many more endpoints fill best, None where they fit into none (getSliceToFill)."""
    able = [each for each in slices if len(each.get("endpoints") or ()) + number <= LARGEST]
    return max(able, key=lambda each: len(each.get("endpoints") or ()), default=None)


def _with(each: Obj, endpoints: list[Obj], blank: Obj) -> Obj:
    return each | {"metadata": each["metadata"] | {"labels": blank["metadata"]["labels"]}, "endpoints": endpoints}


def _own(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The labels that are the Service's."""
    return {name: value for name, value in labels.items() if name not in RESERVED}


def reused(changes: Changes, uid: str) -> Changes:
    """Make new slices of those that would be deleted (finalize); not of those of a former Service of the name."""
    creates, updates, deletes = list(changes.creates), list(changes.updates), []
    for each in changes.deletes:
        if creates and is_owned(each, uid):
            new = creates.pop()
            meta = {name: new["metadata"][name] for name in ("labels", "ownerReferences")}
            updates.append(new | {"metadata": each["metadata"] | meta})
        else:
            deletes.append(each)
    return Changes(creates, updates, deletes)


def is_owned(each: Obj, uid: str) -> bool:
    """Whether a slice belongs to the object with that uid (ownedBy)."""
    return any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences") or ())


# -- slices and their ports --------------------------------------------------------------------------------------------


def told_port(port: Port) -> Obj:
    """A port as a slice tells it."""
    told: Obj = {"name": port.name, "port": port.number, "protocol": port.protocol}
    return told | ({"appProtocol": port.app_protocol} if port.app_protocol else {})


def port_in(told: Obj) -> Port:
    """The port of which a slice or a subset tells."""
    protocol, application = told.get("protocol") or "TCP", told.get("appProtocol") or ""
    return Port(told.get("name") or "", told.get("port") or 0, protocol, application)


def ports_in(each: Obj) -> frozenset[Port]:
    """The ports of which a slice or a subset tells."""
    return frozenset(map(port_in, each.get("ports") or ()))
