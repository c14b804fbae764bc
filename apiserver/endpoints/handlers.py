"""The verbs over HTTP: each takes a parsed request, calls the registry, and writes the answer in the form asked for."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import orjson
from aiohttp import web

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.schema import DecodeError
from apiserver.api.user import User
from apiserver.endpoints import bodies, params
from apiserver.endpoints.http_response import Answer, Reply
from apiserver.endpoints.negotiation import EVENT_STREAMS, JSON, answer_form, body_media, routed_form
from apiserver.endpoints.rendering import PLAIN, Renderer, Shape, shape_of
from apiserver.endpoints.responses import is_pretty, line_end, response, shaped, success
from apiserver.endpoints.routes import Route
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target
from apiserver.registry.rest import delete as deletion
from apiserver.registry.rest.create import create as create_object
from apiserver.registry.rest.patch import patch as patch_object
from apiserver.registry.rest.patch_body import APPLY_PATCH, CUSTOM_PATCHES, PATCHES, Patch
from apiserver.registry.rest.update import update as update_object
from apiserver.registry.storage import ListPage
from apiserver.registry.strategy import SUBRESOURCES as PARTS
from apiserver.registry.subresources import CONNECTIONS, SUBRESOURCES, VIRTUAL, Call, Location, Part, Warned
from etcd.store import KeyValue

DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
RETURNS_DELETED = frozenset(
    (
        "pods",
        "services",
        "serviceaccounts",
        "podtemplates",
        "persistentvolumes",
        "persistentvolumeclaims",
        "resourcequotas",
    )
)
"""Core resources whose DELETE answers with the object instead of a Status (ReturnDeletedObject in their storage)."""


class RequestContext(NamedTuple):
    """One request for a resource, understood as far as its head goes.

    Attributes:
        request: what aiohttp read.
        target: what it is about, as its path says.
        query: its parameters.
        user: who sent it.
        audit_id: under which it is answered.
    """

    request: web.BaseRequest
    target: Target
    query: Parameters
    user: User
    audit_id: str

    @property
    def agent(self) -> str:
        """The User-Agent, "" where the client gives none."""
        return self.request.headers.get("User-Agent", "")

    def shape(self) -> Shape:
        """Return the shape of the answer.

        Raises:
            ApiError: 400, 406.
        """
        accept = self.request.headers.get("Accept", "")
        if accept == JSON or not accept:  # as most clients say
            return PLAIN
        target = self.target
        if target.resource.custom:
            form = answer_form(accept)
        elif target.name or self.request.method != "GET":
            form = routed_form(accept)
        else:
            form = routed_form(accept, streams=EVENT_STREAMS)
        return shape_of(form, self.query)


class Handlers:
    """One method per verb."""

    def __init__(self, registry: Registry, renderer: Renderer, carry: "ProxyHandler") -> None:
        self._registry = registry
        self._renderer = renderer
        self._carry = carry

    async def get(self, asked: RequestContext) -> Answer:
        """GET of an object."""
        shape, target = asked.shape(), asked.target
        version = asked.query.get("resourceVersion") or ""
        kv = await self._registry.storage.get(target.resource, target.namespace, target.name, version=version)
        return self._answer(asked, shape, kv)

    async def list(self, asked: RequestContext) -> Answer:
        """GET of a collection."""
        shape, target = asked.shape(), asked.target
        options = params.list_options(asked.query, target.resource)
        selected = await self._registry.storage.list(target.resource, target.namespace, options)
        return self._listed(asked, shape, selected)

    async def create(self, asked: RequestContext) -> Answer:
        """POST to a collection."""
        shape = asked.shape()
        options = params.write_options(asked.query, user=asked.user, agent=asked.agent, kind="CreateOptions")
        body = await self._body(asked)
        written = await create_object(self._registry, asked.target, body, options)
        return self._written(asked, shape, written)

    async def update(self, asked: RequestContext) -> Answer:
        """PUT of an object or its status."""
        _check_named(asked.target)
        shape = asked.shape()
        options = params.write_options(asked.query, user=asked.user, agent=asked.agent, kind="UpdateOptions")
        body = await self._body(asked)
        written = await update_object(self._registry, asked.target, body, options)
        return self._written(asked, shape, written)

    async def patch(self, asked: RequestContext) -> Answer:
        """PATCH of an object or its status."""
        patch = await self._patch(asked)
        shape = asked.shape()
        options = params.write_options(asked.query, user=asked.user, agent=asked.agent, kind="PatchOptions")
        written = await patch_object(self._registry, asked.target, patch, options)
        return self._written(asked, shape, written)

    async def delete(self, asked: RequestContext) -> Answer:
        """DELETE of an object: answered with the object where it lives on or its kind says so, else with a Status."""
        shape, target = asked.shape(), asked.target
        options = params.delete_options(asked.query, await self._delete_body(asked), user=asked.user)
        deleted = await deletion.delete(self._registry, target, options)
        resource = target.resource
        if not deleted.gone or (not resource.group and resource.plural in RETURNS_DELETED):
            return self._answer(asked, shape, deleted.kv, warnings=deletion.deletion_warnings(target, options))
        uid = orjson.loads(deleted.kv.value)["metadata"]["uid"]
        names = {"name": target.name, "group": resource.group, "kind": resource.plural, "uid": uid}
        return self._finished(asked, shape, orjson.dumps(success({k: v for k, v in names.items() if v})))

    async def delete_collection(self, asked: RequestContext) -> Answer:
        """DELETE of a collection: answered with the list of what was there."""
        shape, target = asked.shape(), asked.target
        selection = params.list_options(asked.query, target.resource)
        options = params.delete_options(asked.query, await self._delete_body(asked), user=asked.user)
        items = await deletion.delete_collection(self._registry, target, selection, options)
        found = ListPage(items, self._registry.storage.store.revision)
        return self._listed(asked, shape, found, warnings=deletion.deletion_warnings(target, options))

    async def computed(self, asked: RequestContext, verb: str, part: Part) -> Reply:
        """Return a subresource other than a plain part of its object, or a resource that is not stored."""
        target, shape = asked.target, asked.shape()
        body = patch = None
        if verb == "patch":
            patch = await self._patch(asked)
        elif verb in ("create", "update") and target.subresource not in CONNECTIONS:
            below = target.resource.subresources.get(target.subresource)
            body = await self._body(asked, below.kind if below else target.resource.kind)
        kind = OPTIONS.get(verb, "UpdateOptions")
        options = params.write_options(asked.query, user=asked.user, agent=asked.agent, kind=kind)
        answer = await part(Call(self._registry, target, verb, options, asked.query, body, patch))
        if isinstance(answer, Location):
            return await self._carry(asked, answer)
        if answer is None:
            return response(b"", code=204, media="", audit_id=asked.audit_id)
        if isinstance(answer, WriteResult):
            return self._written(asked, shape, answer)
        if isinstance(answer, ListPage):
            return self._listed(asked, shape, answer)
        obj, warnings = answer if isinstance(answer, Warned) else (answer, ())
        shown = self._renderer.computed(target.resource, obj, shape)
        return self._finished(asked, shape, shown, code=201 if verb == "create" else 200, warnings=warnings)

    async def _body(self, asked: RequestContext, kind: str = "") -> Body:
        raw = await bodies.read(asked.request)
        media = asked.request.headers.get("Content-Type", "")
        return await bodies.parsed(raw, media, kind or asked.target.resource.kind)

    async def _delete_body(self, asked: RequestContext) -> Obj | None:
        raw = await bodies.read(asked.request)
        if not raw:
            return None
        given = await bodies.parsed_options(raw, asked.request.headers.get("Content-Type", ""))
        try:
            return self._registry.schema.decode(DELETE_OPTIONS, given).obj
        except DecodeError as error:
            raise errors.bad_request(str(error)) from error

    async def _patch(self, asked: RequestContext) -> Patch:
        """Return the request's patch.

        Raises:
            ApiError: 400, it is malformed; 413; 415, its type is unknown, or not to be had here.
        """
        media = body_media(asked.request.headers.get("Content-Type", ""))
        resource = asked.target.resource
        if media not in CUSTOM_PATCHES and self._registry.customs.find(resource) is not None:
            raise params.unknown_format(CUSTOM_PATCHES)
        make = PATCHES.get(media)
        if make is None:
            if media == APPLY_PATCH:
                raise errors.unsupported_media_type("server-side apply is not supported by this server yet")
            refused = errors.unsupported_media_type("415: Unsupported Media Type")
            refused.details = {}
            raise refused
        _check_named(asked.target)
        raw = await bodies.read(asked.request)
        return make(raw, lambda: self._registry.merge_schema.kind(resource.definition))

    def _written(self, asked: RequestContext, shape: Shape, written: WriteResult) -> Answer:
        code = 201 if written.created else 200
        return self._answer(asked, shape, written.kv, code=code, warnings=written.warnings)

    def _answer(
        self, asked: RequestContext, shape: Shape, kv: KeyValue, *, code: int = 200, warnings: tuple[str, ...] = ()
    ) -> Answer:
        body = self._renderer.one(kv, self._registry.codecs.of(asked.target.resource), shape)
        return self._finished(asked, shape, body, code=code, warnings=warnings)

    def _listed(
        self, asked: RequestContext, shape: Shape, selected: ListPage, *, warnings: tuple[str, ...] = ()
    ) -> Answer:
        body = self._renderer.many(selected, self._registry.codecs.of(asked.target.resource), shape)
        return self._finished(asked, shape, body, warnings=warnings)

    def _finished(
        self, asked: RequestContext, shape: Shape, body: bytes, *, code: int = 200, warnings: tuple[str, ...] = ()
    ) -> Answer:
        form = shape.form
        pretty = form.pretty or is_pretty(asked.query, asked.agent)
        return response(
            shaped(body, form.media, pretty=pretty),
            code=code,
            media=form.media,
            warnings=warnings,
            audit_id=asked.audit_id,
            ending=line_end(form.media, pretty=pretty),
        )


def _check_named(target: Target) -> None:
    """Refuse to change a collection, which only custom resources have a verb for (handlers.errEmptyName).

    Raises:
        ApiError: 400.
    """
    if not target.name:
        raise errors.bad_request("name must be provided")


ProxyHandler = Callable[[RequestContext, Location], Awaitable[Reply]]
"""Lets somebody else answer."""
Handle = Callable[[Handlers, RequestContext], Awaitable[Reply]]

COLLECTION: Mapping[str, tuple[str, Handle]] = {
    "GET": ("list", Handlers.list),
    "POST": ("create", Handlers.create),
    "DELETE": ("deletecollection", Handlers.delete_collection),
}
"""HTTP method → verb and handler, of a path that names a collection."""

ITEM: Mapping[str, tuple[str, Handle]] = {
    "GET": ("get", Handlers.get),
    "PUT": ("update", Handlers.update),
    "PATCH": ("patch", Handlers.patch),
    "DELETE": ("delete", Handlers.delete),
}
"""HTTP method → verb and handler, of a path that names an object."""

OPTIONS = {"create": "CreateOptions", "patch": "PatchOptions"}
"""Verb → what its options are called in an error, where that is not UpdateOptions."""

PART_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "POST": "create", "DELETE": "delete"}
"""HTTP method → verb, of a path that names a subresource."""


class Action(NamedTuple):
    """What a method does to a path."""

    verb: str
    handle: Handle


def action_of(method: str, target: Target) -> Action:
    """Return the verb and the handler of a request.

    Raises:
        ApiError: 405.
    """
    if target.subresource:
        return _part_action(method, target)
    found = (ITEM if target.name else COLLECTION).get(method)
    resource = target.resource
    part = VIRTUAL.get((resource.group, resource.plural))
    if found is None or found[0] not in resource.verbs:
        raise errors.method_not_allowed()
    if found[0] in ("create", "deletecollection") and resource.namespaced and not target.namespace:
        raise errors.method_not_allowed()
    return Action(*found) if part is None else _computed(found[0], part)


REQUEST_VERBS = {"GET": "get", "HEAD": "get"} | PART_VERBS
"""HTTP method → verb of a request for a custom object; other methods have the verb ""."""
CUSTOM: Mapping[str, Handle] = {verb: handle for verbs in (COLLECTION, ITEM) for verb, handle in verbs.values()}
"""Verb → handler of a custom resource: the path plays no part in it (customresource_handler.go's serveResource)."""
CUSTOM_PART: Mapping[str, Handle] = {verb: CUSTOM[verb] for verb in ("get", "update", "patch")}
"""The same of a subresource."""
ACROSS_NAMESPACES = frozenset(("list", "watch"))
"""What can be done to the objects of all namespaces at once."""


def custom_action_of(method: str, route: Route) -> Action | None:
    """Return the verb and the handler of a request for a custom resource, None if the path leads nowhere.

    Custom resources have no routes: their server derives a verb from method and name (RequestInfo), whatever the path
    looks like, and knows no 405 of go-restful's.

    Raises:
        ApiError: 405.
    """
    target = route.target
    resource = target.resource
    verb = "watch" if route.watch else REQUEST_VERBS.get(method, "")
    if not target.name:
        verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
    if resource.namespaced and not target.namespace and verb not in ACROSS_NAMESPACES:
        return None
    handle = (CUSTOM_PART if target.subresource else CUSTOM).get("list" if verb == "watch" else verb)
    if handle is None:
        raise errors.method_not_supported(resource.group, resource.plural, verb)
    if target.subresource in SUBRESOURCES:
        return _computed(verb, SUBRESOURCES[target.subresource])
    return Action(verb, handle)


def _part_action(method: str, target: Target) -> Action:
    verb, resource = PART_VERBS.get(method, ""), target.resource
    if verb not in resource.subresources[target.subresource].verbs:
        raise errors.method_not_allowed()
    if target.subresource == "status" or (resource.group, resource.kind, target.subresource) in PARTS:
        return Action(*ITEM[method])
    if target.subresource not in SUBRESOURCES:
        raise not_built(target)
    return _computed(verb, SUBRESOURCES[target.subresource])


def _computed(verb: str, part: Part) -> Action:
    return Action(verb, lambda handlers, asked: handlers.computed(asked, verb, part))


def not_built(target: Target) -> ApiError:
    """501: discovery names it, since real servers have it, but this one cannot do it yet."""
    what = f"{target.resource.plural}/{target.subresource}" if target.subresource else target.resource.plural
    return ApiError(501, "NotImplemented", f"{what} is not implemented by this server yet")
