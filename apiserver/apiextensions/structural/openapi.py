"""A schema as OpenAPI documents publish it (apiextensions-apiserver/pkg/controller/openapi/builder).

References point to "#/$defs/NAME", as those of the release's definitions do.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.schema.go_types import GROUP_VERSION_KIND
from apiserver.api.schema.keywords import (
    EMBEDDED,
    INT_OR_STRING,
    INT_OR_STRING_TYPES,
    JUNCTORS,
    PRESERVE,
    items,
    properties,
    takes_null,
    values,
)
from apiserver.apiextensions.structural.embedded import OBJECT_META

SELECTABLE = "x-kubernetes-selectable-fields"

_EXAMPLE = "io.k8s.api.core.v1.ConfigMap"
"""A kind whose definition describes the fields that all objects have."""


_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_EMBEDDED_WORDS = {
    "apiVersion": "apiVersion defines the versioned schema of this representation of an object. "
    f"More info: {_CONVENTIONS}#resources",
    "kind": "kind is a string value representing the type of this object. In CamelCase. "
    f"More info: {_CONVENTIONS}#types-kinds",
}
"""The descriptions of apiVersion and kind in embedded resources (addEmbeddedProperties)."""
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"


def published_list(resource: Resource, item: Obj, definitions: Mapping[str, Obj]) -> Obj:
    """Return the definition of a custom kind's list (builder.buildListSchema).

    Args:
        resource: the resource of the kind.
        item: the kind's own definition.
        definitions: the definitions of the release.
    """
    examples = properties(definitions[_EXAMPLE])
    definition: Obj = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": examples["apiVersion"]["description"], "type": "string"},
            "items": {
                "description": f"List of {resource.plural}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": {"$ref": f"#/$defs/{resource.definition}"},
            },
            "kind": {"description": examples["kind"]["description"], "type": "string"},
            "metadata": {
                "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
                "$ref": f"#/$defs/{LIST_META}",
            },
        },
        GROUP_VERSION_KIND: [{"group": resource.group, "version": resource.version, "kind": resource.list_kind}],
    }
    return definition | ({SELECTABLE: item[SELECTABLE]} if SELECTABLE in item else {})


def published(
    schema: Obj | None,
    group_version_kind: tuple[str, str, str],
    definitions: Mapping[str, Obj],
    *,
    selectable: Iterable[str] = (),
) -> Obj:
    """Return the definition of a custom kind for OpenAPI v3.

    Args:
        schema: a structural schema, None if the version has none.
        group_version_kind: the group, version and kind of the objects.
        definitions: the definitions of the release, for the descriptions of apiVersion, kind and metadata.
        selectable: the paths of selectable fields, as the definition has them (".spec.color").
    """
    definition: Obj = {"type": "object"} if schema is None else _with_meta(_unfolded(schema, definitions), definitions)
    group, version, kind = group_version_kind
    definition[GROUP_VERSION_KIND] = [{"group": group, "version": version, "kind": kind}]
    if paths := [{"fieldPath": path.removeprefix(".")} for path in selectable]:
        definition[SELECTABLE] = paths
    return definition


def in_version_2(definition: Obj) -> Obj:
    """Return a definition of `published` for OpenAPI v2, without what kubectl cannot read there (v2/conversion.go)."""
    if definition.get(PRESERVE):
        kept = {word: definition[word] for word in (GROUP_VERSION_KIND, SELECTABLE) if word in definition}
        return {"type": "object"} | kept
    return _in_version_2(definition)


def _unfolded(schema: Obj, definitions: Mapping[str, Obj]) -> Obj:
    """Return the schema with its extensions spelled out (Unfold, addEmbeddedProperties), here and below."""
    unfolded = {word: value for word, value in schema.items() if word != "default" or value is not None}
    if properties(schema):
        unfolded["properties"] = {
            name: _unfolded(field_schema, definitions) for name, field_schema in properties(schema).items()
        }
    for word, subschema in (("items", items(schema)), ("additionalProperties", values(schema))):
        if subschema is not None:
            unfolded[word] = _unfolded(subschema, definitions)
    if schema.get(INT_OR_STRING):
        _unfold(unfolded)
    if schema.get(EMBEDDED):
        unfolded = _with_meta(unfolded, definitions)
        for name, description in _EMBEDDED_WORDS.items():
            unfolded["properties"][name] = unfolded["properties"][name] | {"description": description}
        required = unfolded.get("required") or []
        unfolded["required"] = required + [name for name in ("kind", "apiVersion") if name not in required]
    return unfolded


def _unfold(schema: Obj) -> None:
    """Spell out the types of an int-or-string, unless the schema does so already."""
    all_of = schema.get("allOf") or []
    if schema.get("anyOf") == INT_OR_STRING_TYPES or (all_of and all_of[0].get("anyOf") == INT_OR_STRING_TYPES):
        return
    if schema.get("anyOf"):
        schema["allOf"] = [{"anyOf": INT_OR_STRING_TYPES}, *all_of]
    else:
        schema["anyOf"] = INT_OR_STRING_TYPES


def _with_meta(schema: Obj, definitions: Mapping[str, Obj]) -> Obj:
    """Return the schema with apiVersion, kind and metadata."""
    examples = properties(definitions[_EXAMPLE])
    meta: Obj = {
        name: {"description": examples[name]["description"], "type": "string"} for name in ("apiVersion", "kind")
    }
    meta["metadata"] = {
        "description": examples["metadata"]["description"],
        "allOf": [{"$ref": f"#/$defs/{OBJECT_META}"}],
    }
    return schema | {"properties": {**properties(schema), **meta}}


def _in_version_2(schema: Obj) -> Obj:
    if "$ref" in schema:
        return schema
    converted = {word: value for word, value in schema.items() if word not in ("default", "nullable", "not", *JUNCTORS)}
    if reference := _reference(schema):
        return converted | {"$ref": reference}
    if takes_null(schema) or schema.get(PRESERVE):
        converted.pop("items", None)
        converted.pop("properties", None)
    if takes_null(schema) or (schema.get(PRESERVE) and schema.get("type") == "object") or _is_bare_array(converted):
        converted.pop("type", None)
    _narrow_required(converted)
    if "properties" in converted:
        converted["properties"] = {
            name: _in_version_2(field_schema) for name, field_schema in converted["properties"].items()
        }
    for word in ("items", "additionalProperties"):
        if isinstance(converted.get(word), dict):
            converted[word] = _in_version_2(converted[word])
    return converted


def _reference(schema: Obj) -> Any:
    """Return the reference in a schema that adds only a description to it, "" for any other schema."""
    all_of = schema.get("allOf") or [{}]
    return all_of[0].get("$ref", "")


def _is_bare_array(schema: Obj) -> bool:
    return schema.get("type") == "array" and "items" not in schema


def _narrow_required(schema: Obj) -> None:
    """Do not require fields that may be null, as OpenAPI v2 has no null."""
    if "required" not in schema:
        return
    of_values = values(schema)
    nulls = {name for name, field_schema in properties(schema).items() if takes_null(field_schema)}
    if schema.get(EMBEDDED) and schema.get(PRESERVE):  # apiVersion and kind are not published for these
        nulls |= {"apiVersion", "kind"}
    kept = [name for name in schema["required"] if name not in nulls]
    if not kept or (of_values is not None and takes_null(of_values)):
        del schema["required"]
    else:
        schema["required"] = kept
