"""The verbs over HTTP: each takes a parsed request, calls the registry, and writes the answer in the requested form."""

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
from apiserver.endpoints.http_response import Reply, Response
from apiserver.endpoints.negotiation import (
    EVENT_STREAMS,
    JSON,
    METADATA,
    TRANSFORMS,
    body_media,
    negotiate,
    negotiate_routed,
)
from apiserver.endpoints.rendering import PLAIN, OutputOptions, Renderer, output_options_of
from apiserver.endpoints.responses import is_pretty, line_end, response, shaped, success
from apiserver.endpoints.routes import Route
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target
from apiserver.registry.rest import delete as deletion
from apiserver.registry.rest.apply import apply as apply_object
from apiserver.registry.rest.create import check_creatable
from apiserver.registry.rest.create import create as create_object
from apiserver.registry.rest.patch import patch as patch_object
from apiserver.registry.rest.patch_body import APPLY_PATCH, CUSTOM_PATCHES, PATCHES, ApplyPatch, Patch
from apiserver.registry.rest.update import update as update_object
from apiserver.registry.storage import ListPage
from apiserver.registry.strategy import SUBRESOURCES as STORED_SUBRESOURCES
from apiserver.registry.subresources import (
    CONNECTIONS,
    SUBRESOURCES,
    VIRTUAL,
    Handler,
    KubeletLocation,
    ObjectWithWarnings,
    SubresourceRequest,
)
from etcd.store import KeyValue

DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


class RequestContext(NamedTuple):
    """One request for a resource, parsed except for its body.

    Attributes:
        request: aiohttp's request.
        target: the resource and object that its path names.
        query: its parameters.
        user: the user who sent it.
        audit_id: the id for the Audit-Id header.
    """

    request: web.BaseRequest
    target: Target
    query: Parameters
    user: User
    audit_id: str

    @property
    def agent(self) -> str:
        """The User-Agent, "" if the client sends none."""
        return self.request.headers.get("User-Agent", "")

    def output_options(self) -> OutputOptions:
        """Return the shape of the answer.

        Raises:
            ApiError: 406.
        """
        accept = self.request.headers.get("Accept", "")
        if accept == JSON or not accept:  # as most clients send it
            return PLAIN
        target = self.target
        if target.resource.custom:
            form = negotiate(accept)
        elif target.name or self.request.method != "GET":
            form = negotiate_routed(accept, transforms=TRANSFORMS if _has_columns(target) else METADATA)
        else:
            form = negotiate_routed(accept, streams=EVENT_STREAMS)
        return output_options_of(form, self.query)


class Handlers:
    """One method per verb."""

    def __init__(self, registry: Registry, renderer: Renderer, proxy: "ProxyHandler") -> None:
        self._registry = registry
        self._renderer = renderer
        self._proxy = proxy

    async def get(self, context: RequestContext) -> Response:
        """GET of an object."""
        shape, target = context.output_options(), context.target
        if context.query.is_true("export"):
            raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
        version = context.query.get("resourceVersion") or ""
        kv = await self._registry.storage.get(
            target.resource, target.namespace, target.name, min_resource_version=version
        )
        return await self._object_response(context, shape, kv)

    async def list(self, context: RequestContext) -> Response:
        """GET of a collection."""
        shape, target = context.output_options(), context.target
        options = params.list_options(context.query, target.resource)
        selected = await self._registry.storage.list(target.resource, target.namespace, options)
        return await self._list_response(context, shape, selected)

    async def create(self, context: RequestContext) -> Response:
        """POST to a collection."""
        check_creatable(self._registry, context.target)
        shape = context.output_options()
        options = params.write_options(context.query, user=context.user, agent=context.agent, kind="CreateOptions")
        body = await self._parse_body(context)
        written = await create_object(self._registry, context.target, body, options)
        return await self._write_response(context, shape, written)

    async def update(self, context: RequestContext) -> Response:
        """PUT of an object or its status."""
        _check_named(context.target)
        shape = context.output_options()
        options = params.write_options(context.query, user=context.user, agent=context.agent, kind="UpdateOptions")
        body = await self._parse_body(context)
        written = await update_object(self._registry, context.target, body, options)
        return await self._write_response(context, shape, written)

    async def patch(self, context: RequestContext) -> Response:
        """PATCH of an object or its status."""
        patch = await self._parse_patch(context)
        shape = context.output_options()
        if isinstance(patch, ApplyPatch):
            options = params.apply_options(context.query, user=context.user)
            written = await apply_object(self._registry, context.target, patch, options)
            return await self._write_response(context, shape, written)
        options = params.write_options(context.query, user=context.user, agent=context.agent, kind="PatchOptions")
        written = await patch_object(self._registry, context.target, patch, options)
        return await self._write_response(context, shape, written)

    async def delete(self, context: RequestContext) -> Response:
        """DELETE of an object: answers with the object if it remains or its kind requires that, else with a Status."""
        shape, target = context.output_options(), context.target
        options = params.delete_options(context.query, await self._parse_delete_options(context), user=context.user)
        deleted = await deletion.delete(self._registry, target, options)
        resource = target.resource
        if not deleted.gone or resource.returns_deleted:
            code = 202 if not deleted.gone and options.orphan_dependents is False else 200
            warnings = deletion.deletion_warnings(target, options) + deleted.warnings
            return await self._object_response(context, shape, deleted.kv, code=code, warnings=warnings)
        uid = orjson.loads(deleted.kv.value)["metadata"]["uid"]
        names = {"name": target.name, "group": resource.group, "kind": resource.plural, "uid": uid}
        status = orjson.dumps(success({k: v for k, v in names.items() if v}))
        return self._finish_response(context, shape, status, warnings=deleted.warnings)

    async def delete_collection(self, context: RequestContext) -> Response:
        """DELETE of a collection: answers with the list of the deleted objects."""
        shape, target = context.output_options(), context.target
        selection = params.list_options(context.query, target.resource)
        options = params.delete_options(context.query, await self._parse_delete_options(context), user=context.user)
        deleted = await deletion.delete_collection(self._registry, target, selection, options)
        page = ListPage(deleted.items, self._registry.storage.store.revision)
        warnings = deletion.deletion_warnings(target, options) + deleted.warnings
        return await self._list_response(context, shape, page, warnings=warnings)

    async def computed(self, context: RequestContext, verb: str, compute: Handler) -> Reply:
        """Answer for a subresource that is not a stored field of its object, or for a resource that is not stored."""
        target, shape = context.target, context.output_options()
        body: Body | None = None
        patch: Patch | ApplyPatch | None = None
        if verb == "patch":
            patch = await self._parse_patch(context)
        elif verb in ("create", "update") and target.subresource not in CONNECTIONS:
            subresource = target.resource.subresources.get(target.subresource)
            body = await self._parse_body(context, subresource.kind if subresource else target.resource.kind)
        if isinstance(patch, ApplyPatch):
            options = params.apply_options(context.query, user=context.user)
        else:
            kind = OPTIONS.get(verb, "UpdateOptions")
            options = params.write_options(context.query, user=context.user, agent=context.agent, kind=kind)
        call = SubresourceRequest(self._registry, target, verb, options, context.query, body, patch)
        try:
            answer = await compute(call)
        except ApiError as error:
            raise error.prepend_warnings(tuple(call.warnings)) from error.__cause__
        if isinstance(answer, KubeletLocation):
            return await self._proxy(context, answer)
        if answer is None:
            return response(b"", code=204, media="", audit_id=context.audit_id)
        if isinstance(answer, WriteResult):
            return await self._write_response(context, shape, answer)
        if isinstance(answer, ListPage):
            return await self._list_response(context, shape, answer)
        obj, warnings = answer if isinstance(answer, ObjectWithWarnings) else (answer, ())
        warnings = (*call.warnings, *warnings)
        rendered = self._renderer.computed(target.resource, obj, shape)
        return self._finish_response(context, shape, rendered, code=201 if verb == "create" else 200, warnings=warnings)

    async def _parse_body(self, context: RequestContext, kind: str = "") -> Body:
        raw = await bodies.read_body(context.request)
        media = context.request.headers.get("Content-Type", "")
        return await bodies.parse_in_thread(raw, media, kind or context.target.resource.kind)

    async def _parse_delete_options(self, context: RequestContext) -> Obj | None:
        raw = await bodies.read_body(context.request)
        if not raw:
            return None
        options = await bodies.parsed_options(raw, context.request.headers.get("Content-Type", ""))
        try:
            return self._registry.schema.decode(DELETE_OPTIONS, options).obj
        except DecodeError as error:
            raise errors.bad_request(str(error)) from error

    async def _parse_patch(self, context: RequestContext) -> Patch | ApplyPatch:
        """Return the request's patch.

        Raises:
            ApiError: 400, it is malformed; 413; 415, its type is unknown, or not supported for this resource.
        """
        media = body_media(context.request.headers.get("Content-Type", ""))
        resource = context.target.resource
        if media not in CUSTOM_PATCHES and self._registry.customs.find(resource) is not None:
            raise params.unknown_format(CUSTOM_PATCHES)
        make = PATCHES.get(media)
        if make is None and media != APPLY_PATCH:
            refused = errors.unsupported_media_type("415: Unsupported Media Type")
            refused.details = {}
            raise refused
        _check_named(context.target)
        raw = await bodies.read_body(context.request)
        if make is None:
            return await bodies.parse_apply(raw)
        return make(raw, lambda: self._registry.merge_schema.kind(resource.definition))

    async def _write_response(self, context: RequestContext, shape: OutputOptions, written: WriteResult) -> Response:
        code = 201 if written.created else 200
        return await self._object_response(context, shape, written.kv, code=code, warnings=written.warnings)

    async def _object_response(
        self,
        context: RequestContext,
        shape: OutputOptions,
        kv: KeyValue,
        *,
        code: int = 200,
        warnings: tuple[str, ...] = (),
    ) -> Response:
        codec = self._registry.codecs.codec_of(context.target.resource)
        await codec.prepare((kv,))
        body = self._renderer.render_object(kv, codec, shape)
        return self._finish_response(context, shape, body, code=code, warnings=warnings)

    async def _list_response(
        self, context: RequestContext, shape: OutputOptions, selected: ListPage, *, warnings: tuple[str, ...] = ()
    ) -> Response:
        codec = self._registry.codecs.codec_of(context.target.resource)
        await codec.prepare(selected.items)
        body = self._renderer.render_list(selected, codec, shape)
        return self._finish_response(context, shape, body, warnings=warnings)

    def _finish_response(
        self,
        context: RequestContext,
        shape: OutputOptions,
        body: bytes,
        *,
        code: int = 200,
        warnings: tuple[str, ...] = (),
    ) -> Response:
        form = shape.form
        pretty = form.pretty or is_pretty(context.query, context.agent)
        return response(
            shaped(body, form.media, pretty=pretty),
            code=code,
            media=form.media,
            warnings=warnings,
            audit_id=context.audit_id,
            ending=line_end(form.media, pretty=pretty),
        )


def _has_columns(target: Target) -> bool:
    """Return whether answers may be Tables: those of reviews, tokens, bindings and the like cannot (TableConvertor)."""
    return "get" in target.resource.verbs if not target.subresource else target.subresource in ("scale", "status")


def _check_named(target: Target) -> None:
    """Refuse to change a collection, which only the routing of custom resources allows (handlers.errEmptyName).

    Raises:
        ApiError: 400.
    """
    if not target.name:
        raise errors.bad_request("name must be provided")


ProxyHandler = Callable[[RequestContext, KubeletLocation], Awaitable[Reply]]
"""Answers a request by proxying it to a location."""
Handle = Callable[[Handlers, RequestContext], Awaitable[Reply]]

COLLECTION: Mapping[str, tuple[str, Handle]] = {
    "GET": ("list", Handlers.list),
    "POST": ("create", Handlers.create),
    "DELETE": ("deletecollection", Handlers.delete_collection),
}
"""HTTP method → verb and handler, for a path that names a collection."""

ITEM: Mapping[str, tuple[str, Handle]] = {
    "GET": ("get", Handlers.get),
    "PUT": ("update", Handlers.update),
    "PATCH": ("patch", Handlers.patch),
    "DELETE": ("delete", Handlers.delete),
}
"""HTTP method → verb and handler, for a path that names an object."""

OPTIONS = {"create": "CreateOptions", "patch": "PatchOptions"}
"""Verb → the name of its options in errors, if it is not UpdateOptions."""

SUBRESOURCE_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "POST": "create", "DELETE": "delete"}
"""HTTP method → verb, for a path that names a subresource."""


class Action(NamedTuple):
    """The verb and the handler of a request."""

    verb: str
    handle: Handle


def action_of(method: str, target: Target) -> Action:
    """Return the verb and the handler of a request.

    Raises:
        ApiError: 404, the resource has no verb for such a path; 405.
    """
    if target.subresource:
        return _subresource_action(method, target)
    resource = target.resource
    verbs = _verbs_at(target)
    if verbs.isdisjoint(resource.verbs):
        raise errors.unknown_path()
    verb_and_handler = (ITEM if target.name else COLLECTION).get(method)
    compute = VIRTUAL.get((resource.group, resource.plural))
    if verb_and_handler is None or verb_and_handler[0] not in verbs.intersection(resource.verbs):
        raise errors.method_not_allowed()
    return Action(*verb_and_handler) if compute is None else _computed(verb_and_handler[0], compute)


ITEM_VERBS = frozenset(("delete", "get", "patch", "update"))
COLLECTION_VERBS = frozenset(("create", "deletecollection", "list"))


def _verbs_at(target: Target) -> frozenset[str]:
    """Return the verbs of a path that names a resource: of all namespaces at once, objects can only be listed."""
    if target.name:
        return ITEM_VERBS
    across_namespaces = target.resource.namespaced and not target.namespace
    return frozenset(("list",)) if across_namespaces else COLLECTION_VERBS


REQUEST_VERBS = {"GET": "get", "HEAD": "get"} | SUBRESOURCE_VERBS
"""HTTP method → verb, for a request for a custom object; other methods have the verb ""."""
CUSTOM: Mapping[str, Handle] = {verb: handle for verbs in (COLLECTION, ITEM) for verb, handle in verbs.values()}
"""Verb → handler of a custom resource, whatever the path (customresource_handler.go's serveResource)."""
CUSTOM_SUBRESOURCE: Mapping[str, Handle] = {verb: CUSTOM[verb] for verb in ("get", "update", "patch")}
"""The same for a subresource."""
ACROSS_NAMESPACES = frozenset(("list", "watch"))
"""The verbs for the objects of all namespaces at once."""


def custom_action_of(method: str, route: Route) -> Action | None:
    """Return the verb and the handler of a request for a custom resource, None if the path names nothing.

    Custom resources have no go-restful routes: their server derives a verb from method and name (RequestInfo), so it
    does not answer go-restful's 405.

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
    handle = (CUSTOM_SUBRESOURCE if target.subresource else CUSTOM).get("list" if verb == "watch" else verb)
    if handle is None:
        raise errors.method_not_supported(resource.group, resource.plural, verb)
    if target.subresource in SUBRESOURCES:
        return _computed(verb, SUBRESOURCES[target.subresource])
    return Action(verb, handle)


def _subresource_action(method: str, target: Target) -> Action:
    verb, resource = SUBRESOURCE_VERBS.get(method, ""), target.resource
    if verb not in resource.subresources[target.subresource].verbs:
        raise errors.method_not_allowed()
    if target.subresource == "status" or (resource.group, resource.kind, target.subresource) in STORED_SUBRESOURCES:
        return Action(*ITEM[method])
    if target.subresource not in SUBRESOURCES:
        raise not_built(target)
    return _computed(verb, SUBRESOURCES[target.subresource])


def _computed(verb: str, compute: Handler) -> Action:
    return Action(verb, lambda handlers, context: handlers.computed(context, verb, compute))


def not_built(target: Target) -> ApiError:
    """Return the 501 for a resource that discovery lists, as real servers do, but that is not implemented yet."""
    path = f"{target.resource.plural}/{target.subresource}" if target.subresource else target.resource.plural
    return ApiError(501, "NotImplemented", f"{path} is not implemented by this server yet")
