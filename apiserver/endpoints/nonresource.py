"""Non-resource paths: health, version, discovery, OpenAPI, metrics, the list of paths."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from apiserver.api import errors
from apiserver.api.parameters import Parameters
from apiserver.endpoints.discovery import AGGREGATED_VERSIONS, Discovery, Document
from apiserver.endpoints.negotiation import JSON, TEXT, clauses
from apiserver.endpoints.openapi.documents import OpenAPI
from apiserver.endpoints.openapi.gnostic import ACCEPTED, CONTENT_TYPE
from apiserver.groups.kinds import KINDS

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


class NonResourceResponse(NamedTuple):
    """A document with its HTTP headers.

    Attributes:
        body: its bytes.
        media: its media type.
        code: the HTTP status.
        etag: the ETag header, "" for none.
        cache: the Cache-Control header, "" for the usual one.
        negotiated: whether clients may request the body as YAML or pretty-printed.
        location: the Location header of a redirect, "" for none.
        routed: whether it is behind a route of go-restful, which allows only GET and checks Accept itself.
    """

    body: bytes
    media: str = JSON
    code: int = 200
    etag: str = ""
    cache: str = ""
    negotiated: bool = False
    location: str = ""
    routed: bool = False


NOT_FOUND = NonResourceResponse(b"404 page not found\n", TEXT, 404)
"""The answer of Go's mux for an unknown path."""
BAD_REQUEST = NonResourceResponse(b"400 Bad Request", TEXT, 400)
"""The answer of Go's server to a malformed request line."""

Check = Callable[[], str]
"""A health check: returns "" if healthy, else the error."""


class NonResourceHandlers:
    """The pages of one server, by path."""

    def __init__(
        self,
        discovery: Discovery,
        openapi: OpenAPI,
        *,
        checks: Mapping[str, Check],
        metrics: Callable[[], bytes],
        issuer: Mapping[str, Callable[[], NonResourceResponse]],
    ) -> None:
        self._discovery = discovery
        self._openapi = openapi
        self._checks = checks
        self._single: Mapping[str, Callable[[], NonResourceResponse]] = {
            "/": self._paths,
            "/index.html": self._paths,
            "/version": lambda: NonResourceResponse(discovery.version().body, routed=True),
            "/metrics": lambda: NonResourceResponse(metrics(), "text/plain; version=0.0.4; charset=utf-8"),
            **issuer,
        }

    def respond(self, path: str, query: Parameters, accept: str) -> NonResourceResponse:
        """Return the page at a path.

        Raises:
            ApiError: 404.
        """
        path = path.rstrip("/") or "/"
        root, _, rest = path[1:].partition("/")
        match root:
            case "healthz" | "livez" | "readyz":
                return self._health(root, rest, query)
            case "api" | "apis":
                return self._discover(root, rest, accept)
            case "openapi":
                return self._schema(rest, query, accept)
        single = self._single.get(path)
        return NOT_FOUND if single is None else single()

    def _paths(self) -> NonResourceResponse:
        return NonResourceResponse(self._discovery.paths().body)

    def _health(self, root: str, rest: str, query: Parameters) -> NonResourceResponse:
        if rest:
            check = self._checks.get(rest)
            if check is None:
                return NOT_FOUND
            problem = check()
            return (
                NonResourceResponse(b"ok", TEXT)
                if not problem
                else NonResourceResponse(f"internal server error: {problem}\n".encode(), TEXT, 500)
            )
        excluded = set(query.all("exclude"))
        problems = {name: check() for name, check in self._checks.items() if name not in excluded}
        failed = any(problems.values())
        if not failed and "verbose" not in query:
            return NonResourceResponse(b"ok", TEXT)
        lines = [self._check_line(name, problems.get(name)) for name in self._checks]
        if unknown := sorted(excluded - self._checks.keys()):
            named = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
        lines.append(f"{root} check {'failed' if failed else 'passed'}")
        return NonResourceResponse(("\n".join(lines) + "\n").encode(), TEXT, 500 if failed else 200)

    @staticmethod
    def _check_line(name: str, problem: str | None) -> str:
        """Return the line of one check; `problem` is None if it was excluded. Errors are withheld, as upstream."""
        if problem is None:
            return f"[+]{name} excluded: ok"
        return f"[-]{name} failed: reason withheld" if problem else f"[+]{name} ok"

    def _discover(self, root: str, rest: str, accept: str) -> NonResourceResponse:
        if not rest:
            version = _aggregated_version(accept)
            if version:
                aggregated = self._discovery.aggregated(root, version)
                return NonResourceResponse(
                    aggregated.body, AGGREGATED.format(version=version), etag=aggregated.etag, routed=root == "api"
                )
            return _negotiated(self._discovery.core() if root == "api" else self._discovery.groups(), root == "api")
        group, *parts = ["", *rest.split("/")] if root == "api" else rest.split("/")
        if root == "apis" and self._discovery.group(group) is None:
            return NOT_FOUND
        match parts:
            case []:  # the aggregator answers for all groups but its own
                document, routed = self._discovery.group(group), group == "apiregistration.k8s.io"
            case [version]:
                document, routed = self._discovery.resources(group, version), group in KINDS
            case _:
                document, routed = None, False
        if document is None and group and group not in KINDS:
            return NOT_FOUND  # the server of custom kinds answers here, without a Status
        if document is None:
            raise errors.unknown_path()
        return _negotiated(document, routed)

    def _schema(self, rest: str, query: Parameters, accept: str) -> NonResourceResponse:
        if rest == "v2":
            if any(clause.media in ACCEPTED for clause in clauses(accept)):
                document_v2 = self._openapi.v2_protobuf()
                return NonResourceResponse(document_v2.body, CONTENT_TYPE, etag=document_v2.etag)
            document_v2 = self._openapi.v2()
            return NonResourceResponse(document_v2.body, JSON, etag=document_v2.etag)
        if rest == "v3":
            index = self._openapi.index()
            return NonResourceResponse(index.body, etag=index.etag)
        document = self._openapi.v3(rest.removeprefix("v3/")) if rest.startswith("v3/") else None
        if document is None:
            return NOT_FOUND
        requested_hash = query.get("hash")
        if (
            requested_hash and requested_hash != document.hash
        ):  # clients cache for ever: an old hash must not give a new document
            return NonResourceResponse(b"", "", 301, location=f"/openapi/{rest}?hash={document.hash}")
        return NonResourceResponse(
            document.body, JSON, etag=document.etag, cache="public, immutable" if requested_hash else ""
        )


def _negotiated(document: Document, routed: bool) -> NonResourceResponse:  # noqa: FBT001 - an attribute of the page
    return NonResourceResponse(document.body, etag=document.etag, negotiated=True, routed=routed)


def _aggregated_version(accept: str) -> str:
    """Return the version of aggregated discovery that the client prefers, "" for the plain documents."""
    for clause in clauses(accept):
        params = dict(clause.params)
        if clause.media in (JSON, "*/*") and not params.get("as"):
            return ""
        if params.get("as") == "APIGroupDiscoveryList" and params.get("g") == "apidiscovery.k8s.io":
            version = params.get("v", "")
            if version in AGGREGATED_VERSIONS:
                return version
    return ""
