"""Translates the definitions of a release into schemas of OpenAPI version 2 and version 3."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from apiserver.api.meta import Obj

SOURCE = "#/$defs/"
"""The prefix of references between the definitions."""

INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
SPECIAL_V2: dict[str, Obj] = {
    INT_OR_STRING: {"type": "string", "format": "int-or-string"},
    QUANTITY: {"type": "string"},
}
SPECIAL_V3: dict[str, Obj] = {
    INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
"""Types that the definitions describe for validation only: these are upstream's descriptions for clients."""

ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}
STRUCTS = frozenset({"metadata", "spec", "status"})
"""Optional properties that are not pointers in Go: their default is {}."""

V2_KEYS = frozenset(
    {
        "$ref",
        "additionalProperties",
        "allOf",
        "default",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
        "uniqueItems",
    }
)
"""The keys of JSON Schema that version 2 supports; custom resources may use more."""

Translation = Callable[[Obj], Obj]


def version_2(name: str, definitions: Mapping[str, Obj], custom: bool) -> Obj:  # noqa: FBT001, ARG001 - as version_3
    """Return a definition for "definitions" of version 2."""
    schema = _own_parts(_plain(_definition(name, definitions)))
    return SPECIAL_V2.get(name) or _schema_v2(schema)


def version_3(name: str, definitions: Mapping[str, Obj], custom: bool) -> Obj:  # noqa: FBT001 - a row's attribute
    """Return a definition for "components/schemas" of version 3; custom ones have no Go types."""
    schema = _own_parts(_plain(_definition(name, definitions)))
    if custom:
        return _custom_v3(schema)
    return SPECIAL_V3.get(name) or _schema_v3(schema)


def reachable(names: Iterable[str], definitions: Mapping[str, Obj]) -> list[str]:
    """Return the names and all that they refer to, at any depth, sorted."""
    reached: set[str] = set()
    waiting = [name for name in names if name]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(_references(_definition(name, definitions)))
    return sorted(reached)


def _definition(name: str, definitions: Mapping[str, Obj]) -> Obj:
    """Return the definition of a name, {"type": "object"} if the release has none."""
    return definitions.get(name) or {"type": "object"}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner.removeprefix(SOURCE)
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _plain(schema: Obj) -> Obj:
    """Return the schema without "null" among its types, which the definitions add for validation."""
    kind = schema.get("type")
    return schema | {"type": next(one for one in kind if one != "null")} if isinstance(kind, list) else schema


def _own_parts(schema: Obj) -> Obj:
    """Return the schema without the enums of apiVersion and kind."""
    properties = schema.get("properties")
    if "x-kubernetes-group-version-kind" not in schema or not properties:
        return schema
    freed = {
        name: {key: value for key, value in properties[name].items() if key != "enum"}
        for name in ("apiVersion", "kind")
        if name in properties
    }
    return schema | {"properties": properties | freed}


def _children(schema: Obj, translate: Translation) -> Obj:
    """Return the schema with the schemas in it translated."""
    translated = dict(schema)
    for key in ("items", "additionalProperties", "not"):
        if isinstance(translated.get(key), dict):
            translated[key] = translate(_plain(translated[key]))
    for key in ("allOf", "anyOf", "oneOf"):
        if key in translated:
            translated[key] = [translate(_plain(one)) for one in translated[key]]
    if "properties" in translated:
        translated["properties"] = {name: translate(_plain(one)) for name, one in translated["properties"].items()}
    return translated


def _schema_v2(schema: Obj) -> Obj:
    """Return a schema in version 2, without what it cannot express, so that clients do not refuse valid objects."""
    translated = {key: value for key, value in schema.items() if key in V2_KEYS or key.startswith("x-")}
    if schema.get("nullable") or schema.get("x-kubernetes-int-or-string"):
        return {key: value for key, value in translated.items() if key == "description" or key.startswith("x-")}
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        translated.pop("properties", None)
        translated.pop("items", None)
    if "$ref" in translated:
        translated["$ref"] = translated["$ref"].replace(SOURCE, "#/definitions/", 1)
    return _children(translated, _schema_v2)


def _schema_v3(schema: Obj) -> Obj:
    return _reference_v3(schema) if "$ref" in schema else _with_defaults(_children(schema, _schema_v3))


def _custom_v3(schema: Obj) -> Obj:
    return _reference_v3(schema) if "$ref" in schema else _children(schema, _custom_v3)


def _reference_v3(schema: Obj) -> Obj:
    """Return a reference, wrapped in allOf if it has other keys, which version 3 does not allow next to $ref."""
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    target = {"$ref": schema["$ref"].replace(SOURCE, "#/components/schemas/", 1)}
    return rest | {"allOf": [target]} if rest else target


def _with_defaults(schema: Obj) -> Obj:
    """Return the schema with Go's zero values as defaults of parts that are not pointers."""
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = _defaulted(schema[key])
    required = frozenset(schema.get("required", ()))
    properties = schema.get("properties", {})
    for name, one in properties.items():
        if name in required or (name in STRUCTS and ("$ref" in one or "allOf" in one)):
            properties[name] = _defaulted(one)
    return schema


def _defaulted(schema: Obj) -> Obj:
    if "default" in schema:
        return schema
    if "$ref" in schema:
        return {"allOf": [schema], "default": {}}
    if "allOf" in schema:
        return schema | {"default": {}}
    kind = schema.get("type")
    return schema | {"default": ZEROS[kind]} if kind in ZEROS and schema.get("format") != "byte" else schema
