"""What is served beside resources: health, version, discovery, OpenAPI, metrics, the list of paths."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.endpoints.discovery import Discovery
from apiserver.endpoints.negotiation import JSON, TEXT, clauses
from apiserver.endpoints.openapi.documents import OpenAPI
from apiserver.endpoints.params import Query

GNOSTIC = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
HEALTH = ("/healthz", "/livez", "/readyz")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


class Page(NamedTuple):
    """A document as it is answered."""

    body: bytes
    media: str = JSON
    code: int = 200
    etag: str = ""
    cache: str = ""


Check = Callable[[], str]
"""A health check: "" when all is well, else what is wrong."""


class Pages:
    """The pages of one server, by path."""

    def __init__(
        self,
        discovery: Discovery,
        openapi: OpenAPI,
        *,
        checks: Mapping[str, Check],
        metrics: Callable[[], bytes],
        issuer: Mapping[str, Callable[[], Page]],
    ) -> None:
        self._discovery = discovery
        self._openapi = openapi
        self._checks = checks
        self._metrics = metrics
        self._issuer = issuer

    def page(self, path: str, query: Query, accept: str) -> Page:
        """The page at a path.

        Raises:
            ApiError: 404.
        """
        path = path.rstrip("/") or "/"
        root, _, rest = path[1:].partition("/")
        match root:
            case "healthz" | "livez" | "readyz":
                return self._health(root, rest, query)
            case "version" if not rest:
                return self._document(self._discovery.version())
            case "metrics" if not rest:
                return Page(self._metrics(), "text/plain; version=0.0.4; charset=utf-8")
            case "api" | "apis":
                return self._discover(root, rest, accept)
            case "openapi":
                return self._schema(rest, query, accept)
            case "":
                return self._document(self._discovery.paths())
        if path in self._issuer:
            return self._issuer[path]()
        paths = self._discovery.paths()
        return Page(paths.body, JSON, 404)

    def _document(self, document: object) -> Page:
        return Page(document.body, JSON, etag=document.etag)  # type: ignore[attr-defined]

    def _health(self, root: str, rest: str, query: Query) -> Page:
        if rest:
            check = self._checks.get(rest)
            if check is None:
                return Page(self._discovery.paths().body, JSON, 404)
            wrong = check()
            return Page(b"ok", TEXT) if not wrong else Page(f"internal server error: {wrong}\n".encode(), TEXT, 500)
        found = {name: check() for name, check in self._checks.items()}
        failed = any(found.values())
        if not failed and "verbose" not in query:
            return Page(b"ok", TEXT)
        lines = [f"[-]{name} failed: reason withheld" if wrong else f"[+]{name} ok" for name, wrong in found.items()]
        lines.append(f"{root} check {'failed' if failed else 'passed'}")
        return Page(("\n".join(lines) + "\n").encode(), TEXT, 500 if failed else 200)

    def _discover(self, root: str, rest: str, accept: str) -> Page:
        if not rest:
            version = _aggregated_version(accept)
            if version:
                found = self._discovery.aggregated(root, version)
                return Page(found.body, AGGREGATED.format(version=version), etag=found.etag)
            return self._document(self._discovery.core() if root == "api" else self._discovery.groups())
        parts = rest.split("/")
        if root == "api":
            document = self._discovery.resources("", rest) if len(parts) == 1 else None
        elif len(parts) == 1:
            document = self._discovery.group(rest)
        else:
            document = self._discovery.resources(*parts) if len(parts) == 2 else None
        if document is None:
            raise errors.unknown_path()
        return self._document(document)

    def _schema(self, rest: str, query: Query, accept: str) -> Page:
        if rest == "v2":
            if any(clause.media == GNOSTIC for clause in clauses(accept)):
                found = self._openapi.v2_protobuf()
                return Page(found.body, GNOSTIC, etag=found.etag)
            found = self._openapi.v2()
            return Page(found.body, JSON, etag=found.etag)
        if rest == "v3":
            return self._document(self._openapi.index())
        document = self._openapi.v3(rest.removeprefix("v3/")) if rest.startswith("v3/") else None
        if document is None:
            raise ApiError(404, "", "404 page not found")
        cache = "public, immutable" if query.get("hash") else ""
        return Page(document.body, JSON, etag=document.etag, cache=cache)


def _aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that the client would rather have, "" for the plain documents."""
    for clause in clauses(accept):
        wishes = dict(clause.params)
        if clause.media in (JSON, "*/*") and not wishes.get("as"):
            return ""
        if wishes.get("as") == "APIGroupDiscoveryList" and wishes.get("g") == "apidiscovery.k8s.io":
            version = wishes.get("v", "")
            if version in ("v2", "v2beta1"):
                return version
    return ""
