"""IP addresses as Go's net/netip parses them, with its messages for malformed ones."""

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from apiserver.api.schema import quoted

Address = IPv4Address | IPv6Address

_HEX = re.compile("[0-9A-Fa-f]*")
_GROUPS = 8
"""The number of groups in an IPv6 address; an IPv4 address may replace the last two."""


class NotAnAddressError(ValueError):
    """The text is not an address; the message is Go's."""


def parse_address(text: str) -> Address:
    """Return the address in a text; an IPv6 address may have a zone.

    Raises:
        NotAnAddressError: the text is not an address.
    """
    first = next((character for character in text if character in ".:%"), "")
    try:
        if first == ":":
            return IPv6Address(text)
        if first == "." and text.isascii():
            return IPv4Address(text)
    except ValueError:
        pass
    raise NotAnAddressError(f"ParseAddr({quoted(text)}): {_ERRORS[first](text)}")


def _ipv4_error(text: str) -> str:
    """Return what is wrong with an IPv4 address, "" if it is well-formed."""
    digits, dots = "", 0
    for position, character in enumerate(text):
        if character in "0123456789":
            if digits == "0":
                return "IPv4 field has octet with leading zero"
            digits += character
            if int(digits) > 255:
                return "IPv4 field has value >255"
        elif character != ".":
            return _with_rest("unexpected character", text[position:])
        elif not digits or position == len(text) - 1:
            return _with_rest("IPv4 field must have at least one digit", text[position:])
        elif dots == 3:
            return "IPv4 address too long"
        else:
            digits, dots = "", dots + 1
    return "IPv4 address too short" if dots < 3 else ""


def _ipv6_error(text: str) -> str:
    """Return what is wrong with an IPv6 address, "" if it is well-formed; "::" stands for some groups of zeros."""
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string"
    groups, gap = 0, rest.startswith("::")
    rest = rest.removeprefix("::")
    while groups < _GROUPS and rest:
        digits, after = _split(rest)
        if error := _group_error(digits, after):
            return _with_rest(error, after if digits and len(digits) <= 4 else rest)
        if after.startswith("."):
            return _embedded_error(rest, groups, gap=gap)
        groups, rest = groups + 1, after[1:]
        if rest.startswith(":"):
            if gap:
                return _with_rest("multiple :: in address", rest)
            gap, rest = True, rest[1:]
    if rest:
        return _with_rest("trailing garbage after address", rest)
    return "the :: must expand to at least one field of zeros" if gap else "address string too short"


def _split(rest: str) -> tuple[str, str]:
    """Return the hexadecimal digits that a text begins with, and the rest."""
    match = _HEX.match(rest)
    end = match.end() if match else 0
    return rest[:end], rest[end:]


def _group_error(digits: str, after: str) -> str:
    """Return what is wrong with one group of an IPv6 address and the character after it, "" if nothing is."""
    if not digits:
        return "each colon-separated field must have at least one digit"
    if len(digits) > 4:
        return "each group must have 4 or less digits"
    if after and after[0] not in ":.":
        return "unexpected character, want colon"
    return "colon must be followed by more characters" if after == ":" else ""


def _embedded_error(rest: str, groups: int, *, gap: bool) -> str:
    """Return what is wrong with an IPv4 address at the end of an IPv6 address, after that many groups."""
    if not gap and groups != _GROUPS - 2:
        return _with_rest("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups > _GROUPS - 2:
        return _with_rest("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    return _ipv4_error(rest) or "the :: must expand to at least one field of zeros"


def _with_rest(error: str, rest: str) -> str:
    return f"{error} (at {quoted(rest)})"


_ERRORS: dict[str, Callable[[str], str]] = {
    "": lambda _: "unable to parse IP",
    ".": _ipv4_error,
    ":": _ipv6_error,
    "%": lambda _: "missing IPv6 address",
}
"""The first of the characters ".:%" in a text → the function that returns why it is not an address."""
