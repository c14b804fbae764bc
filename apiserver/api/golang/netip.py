"""Addresses: texts that say one, and the words for what is wrong with others, both as Go's net/netip has them."""

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from apiserver.api.schema import quoted

Address = IPv4Address | IPv6Address

_HEX = re.compile("[0-9A-Fa-f]*")
_GROUPS = 8
"""How many numbers an address of IPv6 has; one of IPv4 may stand in place of the last two."""


class NotAnAddressError(ValueError):
    """The text is no address; the message is Go's."""


def parse_address(text: str) -> Address:
    """The address that a text says; one of IPv6 may have a zone.

    Raises:
        NotAnAddressError: it says none.
    """
    first = next((character for character in text if character in ".:%"), "")
    try:
        if first == ":":
            return IPv6Address(text)
        if first == "." and text.isascii():
            return IPv4Address(text)
    except ValueError:
        pass
    raise NotAnAddressError(f"ParseAddr({quoted(text)}): {_WRONG[first](text)}")


def _ipv4_error(text: str) -> str:
    """What is wrong with an address of four numbers, "" if nothing is."""
    digits, dots = "", 0
    for at, character in enumerate(text):
        if character in "0123456789":
            if digits == "0":
                return "IPv4 field has octet with leading zero"
            digits += character
            if int(digits) > 255:
                return "IPv4 field has value >255"
        elif character != ".":
            return _at("unexpected character", text[at:])
        elif not digits or at == len(text) - 1:
            return _at("IPv4 field must have at least one digit", text[at:])
        elif dots == 3:
            return "IPv4 address too long"
        else:
            digits, dots = "", dots + 1
    return "IPv4 address too short" if dots < 3 else ""


def _ipv6_error(text: str) -> str:
    """What is wrong with an address of eight numbers, some of which may be left out once."""
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string"
    groups, gap = 0, rest.startswith("::")
    rest = rest.removeprefix("::")
    while groups < _GROUPS and rest:
        digits, behind = _split(rest)
        if why := _group_error(digits, behind):
            return _at(why, behind if digits and len(digits) <= 4 else rest)
        if behind.startswith("."):
            return _embedded_error(rest, groups, gap=gap)
        groups, rest = groups + 1, behind[1:]
        if rest.startswith(":"):
            if gap:
                return _at("multiple :: in address", rest)
            gap, rest = True, rest[1:]
    if rest:
        return _at("trailing garbage after address", rest)
    return "the :: must expand to at least one field of zeros" if gap else "address string too short"


def _split(rest: str) -> tuple[str, str]:
    """The digits that a text begins with, and what is behind them."""
    found = _HEX.match(rest)
    end = found.end() if found else 0
    return rest[:end], rest[end:]


def _group_error(digits: str, behind: str) -> str:
    """What is wrong with one number of an address of IPv6, and with what parts it from the next."""
    if not digits:
        return "each colon-separated field must have at least one digit"
    if len(digits) > 4:
        return "each group must have 4 or less digits"
    if behind and behind[0] not in ":.":
        return "unexpected character, want colon"
    return "colon must be followed by more characters" if behind == ":" else ""


def _embedded_error(rest: str, groups: int, *, gap: bool) -> str:
    """What is wrong with an address of IPv4 that ends one of IPv6, behind so many of its numbers."""
    if not gap and groups != _GROUPS - 2:
        return _at("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups > _GROUPS - 2:
        return _at("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    return _ipv4_error(rest) or "the :: must expand to at least one field of zeros"


def _at(why: str, rest: str) -> str:
    return f"{why} (at {quoted(rest)})"


_WRONG: dict[str, Callable[[str], str]] = {
    "": lambda _: "unable to parse IP",
    ".": _ipv4_error,
    ":": _ipv6_error,
    "%": lambda _: "missing IPv6 address",
}
"""The first sign of a text → what says why it is no address."""
