"""NetworkPolicies (networking.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator
from ipaddress import ip_network

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age, selector_text
from apiserver.groups.cells import Cells, mapping
from apiserver.groups.columns import AGE, NAME, NETWORKING, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import COUNTED


def default_network_policy(policy: Obj) -> None:
    """Set the defaults of a NetworkPolicy: its types are Ingress, and Egress if it has egress rules."""
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


_PROTOCOLS = ("TCP", "UDP", "SCTP")

_POLICY_TYPES = ("Ingress", "Egress")

_NOTHING_KNOWN: frozenset[str] = frozenset()


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
    """Yield all address ranges of a policy: those of the old policy may stay, however they are written."""
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
        yield from checks.invalid_values("port", number, names.port_name(number))


def _peer(peer: Obj, known: frozenset[str]) -> Iterator[FieldError]:
    pods, namespaces, block = peer.get("podSelector"), peer.get("namespaceSelector"), peer.get("ipBlock")
    yield from checks.label_selector("podSelector", pods)
    yield from checks.label_selector("namespaceSelector", namespaces)
    if block is not None:
        yield from checks.prefix_errors("ipBlock", _block(block, known))
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
    network = ip_network(cidr)
    for index, value in enumerate(block.get("except") or ()):
        yield from checks.cidr(f"except[{index}]", value, known)
        if names.cidr(value):
            continue
        excluded = ip_network(value)
        is_inside = excluded.version == network.version and excluded.network_address in network
        if not is_inside or network.prefixlen >= excluded.prefixlen:
            yield field.invalid(f"except[{index}]", value, "must be a strict subset of `cidr`")


def _network_policy(obj: Obj) -> Cells:
    return [name_of(obj), selector_text(mapping(obj, "spec"), "podSelector"), age(obj)]


NETWORK_POLICY = BuiltinKind(
    "networking.k8s.io",
    "NetworkPolicy",
    ("netpol",),
    gated_subresources=("status",),
    default=default_network_policy,
    strategy=COUNTED,
    validator=Validator(_policy, _policy_update),
    printer=Printer(
        columns=(NAME, Column("Pod-Selector", f"{NETWORKING}NetworkPolicySpec#podSelector"), AGE),
        cells=_network_policy,
    ),
)
