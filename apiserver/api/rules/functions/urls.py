"""URLs: Kubernetes' library for absolute URLs and paths (k8s.io/apiserver/pkg/cel/library/urls.go, Go's net/url)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote, unquote_to_bytes

from apiserver.api.rules.language.values import EvaluationError, MapValue
from apiserver.api.schema import quoted
from apiserver.api.structural.addresses import is_uri

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_PORT = re.compile(r":[0-9]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*").fullmatch
_KEPT_IN_PATH = "-_.~$&+,/:;=@"


@dataclass(frozen=True, slots=True)
class Url:
    """A URL taken apart."""

    scheme: str
    user: str
    host: str
    path: str
    query: str
    fragment: str

    type_name: ClassVar[str] = "kubernetes.URL"

    @property
    def hostname(self) -> str:
        """The host without its port, and without the brackets around an address of IPv6."""
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.partition(":")[0]

    @property
    def port(self) -> str:
        """The port, "" where there is none."""
        return self.host.rpartition("]")[2].partition(":")[2]


def _url(text: str) -> Url:
    """The parts of an absolute URL or path.

    Raises:
        EvaluationError: the text is none.
    """
    if not is_uri(text):
        told = f"parse {quoted(text)}: {_error(text)}"
        raise EvaluationError(f"URL parse error during conversion from string: {told}")
    rest, _, fragment = text.partition("#")
    scheme = _SCHEME.match(rest)
    rest = rest[scheme.end() :] if scheme else rest
    rest, _, query = rest.partition("?")
    user = host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        rest = slash + path
    elif scheme and not rest.startswith("/"):
        rest = ""  # an opaque URL, such as mailto:me
    name = scheme[1].lower() if scheme else ""
    return Url(name, user, unquote_to_bytes(host).decode(errors="replace"), rest, query, fragment)


def _error(text: str) -> str:
    """What is wrong with a URL."""
    if _CONTROL.search(text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    scheme = _SCHEME.match(text)
    if not scheme and not text.startswith("/"):
        return "missing protocol scheme" if text.startswith(":") else "invalid URI for request"
    broken = _BROKEN_ESCAPE.search(text.partition("?")[0])
    if broken:
        return f"invalid URL escape {quoted(broken[0])}"
    authority = text.partition("//")[2].partition("/")[0].rpartition("@")
    host, colon, port = authority[2].rpartition(":")
    if colon and not _PORT.fullmatch(colon + port):
        return f"invalid port {quoted(colon + port)} after host"
    bad = next((c for c in host or port if c.isascii() and not c.isalnum() and c not in "-._~!$&'()*+,;=:[]<>\"%"), "")
    return f"invalid character {quoted(bad)} in host name" if bad else "invalid URI for request"


def _escaped_path(url: Url) -> str:
    return url.path if _PLAIN_PATH(url.path) else quote(unquote_to_bytes(url.path), safe=_KEPT_IN_PATH)


def _query(url: Url) -> MapValue:
    """Key → values; what cannot be read is left out."""
    found: dict[str, list[str]] = {}
    for part in url.query.split("&"):
        if part and ";" not in part and not _BROKEN_ESCAPE.search(part):
            key, _, value = part.replace("+", " ").partition("=")
            read = [unquote_to_bytes(text).decode(errors="replace") for text in (key, value)]
            found.setdefault(read[0], []).append(read[1])
    return MapValue(found.items())


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_url": _url,
    "is_url_string": is_uri,
    "url_get_scheme": lambda url: url.scheme,
    "url_get_host": lambda url: url.host,
    "url_get_hostname": lambda url: url.hostname,
    "url_get_port": lambda url: url.port,
    "url_get_escaped_path": _escaped_path,
    "url_get_query": _query,
}
