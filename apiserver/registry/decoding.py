"""From a body to an object of the resource's version: kind checks, typed decoding, unknown fields, defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.field_sets import EncodedFieldSet
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.api.schema import DecodeError, Schema, may_repeat_fields, strict_message
from apiserver.registry.body_kinds import check_kind
from apiserver.registry.custom_resources import CustomKinds
from apiserver.registry.kind_tables import BESIDE_SPEC, set_defaults
from apiserver.registry.spec_cache import CachedSpec, SpecCache, spec_caches_by_kind

YAML_ERRORS = "yaml: unmarshal errors:"
"""The text that go-yaml writes before its list of duplicate fields."""


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


_NO_FIELD_SETS: Mapping[str, EncodedFieldSet] = MappingProxyType({})


class Decoded(NamedTuple):
    """An object ready for the strategies.

    Attributes:
        obj: the object, with defaults.
        warnings: the warnings about its fields.
        empty_lists: top-level lists that were sent empty and are stored as null: their sender owns them.
        field_sets: the sets of some top-level fields, by name: sets that need not be computed again.
    """

    obj: Obj
    warnings: tuple[str, ...] = ()
    empty_lists: tuple[str, ...] = ()
    field_sets: Mapping[str, EncodedFieldSet] = _NO_FIELD_SETS


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes bodies as objects of a resource's version, with defaults.

    Of kinds that are created by the thousand it decodes each spec only until the spec has come twice.
    """

    table: ResourceTable
    schema: Schema
    field_schema: FieldSchema
    customs: CustomKinds
    spec_caches: Mapping[tuple[str, str, str], SpecCache] = field(default_factory=spec_caches_by_kind)

    def decode_applied(self, resource: Resource, obj: Obj, *, stored_spec: Obj | None = None) -> Decoded:
        """Return what an apply has made of an object, with defaults; unlike in bodies, nulls of custom objects stay.

        Args:
            resource: the resource that the path names.
            obj: the merged object.
            stored_spec: the stored spec, if the write keeps it.

        Raises:
            ApiError: 400, the object does not fit its Go type.
        """
        custom = self.customs.find(resource)
        if custom is None:
            return self.decode(resource, Body(obj), validation="Ignore", stored_spec=stored_spec)
        try:
            return Decoded(custom.decode(obj, strict=False, keep_nulls=True).obj)
        except DecodeError as error:
            raise _cannot_be_handled(resource, resource.kind, str(error)) from error

    def decode(self, resource: Resource, body: Body, *, validation: str, stored_spec: Obj | None = None) -> Decoded:
        """Return the object that a body holds.

        Args:
            resource: the resource that the path names.
            body: the document.
            validation: "Strict", "Warn" or "Ignore" for unknown and duplicate fields.
            stored_spec: the stored spec, if the write keeps it whatever the body says, as a status write does: an equal
                spec is not decoded, and an absent one is no error.

        Raises:
            ApiError: 400, the body is not such an object.
        """
        if stored_spec is None or self._cache_of(resource) is None:
            return self._decode_fully(resource, body, validation)
        spec = body.obj.get("spec", stored_spec)
        if spec is stored_spec:
            decoded = self._decode_with_spec(resource, _without_spec(body), stored_spec, validation)
            return decoded._replace(obj=_in_order_of(_USUAL_ORDER, decoded.obj))
        has_duplicates = body.raw and validation != "Ignore" and may_repeat_fields(body.raw, body.obj)
        if not spec or not isinstance(spec, dict) or has_duplicates or not _is_same(spec, stored_spec):
            return self._decode_fully(resource, body, validation)
        decoded = self._decode_with_spec(resource, _without_spec(body), stored_spec, validation)
        return decoded._replace(obj=_in_order_of(body.obj, decoded.obj))

    def decode_new(self, resource: Resource, body: Body, *, validation: str) -> Decoded:
        """Decode the body of a create request; see `decode`."""
        cache, spec = self._cache_of(resource), body.obj.get("spec")
        if cache is None or not spec or not isinstance(spec, dict):
            return self._decode_fully(resource, body, validation)
        key, cached = cache.find(spec)
        if cached is not None:
            rest = _without_spec(body)
            checks_duplicates = body.raw and validation != "Ignore"
            if not (checks_duplicates and may_repeat_fields(body.raw, rest.obj, left_out=cached.colons + 1)):
                return self._decode_with_spec(resource, rest, cached.copy(), validation, {"spec": cached.fields})
        decoded = self._decode_fully(resource, body, validation)
        if key and not decoded.warnings and validation != "Ignore":  # unchecked, there may be unknown fields
            spec = decoded.obj["spec"]
            fields = self.field_schema.root(resource.definition).created_field_set({"spec": spec})["f:spec"]
            cache.keep(key, CachedSpec.of(orjson.dumps(spec), key, fields))
        return decoded

    def _cache_of(self, resource: Resource) -> SpecCache | None:
        return self.spec_caches.get((resource.group, resource.version, resource.kind))

    def _decode_with_spec(
        self,
        resource: Resource,
        rest: Body,
        spec: Obj,
        validation: str,
        field_sets: Mapping[str, EncodedFieldSet] = _NO_FIELD_SETS,
    ) -> Decoded:
        """Decode a body without its spec, and add a spec that is decoded already."""
        obj, field_problems = self._decode_fields(resource, rest, validation)
        obj["spec"] = spec
        if default := BESIDE_SPEC.get((resource.group, resource.kind)):
            default(obj)
        return Decoded(obj, field_problems, (), field_sets)

    def _decode_fully(self, resource: Resource, body: Body, validation: str) -> Decoded:
        obj, field_problems = self._decode_fields(resource, body, validation)
        set_defaults(resource.group, resource.version, resource.kind, obj)
        empty_lists = tuple([name for name, value in obj.items() if value is None and body.obj.get(name) == []])
        return Decoded(obj, field_problems, empty_lists)

    def _decode_fields(self, resource: Resource, body: Body, validation: str) -> tuple[Obj, tuple[str, ...]]:
        """Return the object with its fields typed, and the errors for unknown and duplicate fields."""
        document = body.obj
        kind = check_kind(self.table, resource, document, body.source)
        custom = self.customs.find(resource)
        if custom is None and resource.custom:  # its definition went while the body came
            raise errors.unknown_path()
        try:
            if custom is None:
                decoded = self.schema.decode(
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
        if custom is None and _resets_managed_fields(document):  # upstream drops a custom object's empty list
            obj["metadata"]["managedFields"] = []
        return obj, repeated + decoded.errors


def _is_same(spec: Obj, stored_spec: Obj) -> bool:
    """Return whether a spec as it was sent is the stored one exactly, in any order of keys.

    Python's == is not enough: there true equals 1 and 1.0, which decoding tells apart.
    """
    try:
        return orjson.dumps(spec, option=orjson.OPT_SORT_KEYS) == orjson.dumps(stored_spec, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # nested too deeply: decoding will say so
        return False


def _in_order_of(document: Obj, obj: Obj) -> Obj:
    """Return the object with its fields in the document's order; those null or absent there come last."""
    return {name: obj[name] for name, value in document.items() if value is not None and name in obj} | obj


def _without_spec(body: Body) -> Body:
    """Return a body without its spec; bytes that have the spec are left out."""
    if "spec" not in body.obj:
        return body
    rest = body.obj.copy()
    del rest["spec"]
    return Body(rest, repeated=body.repeated, source=body.source)


def _resets_managed_fields(document: Obj) -> bool:
    """Return whether a client clears managedFields: an empty list there is not the same as an absent one."""
    meta = document.get("metadata")
    return isinstance(meta, dict) and meta.get("managedFields") == []


def _cannot_be_handled(resource: Resource, kind: str, why: str) -> ApiError:
    return errors.bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')
