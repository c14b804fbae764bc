"""Services and the pods behind them: whom a change of a pod concerns, its addresses and ports, and when it changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.pods import is_ready, is_terminal

CHANGED_AT = "endpoints.kubernetes.io/last-change-trigger-time"
"""The annotation that tells when what changed the endpoints happened."""
HEADLESS = "service.kubernetes.io/headless"
"""The label of what belongs to a Service that has no address."""
IPV4, IPV6 = "IPv4", "IPv6"

Pair = tuple[str, str]


class Port(NamedTuple):
    """A port of a Service, as it is on a pod.

    Attributes:
        app_protocol: "" where the Service tells none.
    """

    name: str
    number: int
    protocol: str
    app_protocol: str


def selector_of(service: Obj) -> Mapping[str, str]:
    """The labels of the pods that controllers put behind a Service, empty where that is not for them.

    Services of type ExternalName have no pods, and those without a selector get their endpoints from somebody else.
    """
    spec = service["spec"]
    return {} if spec.get("type") == "ExternalName" else spec.get("selector") or {}


def is_headless(service: Obj) -> bool:
    """Whether the Service has no address of its own (apis/core/v1/helper IsServiceIPSet)."""
    return service["spec"].get("clusterIP") in (None, "", "None")


# -- whom a change of a pod concerns -----------------------------------------------------------------------------------


class Selectors:
    """The selectors of all Services, filed so that those of a pod are found without asking each: a view of Services."""

    def __init__(self) -> None:
        self._filed: dict[str, dict[Pair, dict[str, AbstractSet[Pair]]]] = {}

    def change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """A Service came (old is None), changed, or went (new is None)."""
        del kind
        before = selector_of(old) if old is not None else {}
        after = selector_of(new) if new is not None else {}
        if before == after:
            return
        if old is not None and before:
            self._withdraw(old, before)
        if new is not None and after:
            pairs = frozenset(after.items())
            filed = self._filed.setdefault(namespace_of(new), {}).setdefault(min(pairs), {})
            filed[name_of(new)] = pairs

    def _withdraw(self, service: Obj, selector: Mapping[str, str]) -> None:
        """Take out a selector, which is filed under the first of its labels."""
        namespace, pair = namespace_of(service), min(selector.items())
        of_namespace = self._filed[namespace]
        of_namespace[pair].pop(name_of(service))
        if not of_namespace[pair]:
            del of_namespace[pair]
        if not of_namespace:
            del self._filed[namespace]

    def touched(self, old: Obj | None, new: Obj | None) -> Iterable[str]:
        """The keys of the Services whose endpoints a change of a pod may change (GetServicesToUpdate).

        Where nobody selects pods in the namespace this costs next to nothing: every change of every pod comes here.
        """
        pod = new if new is not None else old
        assert pod is not None
        namespace = pod["metadata"]["namespace"]
        filed = self._filed.get(namespace)
        if filed is None or old is new:
            return ()
        was = _appearance(old) if old is not None else None
        is_now = _appearance(new) if new is not None else None
        if was is None and is_now is None:
            return ()
        before = labels_of(old) if was is not None and old is not None else {}
        after = labels_of(new) if is_now is not None and new is not None else {}
        if before == after:
            return [f"{namespace}/{name}" for name in _selecting(filed, after)] if was != is_now else ()
        left, joined = set(_selecting(filed, before)), set(_selecting(filed, after))
        names = left | joined if was != is_now else left ^ joined
        return [f"{namespace}/{name}" for name in names]


def _selecting(filed: Mapping[Pair, Mapping[str, AbstractSet[Pair]]], labels: Mapping[str, str]) -> Iterator[str]:
    """The names of the Services that select labels."""
    found = labels.items()
    for pair in found:
        for name, selector in filed.get(pair, {}).items():
            if selector <= found:
                yield name


def _appearance(pod: Obj) -> object:
    """What endpoints tell of a pod that may change, None where it is in none (podEndpointsChanged)."""
    if not has_address(pod):
        return None
    status = pod["status"]
    return status.get("podIPs") or status["podIP"], is_ready(pod), bool(pod["metadata"].get("deletionTimestamp"))


# -- what is told of a pod ---------------------------------------------------------------------------------------------


def has_address(pod: Obj) -> bool:
    """Whether the pod has an address and may still use it (endpointslice/util ShouldPodBeInEndpoints)."""
    status = pod.get("status") or {}
    return bool(status.get("podIPs") or status.get("podIP")) and not is_terminal(pod)


def addresses_of(pod: Obj, family: str) -> list[str]:
    """The pod's addresses of a family, IPV4 or IPV6."""
    status = pod["status"]
    found = [each["ip"] for each in status.get("podIPs") or ()] or [status["podIP"]]
    return [ip for ip in found if (":" in ip) == (family == IPV6)]


def families_of(service: Obj) -> Sequence[str]:
    """The families of addresses that the Service's endpoints have (getAddressTypesForService)."""
    spec = service["spec"]
    if families := spec.get("ipFamilies"):
        return list(dict.fromkeys(families))
    if is_headless(service):
        return (IPV4, IPV6)
    return (IPV6 if ":" in spec["clusterIP"] else IPV4,)


def hostname_of(pod: Obj, service: Obj) -> str:
    """The name of the pod's own within the Service's domain, "" where it has none (ShouldSetHostname)."""
    spec = pod["spec"]
    return (spec.get("hostname") or "") if spec.get("subdomain") == name_of(service) else ""


def reference_to(pod: Obj) -> Obj:
    """The targetRef of an endpoint."""
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def ports_of(pod: Obj, service: Obj) -> tuple[Port, ...]:
    """The ports of a Service that the pod has: those that it names with a name, all that are numbers (FindPort)."""
    found = []
    for port in service["spec"].get("ports") or ():
        target, protocol = port.get("targetPort") or port["port"], port.get("protocol") or "TCP"
        number = _named(pod, target, protocol) if isinstance(target, str) else int(target)
        if number is not None:
            found.append(Port(port.get("name") or "", number, protocol, port.get("appProtocol") or ""))
    return tuple(found)


def _named(pod: Obj, name: str, protocol: str) -> int | None:
    """The number of a port that a container or a sidecar names."""
    spec = pod["spec"]
    sidecars = (c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always")
    for container in (*spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == name and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return None


# -- when it changed ---------------------------------------------------------------------------------------------------


class TriggerTimes:
    """When the pods behind each Service became ready or ceased to be, as last looked at: a view of Services.

    What CHANGED_AT tells is the earliest of the times that are new since then, for a Service that was never looked at
    when it was made (endpointslice/util TriggerTimeTracker). Times are texts of one form, which compare as times do.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, str]] = {}

    def change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """A Service that goes is forgotten."""
        del kind
        if new is None and old is not None:
            self._seen.pop(old["metadata"]["uid"], None)

    def look(self, service: Obj, pods: Iterable[Obj]) -> str:
        """Look at the pods of a Service, and give the time for CHANGED_AT, "" where nothing is new."""
        meta = service["metadata"]
        before = self._seen.get(meta["uid"])
        now = self._seen[meta["uid"]] = {name_of(pod): time for pod in pods if (time := _changed_at(pod))}
        if before is None:
            return str(meta.get("creationTimestamp") or "")
        return min((time for name, time in now.items() if time > before.get(name, "")), default="")


def _changed_at(pod: Obj) -> str:
    return (condition_of(pod, "Ready") or {}).get("lastTransitionTime") or ""
