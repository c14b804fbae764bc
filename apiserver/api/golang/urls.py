"""URLs as Go's net/url parses them, with its messages for malformed ones."""

import re
from dataclasses import dataclass

from apiserver.api.golang.netip import NotAnAddressError, parse_address
from apiserver.api.schema import quoted

_CONTROL = re.compile(r"[\x00-\x1f\x7f]").search
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*").fullmatch
_PORT = re.compile(r"(?::[0-9]*)?").fullmatch
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}").match
_ESCAPES_OF_ASCII = re.compile(r"%(?!25)[0-7][0-9A-Fa-f]").search
"""Finds escaped ASCII, which a host must not have: RFC 6874 allows only escapes of other characters."""
_NOT_IN_HOST = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff]").search
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class UrlError(ValueError):
    """The text is not a URL; the message is Go's."""


@dataclass(frozen=True, slots=True)
class GoUrl:
    """The parts of a URL.

    Attributes:
        scheme: the scheme in lower case, "" if there is none.
        user: the text before the host's "@", None if there is none.
        host: the host with its port, without escapes.
        path: the path as written; "" for an opaque URL such as mailto:me.
        query: the text after "?".
        fragment: the text after "#".
    """

    scheme: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""


def parse_url(text: str) -> GoUrl:
    """Return the parts of a URL, absolute or not (url.Parse).

    Raises:
        UrlError: the text is not a URL.
    """
    rest, _, fragment = text.partition("#")
    try:
        url = _parse(rest, via_request=False)
    except UrlError as error:
        raise UrlError(f"parse {quoted(rest)}: {error}") from None
    try:
        _check_escapes(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from None
    return GoUrl(url.scheme, url.user, url.host, url.path, url.query, fragment)


def check_request_uri(text: str) -> None:
    """Check that a text is an absolute URL or an absolute path (url.ParseRequestURI).

    Raises:
        UrlError: the text is neither.
    """
    try:
        _parse(text, via_request=True)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from None


def _parse(text: str, *, via_request: bool) -> GoUrl:
    if _CONTROL(text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and via_request:
        raise UrlError("empty url")
    if text == "*":
        return GoUrl(path="*")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    scheme_match = _SCHEME.match(text)
    scheme, rest = (scheme_match[1].lower(), text[scheme_match.end() :]) if scheme_match else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return GoUrl(scheme, query=query)
        if via_request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        user, host = _parse_authority(authority)
    _check_escapes(rest)
    return GoUrl(scheme, user, host, rest, query)


def _parse_authority(text: str) -> tuple[str | None, str]:
    """Return the user and the host."""
    user, at, host = text.rpartition("@")
    host = _parse_host(host)
    if not at:
        return None, host
    if not _USER(user):
        raise UrlError("net/url: invalid userinfo")
    _check_escapes(user)
    return user, host


def _parse_host(text: str) -> str:
    if "[" in text:
        return _parse_ip_literal(text)
    _, colon, port = text.partition(":")  # the first: a name has no colons (Go 1.26)
    if not _PORT(colon + port):
        raise UrlError(f"invalid port {quoted(colon + port)} after host")
    return _unescape_host(text)


def _parse_ip_literal(text: str) -> str:
    """Return an IPv6 address in brackets, with its port."""
    head, bracket, port = text.rpartition("]")
    if not bracket:
        raise UrlError("missing ']' in host")
    if not _PORT(port):
        raise UrlError(f"invalid port {quoted(port)} after host")
    before, _, address = head.rpartition("[")
    if before:
        raise UrlError("invalid IP-literal")
    name, percent, zone = address.partition("%25")
    _check_escapes(percent + zone)
    host = _unescape_host(name) + _unescaped(percent + zone)
    try:
        if parse_address(host).version == 4:
            raise UrlError("invalid IP-literal")
    except NotAnAddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    return f"[{host}]{port}"


def _unescape_host(text: str) -> str:
    _check_escapes(text)
    if match := _ESCAPES_OF_ASCII(text):
        raise UrlError(f"invalid URL escape {quoted(match[0])}")
    if match := _NOT_IN_HOST(text):
        raise UrlError(f"invalid character {quoted(match[0])} in host name")
    return _unescaped(text)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode(errors="replace"), text)


def _check_escapes(text: str) -> None:
    """Check that each percent sign has two hexadecimal digits after it."""
    at = text.find("%")
    while at >= 0:
        if not _ESCAPE(text, at):
            raise UrlError(f"invalid URL escape {quoted(text[at : at + 3])}")
        at = text.find("%", at + 3)
