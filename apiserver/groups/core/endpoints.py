"""Endpoints (core): defaults, validation and columns."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import ip_address

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, first_items, mappings, number_of, text_of
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN


def default_endpoints(endpoints: Obj) -> None:
    """Set the default protocol of each port of an Endpoints object."""
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


PROTOCOLS = frozenset({"SCTP", "TCP", "UDP"})


@lru_cache(maxsize=4096)
def _special(address: str) -> names.Messages:
    ip = ip_address(address)
    local_multicast = ip.packed.startswith((b"\xe0\x00\x00", b"\xff\x02"))
    rules = (
        (ip.is_unspecified, f"may not be unspecified ({address})"),
        (ip.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (ip.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    )
    return tuple(words for broken, words in rules if broken)


def special_address(path: str, address: str) -> checks.FieldErrors:
    """Return the errors of a well-formed address that means nothing to other machines (ValidateNonSpecialIP)."""
    return checks.invalid_values(path, address, _special(address))


def _addresses_of(endpoints: Obj) -> frozenset[str]:
    subsets = endpoints.get("subsets") or ()
    lists = (subset.get(name) or () for subset in subsets for name in ("addresses", "notReadyAddresses"))
    return frozenset(address.get("ip", "") for addresses in lists for address in addresses)


def _create(endpoints: Obj, known: frozenset[str] = frozenset()) -> Iterator[FieldError]:
    return checks.each("subsets", endpoints.get("subsets"), lambda subset: _subset(subset, known))


def _update(new: Obj, old: Obj) -> Iterator[FieldError]:
    return _create(new, _addresses_of(old))


def _subset(subset: Obj, known: frozenset[str]) -> Iterator[FieldError]:
    ready, unready, ports = (subset.get(name) or () for name in ("addresses", "notReadyAddresses", "ports"))
    if not ready and not unready:
        yield field.required("", "must specify `addresses` or `notReadyAddresses`")
    yield from checks.each("addresses", ready, lambda address: _address(address, known))
    yield from checks.each("notReadyAddresses", unready, lambda address: _address(address, known))
    yield from checks.each("ports", ports, _named_port if len(ports) > 1 else _port)


def _address(address: Obj, known: frozenset[str]) -> Iterator[FieldError]:
    ip = address.get("ip") or ""
    malformed = checks.address("ip", ip, known)
    yield from malformed
    yield from checks.optional_name("hostname", address.get("hostname"), names.dns1123_label)
    node = address.get("nodeName")
    if node is not None:
        yield from checks.invalid_values("nodeName", node, names.dns1123_subdomain(node))
    if malformed:
        yield field.invalid("ip", ip, "must be a valid IP address")
    elif ip not in known:
        yield from special_address("ip", ip)


def _named_port(port: Obj) -> Iterator[FieldError]:
    if not port.get("name"):
        yield field.required("name")
    yield from _port(port)


def _port(port: Obj) -> Iterator[FieldError]:
    yield from checks.optional_name("name", port.get("name"), names.dns1123_label)
    yield from checks.port("port", port.get("port") or 0)
    yield from checks.required_one_of("protocol", port.get("protocol"), PROTOCOLS)
    yield from app_protocol(port)


def app_protocol(port: Obj) -> Errors:
    """Return the errors of the appProtocol of a port."""
    protocol = port.get("appProtocol")
    return () if protocol is None else checks.invalid_values("appProtocol", protocol, names.qualified_name(protocol))


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _subset_addresses(subset: Obj) -> list[str]:
    addresses, ports = [text_of(a, "ip") for a in mappings(subset, "addresses")], mappings(subset, "ports")
    if not ports:  # a headless service may have none
        return addresses
    return [_host_port(address, number_of(port, "port")) for port in ports for address in addresses]


def _endpoints(obj: Obj) -> Cells:
    subsets = mappings(obj, "subsets")
    addresses = [address for subset in subsets for address in _subset_addresses(subset)]
    return [name_of(obj), first_items(addresses) if subsets else NONE, age(obj)]


ENDPOINTS = BuiltinKind(
    "",
    "Endpoints",
    ("ep",),
    plural="endpoints",
    creates_on_update=True,
    prefix="services/endpoints",
    default=default_endpoints,
    strategy=PLAIN,
    validator=Validator(_create, _update),
    printer=Printer(
        columns=(NAME, Column("Endpoints", f"{CORE}Endpoints#subsets"), AGE),
        cells=_endpoints,
    ),
)
