"""What IngressClasses, NetworkPolicies, IPAddresses and ServiceCIDRs may be (pkg/apis/networking/validation)."""

from collections.abc import Iterator
from ipaddress import ip_network

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.registry.validation import ingresses

_GROUP = "networking.k8s.io"
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_POLICY_TYPES = ("Ingress", "Egress")
_SCOPES = frozenset({"Cluster", "Namespace"})
_LONGEST_CONTROLLER = 250
_NOTHING_KNOWN: frozenset[str] = frozenset()


def _class(ingress_class: Obj) -> Iterator[FieldError]:
    spec = ingress_class.get("spec") or {}
    yield from checks.within("spec.controller", _controller(spec.get("controller") or ""))
    parameters = spec.get("parameters")
    if parameters is not None:
        yield from checks.within("spec.parameters", _class_parameters(parameters))


def _class_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    controllers = [(obj.get("spec") or {}).get("controller") for obj in (new, old)]
    yield from checks.immutable("spec.controller", *controllers)
    yield from _class(new)


def _controller(controller: str) -> Iterator[FieldError]:
    if not controller:
        yield field.required("")
        return
    if len(controller) > _LONGEST_CONTROLLER:
        yield field.too_long("", _LONGEST_CONTROLLER)
    host, _, path = controller.partition("/")
    if not host or not path:
        yield field.invalid("", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from checks.wrong("", host, names.dns1123_subdomain(host))
        yield from checks.wrong("", path, names.http_path(path))


def _class_parameters(parameters: Obj) -> Iterator[FieldError]:
    yield from ingresses.typed_reference(parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        yield field.required("scope")
        return
    yield from checks.one_of("scope", scope, _SCOPES)
    if scope == "Namespace":
        if namespace is None:
            yield field.required("namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            yield from checks.wrong("namespace", namespace, names.dns1123_label(namespace))
    if scope == "Cluster" and namespace is not None:
        yield field.forbidden("namespace", "`parameters.scope` is set to 'Cluster'")


def _policy(policy: Obj, known: frozenset[str] = _NOTHING_KNOWN) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from checks.label_selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            yield from checks.each(f"{path}.ports", rule.get("ports"), _policy_port)
            yield from checks.each(f"{path}.{peers}", rule.get(peers), lambda peer: _peer(peer, known))
    types = spec.get("policyTypes") or ()
    if len(types) > len(_POLICY_TYPES):
        yield field.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
    else:
        yield from checks.each("spec.policyTypes", types, lambda kind: checks.one_of("", kind, _POLICY_TYPES))


def _policy_update(new: Obj, old: Obj) -> Errors:
    return _policy(new, frozenset(_ranges(old.get("spec") or {})))


def _ranges(spec: Obj) -> Iterator[str]:
    """All address ranges of a policy: what stood there before may stay, however it is written."""
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(direction) or ():
            for peer in rule.get(peers) or ():
                block = peer.get("ipBlock") or {}
                yield block.get("cidr", "")
                yield from block.get("except") or ()


def _policy_port(port: Obj) -> Iterator[FieldError]:
    yield from checks.optional_one_of("protocol", port.get("protocol"), _PROTOCOLS)
    number, end = port.get("port"), port.get("endPort")
    if isinstance(number, int):
        yield from checks.port("port", number)
        if end is not None:
            if end < number:
                yield field.invalid("endPort", end, "must be greater than or equal to `port`")
            yield from checks.port("endPort", end)
        return
    if end is not None:
        state = "not specified" if number is None else "non-numeric"
        yield field.invalid("endPort", end, f"may not be specified when `port` is {state}")
    if number is not None:
        yield from checks.wrong("port", number, names.port_name(number))


def _peer(peer: Obj, known: frozenset[str]) -> Iterator[FieldError]:
    pods, namespaces, block = peer.get("podSelector"), peer.get("namespaceSelector"), peer.get("ipBlock")
    yield from checks.label_selector("podSelector", pods)
    yield from checks.label_selector("namespaceSelector", namespaces)
    if block is not None:
        yield from checks.within("ipBlock", _block(block, known))
    selects = pods is not None or namespaces is not None
    if block is None and not selects:
        yield field.required("", "must specify a peer")
    elif block is not None and selects:
        yield field.forbidden("", "may not specify both ipBlock and another peer")


def _block(block: Obj, known: frozenset[str]) -> Iterator[FieldError]:
    cidr = block.get("cidr")
    if not cidr:
        yield field.required("cidr")
        return
    yield from checks.cidr("cidr", cidr, known)
    if names.cidr(cidr):
        return
    whole = ip_network(cidr)
    for index, value in enumerate(block.get("except") or ()):
        yield from checks.cidr(f"except[{index}]", value, known)
        if names.cidr(value):
            continue
        part = ip_network(value)
        inside = part.version == whole.version and part.network_address in whole
        if not inside or whole.prefixlen >= part.prefixlen:
            yield field.invalid(f"except[{index}]", value, "must be a strict subset of `cidr`")


def _address(address: Obj) -> Iterator[FieldError]:
    parent = (address.get("spec") or {}).get("parentRef")
    if parent is None:
        yield field.required("spec.parentRef")
        return
    path = "spec.parentRef"
    yield from checks.optional_name(f"{path}.group", parent.get("group"), names.dns1123_subdomain)
    yield from checks.needed_name(f"{path}.resource", parent.get("resource"), names.path_segment)
    yield from checks.needed_name(f"{path}.name", parent.get("name"), names.path_segment)
    yield from checks.optional_name(f"{path}.namespace", parent.get("namespace"), names.path_segment)


def _address_update(new: Obj, old: Obj) -> Errors:
    return checks.immutable("spec.parentRef", *((obj.get("spec") or {}).get("parentRef") for obj in (new, old)))


def _service_cidr(service_cidr: Obj) -> Iterator[FieldError]:
    path, spec = "spec.cidrs", service_cidr.get("spec") or {}
    cidrs = spec.get("cidrs") or ()
    if not cidrs:
        yield field.required(path, "at least one CIDR required")
    elif len(cidrs) > 2:
        yield field.invalid(path, {"CIDRs": cidrs}, "may only hold up to 2 values")
    else:
        yield from checks.each_wrong(path, cidrs, _canonical_cidr)
        families = {":" in cidr for cidr in cidrs if not names.cidr(cidr)}
        if len(cidrs) == 2 and len(families) == 1 and not any(map(names.cidr, cidrs)):
            words = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            yield field.invalid(path, cidrs, words)


def _canonical_cidr(cidr: str) -> names.Messages:
    wrong = names.cidr(cidr)
    if wrong or (best := str(ip_network(cidr))) == cidr:
        return wrong
    return (f'must be in canonical form ("{best}")',)


def _service_cidr_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    cidrs, before = ((obj.get("spec") or {}).get("cidrs") or [] for obj in (new, old))
    if len(cidrs) == len(before):
        for index, cidr in enumerate(cidrs):
            yield from checks.immutable(f"spec.cidrs[{index}]", cidr, before[index])
    elif (len(before), len(cidrs)) == (1, 2):
        yield from checks.immutable("spec.cidrs[0]", cidrs[0], before[0])
        yield from _service_cidr(new)
    else:
        yield field.invalid("spec.cidrs", cidrs, checks.IMMUTABLE)


VALIDATORS = {
    (_GROUP, "IngressClass"): Validator(_class, _class_update),
    (_GROUP, "NetworkPolicy"): Validator(_policy, _policy_update),
    (_GROUP, "IPAddress"): Validator(_address, _address_update),
    (_GROUP, "ServiceCIDR"): Validator(_service_cidr, _service_cidr_update),
} | ingresses.VALIDATORS
