"""Validation of Services and of their updates (pkg/apis/core/validation, ValidateService).

It expects allocated addresses and ports: like upstream, allocation comes before validation.
"""

from collections.abc import Iterator, Sequence

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.groups.core.endpoints import PROTOCOLS, special_address
from apiserver.groups.core.services.addresses import (
    headless,
    validate_addresses,
    validate_addresses_update,
    validate_families_update,
)

_TYPES = frozenset({"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"})

_AFFINITIES = frozenset({"ClientIP", "None"})

_POLICIES = frozenset({"Cluster", "Local"})

_DISTRIBUTIONS = frozenset({"PreferClose", "PreferSameNode", "PreferSameZone"})

_IP_MODES = frozenset({"Proxy", "VIP"})

_MAX_AFFINITY_SECONDS = 86400

_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"

_TOPOLOGY_HINTS, _TOPOLOGY_MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"

_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"

_NOT_EXTERNAL_NAME = "may not be set for ExternalName services"


def needs_health_check(spec: Obj) -> bool:
    """Return whether the Service needs a port for health checks (pkg/api/service.NeedsHealthCheck)."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def create(service: Obj) -> Iterator[FieldError]:
    """Return the errors of a new Service."""
    annotations, spec = service["metadata"].get("annotations") or {}, service.get("spec") or {}
    if annotations:
        yield from _topology(annotations)
    yield from checks.prefix_errors("spec", _type_rules(spec))
    yield from checks.prefix_errors("spec", _ports(spec))
    yield from checks.labels("spec.selector", spec.get("selector"))
    yield from checks.prefix_errors("spec", _affinity(spec))
    if spec.get("type") != "ExternalName":
        yield from checks.prefix_errors("spec", validate_addresses(spec))
    yield from checks.each("spec.externalIPs", spec.get("externalIPs"), _external_address)
    yield from checks.required_one_of("spec.type", spec.get("type"), _TYPES)
    yield from checks.prefix_errors("spec", _ports_together(spec))
    yield from _source_ranges(spec, annotations)
    yield from _balancer(spec)
    yield from checks.prefix_errors("spec", _load_balancer_class(spec))
    yield from checks.prefix_errors("spec", _traffic(spec))


def update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Return the errors of an update of a Service."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" not in {spec.get("type"), before.get("type")}:
        yield from checks.prefix_errors("spec", validate_addresses_update(spec, before))
        yield from checks.prefix_errors("spec", validate_families_update(spec, before))
    if spec.get("type") == before.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            yield field.invalid("spec.loadBalancerClass", name, "may not change once set")
    yield from checks.prefix_errors("spec", _load_balancer_class(spec))
    health_port = spec.get("healthCheckNodePort")
    if needs_health_check(before) and needs_health_check(spec) and health_port != before.get("healthCheckNodePort"):
        yield field.forbidden("spec.healthCheckNodePort", checks.IMMUTABLE)
    yield from create(new)


def status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    """Return the errors of an update of a Service's status."""
    ingress = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if ingress and (new.get("spec") or {}).get("type") != "LoadBalancer":
        yield field.forbidden("status.loadBalancer.ingress", 'may only be used when `spec.type` is "LoadBalancer"')
    else:
        yield from checks.each("status.loadBalancer.ingress", ingress, _balancer_ingress)


def _balancer_ingress(ingress: Obj) -> Iterator[FieldError]:
    address, mode, host = ingress.get("ip"), ingress.get("ipMode"), ingress.get("hostname")
    if address:
        yield from checks.address("ip", address)
    if mode is not None:
        if address:
            yield from checks.one_of("ipMode", mode, _IP_MODES)
        else:
            yield field.forbidden("ipMode", "may not be specified when `ip` is not set")
    if host:
        yield from checks.invalid_values("hostname", host, names.dns1123_subdomain(host))
        if checks.is_address(host):
            yield field.invalid("hostname", host, "must be a DNS name, not an IP address")


def _topology(annotations: Obj) -> Iterator[FieldError]:
    hints, mode = annotations.get(_TOPOLOGY_HINTS), annotations.get(_TOPOLOGY_MODE)
    if hints is not None and mode is not None and hints != mode:
        detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        yield field.invalid(f"metadata.annotations[{_TOPOLOGY_MODE}]", mode, detail)


def _type_rules(spec: Obj) -> Iterator[FieldError]:
    kind = spec.get("type")
    if kind == "ExternalName":
        yield from _external_name(spec)
        return
    if headless(spec):
        if kind in {"LoadBalancer", "NodePort"}:
            yield field.invalid("clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    elif not spec.get("ports"):
        yield field.required("ports")


def _external_name(spec: Obj) -> Iterator[FieldError]:
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            yield field.forbidden(name, _NOT_EXTERNAL_NAME)
    yield from checks.required_name(
        "externalName", (spec.get("externalName") or "").removesuffix("."), names.dns1123_subdomain
    )


def _ports(spec: Obj) -> Iterator[FieldError]:
    ports, seen = spec.get("ports") or (), set[str]()
    several = len(ports) > 1
    for index, port in enumerate(ports):
        name = port.get("name") or ""
        yield from checks.prefix_errors(f"ports[{index}]", _port(port, name, needs_name=several, taken=name in seen))
        seen.add(name)


def _port(port: Obj, name: str, *, needs_name: bool, taken: bool) -> Iterator[FieldError]:
    if name:
        yield from checks.invalid_values("name", name, names.dns1123_label(name))
        if taken:
            yield field.duplicate("name", name)
    elif needs_name:
        yield field.required("name")
    yield from checks.port("port", port.get("port") or 0)
    yield from checks.required_one_of("protocol", port.get("protocol"), PROTOCOLS)
    yield from checks.port_or_name("targetPort", port.get("targetPort", 0))
    protocol = port.get("appProtocol")
    if protocol is not None:
        yield from checks.invalid_values("appProtocol", protocol, names.qualified_name(protocol))


def _ports_together(spec: Obj) -> Iterator[FieldError]:
    ports = spec.get("ports") or ()
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield field.forbidden(f"ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    if len(ports) > 1:
        for index, port in _repeated(ports, "nodePort"):
            yield field.duplicate(f"ports[{index}].nodePort", port["nodePort"])
        for index, port in _repeated(ports, "port"):
            yield field.duplicate(f"ports[{index}]", _go_struct(port))


def _repeated(ports: Sequence[Obj], name: str) -> Iterator[tuple[int, Obj]]:
    seen = set()
    for index, port in enumerate(ports):
        number = port.get(name) or 0
        if not number and name == "nodePort":
            continue
        key = (port.get("protocol"), number)
        if key in seen:
            yield index, port
        seen.add(key)


def _go_struct(port: Obj) -> Obj:
    """Return protocol and port as the internal type prints them, with all fields and their Go names."""
    known = {"Protocol": port.get("protocol", ""), "AppProtocol": None, "Port": port.get("port", 0)}
    return {"Name": ""} | known | {"TargetPort": 0, "NodePort": 0}


def _affinity(spec: Obj) -> Iterator[FieldError]:
    affinity, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    yield from checks.required_one_of("sessionAffinity", affinity, _AFFINITIES)
    if affinity == "ClientIP":
        yield from checks.prefix_errors("sessionAffinityConfig", _client_affinity(config))
    elif affinity == "None" and config is not None:
        yield field.forbidden("sessionAffinityConfig", "must not be set when session affinity is None")


def _client_affinity(config: Obj | None) -> Iterator[FieldError]:
    detail = "when session affinity type is ClientIP"
    if config is None:
        yield field.required("", detail)
    elif (client := config.get("clientIP")) is None:
        yield field.required("clientIP", detail)
    elif (seconds := client.get("timeoutSeconds")) is None:
        yield field.required("clientIP.timeoutSeconds", detail)
    elif not 0 < seconds <= _MAX_AFFINITY_SECONDS:
        limit = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
        yield field.invalid("clientIP.timeoutSeconds", seconds, limit)


def _external_address(address: str) -> Iterator[FieldError]:
    errors = checks.address("", address)
    yield from errors or special_address("", address)


def _source_ranges(spec: Obj, annotations: Obj) -> Iterator[FieldError]:
    ranges, annotated = spec.get("loadBalancerSourceRanges"), annotations.get(_SOURCE_RANGES, "")
    if not ranges and _SOURCE_RANGES not in annotations:
        return
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{_SOURCE_RANGES}]"
    if spec.get("type") != "LoadBalancer":
        yield field.forbidden(path, _BALANCER_ONLY)
    if ranges:
        for index, value in enumerate(ranges):
            yield from checks.cidr(f"{path}[{index}]", value.strip())
    elif annotated.strip():
        for value in annotated.split(","):
            yield from checks.cidr(path, value.strip())


def _balancer(spec: Obj) -> Iterator[FieldError]:
    allocates = spec.get("allocateLoadBalancerNodePorts")
    balancer = spec.get("type") == "LoadBalancer"
    if allocates is not None and not balancer:
        yield field.forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY)
    if balancer and allocates is None:
        yield field.required("allocateLoadBalancerNodePorts")


def _load_balancer_class(spec: Obj) -> Iterator[FieldError]:
    name = spec.get("loadBalancerClass")
    if name is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from checks.invalid_values("loadBalancerClass", name, names.qualified_name(name))
    else:
        yield field.forbidden("loadBalancerClass", _BALANCER_ONLY)


def _traffic(spec: Obj) -> Iterator[FieldError]:
    kind, policy, port = spec.get("type"), spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort") or 0
    if kind in {"LoadBalancer", "NodePort"} or (kind == "ClusterIP" and spec.get("externalIPs")):
        yield from checks.required_one_of("externalTrafficPolicy", policy, _POLICIES)
    elif policy:
        yield field.invalid("externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    if needs_health_check(spec):
        yield from checks.port("healthCheckNodePort", port) if port else (field.required("healthCheckNodePort"),)
    elif port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield field.invalid("healthCheckNodePort", port, detail)
    internal = spec.get("internalTrafficPolicy")
    if internal is None and kind in {"NodePort", "LoadBalancer", "ClusterIP"}:
        yield field.required("internalTrafficPolicy")
    yield from checks.optional_one_of("internalTrafficPolicy", internal, _POLICIES)
    yield from checks.optional_one_of("trafficDistribution", spec.get("trafficDistribution"), _DISTRIBUTIONS)
