"""The one handler behind the socket: who asks, may they, is there room, what is wanted; errors become Status here."""

import logging
import time
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeVar

from aiohttp import web

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.parameters import Parameters
from apiserver.api.resources import Resource
from apiserver.api.user import User
from apiserver.auth.authentication import Authentication
from apiserver.auth.authorization import Authorizer, Request, is_anonymous, is_public
from apiserver.auth.impersonation import asks_to_impersonate, impersonated
from apiserver.endpoints.deadlines import requested_seconds, within
from apiserver.endpoints.handlers import Action, Handlers, RequestContext, action_of, custom_action_of
from apiserver.endpoints.http_response import Answer, Reply
from apiserver.endpoints.negotiation import answer_form, routed_form
from apiserver.endpoints.nonresource import BAD_REQUEST, Page, Pages
from apiserver.endpoints.params import NO_QUERY, is_dry_run, parse_query
from apiserver.endpoints.responses import compressed, is_pretty, response, shaped, status_response, warn_first
from apiserver.endpoints.routes import Router, well_escaped
from apiserver.endpoints.watch import Watches
from apiserver.metrics import Labels, Metrics
from apiserver.registry.clock import Ids
from apiserver.registry.custom_resources import Customs
from apiserver.registry.options import Target
from apiserver.registry.subresources import CONNECTIONS

log = logging.getLogger("apiserver")
access = logging.getLogger("apiserver.access")

READS = frozenset(("GET", "HEAD"))
METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE"))
KNOWN = METHODS | READS
"""Methods that the metrics call by their names."""
RECENT = 1024
"""How many paths are remembered."""
TEMPLATES = 8192
"""How many templates are remembered: one for each method on the objects, or on one subresource, of a collection."""
LONGEST = 512
"""How long a path may be to be worth its memory; those of objects whose names are not made up are shorter."""
REPORTED = {"create": "POST", "update": "PUT"}
"""What metrics call verbs that they do not call by their names (metrics.CanonicalVerb)."""


K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Limits:
    """How many requests may be under way at once; 0 is without limit."""

    reading: int = 400
    mutating: int = 200


@dataclass(slots=True)
class Outcome:
    """What is known of a request by those who ask when it is answered, or has failed.

    Attributes:
        labels: how the metrics call it.
        deprecation: what its client is to be told of the version that it uses, whatever else comes of it.
    """

    labels: Labels | None = None
    deprecation: str = ""


class RouteMatch(NamedTuple):
    """What a method on a path means: what it is about, the action, and how the metrics call it.

    Attributes:
        watch: the path has the deprecated prefix /watch/.
    """

    target: Target
    action: Action
    labels: Labels
    watch: bool = False


class Template(NamedTuple):
    """What a method means for any object of a collection, or for one subresource of any of them."""

    resource: Resource
    namespace: str
    subresource: str
    action: Action
    labels: Labels


class Dispatch:
    """(method, path) → what is to be done, remembered until the table of resources changes.

    Paths that come again are remembered as they are. The others share one template for all names in a collection:

        GET    /api/v1/namespaces/default/pods/a           the template of GET, /api/v1/namespaces/default/pods
        GET    /api/v1/namespaces/default/pods/b           the same
        PATCH  /api/v1/namespaces/default/pods/a/status    that of PATCH, /api/v1/namespaces/default/pods, status
    """

    def __init__(self, router: Router) -> None:
        self._router = router
        self._recent: dict[tuple[str, str], RouteMatch] = {}
        self._templates: dict[tuple[str, str, str], Template] = {}

    def invalidate(self) -> None:
        """Forget what paths mean; called when a row comes or goes."""
        self._recent.clear()
        self._templates.clear()

    def bound(self, method: str, path: str) -> RouteMatch | None:
        """What the method does to the raw path; None where that names no resource.

        Raises:
            ApiError: 400, 405.
        """
        found = self._recent.get((method, path))
        if found is not None:
            return found
        found = self._from_template(method, path) or self._bind(method, path)
        if found is not None and len(path) <= LONGEST:
            _keep(self._recent, (method, path), found, limit=RECENT)
        return found

    def _from_template(self, method: str, path: str) -> RouteMatch | None:
        prefix, _, name = path.rpartition("/")
        template = self._templates.get((method, prefix, ""))
        if template is None:
            below = name
            prefix, _, name = prefix.rpartition("/")
            template = self._templates.get((method, prefix, below))
        if template is None or not _is_plain_name(name):
            return None
        resource, namespace, subresource, action, labels = template
        return RouteMatch(Target(resource, namespace, name, subresource), action, labels)

    def _bind(self, method: str, path: str) -> RouteMatch | None:
        route = self._router.route(path)
        if route is None:
            return None
        target = route.target
        if target.resource.custom:
            custom = custom_action_of(method, route)
            if custom is None:
                return None
            action = custom
        elif method not in METHODS or (route.watch and method != "GET"):
            raise errors.method_not_allowed()
        else:
            action = action_of(method, target)
        bound = RouteMatch(target, action, _labels(action.verb, target), route.watch)
        if not route.watch and not route.rest and len(path) <= LONGEST:
            self._keep_template(method, path, bound)
        return bound

    def _keep_template(self, method: str, path: str, bound: RouteMatch) -> None:
        """Keep what the path means for all names, unless it has escapes or odd slashes."""
        resource, namespace, name, subresource = bound.target
        end = f"/{name}/{subresource}" if subresource else f"/{name}"
        if _is_plain_name(name) and path.endswith(end):
            template = Template(resource, namespace, subresource, bound.action, bound.labels)
            _keep(self._templates, (method, path.removesuffix(end), subresource), template, limit=TEMPLATES)


def _is_plain_name(segment: str) -> bool:
    """Return whether a segment of a raw path is the name of an object as it stands: no escapes, more than dots."""
    return "%" not in segment and segment.strip(".") != ""


def _keep(table: dict[K, V], key: K, value: V, *, limit: int) -> None:
    """Add an entry to a table, which starts over when it is full."""
    if len(table) >= limit:
        table.clear()
    table[key] = value


class AuditIds:
    """Ids of requests: unlike those of objects they only need to differ, so they are counted."""

    def __init__(self, ids: Ids) -> None:
        self._run = ids.uid()[:24]
        self._count = count(1)

    def next(self) -> str:
        """Return an id that no other request of this server has."""
        return f"{self._run}{next(self._count):012x}"


class Server:
    """Answers every request of a listening socket."""

    def __init__(  # noqa: PLR0913 - the one place where the collaborators of HTTP meet
        self,
        *,
        authentication: Authentication,
        authorizer: Authorizer,
        router: Router,
        handlers: Handlers,
        watches: Watches,
        pages: Pages,
        metrics: Metrics,
        customs: Customs,
        ids: Ids,
        limits: Limits,
    ) -> None:
        self._authentication = authentication
        self._authorizer = authorizer
        self._dispatch = Dispatch(router)
        self._handlers = handlers
        self._watches = watches
        self._pages = pages
        self._metrics = metrics
        self._customs = customs
        self._audit_ids = AuditIds(ids)
        self._limits = {"readOnly": limits.reading, "mutating": limits.mutating}

    def invalidate(self) -> None:
        """Forget what paths mean: rows have come or gone."""
        self._dispatch.invalidate()

    async def handle(self, request: web.BaseRequest) -> Reply:
        """Answer one request; whatever goes wrong is a Status."""
        began = time.perf_counter()
        audit_id = request.headers.get("Audit-Id") or self._audit_ids.next()
        outcome = Outcome()
        try:
            allowed = self._allowed_seconds(request) if "timeout=" in request.raw_path else None
            answering = self._answer(request, audit_id, outcome)
            answer = await (answering if allowed is None else within(allowed, answering))
        except ApiError as error:
            answer = status_response(error, request, audit_id=audit_id)
        except (ConnectionError, TimeoutError) as error:
            log.info("the client of %s %s went away: %s", request.method, request.path, error)
            raise
        except Exception:
            log.exception("%s %s failed (audit %s)", request.method, request.path, audit_id)
            if request.writer.output_size and request.transport is not None:
                request.transport.abort()  # a stream that has begun can be broken off, but not answered anew
            answer = status_response(errors.internal("the request could not be served"), request, audit_id=audit_id)
        if outcome.deprecation and isinstance(answer, Answer):  # a stream has told it
            warn_first(answer, outcome.deprecation)
        seconds = time.perf_counter() - began
        self._metrics.tally(outcome.labels or Labels(request.method if request.method in KNOWN else "other")).add(
            answer.status, seconds
        )
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

    async def _answer(self, request: web.BaseRequest, audit_id: str, outcome: Outcome) -> Reply:
        path, _, search = request.raw_path.partition("?")
        headers = request.headers
        user = self._user_of(request)
        if is_anonymous(user) and not (is_public(path) and "Authorization" not in headers):
            raise errors.unauthorized()
        if "%" in path and not well_escaped(path):
            return _sent(BAD_REQUEST, audit_id)
        query = parse_query(search) if search else NO_QUERY
        bound = self._dispatch.bound(request.method, path)
        if bound is None:
            page = self._page(request, path, query, user=user, audit_id=audit_id)
            return await compressed(page, headers.get("Accept-Encoding", ""))
        target, action, labels, watch = bound
        asked = RequestContext(request, target, query, user, audit_id)
        watched = watch or (query and action.verb == "list" and query.is_true("watch"))
        self._authorize(asked, "watch" if watched else action.verb, path)
        if target.resource.custom:
            self._customs.check_resolved(target.resource)
        if watched:
            return await self._watched(asked, outcome)
        outcome.labels = labels._replace(dry_run=_dry_run(query)) if "dryRun" in query else labels
        if target.subresource in CONNECTIONS:
            return await action.handle(self._handlers, asked)
        return await self._limited(asked, action, outcome)

    def _allowed_seconds(self, request: web.BaseRequest) -> float | None:
        """Return the seconds that a request may take by its query, None if it goes on as long as its client wants.

        Raises:
            ApiError: 400, the parameter is no length of time.
        """
        path, _, search = request.raw_path.partition("?")
        query = parse_query(search)
        if "%" not in path or well_escaped(path):
            try:
                bound = self._dispatch.bound(request.method, path)
            except ApiError:
                bound = None
            if bound is not None and _is_long_running(bound, query):
                return None
        return requested_seconds(query)

    def _user_of(self, request: web.BaseRequest) -> User:
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        user = self._authentication.user_of(request.headers.get("Authorization"), certificate)
        return impersonated(user, request.headers, self._authorizer) if asks_to_impersonate(request.headers) else user

    def _authorize(self, asked: RequestContext, verb: str, path: str) -> None:
        target = asked.target
        resource = target.resource
        wanted = Request(
            asked.user,
            verb,
            path,
            resource.group,
            resource.plural,
            target.subresource,
            target.namespace,
            target.name,
        )
        if not self._authorizer.allows(wanted):
            plural = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
            where = f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
            raise errors.forbidden(
                resource.group,
                plural,
                name=target.name,
                why=f'User "{asked.user.name}" cannot {verb} resource "{plural}" in API group '
                f'"{resource.group}"{where}',
            )

    async def _limited(self, asked: RequestContext, action: Action, outcome: Outcome) -> Answer:
        kind = "readOnly" if asked.request.method in READS else "mutating"
        inflight, limit = self._metrics.inflight, self._limits[kind]
        if limit and inflight[kind] >= limit:
            raise errors.too_many_requests("Too many requests, please try again later.", 1)
        outcome.deprecation = asked.target.resource.deprecation
        inflight[kind] += 1
        try:
            answer = await action.handle(self._handlers, asked)
        finally:
            inflight[kind] -= 1
        assert isinstance(answer, Answer)  # the others are CONNECTIONS
        encoding = asked.request.headers.get("Accept-Encoding")
        return await compressed(answer, encoding) if encoding else answer

    async def _watched(self, asked: RequestContext, outcome: Outcome) -> web.StreamResponse:
        resource = asked.target.resource
        outcome.deprecation = resource.deprecation
        if "watch" not in resource.verbs:
            raise errors.method_not_supported(resource.group, resource.plural, "watch")
        labels = outcome.labels = _labels("watch", asked.target)
        running = self._metrics.longrunning
        running[labels] = running.get(labels, 0) + 1
        try:
            return await self._watches.serve(asked)
        finally:
            running[labels] -= 1

    def _page(self, request: web.BaseRequest, path: str, query: Parameters, *, user: User, audit_id: str) -> Answer:
        if not self._authorizer.allows(Request(user, request.method.lower(), path)) and not is_public(path):
            raise errors.forbidden(
                "", "", name="", why=f'User "{user.name}" cannot {request.method.lower()} path "{path}"'
            )
        found = self._pages.page(path, query, request.headers.get("Accept", ""))
        if found.routed and request.method != "GET":
            raise errors.method_not_allowed()
        if found.negotiated:
            found = _as_wished(found, request, query)
        if found.etag and found.etag in request.headers.get("If-None-Match", ""):  # a list of tags, each in quotes
            found = found._replace(body=b"", code=304)
        answer = _sent(found, audit_id)
        if found.etag:
            answer.headers += [("ETag", found.etag), ("Vary", "Accept")]
        if found.location:
            answer.headers.append(("Location", found.location))
        if found.cache:
            answer.cache = found.cache
        return answer


def _is_long_running(bound: RouteMatch, query: Parameters) -> bool:
    if bound.target.subresource in CONNECTIONS:
        return True
    return bound.watch or (bound.action.verb == "list" and query.is_true("watch"))


def _sent(page: Page, audit_id: str) -> Answer:
    return response(page.body, code=page.code, media=page.media, audit_id=audit_id)


def _as_wished(page: Page, request: web.BaseRequest, query: Parameters) -> Page:
    """Return a page of discovery in the media type and layout that the client wants.

    Raises:
        ApiError: 406.
    """
    negotiate = routed_form if page.routed else answer_form
    form = negotiate(request.headers.get("Accept", ""), transforms=False)
    pretty = form.pretty or is_pretty(query, request.headers.get("User-Agent", ""))
    return page._replace(body=shaped(page.body, form.media, pretty=pretty), media=form.media)


def _dry_run(query: Parameters) -> str:
    """Return the parameter as the metrics call it: clients cannot make up labels (metrics.cleanDryRun)."""
    return "All" if is_dry_run(query.all("dryRun")) else "invalid"


def _labels(verb: str, target: Target) -> Labels:
    resource = target.resource
    single = target.name or verb == "create"
    scope = "resource" if single else "namespace" if target.namespace else "cluster"
    return Labels(
        REPORTED.get(verb) or verb.upper(),
        resource.group,
        resource.version,
        resource.plural,
        target.subresource,
        scope,
    )
