"""Checks of the formats of host names, IP and MAC addresses, mail addresses and URIs.

Each function returns whether a text has the format as k8s.io/kube-openapi/pkg/validation/strfmt checks it, with Go's
packages net, net/mail and net/url.
"""

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address

from apiserver.api.golang.numbers import parse_uint

_ALNUM = re.compile(r"[A-Za-z0-9]").fullmatch
_MAC = re.compile(
    r"[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}(?:(?:\1[0-9A-Fa-f]{2}){2}|(?:\1[0-9A-Fa-f]{2}){14})?)"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?:\.[0-9A-Fa-f]{4}|(?:\.[0-9A-Fa-f]{4}){7})?"
)

_ATOM = r"[^\x00-\x20\x7f()<>\[\]:;@\\,.\"]+"
_QUOTED = r'"(?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])+"'
_SPEC = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@[ \t]*(?:{_ATOM}(?:\.{_ATOM})*|\[[^\]]*\])"
_WORD = rf"(?:[^\x00-\x20\x7f()<>\[\]:;@\\,\"]++|{_QUOTED})"
_PHRASE = rf"{_WORD}(?:[ \t]++{_WORD})*+"
_MAIL = re.compile(rf"[ \t]*+(?:{_SPEC}|(?:{_PHRASE})?[ \t]*<[ \t]*{_SPEC}>)[ \t]*(?:\([^()]*\)[ \t]*)?")
_LITERAL = re.compile(r"@[ \t]*\[([^\]]*)\]")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_USER = re.compile(r"(?:[A-Za-z0-9._:~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})*").fullmatch
_HOST = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"-]|[^\x00-\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*").fullmatch
_PORT = re.compile(r"(?::[0-9]*)?").fullmatch
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search


def is_hostname(text: str) -> bool:
    """Return whether a text is a host name, in letters and symbols of all scripts.

    In a name without a dot, only the second character may be a dash.
    """
    if len(text.encode()) > 255:
        return False
    *labels, last = text.split(".")
    if len(last.encode()) > 63:
        return False
    if not labels:
        return _are_host_letters(last[:1] + last[1:].removeprefix("-"))
    return len(last) > 1 and all(_is_in(letter, "L") for letter in last) and all(map(_is_label, labels))


def _is_label(text: str) -> bool:
    ends = _are_host_letters(text[:1]) and _are_host_letters(text[-1:])
    return ends and len(text.encode()) <= 63 and _are_host_letters(text.replace("-", ""))


def _are_host_letters(text: str) -> bool:
    return text != "" and all(_ALNUM(letter) or _is_in(letter, "LS") for letter in text)


def _is_in(letter: str, categories: str) -> bool:
    return unicodedata.category(letter)[0] in categories


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address; leading zeros are allowed, as in Go before 1.17."""
    return "." in text and _ip(_without_zeros(text)) is not None


def is_ipv6(text: str) -> bool:
    """Return whether a text is an IPv6 address without a zone."""
    return ":" in text and _ip(text) is not None


def is_cidr(text: str) -> bool:
    """Return whether a text is an address and a prefix length; leading zeros are allowed as in is_ipv4."""
    address, slash, length = text.partition("/")
    ip = _ip(_without_zeros(address))
    try:
        return bool(slash) and ip is not None and parse_uint(length) <= ip.max_prefixlen
    except ValueError:
        return False


def _without_zeros(text: str) -> str:
    return text if ":" in text else ".".join(part.lstrip("0") or part[-1:] for part in text.split("."))


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return IPv6Address(text) if ":" in text and "%" not in text else IPv4Address(text)
    except ValueError:
        return None


def is_mac(text: str) -> bool:
    """Return whether a text is 6, 8 or 20 bytes in hexadecimal, separated by colons, dashes or dots."""
    return _MAC.fullmatch(text) is not None


def is_email(text: str) -> bool:
    """Return whether a text is a mail address, or a name and an address in angle brackets (mail.ParseAddress)."""
    if not _MAIL.fullmatch(text):
        return False
    literal = _LITERAL.search(text)
    return literal is None or _ip(literal[1]) is not None


def is_uri(text: str) -> bool:
    """Return whether a text is an absolute URI or an absolute path (url.ParseRequestURI)."""
    if not text or _CONTROL(text):
        return False
    if text == "*":
        return True
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if rest[:1] != "/":
        return scheme is not None
    rest = rest.partition("?")[0]
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and not _BROKEN_ESCAPE(slash + path)
    return not _BROKEN_ESCAPE(rest)


def _is_authority(text: str) -> bool:
    user, _, host = text.rpartition("@")
    if not _USER(user):
        return False
    if host.startswith("["):
        address, bracket, port = host.rpartition("]")
        return bool(bracket) and bool(_PORT(port)) and bool(_HOST(address.replace("%25", "")))
    name, colon, port = host.rpartition(":")
    return bool(_HOST(name if colon else host)) and bool(_PORT(colon + port if colon else ""))
