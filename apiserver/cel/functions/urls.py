"""URLs: Kubernetes' library for absolute URLs and paths (k8s.io/apiserver/pkg/cel/library/urls.go, Go's net/url)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote, unquote_to_bytes

from apiserver.api.golang.urls import GoUrl, UrlError, check_request_uri, parse_url
from apiserver.cel.values import EvaluationError, MapValue

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_PLAIN_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]%]*").fullmatch
_KEPT_IN_PATH = "-_.~$&+,/:;=@"


@dataclass(frozen=True, slots=True)
class UrlValue:
    """A parsed URL."""

    parts: GoUrl

    type_name: ClassVar[str] = "kubernetes.URL"

    @property
    def hostname(self) -> str:
        """The host without its port, and without the brackets around an IPv6 address."""
        if self.parts.host.startswith("["):
            return self.parts.host[1:].partition("]")[0]
        return self.parts.host.partition(":")[0]

    @property
    def port(self) -> str:
        """The port, "" if there is none."""
        return self.parts.host.rpartition("]")[2].partition(":")[2]


def _url(text: str) -> UrlValue:
    """Return the parts of an absolute URL or path.

    Raises:
        EvaluationError: the text is invalid.
    """
    try:
        check_request_uri(text)
        return UrlValue(parse_url(text))
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        check_request_uri(text)
    except UrlError:
        return False
    return True


def _escaped_path(url: UrlValue) -> str:
    path = url.parts.path
    return path if _PLAIN_PATH(path) else quote(unquote_to_bytes(path), safe=_KEPT_IN_PATH)


def _query(url: UrlValue) -> MapValue:
    """Return key → values of the query; malformed parts are left out."""
    values: dict[str, list[str]] = {}
    for part in url.parts.query.split("&"):
        if part and ";" not in part and not _BROKEN_ESCAPE.search(part):
            key, _, value = part.replace("+", " ").partition("=")
            decoded = [unquote_to_bytes(text).decode(errors="replace") for text in (key, value)]
            values.setdefault(decoded[0], []).append(decoded[1])
    return MapValue(values.items())


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_url": _url,
    "is_url_string": _is_url,
    "url_get_scheme": lambda url: url.parts.scheme,
    "url_get_host": lambda url: url.parts.host,
    "url_get_hostname": lambda url: url.hostname,
    "url_get_port": lambda url: url.port,
    "url_get_escaped_path": _escaped_path,
    "url_get_query": _query,
}
