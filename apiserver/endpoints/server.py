"""The handler of all requests: authentication, authorization, limits and dispatch; errors become Status here."""

import logging
import time
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from aiohttp import web

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.parameters import Parameters
from apiserver.api.resources import Resource
from apiserver.api.selectors import FieldSelector, SelectorError, parse_field_selector
from apiserver.api.user import User
from apiserver.auth.authentication import Authentication
from apiserver.auth.authorization import allows_anonymous, is_anonymous
from apiserver.auth.impersonation import Impersonation, asks_to_impersonate
from apiserver.endpoints.deadlines import answer_within, requested_seconds
from apiserver.endpoints.handlers import Action, Handlers, RequestContext, action_of, custom_action_of
from apiserver.endpoints.http_response import Reply, Response
from apiserver.endpoints.negotiation import NO_TRANSFORMS, negotiate, negotiate_routed
from apiserver.endpoints.nonresource import BAD_REQUEST, NonResourceHandlers, NonResourceResponse
from apiserver.endpoints.params import NO_QUERY, is_dry_run, parse_query
from apiserver.endpoints.responses import compressed, is_pretty, response, shaped, status_response, warn_first
from apiserver.endpoints.routes import Router, well_escaped
from apiserver.endpoints.watch import Watches
from apiserver.metrics import Labels, Metrics
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer, forbidden
from apiserver.registry.clock import Ids
from apiserver.registry.custom_resources import CustomKinds
from apiserver.registry.options import Target
from apiserver.registry.subresources import CONNECTIONS

log = logging.getLogger("apiserver")
access = logging.getLogger("apiserver.access")

READ_METHODS = frozenset(("GET", "HEAD"))
METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE"))
LABELED_METHODS = METHODS | READ_METHODS
"""Methods that metrics label by their names."""
MAX_RECENT_PATHS = 1024
"""The number of paths that are cached."""
MAX_TEMPLATES = 8192
"""The number of templates that are cached: one per method on the objects, or on one subresource, of a collection."""
MAX_CACHED_PATH = 512
"""The longest path that is cached; those of ordinary objects are shorter."""
_COLLECTION_VERBS = frozenset(("list", "watch", "deletecollection"))
VERB_LABELS = {"create": "POST", "update": "PUT"}
"""Verb → its label in metrics, if it is not the verb in capitals (metrics.CanonicalVerb)."""


K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class InflightLimits:
    """The limits of requests in flight; 0 is no limit."""

    reading: int = 400
    mutating: int = 200


@dataclass(slots=True)
class RequestOutcome:
    """Facts about a request that are needed after it is answered or has failed.

    Attributes:
        labels: its labels in metrics.
        deprecation: the warning about a deprecated version, for every answer.
        warnings: further warnings, about the credential.
    """

    labels: Labels | None = None
    deprecation: str = ""
    warnings: tuple[str, ...] = ()


class RouteMatch(NamedTuple):
    """The match of a method and path: the target, the action, and the labels in metrics.

    Attributes:
        watch: whether the path has the deprecated prefix /watch/.
    """

    target: Target
    action: Action
    labels: Labels
    watch: bool = False


class RouteTemplate(NamedTuple):
    """A match without a name: a method on any object of a collection, or on one subresource of any of them."""

    resource: Resource
    namespace: str
    subresource: str
    action: Action
    labels: Labels


class RouteCache:
    """A cache of route matches by (method, path), kept until the table of resources changes.

    Recent paths are cached as they are. All others share one template for all names in a collection:

        GET    /api/v1/namespaces/default/pods/a           the template of GET, /api/v1/namespaces/default/pods
        GET    /api/v1/namespaces/default/pods/b           the same
        PATCH  /api/v1/namespaces/default/pods/a/status    that of PATCH, /api/v1/namespaces/default/pods, status
    """

    def __init__(self, router: Router) -> None:
        self._router = router
        self._recent: dict[tuple[str, str], RouteMatch] = {}
        self._templates: dict[tuple[str, str, str], RouteTemplate] = {}

    def invalidate(self) -> None:
        """Drop all matches: a row was added or removed."""
        self._recent.clear()
        self._templates.clear()

    def match(self, method: str, path: str) -> RouteMatch | None:
        """Return the match of a method and raw path, None if the path names no resource.

        Raises:
            ApiError: 400, 405.
        """
        match = self._recent.get((method, path))
        if match is not None:
            return match
        match = self._from_template(method, path) or self._match_route(method, path)
        if match is not None and len(path) <= MAX_CACHED_PATH:
            _keep(self._recent, (method, path), match, limit=MAX_RECENT_PATHS)
        return match

    def _from_template(self, method: str, path: str) -> RouteMatch | None:
        prefix, _, name = path.rpartition("/")
        template = self._templates.get((method, prefix, ""))
        if template is None:
            last = name
            prefix, _, name = prefix.rpartition("/")
            template = self._templates.get((method, prefix, last))
        if template is None or not _is_plain_name(name):
            return None
        resource, namespace, subresource, action, labels = template
        return RouteMatch(Target(resource, namespace, name, subresource), action, labels)

    def _match_route(self, method: str, path: str) -> RouteMatch | None:
        route = self._router.route(path)
        if route is None:
            return None
        target = route.target
        if target.resource.custom:
            custom = custom_action_of(method, route)
            if custom is None:
                return None
            action = custom
        elif route.watch and "watch" not in target.resource.verbs:
            raise errors.unknown_path()
        elif method not in METHODS or (route.watch and method != "GET"):
            raise errors.method_not_allowed()
        else:
            action = action_of(method, target)
        match = RouteMatch(target, action, _labels(action.verb, target), route.watch)
        if not route.watch and not route.proxy_path and len(path) <= MAX_CACHED_PATH:
            self._keep_template(method, path, match)
        return match

    def _keep_template(self, method: str, path: str, match: RouteMatch) -> None:
        """Cache the match of the path as a template for all names, unless the path has escapes or extra slashes."""
        resource, namespace, name, subresource = match.target
        end = f"/{name}/{subresource}" if subresource else f"/{name}"
        if _is_plain_name(name) and path.endswith(end):
            template = RouteTemplate(resource, namespace, subresource, match.action, match.labels)
            _keep(self._templates, (method, path.removesuffix(end), subresource), template, limit=MAX_TEMPLATES)


def _is_plain_name(segment: str) -> bool:
    """Return whether a segment of a raw path is the name of an object as it is: no escapes, not only dots."""
    return "%" not in segment and segment.strip(".") != ""


def _keep(table: dict[K, V], key: K, value: V, *, limit: int) -> None:
    """Add an entry to a table, which is emptied first if it is full."""
    if len(table) >= limit:
        table.clear()
    table[key] = value


class AuditIds:
    """Ids of requests: they only need to be unique, so they are counted."""

    def __init__(self, ids: Ids) -> None:
        self._run = ids.uid()[:24]
        self._count = count(1)

    def next(self) -> str:
        """Return a new id, unique to this request."""
        return f"{self._run}{next(self._count):012x}"


class Server:
    """Answers every request of a listening socket."""

    def __init__(  # noqa: PLR0913 - the one place where the collaborators of HTTP meet
        self,
        *,
        authentication: Authentication,
        authorizer: Authorizer,
        impersonation: Impersonation,
        router: Router,
        handlers: Handlers,
        watches: Watches,
        pages: NonResourceHandlers,
        metrics: Metrics,
        customs: CustomKinds,
        ids: Ids,
        limits: InflightLimits,
    ) -> None:
        self._authentication = authentication
        self._authorizer = authorizer
        self._impersonation = impersonation
        self._dispatch = RouteCache(router)
        self._handlers = handlers
        self._watches = watches
        self._pages = pages
        self._metrics = metrics
        self._customs = customs
        self._audit_ids = AuditIds(ids)
        self._limits = {"readOnly": limits.reading, "mutating": limits.mutating}

    def invalidate(self) -> None:
        """Drop all cached matches: rows were added or removed."""
        self._dispatch.invalidate()

    async def handle(self, request: web.BaseRequest) -> Reply:
        """Answer one request; every error becomes a Status."""
        began = time.perf_counter()
        audit_id = request.headers.get("Audit-Id") or self._audit_ids.next()
        outcome = RequestOutcome()
        try:
            allowed = self._allowed_seconds(request) if "timeout=" in request.raw_path else None
            answering = self._answer(request, audit_id, outcome)
            answer = await (answering if allowed is None else answer_within(allowed, answering))
        except ApiError as error:
            answer = status_response(error, request, audit_id=audit_id)
        except (ConnectionError, TimeoutError) as error:
            log.info("the client of %s %s went away: %s", request.method, request.path, error)
            raise
        except Exception:
            log.exception("%s %s failed (audit %s)", request.method, request.path, audit_id)
            if request.writer.output_size and request.transport is not None:
                request.transport.abort()  # a stream that has begun can only be broken off
            answer = status_response(errors.internal("the request could not be served"), request, audit_id=audit_id)
        if outcome.deprecation and isinstance(answer, Response):  # a stream has sent it already
            warn_first(answer, outcome.deprecation)
        if outcome.warnings and isinstance(answer, Response):
            for text in reversed(outcome.warnings):  # authentication comes before all else
                warn_first(answer, text)
        seconds = time.perf_counter() - began
        self._metrics.tally(
            outcome.labels or Labels(request.method if request.method in LABELED_METHODS else "other")
        ).add(answer.status, seconds)
        if access.isEnabledFor(logging.INFO):
            access.info(
                '%s "%s %s" %d %.1fms "%s" %s',
                request.remote,
                request.method,
                request.raw_path,
                answer.status,
                seconds * 1000,
                request.headers.get("User-Agent", ""),
                audit_id,
            )
        return answer

    async def _answer(self, request: web.BaseRequest, audit_id: str, outcome: RequestOutcome) -> Reply:
        path, _, search = request.raw_path.partition("?")
        headers = request.headers
        user = self._user_of(request, outcome)
        if is_anonymous(user) and not (allows_anonymous(path) and "Authorization" not in headers):
            raise errors.unauthorized()
        if "%" in path and not well_escaped(path):
            return _page_response(BAD_REQUEST, audit_id)
        query = parse_query(search) if search else NO_QUERY
        match = self._dispatch.match(request.method, path)
        if match is None:
            page = await self._nonresource_response(request, path, query, user=user, audit_id=audit_id)
            return await compressed(page, headers.get("Accept-Encoding", ""))
        target, action, labels, watch = match
        context = RequestContext(request, target, query, user, audit_id)
        watched = watch or (query and action.verb == "list" and query.is_true("watch"))
        context = await self._authorize(context, "watch" if watched else action.verb)
        if target.resource.custom:
            self._customs.check_resolved(target.resource)
        if watched:
            return await self._watch(context, outcome)
        outcome.labels = labels._replace(dry_run=_dry_run(query)) if "dryRun" in query else labels
        if target.subresource in CONNECTIONS:
            return await action.handle(self._handlers, context)
        return await self._limited(context, action, outcome)

    def _allowed_seconds(self, request: web.BaseRequest) -> float | None:
        """Return the seconds that a request may take by its query, None for a long-running request.

        Raises:
            ApiError: 400, the parameter is not a duration.
        """
        path, _, search = request.raw_path.partition("?")
        query = parse_query(search)
        if "%" not in path or well_escaped(path):
            try:
                match = self._dispatch.match(request.method, path)
            except ApiError:
                match = None
            if match is not None and _is_long_running(match, query):
                return None
        return requested_seconds(query)

    def _user_of(self, request: web.BaseRequest, outcome: RequestOutcome) -> User:
        transport = request.transport
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        response = self._authentication.authenticate(request.headers.get("Authorization"), connection)
        outcome.warnings += response.warnings
        return response.user

    async def _authorize(self, context: RequestContext, verb: str) -> RequestContext:
        """Return the context of a request that is allowed, with the user that it acts as."""
        request = _authorization_request(context, verb)
        headers = context.request.headers
        if asks_to_impersonate(headers):
            user = await self._impersonation.user_of(request, headers)
            request, context = request._replace(user=user), context._replace(user=user)
        decision = await self._authorizer.authorize(request)
        if not decision.allowed:
            raise forbidden(request, decision)
        return context

    async def _limited(self, context: RequestContext, action: Action, outcome: RequestOutcome) -> Response:
        kind = "readOnly" if context.request.method in READ_METHODS else "mutating"
        inflight, limit = self._metrics.inflight, self._limits[kind]
        if limit and inflight[kind] >= limit:
            raise errors.too_many_requests("Too many requests, please try again later.", 1)
        outcome.deprecation = context.target.resource.deprecation
        inflight[kind] += 1
        try:
            answer = await action.handle(self._handlers, context)
        finally:
            inflight[kind] -= 1
        assert isinstance(answer, Response)  # the others are CONNECTIONS
        encoding = context.request.headers.get("Accept-Encoding")
        return await compressed(answer, encoding) if encoding else answer

    async def _watch(self, context: RequestContext, outcome: RequestOutcome) -> web.StreamResponse:
        resource = context.target.resource
        outcome.deprecation = resource.deprecation
        if "watch" not in resource.verbs:
            raise errors.method_not_supported(resource.group, resource.plural, "watch")
        labels = outcome.labels = _labels("watch", context.target)
        running = self._metrics.longrunning
        running[labels] = running.get(labels, 0) + 1
        try:
            return await self._watches.serve(context)
        finally:
            running[labels] -= 1

    async def _nonresource_response(
        self, request: web.BaseRequest, path: str, query: Parameters, *, user: User, audit_id: str
    ) -> Response:
        asked = AuthorizationRequest(user, request.method.lower(), unquote(path), is_resource=False)
        if asks_to_impersonate(request.headers):
            asked = asked._replace(user=await self._impersonation.user_of(asked, request.headers))
        decision = await self._authorizer.authorize(asked)
        if not decision.allowed:
            raise forbidden(asked, decision)
        page = self._pages.respond(path, query, request.headers.get("Accept", ""))
        if page.routed and request.method != "GET":
            raise errors.method_not_allowed()
        if page.negotiated:
            page = _as_requested(page, request, query)
        if page.etag and page.etag in request.headers.get("If-None-Match", ""):  # a list of tags, each in quotes
            page = page._replace(body=b"", code=304)
        answer = _page_response(page, audit_id)
        if page.etag:
            answer.headers += [("ETag", page.etag), ("Vary", "Accept")]
        if page.location:
            answer.headers.append(("Location", page.location))
        if page.cache:
            answer.cache = page.cache
        return answer


def _authorization_request(context: RequestContext, verb: str) -> AuthorizationRequest:
    """Return the request as authorizers see it (RequestInfoFactory.NewRequestInfo).

    A namespace is in itself, so a role in it may allow to read it. A selector for one name names that object.
    """
    resource, namespace, name, subresource = context.target
    selector = None
    if "fieldSelector" in context.query and verb in _COLLECTION_VERBS:
        selector = _field_selector(context.query.get("fieldSelector") or "")
        name = name or (selector.exact("metadata.name") if selector else None) or ""
    elif resource.plural == "namespaces" and not resource.group:
        namespace = name
    return AuthorizationRequest(
        context.user,
        verb,
        "",
        resource.group,
        resource.plural,
        subresource,
        namespace,
        name,
        version=resource.version,
        field_selector=selector,
    )


def _field_selector(text: str) -> FieldSelector | None:
    """Return a field selector, None if it is invalid."""
    try:
        return parse_field_selector(text)
    except SelectorError:
        return None


def _is_long_running(match: RouteMatch, query: Parameters) -> bool:
    if match.target.subresource in CONNECTIONS:
        return True
    return match.watch or (match.action.verb == "list" and query.is_true("watch"))


def _page_response(page: NonResourceResponse, audit_id: str) -> Response:
    return response(page.body, code=page.code, media=page.media, audit_id=audit_id)


def _as_requested(page: NonResourceResponse, request: web.BaseRequest, query: Parameters) -> NonResourceResponse:
    """Return a page of discovery in the media type and layout that the client requests.

    Raises:
        ApiError: 406.
    """
    negotiator = negotiate_routed if page.routed else negotiate
    form = negotiator(request.headers.get("Accept", ""), transforms=NO_TRANSFORMS)
    pretty = form.pretty or is_pretty(query, request.headers.get("User-Agent", ""))
    return page._replace(body=shaped(page.body, form.media, pretty=pretty), media=form.media)


def _dry_run(query: Parameters) -> str:
    """Return the label for the parameter dryRun: clients cannot invent labels (metrics.cleanDryRun)."""
    return "All" if is_dry_run(query.all("dryRun")) else "invalid"


def _labels(verb: str, target: Target) -> Labels:
    resource = target.resource
    single = target.name or verb == "create"
    scope = "resource" if single else "namespace" if target.namespace else "cluster"
    return Labels(
        VERB_LABELS.get(verb) or verb.upper(),
        resource.group,
        resource.version,
        resource.plural,
        target.subresource,
        scope,
    )
