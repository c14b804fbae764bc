"""EndpointSlices (discovery.k8s.io): defaults, strategy, validation and columns."""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import UNSET, Cells, first_items, mappings, text_of, texts
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.endpoints import PROTOCOLS, app_protocol, special_address
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, creation, differ, increment_generation, unchanged


def default_endpoint_slice(endpoint_slice: Obj) -> None:
    """Set the defaults of an EndpointSlice's ports."""
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def update_endpoint_slice(new: Obj, old: Obj) -> None:
    """Increment the generation if anything but the metadata changes, or if the labels change."""
    labels = new["metadata"].get("labels") or {}
    if differ(new, old) or labels != (old["metadata"].get("labels") or {}):
        increment_generation(new, old)


_ADDRESS_TYPES = frozenset({"FQDN", "IPv4", "IPv6"})

_MAX_ADDRESSES, _MAX_ENDPOINTS, _MAX_PORTS, _MAX_ZONE_HINTS, _MAX_NODE_HINTS = 100, 1000, 20000, 8, 8


def _create_slice(endpoint_slice: Obj) -> Iterator[FieldError]:
    kind = endpoint_slice.get("addressType")
    yield from checks.required_one_of("addressType", kind, _ADDRESS_TYPES)
    endpoints, ports = endpoint_slice.get("endpoints") or (), endpoint_slice.get("ports") or ()
    if len(endpoints) > _MAX_ENDPOINTS:
        yield field.too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)
    else:
        check = _ADDRESS_CHECKS.get(kind or "", _unchecked)
        yield from checks.each("endpoints", endpoints, lambda endpoint: _endpoint(endpoint, check))
    if len(ports) > _MAX_PORTS:
        yield field.too_many("ports", len(ports), _MAX_PORTS)
    else:
        yield from _slice_ports(ports)


def _update_slice(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _create_slice(new)
    yield from checks.immutable("addressType", new.get("addressType"), old.get("addressType"))


def _endpoint(endpoint: Obj, check: Callable[[str], Errors]) -> Iterator[FieldError]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield field.required("addresses", "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        yield field.too_many("addresses", len(addresses), _MAX_ADDRESSES)
    yield from checks.each("addresses", addresses, check)
    node, host = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        yield from checks.invalid_values("nodeName", node, names.dns1123_subdomain(node))
    yield from checks.labels("deprecatedTopology", endpoint.get("deprecatedTopology"))
    if host is not None:
        yield from checks.invalid_values("hostname", host, names.dns1123_label(host))
    hints = endpoint.get("hints")
    if hints:
        yield from checks.prefix_errors("hints", _hints(hints))


def _hints(hints: Obj) -> Iterator[FieldError]:
    for name, limit in (("forZones", _MAX_ZONE_HINTS), ("forNodes", _MAX_NODE_HINTS)):
        hinted = [hint.get("name", "") for hint in hints.get(name) or ()]
        if len(hinted) > limit:
            yield field.too_many(name, len(hinted), limit)
            continue
        for index, value in enumerate(hinted):
            check = names.label_value if name == "forZones" else names.dns1123_subdomain
            yield from checks.invalid_values(f"{name}[{index}].name", value, check(value))
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
        yield from checks.required_one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
        yield from checks.prefix_errors(path, app_protocol(port))


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
    elif messages := names.dns1123_subdomain(name):
        yield field.invalid("", name, ",".join(messages))
    elif "." not in name:
        yield field.invalid("", name, "should be a domain with at least two segments separated by dots")
    else:
        for label in name.split("."):
            if messages := names.dns1123_label(label):
                yield field.invalid("", label, ",".join(messages))
                return


def _unchecked(_address: str) -> Errors:
    return ()


_ADDRESS_CHECKS: dict[str, Callable[[str], Errors]] = {
    "IPv4": _slice_address(4),
    "IPv6": _slice_address(6),
    "FQDN": _domain,
}

_DISCOVERY = "io.k8s.api.discovery.v1.EndpointSlice"


def _endpoint_port(port: Obj) -> str:
    return str(port["port"]) if port.get("port") is not None else text_of(port, "name", "*")


def _endpoint_slice(obj: Obj) -> Cells:
    addresses = [address for endpoint in mappings(obj, "endpoints") for address in texts(endpoint, "addresses")]
    ports = [_endpoint_port(port) for port in mappings(obj, "ports")]
    return [
        name_of(obj),
        text_of(obj, "addressType"),
        first_items(ports) or UNSET,
        first_items(addresses) or UNSET,
        age(obj),
    ]


ENDPOINT_SLICE = BuiltinKind(
    "discovery.k8s.io",
    "EndpointSlice",
    default=default_endpoint_slice,
    strategy=Strategy(creation(), update_endpoint_slice, unchanged),
    validator=Validator(_create_slice, _update_slice),
    printer=Printer(
        columns=(
            NAME,
            Column("AddressType", f"{_DISCOVERY}#addressType"),
            Column("Ports", f"{_DISCOVERY}#ports"),
            Column("Endpoints", f"{_DISCOVERY}#endpoints"),
            AGE,
        ),
        cells=_endpoint_slice,
    ),
)
