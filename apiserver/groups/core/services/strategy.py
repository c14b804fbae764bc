"""The strategy of Services."""

from collections.abc import Callable

from apiserver.api.meta import Obj
from apiserver.groups.core.services.defaults import externally_accessible
from apiserver.groups.strategy import Strategy, keep_field, status_updating

_NODE_PORT_TYPES = frozenset({"LoadBalancer", "NodePort"})


def _has_address(spec: Obj) -> bool:
    return spec.get("type") != "ExternalName"


def _has_node_ports(spec: Obj) -> bool:
    return spec.get("type") in _NODE_PORT_TYPES


def _is_balancer(spec: Obj) -> bool:
    return spec.get("type") == "LoadBalancer"


def _has_health_port(spec: Obj) -> bool:
    return _is_balancer(spec) and spec.get("externalTrafficPolicy") == "Local"


_DEPENDENT: tuple[tuple[Callable[[Obj], bool], tuple[str, ...]], ...] = (
    (_has_address, ("clusterIP", "clusterIPs")),
    (_has_address, ("ipFamilies",)),
    (_has_address, ("ipFamilyPolicy",)),
    (_has_health_port, ("healthCheckNodePort",)),
    (_is_balancer, ("allocateLoadBalancerNodePorts",)),
    (_is_balancer, ("loadBalancerClass",)),
    (externally_accessible, ("externalTrafficPolicy",)),
)
"""(whether a Service has the fields, the fields); an update that makes it a Service without them drops them.

Source: dropTypeDependentFields.
"""


def prepare_create(service: Obj) -> None:
    """Reset the status, and make clusterIPs of a lone clusterIP."""
    service["status"] = {"loadBalancer": {}}
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def prepare_update(new: Obj, old: Obj) -> None:
    """Keep the status, without load balancer addresses once the type is no longer LoadBalancer."""
    keep_field(new, old, "status")
    spec, before = new["spec"], old["spec"]
    _keep_allocated(spec, before)
    _normalize_addresses(spec, before)
    _drop_dependent(spec, before)
    if not _is_balancer(spec):
        new["status"] = (new.get("status") or {}) | {"loadBalancer": {}}


def _keep_allocated(spec: Obj, before: Obj) -> None:
    """Restore allocated fields that the client left out (patchAllocatedValues)."""
    if _has_address(before) and _has_address(spec):
        _fill(spec, before, "clusterIP")
        _fill(spec, before, "clusterIPs")
    if _has_node_ports(before) and _has_node_ports(spec):
        _keep_node_ports(spec, before)
    if _has_health_port(before) and _has_health_port(spec):
        _fill(spec, before, "healthCheckNodePort")


def _fill(spec: Obj, before: Obj, field: str) -> None:
    if not spec.get(field) and before.get(field):
        spec[field] = before[field]


def _keep_node_ports(spec: Obj, before: Obj) -> None:
    """Give a port without a node port that of the old port of its name, unless another port uses it now."""
    used = _node_ports(before) & _node_ports(spec)
    known = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = known.get(port.get("name", ""), 0)
        if number and number not in used and not port.get("nodePort"):
            port["nodePort"] = number


def _node_ports(spec: Obj) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _normalize_addresses(spec: Obj, before: Obj) -> None:
    """Change or clear clusterIPs when only clusterIP was changed, as by an older client (normalizeClusterIPs)."""
    address = spec.get("clusterIP", "")
    if address != before.get("clusterIP", "") and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec["clusterIPs"] = [address]
        if not address:
            del spec["clusterIPs"]


def _drop_dependent(spec: Obj, before: Obj) -> None:
    if _has_node_ports(before) and not _has_node_ports(spec) and _node_ports(spec) <= _node_ports(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    gone = [fields for has, fields in _DEPENDENT if has(before) and not has(spec)]
    for fields in gone:
        if all(spec.get(field) == before.get(field) for field in fields):
            for field in fields:
                spec.pop(field, None)


SERVICE_STRATEGY = Strategy(prepare_create, prepare_update, status_updating(), has_status=True)
