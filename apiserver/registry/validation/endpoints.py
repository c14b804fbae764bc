"""What Endpoints and EndpointSlices may be (pkg/apis/core/validation, pkg/apis/discovery/validation)."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from ipaddress import ip_address

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator

PROTOCOLS = frozenset({"SCTP", "TCP", "UDP"})
_ADDRESS_TYPES = frozenset({"FQDN", "IPv4", "IPv6"})
_MOST_ADDRESSES, _MOST_ENDPOINTS, _MOST_PORTS, _MOST_ZONE_HINTS, _MOST_NODE_HINTS = 100, 1000, 20000, 8, 8


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


def special_address(path: str, address: str) -> checks.Found:
    """A well-formed address that means nothing to other machines is refused (ValidateNonSpecialIP)."""
    return checks.wrong(path, address, _special(address))


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
        yield from checks.wrong("nodeName", node, names.dns1123_subdomain(node))
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
    yield from checks.needed_one_of("protocol", port.get("protocol"), PROTOCOLS)
    yield from _app_protocol(port)


def _app_protocol(port: Obj) -> Errors:
    protocol = port.get("appProtocol")
    return () if protocol is None else checks.wrong("appProtocol", protocol, names.qualified_name(protocol))


def _create_slice(endpoint_slice: Obj) -> Iterator[FieldError]:
    kind = endpoint_slice.get("addressType")
    yield from checks.needed_one_of("addressType", kind, _ADDRESS_TYPES)
    endpoints, ports = endpoint_slice.get("endpoints") or (), endpoint_slice.get("ports") or ()
    if len(endpoints) > _MOST_ENDPOINTS:
        yield field.too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
    else:
        check = _ADDRESS_CHECKS.get(kind or "", _unchecked)
        yield from checks.each("endpoints", endpoints, lambda endpoint: _endpoint(endpoint, check))
    if len(ports) > _MOST_PORTS:
        yield field.too_many("ports", len(ports), _MOST_PORTS)
    else:
        yield from _slice_ports(ports)


def _update_slice(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _create_slice(new)
    yield from checks.immutable("addressType", new.get("addressType"), old.get("addressType"))


def _endpoint(endpoint: Obj, check: Callable[[str], Errors]) -> Iterator[FieldError]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield field.required("addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield field.too_many("addresses", len(addresses), _MOST_ADDRESSES)
    yield from checks.each("addresses", addresses, check)
    node, host = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        yield from checks.wrong("nodeName", node, names.dns1123_subdomain(node))
    yield from checks.labels("deprecatedTopology", endpoint.get("deprecatedTopology"))
    if host is not None:
        yield from checks.wrong("hostname", host, names.dns1123_label(host))
    hints = endpoint.get("hints")
    if hints:
        yield from checks.within("hints", _hints(hints))


def _hints(hints: Obj) -> Iterator[FieldError]:
    for name, limit in (("forZones", _MOST_ZONE_HINTS), ("forNodes", _MOST_NODE_HINTS)):
        hinted = [hint.get("name", "") for hint in hints.get(name) or ()]
        if len(hinted) > limit:
            yield field.too_many(name, len(hinted), limit)
            continue
        for index, value in enumerate(hinted):
            check = names.label_value if name == "forZones" else names.dns1123_subdomain
            yield from checks.wrong(f"{name}[{index}].name", value, check(value))
            if value in hinted[:index]:
                yield field.duplicate(f"{name}[{index}].name", value)


def _slice_ports(ports: Sequence[Obj]) -> Iterator[FieldError]:
    seen = set()
    for index, port in enumerate(ports):
        name = port.get("name") or ""
        path = f"ports[{index}]"
        yield from checks.optional_name(f"{path}.name", name, names.dns1123_label)
        if name in seen:
            yield field.duplicate(f"{path}.name", name)
        seen.add(name)
        number = port.get("port")
        if number is not None:
            yield from checks.port(f"{path}.port", number)
        yield from checks.needed_one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
        yield from checks.within(path, _app_protocol(port))


def _slice_address(version: int) -> Callable[[str], Iterator[FieldError]]:
    def check(address: str) -> Iterator[FieldError]:
        if names.ip(address):
            yield field.invalid("", address, names.ip(address)[0])
        elif ip_address(address).version != version:
            yield field.invalid("", address, f"must be a valid IPv{version} address")
        else:
            yield from special_address("", address)

    return check


def _domain(address: str) -> Iterator[FieldError]:
    name = address.removesuffix(".")
    if not address:
        yield field.required("")
    elif wrong := names.dns1123_subdomain(name):
        yield field.invalid("", name, ",".join(wrong))
    elif "." not in name:
        yield field.invalid("", name, "should be a domain with at least two segments separated by dots")
    else:
        for label in name.split("."):
            if wrong := names.dns1123_label(label):
                yield field.invalid("", label, ",".join(wrong))
                return


def _unchecked(_address: str) -> Errors:
    return ()


_ADDRESS_CHECKS: dict[str, Callable[[str], Errors]] = {
    "IPv4": _slice_address(4),
    "IPv6": _slice_address(6),
    "FQDN": _domain,
}

VALIDATORS = {
    ("", "Endpoints"): Validator(_create, _update),
    ("discovery.k8s.io", "EndpointSlice"): Validator(_create_slice, _update_slice),
}
