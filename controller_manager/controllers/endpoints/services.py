"""Services and their pods: the Services that a pod's change affects, the pod's addresses and ports, trigger times."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.pods import is_ready, is_terminal

TRIGGER_TIME_ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time"
"""The annotation with the time of the last change that affected the endpoints."""
HEADLESS_LABEL = "service.kubernetes.io/headless"
"""The label of the endpoints of a Service that has no cluster IP."""
LEADER = "control-plane.alpha.kubernetes.io/leader"
"""The annotation of Endpoints that serve as the lock of a leader election; they have no Service."""
IPV4, IPV6 = "IPv4", "IPv6"

Label = tuple[str, str]


class Port(NamedTuple):
    """A port of a Service, resolved on a pod.

    Attributes:
        app_protocol: "" if the Service sets none.
    """

    name: str
    number: int
    protocol: str
    app_protocol: str


def selector_of(service: Obj) -> Mapping[str, str]:
    """Return the labels of the pods behind a Service, empty if the controllers do not manage its endpoints.

    Services of type ExternalName have no pods; if a Service has no selector, its endpoints are written by others.
    """
    spec = service["spec"]
    return {} if spec.get("type") == "ExternalName" else spec.get("selector") or {}


def is_headless(service: Obj) -> bool:
    """Return whether the Service has no cluster IP (apis/core/v1/helper IsServiceIPSet)."""
    return service["spec"].get("clusterIP") in (None, "", "None")


# -- which Services a pod's change affects -----------------------------------------------------------------------------


class ServiceSelectors:
    """The selectors of all Services, indexed so that a pod's Services are found without checking each one (a view)."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[Label, dict[str, AbstractSet[Label]]]] = {}

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Handle a Service that was added (old is None), changed, or deleted (new is None)."""
        del kind
        before = selector_of(old) if old is not None else {}
        after = selector_of(new) if new is not None else {}
        if before == after:
            return
        if old is not None and before:
            self._remove(old, before)
        if new is not None and after:
            pairs = frozenset(after.items())
            selectors = self._by_namespace.setdefault(namespace_of(new), {}).setdefault(min(pairs), {})
            selectors[name_of(new)] = pairs

    def _remove(self, service: Obj, selector: Mapping[str, str]) -> None:
        """Remove a selector, which is indexed under the first of its labels."""
        namespace, pair = namespace_of(service), min(selector.items())
        of_namespace = self._by_namespace[namespace]
        of_namespace[pair].pop(name_of(service))
        if not of_namespace[pair]:
            del of_namespace[pair]
        if not of_namespace:
            del self._by_namespace[namespace]

    def affected_services(self, old: Obj | None, new: Obj | None) -> Iterable[str]:
        """Return the keys of the Services whose endpoints a pod's change may affect (GetServicesToUpdate).

        If no Service in the namespace has a selector this costs next to nothing: it runs for every change of every pod.
        """
        pod = new if new is not None else old
        assert pod is not None
        namespace = pod["metadata"]["namespace"]
        selectors = self._by_namespace.get(namespace)
        if selectors is None or old is new:
            return ()
        was = _endpoint_properties(old) if old is not None else None
        is_now = _endpoint_properties(new) if new is not None else None
        if was is None and is_now is None:
            return ()
        before = labels_of(old) if was is not None and old is not None else {}
        after = labels_of(new) if is_now is not None and new is not None else {}
        if before == after:
            return [f"{namespace}/{name}" for name in _services_selecting(selectors, after)] if was != is_now else ()
        left, joined = set(_services_selecting(selectors, before)), set(_services_selecting(selectors, after))
        names = left | joined if was != is_now else left ^ joined
        return [f"{namespace}/{name}" for name in names]


def _services_selecting(
    selectors: Mapping[Label, Mapping[str, AbstractSet[Label]]], labels: Mapping[str, str]
) -> Iterator[str]:
    """Yield the names of the Services that select labels."""
    pairs = labels.items()
    for pair in pairs:
        for name, selector in selectors.get(pair, {}).items():
            if selector <= pairs:
                yield name


def _endpoint_properties(pod: Obj) -> object:
    """Return the properties of a pod that its endpoints depend on, or None if it is in none (podEndpointsChanged)."""
    if not has_address(pod):
        return None
    status = pod["status"]
    return status.get("podIPs") or status["podIP"], is_ready(pod), bool(pod["metadata"].get("deletionTimestamp"))


# -- a pod's part of an endpoint ---------------------------------------------------------------------------------------


def has_address(pod: Obj) -> bool:
    """Return whether the pod has an address and may still use it (endpointslice/util ShouldPodBeInEndpoints)."""
    status = pod.get("status") or {}
    return bool(status.get("podIPs") or status.get("podIP")) and not is_terminal(pod)


def addresses_of(pod: Obj, family: str) -> list[str]:
    """Return the pod's addresses of a family, IPV4 or IPV6."""
    status = pod["status"]
    addresses = [entry["ip"] for entry in status.get("podIPs") or ()] or [status["podIP"]]
    return [ip for ip in addresses if (":" in ip) == (family == IPV6)]


def families_of(service: Obj) -> Sequence[str]:
    """Return the address families that the Service's endpoints have (getAddressTypesForService)."""
    spec = service["spec"]
    if families := spec.get("ipFamilies"):
        return list(dict.fromkeys(families))
    if is_headless(service):
        return (IPV4, IPV6)
    return (IPV6 if ":" in spec["clusterIP"] else IPV4,)


def hostname_of(pod: Obj, service: Obj) -> str:
    """Return the pod's hostname within the Service's domain, or "" if it has none (ShouldSetHostname)."""
    spec = pod["spec"]
    return (spec.get("hostname") or "") if spec.get("subdomain") == name_of(service) else ""


def reference_to(pod: Obj) -> Obj:
    """Return the targetRef of an endpoint."""
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def ports_of(pod: Obj, service: Obj) -> tuple[Port, ...]:
    """Return the Service's ports on a pod: all numbers, and names that one of its containers declares (FindPort)."""
    ports = []
    for port in service["spec"].get("ports") or ():
        target, protocol = port.get("targetPort") or port["port"], port.get("protocol") or "TCP"
        number = _named_port(pod, target, protocol) if isinstance(target, str) else int(target)
        if number is not None:
            ports.append(Port(port.get("name") or "", number, protocol, port.get("appProtocol") or ""))
    return tuple(ports)


def _named_port(pod: Obj, name: str, protocol: str) -> int | None:
    """Return the number of a port that a container or a sidecar declares by name."""
    spec = pod["spec"]
    sidecars = (c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always")
    for container in (*spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == name and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return None


# -- trigger times -----------------------------------------------------------------------------------------------------


class TriggerTimes:
    """The last Ready transitions of the pods behind each Service, as of its last sync: a view of Services.

    The trigger time is the earliest of the transitions since then; for a Service not synced before it is the Service's
    creation time (endpointslice/util TriggerTimeTracker). Times are strings of one format, which sort as times do.
    """

    def __init__(self) -> None:
        self._transitions: dict[str, dict[str, str]] = {}

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Forget a Service that was deleted."""
        del kind
        if new is None and old is not None:
            self._transitions.pop(old["metadata"]["uid"], None)

    def record(self, service: Obj, pods: Iterable[Obj]) -> str:
        """Record the pods' transitions and return the trigger time, or "" if there is no new transition."""
        meta = service["metadata"]
        before = self._transitions.get(meta["uid"])
        now = self._transitions[meta["uid"]] = {name_of(pod): time for pod in pods if (time := _transition_time(pod))}
        if before is None:
            return str(meta.get("creationTimestamp") or "")
        return min((time for name, time in now.items() if time > before.get(name, "")), default="")


def _transition_time(pod: Obj) -> str:
    return (condition_of(pod, "Ready") or {}).get("lastTransitionTime") or ""
