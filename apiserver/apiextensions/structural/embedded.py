"""Embedded resources: whole objects within an object, whose metadata is what the server's own type makes of it.

The rules are those of apiextensions-apiserver/pkg/apiserver/schema/objectmeta. What makes such an object good, its
names and labels, is the registry's to say.
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
    """An embedded resource whose version, kind or metadata is none; the message is that of the field error."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def has_embedded(schema: Obj | None) -> bool:
    """Can there be embedded resources in the values of a schema?"""
    if schema is None:
        return False
    below = (items(schema), values(schema), *properties(schema).values())
    return bool(schema.get(EMBEDDED)) or any(map(has_embedded, below))


def embedded_resources(value: Any, schema: Obj | None, path: str = "") -> Iterator[tuple[str, Obj]]:
    """The embedded resources in a value, with their paths; the outer first.

    Args:
        value: an object, or a value in one.
        schema: a structural schema of it.
        path: where the value stands.
    """
    if schema is None:
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from embedded_resources(each, items(schema), at(path, index))
    elif isinstance(value, dict):
        if schema.get(EMBEDDED):
            yield path, value
        named, of_values = properties(schema), values(schema)
        for key, each in value.items():
            if key in named:
                yield from embedded_resources(each, named[key], child(path, key))
            elif has_values(schema):
                yield from embedded_resources(each, of_values, at(path, key))


def coerce_resource(resource: Obj, path: str, types: Schema, *, drops: bool) -> list[str]:
    """Make the metadata of an embedded resource what its type has, in place.

    Args:
        resource: the object.
        path: where it stands, "" for the root.
        types: what decodes metadata.
        drops: what is malformed is left out, as of objects that were stored before a schema spoke of them.

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
    """The same with an object's metadata alone, which is there; the error is Go's without a path."""
    given = resource["metadata"]
    if drops and isinstance(given, dict):
        given = {key: value for key, value in given.items() if _fits({key: value}, types)}
    elif drops and given is not None:
        return []
    try:
        decoded = types.decode(OBJECT_META, given)
    except DecodeError:
        decoded = types.decode(OBJECT_META, _as_go_writes(given))
    resource["metadata"] = decoded.obj
    prefix = child(path, "metadata")
    return [child(prefix, error.removeprefix(_UNKNOWN)[:-1]) for error in decoded.errors]


def _as_go_writes(meta: Any) -> Any:
    """Return metadata as upstream decodes them: from what Go writes of them, where 1.0 is 1."""
    try:
        return orjson.loads(as_go_writes(orjson.dumps(meta)))
    except orjson.JSONEncodeError:  # nested too deeply
        return meta


def _fits(meta: Obj, types: Schema) -> bool:
    try:
        types.decode(OBJECT_META, meta, strict=False)
    except DecodeError:
        return False
    return True
