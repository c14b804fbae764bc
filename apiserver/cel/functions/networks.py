"""Addresses and networks: Kubernetes' libraries for IPs and CIDRs (k8s.io/apiserver/pkg/cel/library/ip.go and cidr.go).

The syntax of addresses, and the errors for invalid ones, are those of Go's net/netip.
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar

from apiserver.api.golang.netip import Address, NotAnAddressError, parse_address
from apiserver.api.schema import quoted
from apiserver.cel.values import EvaluationError, no_such_overload

_BROADCAST = IPv4Address("255.255.255.255")
_MAX_LENGTH = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")


@dataclass(frozen=True, slots=True)
class IpValue:
    """An address."""

    address: Address

    type_name: ClassVar[str] = "net.IP"

    def __str__(self) -> str:
        return str(self.address)

    def __len__(self) -> int:
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class CidrValue:
    """An address and the length of its network's prefix."""

    address: Address
    bits: int

    type_name: ClassVar[str] = "net.CIDR"

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def __len__(self) -> int:
        return (self.bits + 7) // 8

    def has(self, address: Address, bits: int | None = None) -> bool:
        """Return True if the address begins with the bits of this network, or with the first `bits` of them."""
        if address.version != self.address.version:
            return False
        shift = self.address.max_prefixlen - (self.bits if bits is None else bits)
        return int(address) >> shift == int(self.address) >> shift

    def masked(self) -> "CidrValue":
        """Return the network with its first address."""
        shift = self.address.max_prefixlen - self.bits
        return CidrValue(type(self.address)(int(self.address) >> shift << shift), self.bits)


def _ip(text: str) -> IpValue:
    try:
        address = parse_address(text)
    except NotAnAddressError as error:
        message = f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        raise EvaluationError(message) from None
    if isinstance(address, IPv6Address) and address.scope_id:
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IpValue(address)


def _is_mapped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def _cidr(text: str) -> CidrValue:
    try:
        return _parse_prefix(text)
    except NotAnAddressError as error:
        raise EvaluationError(f"network address parse error during conversion from string: {error}") from None


def _parse_prefix(text: str) -> CidrValue:
    head, slash, bits = text.rpartition("/")
    if not slash:
        raise _bad_prefix(text, "no '/'")
    try:
        address = parse_address(head)
    except NotAnAddressError as error:
        raise _bad_prefix(text, str(error)) from None
    if isinstance(address, IPv6Address) and address.scope_id:
        raise _bad_prefix(text, "IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or len(bits) > 3 or (len(bits) > 1 and bits[0] == "0"):
        raise _bad_prefix(text, f"bad bits after slash: {quoted(bits)}")
    if int(bits) > address.max_prefixlen:
        raise _bad_prefix(text, "prefix length out of range")
    if _is_mapped(address):
        raise NotAnAddressError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CidrValue(address, int(bits))


def _bad_prefix(text: str, reason: str) -> NotAnAddressError:
    prefix = "network address parse error during conversion from string"
    return NotAnAddressError(f"{prefix}: netip.ParsePrefix({quoted(text)}): {reason}")


def _succeeds(parse: Callable[[str], Any], longest: int) -> Callable[[str], bool]:
    def succeeds(text: str) -> bool:
        try:
            return len(text) <= longest and parse(text) is not None
        except EvaluationError:
            return False

    return succeeds


def _contains_ip_text(network: CidrValue, text: str) -> bool:
    try:
        return network.has(_ip(text).address)
    except EvaluationError:
        raise no_such_overload() from None  # upstream uses the error as an address


def _contains_cidr(network: CidrValue, other: CidrValue) -> bool:
    return network.bits <= other.bits and network.has(other.address, network.bits)


def _is_link_local_multicast(ip: IpValue) -> bool:
    packed = ip.address.packed
    return packed[:3] == b"\xe0\x00\x00" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _is_global_unicast(ip: IpValue) -> bool:
    address = ip.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_ip": _ip,
    "is_ip": _succeeds(_ip, _MAX_LENGTH),
    "ip_is_canonical": lambda text: str(_ip(text)) == text,
    "ip_to_string": str,
    "ip_family": lambda ip: ip.address.version,
    "ip_is_unspecified": lambda ip: ip.address.is_unspecified,
    "ip_is_loopback": lambda ip: ip.address.is_loopback,
    "ip_is_link_local_multicast": _is_link_local_multicast,
    "ip_is_link_local_unicast": lambda ip: ip.address.is_link_local,
    "ip_is_global_unicast": _is_global_unicast,
    "string_to_cidr": _cidr,
    "is_cidr": _succeeds(_cidr, _MAX_LENGTH + len("/128")),
    "cidr_to_string": str,
    "cidr_ip": lambda network: IpValue(network.address),
    "cidr_prefix_length": lambda network: network.bits,
    "cidr_masked": CidrValue.masked,
    "cidr_contains_ip_string": _contains_ip_text,
    "cidr_contains_ip_ip": lambda network, ip: network.has(ip.address),
    "cidr_contains_cidr_string": lambda network, text: _contains_cidr(network, _cidr(text)),
    "cidr_contains_cidr": _contains_cidr,
}
