"""From a body to an object of the resource's version: kind checks, typed decoding, unknown fields, defaults."""

from typing import NamedTuple

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.schema import DecodeError, may_repeat_fields, strict_message
from apiserver.registry.body_kinds import check_kind
from apiserver.registry.context import Registry
from apiserver.registry.defaults import BESIDE_SPEC, set_defaults
from apiserver.registry.spec_cache import CachedSpec

YAML_ERRORS = "yaml: unmarshal errors:"
"""What go-yaml says before it tells of duplicate fields."""


_USUAL: Obj = dict.fromkeys(("kind", "apiVersion", "metadata", "spec", "status"), True)
"""The order of an object's fields."""


class Body(NamedTuple):
    """A request's body: parsed, and as it came.

    Attributes:
        obj: the parsed document.
        raw: its bytes as JSON, for the search for duplicate fields; b"" where there can be none.
        repeated: the duplicate fields of a body in YAML, as they are told.
        source: the body as it was sent, in whatever type, for messages; None where it was made here.
    """

    obj: Obj
    raw: bytes = b""
    repeated: tuple[str, ...] = ()
    source: bytes | None = None


class Decoded(NamedTuple):
    """An object ready for the strategies.

    Attributes:
        obj: the object, with defaults.
        warnings: what the client should be told of its fields.
        cached_spec: what the spec was cast from.
        pending: a mould to be made of the spec: its key, and the spec as JSON.
        emptied: lists at the top that were given as empty and are stored as null: their sender owns them.
    """

    obj: Obj
    warnings: tuple[str, ...] = ()
    cached_spec: CachedSpec | None = None
    pending: tuple[bytes, bytes] | None = None
    emptied: tuple[str, ...] = ()


def decode(registry: Registry, resource: Resource, body: Body, *, validation: str, kept: Obj | None = None) -> Decoded:
    """Return the object that a body holds, in the resource's version, with defaults.

    Args:
        registry: the server's collaborators.
        resource: what the path names.
        body: the document.
        validation: "Strict", "Warn" or "Ignore" for unknown and duplicate fields.
        kept: the stored spec, where the write keeps it whatever the body says, as the write of a status does: a spec
            that says the same is not looked into, and one that is absent is not missed.

    Raises:
        ApiError: 400, the body is not such an object.
    """
    spec_caches = registry.spec_caches.get((resource.group, resource.version, resource.kind))
    if spec_caches is not None and kept is not None and "spec" not in body.obj:
        decoded = _cast(registry, resource, body, kept, validation)
        return decoded._replace(obj=_in_order_of(_USUAL, decoded.obj))
    spec = body.obj.get("spec") if spec_caches is not None else None
    if spec_caches is None or not spec or not isinstance(spec, dict):
        return _worked_out(registry, resource, body, validation)
    told = body.raw and validation != "Ignore"
    rest = body.obj.copy()
    del rest["spec"]
    if kept is not None and _says(spec, kept) and not (told and may_repeat_fields(body.raw, body.obj)):
        decoded = _cast(registry, resource, Body(rest, repeated=body.repeated, source=body.source), kept, validation)
        return decoded._replace(obj=_in_order_of(body.obj, decoded.obj))
    key, cached_spec = spec_caches.find(spec)
    if cached_spec is not None and not (told and may_repeat_fields(body.raw, rest, left_out=cached_spec.colons + 1)):
        return _cast(
            registry,
            resource,
            Body(rest, repeated=body.repeated, source=body.source),
            cached_spec.copy(),
            validation,
            cached_spec,
        )
    decoded = _worked_out(registry, resource, body, validation)
    if not key or decoded.warnings or validation == "Ignore":  # where nobody looked there may be unknown fields
        return decoded
    return decoded._replace(pending=(key, orjson.dumps(decoded.obj["spec"])))


def _says(spec: Obj, kept: Obj) -> bool:
    """Whether a spec as it was sent is another to the letter, whatever its order.

    To be equal is not enough: in Python true is 1, and 1.0 too, which decoding tells apart.
    """
    try:
        return orjson.dumps(spec, option=orjson.OPT_SORT_KEYS) == orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deeply: decoding will say so
        return False


def _in_order_of(given: Obj, obj: Obj) -> Obj:
    """The object with its fields in the order of the document, and at the end those that are null there, or absent."""
    return {name: obj[name] for name, value in given.items() if value is not None and name in obj} | obj


def _cast(
    registry: Registry,
    resource: Resource,
    rest: Body,
    spec: Obj,
    validation: str,
    cached_spec: CachedSpec | None = None,
) -> Decoded:
    """Return the object of a body that comes without its spec, with one that is worked out already."""
    obj, errors = _typed(registry, resource, rest, validation)
    obj["spec"] = spec
    if default := BESIDE_SPEC.get((resource.group, resource.kind)):
        default(obj)
    return Decoded(obj, errors, cached_spec=cached_spec)


def _worked_out(registry: Registry, resource: Resource, body: Body, validation: str) -> Decoded:
    obj, errors = _typed(registry, resource, body, validation)
    set_defaults(resource.group, resource.version, resource.kind, obj)
    emptied = tuple([name for name, value in obj.items() if value is None and body.obj.get(name) == []])
    return Decoded(obj, errors, emptied=emptied)


def _typed(registry: Registry, resource: Resource, body: Body, validation: str) -> tuple[Obj, tuple[str, ...]]:
    """Return the object as its types have it, and what is wrong with its fields."""
    given = body.obj
    kind = check_kind(registry.table, resource, given, body.source)
    custom = registry.customs.find(resource)
    if custom is None and resource.custom:  # its definition went while the body came
        raise errors.unknown_path()
    try:
        if custom is None:
            decoded = registry.schema.decode(resource.definition, given, body=body.raw, strict=validation != "Ignore")
        else:
            decoded = custom.decode(given, body=body.raw, strict=validation != "Ignore")
    except DecodeError as error:
        raise _cannot_be_handled(resource, kind, str(error)) from error
    repeated = body.repeated if validation != "Ignore" else ()
    if (decoded.errors or repeated) and validation == "Strict":
        told = (YAML_ERRORS + "\n  ".join(("", *repeated)), *decoded.errors) if repeated else decoded.errors
        raise _cannot_be_handled(resource, kind, strict_message(told))
    obj: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}} | decoded.obj
    obj["kind"], obj["apiVersion"] = resource.kind, resource.api_version
    if _resets_managed_fields(given):
        obj["metadata"]["managedFields"] = []
    return obj, repeated + decoded.errors


def _resets_managed_fields(given: Obj) -> bool:
    """Whether a client wants nobody to own anything any more: the one empty list that is not the same as none."""
    meta = given.get("metadata")
    return isinstance(meta, dict) and meta.get("managedFields") == []


def _cannot_be_handled(resource: Resource, kind: str, why: str) -> ApiError:
    return errors.bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')
