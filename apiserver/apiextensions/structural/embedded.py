"""Embedded resources: whole objects within an object, whose metadata the server's own types decode.

The rules are those of apiextensions-apiserver/pkg/apiserver/schema/objectmeta. Names and labels of such objects are
validated in the registry.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.golang.numbers import as_go_writes
from apiserver.api.meta import Obj
from apiserver.api.schema import DecodeError, Schema
from apiserver.api.schema.keywords import EMBEDDED, at, child, has_values, items, properties, values
from apiserver.apiextensions.structural.equality import in_order

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_UNKNOWN = 'unknown field "'


class MalformedResourceError(DecodeError):
    """An embedded resource with a malformed version, kind or metadata; the message is that of the field error."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def has_embedded(schema: Obj | None) -> bool:
    """Return True if values of a schema can contain embedded resources."""
    if schema is None:
        return False
    subschemas = (items(schema), values(schema), *properties(schema).values())
    return bool(schema.get(EMBEDDED)) or any(map(has_embedded, subschemas))


def embedded_resources(value: Any, schema: Obj | None, path: str = "") -> Iterator[tuple[str, Obj]]:
    """Yield the embedded resources in a value with their paths, outer ones first.

    Args:
        value: an object, or a value in one.
        schema: a structural schema of it.
        path: the path of the value.
    """
    if schema is None:
        return
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from embedded_resources(inner, items(schema), at(path, index))
    elif isinstance(value, dict):
        if schema.get(EMBEDDED):
            yield path, value
        named, of_values = properties(schema), values(schema)
        for key, inner in value.items():
            if key in named:
                yield from embedded_resources(inner, named[key], child(path, key))
            elif has_values(schema):
                yield from embedded_resources(inner, of_values, at(path, key))


def coerce_resource(resource: Obj, path: str, types: Schema, *, drops: bool) -> list[str]:
    """Convert the metadata of an embedded resource to its type, in place.

    Args:
        resource: the object.
        path: its path, "" for the root.
        types: decodes metadata.
        drops: drop malformed fields, as for objects that were stored before the schema declared them.

    Returns:
        The paths of unknown fields in its metadata.

    Raises:
        MalformedResourceError: a field is malformed.
    """
    for name in ("apiVersion", "kind"):
        if name in resource and not isinstance(resource[name], str):
            if not drops:
                shown = in_order(resource[name])
                raise MalformedResourceError(field.invalid(child(path, name), shown, "must be a string"))
            del resource[name]
    if "metadata" not in resource:
        return []
    try:
        return coerce_metadata(resource, path, types, drops=drops)
    except DecodeError as error:
        shown = in_order(resource["metadata"])
        raise MalformedResourceError(field.invalid(child(path, "metadata"), shown, str(error))) from error


def coerce_metadata(resource: Obj, path: str, types: Schema, *, drops: bool) -> list[str]:
    """Convert an object's metadata, which must be present; errors are Go's, without a path."""
    metadata = resource["metadata"]
    if drops and isinstance(metadata, dict):
        metadata = {key: value for key, value in metadata.items() if _is_decodable({key: value}, types)}
    elif drops and metadata is not None:
        return []
    try:
        decoded = types.decode(OBJECT_META, metadata)
    except DecodeError:
        decoded = types.decode(OBJECT_META, _as_go_writes(metadata))
    resource["metadata"] = decoded.obj
    prefix = child(path, "metadata")
    return [child(prefix, error.removeprefix(_UNKNOWN)[:-1]) for error in decoded.errors]


def _as_go_writes(meta: Any) -> Any:
    """Return metadata as upstream decodes them: after Go has written them, where 1.0 is 1."""
    try:
        return orjson.loads(as_go_writes(orjson.dumps(meta)))
    except orjson.JSONEncodeError:  # nested too deeply
        return meta


def _is_decodable(meta: Obj, types: Schema) -> bool:
    try:
        types.decode(OBJECT_META, meta, strict=False)
    except DecodeError:
        return False
    return True
