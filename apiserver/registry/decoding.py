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
"""What go-yaml writes before its list of duplicate fields."""


_USUAL_ORDER: Obj = dict.fromkeys(("kind", "apiVersion", "metadata", "spec", "status"), True)
"""The usual order of an object's fields."""


class Body(NamedTuple):
    """A request's body: parsed, and as it came.

    Attributes:
        obj: the parsed document.
        raw: its bytes as JSON, to find duplicate fields; b"" if there can be none.
        repeated: the errors for duplicate fields of a YAML body.
        source: the body as it was sent, in any media type, for messages; None if the server made it itself.
    """

    obj: Obj
    raw: bytes = b""
    repeated: tuple[str, ...] = ()
    source: bytes | None = None


class Decoded(NamedTuple):
    """An object ready for the strategies.

    Attributes:
        obj: the object, with defaults.
        warnings: the warnings about its fields.
        cached_spec: the cached spec that the spec was copied from.
        pending: the spec to cache: its key, and the spec as JSON.
        emptied: top-level lists that were sent empty and are stored as null: their sender owns them.
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
        resource: the resource that the path names.
        body: the document.
        validation: "Strict", "Warn" or "Ignore" for unknown and duplicate fields.
        kept: the stored spec, if the write keeps it whatever the body says, as a status write does: an equal spec is
            not decoded, and an absent one is no error.

    Raises:
        ApiError: 400, the body is not such an object.
    """
    spec_caches = registry.spec_caches.get((resource.group, resource.version, resource.kind))
    if spec_caches is not None and kept is not None and "spec" not in body.obj:
        decoded = _decode_with_spec(registry, resource, body, kept, validation)
        return decoded._replace(obj=_in_order_of(_USUAL_ORDER, decoded.obj))
    spec = body.obj.get("spec") if spec_caches is not None else None
    if spec_caches is None or not spec or not isinstance(spec, dict):
        return _decode_fully(registry, resource, body, validation)
    reports_fields = body.raw and validation != "Ignore"
    rest = body.obj.copy()
    del rest["spec"]
    if kept is not None and _is_same(spec, kept) and not (reports_fields and may_repeat_fields(body.raw, body.obj)):
        decoded = _decode_with_spec(
            registry, resource, Body(rest, repeated=body.repeated, source=body.source), kept, validation
        )
        return decoded._replace(obj=_in_order_of(body.obj, decoded.obj))
    key, cached_spec = spec_caches.find(spec)
    if cached_spec is not None and not (
        reports_fields and may_repeat_fields(body.raw, rest, left_out=cached_spec.colons + 1)
    ):
        return _decode_with_spec(
            registry,
            resource,
            Body(rest, repeated=body.repeated, source=body.source),
            cached_spec.copy(),
            validation,
            cached_spec,
        )
    decoded = _decode_fully(registry, resource, body, validation)
    if not key or decoded.warnings or validation == "Ignore":  # unchecked, there may be unknown fields
        return decoded
    return decoded._replace(pending=(key, orjson.dumps(decoded.obj["spec"])))


def _is_same(spec: Obj, kept: Obj) -> bool:
    """Return whether a spec as it was sent is the kept one exactly, in any order of keys.

    Python's == is not enough: there true equals 1 and 1.0, which decoding tells apart.
    """
    try:
        return orjson.dumps(spec, option=orjson.OPT_SORT_KEYS) == orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deeply: decoding will say so
        return False


def _in_order_of(document: Obj, obj: Obj) -> Obj:
    """Return the object with its fields in the document's order; those null or absent there come last."""
    return {name: obj[name] for name, value in document.items() if value is not None and name in obj} | obj


def _decode_with_spec(
    registry: Registry,
    resource: Resource,
    rest: Body,
    spec: Obj,
    validation: str,
    cached_spec: CachedSpec | None = None,
) -> Decoded:
    """Decode a body without its spec, and add a spec that is decoded already."""
    obj, errors = _decode_fields(registry, resource, rest, validation)
    obj["spec"] = spec
    if default := BESIDE_SPEC.get((resource.group, resource.kind)):
        default(obj)
    return Decoded(obj, errors, cached_spec=cached_spec)


def _decode_fully(registry: Registry, resource: Resource, body: Body, validation: str) -> Decoded:
    obj, errors = _decode_fields(registry, resource, body, validation)
    set_defaults(resource.group, resource.version, resource.kind, obj)
    emptied = tuple([name for name, value in obj.items() if value is None and body.obj.get(name) == []])
    return Decoded(obj, errors, emptied=emptied)


def _decode_fields(registry: Registry, resource: Resource, body: Body, validation: str) -> tuple[Obj, tuple[str, ...]]:
    """Return the object with its fields typed, and the errors for unknown and duplicate fields."""
    document = body.obj
    kind = check_kind(registry.table, resource, document, body.source)
    custom = registry.customs.find(resource)
    if custom is None and resource.custom:  # its definition went while the body came
        raise errors.unknown_path()
    try:
        if custom is None:
            decoded = registry.schema.decode(
                resource.definition, document, body=body.raw, strict=validation != "Ignore"
            )
        else:
            decoded = custom.decode(document, body=body.raw, strict=validation != "Ignore")
    except DecodeError as error:
        raise _cannot_be_handled(resource, kind, str(error)) from error
    repeated = body.repeated if validation != "Ignore" else ()
    if (decoded.errors or repeated) and validation == "Strict":
        messages = (YAML_ERRORS + "\n  ".join(("", *repeated)), *decoded.errors) if repeated else decoded.errors
        raise _cannot_be_handled(resource, kind, strict_message(messages))
    obj: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}} | decoded.obj
    obj["kind"], obj["apiVersion"] = resource.kind, resource.api_version
    if _resets_managed_fields(document):
        obj["metadata"]["managedFields"] = []
    return obj, repeated + decoded.errors


def _resets_managed_fields(document: Obj) -> bool:
    """Return whether a client clears managedFields: an empty list there is not the same as an absent one."""
    meta = document.get("metadata")
    return isinstance(meta, dict) and meta.get("managedFields") == []


def _cannot_be_handled(resource: Resource, kind: str, why: str) -> ApiError:
    return errors.bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')
