"""Defaults of Services."""

from apiserver.api.meta import Obj

AFFINITY_SECONDS = 10800

_ROUTED_INSIDE = frozenset({"ClusterIP", "NodePort", "LoadBalancer"})


def default_service(service: Obj) -> None:
    """Set the defaults of a Service, except for allocated fields (addresses, families, node ports)."""
    spec = service.setdefault("spec", {})
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    kind = spec.setdefault("type", "ClusterIP")
    if externally_accessible(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in _ROUTED_INSIDE:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        _default_ingress_mode(service)


def _default_affinity(spec: Obj) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}


def externally_accessible(spec: Obj) -> bool:
    """Return whether traffic from outside can reach a Service with this spec (pkg/api/v1/service)."""
    kind = spec.get("type")
    return kind in {"LoadBalancer", "NodePort"} or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _default_ingress_mode(service: Obj) -> None:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    for ingress in balancer.get("ingress") or ():
        if ingress.get("ip"):
            ingress.setdefault("ipMode", "VIP")
