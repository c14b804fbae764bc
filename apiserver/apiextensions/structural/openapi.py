"""A schema as OpenAPI documents tell clients of it (apiextensions-apiserver/pkg/controller/openapi/builder).

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
"""What is said of the fields of objects within objects (addEmbeddedProperties)."""
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"


def published_list(resource: Resource, item: Obj, definitions: Mapping[str, Obj]) -> Obj:
    """Return the definition of a custom kind's list (builder.buildListSchema).

    Args:
        resource: the row of the kind.
        item: the kind's own definition.
        definitions: of the release.
    """
    known = properties(definitions[_EXAMPLE])
    made: Obj = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": known["apiVersion"]["description"], "type": "string"},
            "items": {
                "description": f"List of {resource.plural}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": {"$ref": f"#/$defs/{resource.definition}"},
            },
            "kind": {"description": known["kind"]["description"], "type": "string"},
            "metadata": {
                "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
                "$ref": f"#/$defs/{LIST_META}",
            },
        },
        GROUP_VERSION_KIND: [{"group": resource.group, "version": resource.version, "kind": resource.list_kind}],
    }
    return made | ({SELECTABLE: item[SELECTABLE]} if SELECTABLE in item else {})


def published(
    schema: Obj | None,
    group_version_kind: tuple[str, str, str],
    definitions: Mapping[str, Obj],
    *,
    selectable: Iterable[str] = (),
) -> Obj:
    """The definition of a custom kind in version 3.

    Args:
        schema: a structural schema, None where the version has none.
        group_version_kind: of the objects.
        definitions: of the release, for the words on what all objects have.
        selectable: the paths of selectable fields, as the definition has them (".spec.color").
    """
    made: Obj = {"type": "object"} if schema is None else _with_meta(_told(schema, definitions), definitions)
    group, version, kind = group_version_kind
    made[GROUP_VERSION_KIND] = [{"group": group, "version": version, "kind": kind}]
    if paths := [{"fieldPath": path.removeprefix(".")} for path in selectable]:
        made[SELECTABLE] = paths
    return made


def in_version_2(definition: Obj) -> Obj:
    """What `published` made, in version 2, without what kubectl cannot read there (v2/conversion.go)."""
    if definition.get(PRESERVE):
        kept = {word: definition[word] for word in (GROUP_VERSION_KIND, SELECTABLE) if word in definition}
        return {"type": "object"} | kept
    return _in_version_2(definition)


def _told(schema: Obj, definitions: Mapping[str, Obj]) -> Obj:
    """The schema with what its extensions mean (Unfold, addEmbeddedProperties), here and below."""
    made = {word: value for word, value in schema.items() if word != "default" or value is not None}
    if properties(schema):
        made["properties"] = {name: _told(each, definitions) for name, each in properties(schema).items()}
    for word, below in (("items", items(schema)), ("additionalProperties", values(schema))):
        if below is not None:
            made[word] = _told(below, definitions)
    if schema.get(INT_OR_STRING):
        _unfold(made)
    if schema.get(EMBEDDED):
        made = _with_meta(made, definitions)
        for name, description in _EMBEDDED_WORDS.items():
            made["properties"][name] = made["properties"][name] | {"description": description}
        required = made.get("required") or []
        made["required"] = required + [name for name in ("kind", "apiVersion") if name not in required]
    return made


def _unfold(schema: Obj) -> None:
    """Say of an int-or-string that it is one, where nothing of it does."""
    all_of = schema.get("allOf") or []
    if schema.get("anyOf") == INT_OR_STRING_TYPES or (all_of and all_of[0].get("anyOf") == INT_OR_STRING_TYPES):
        return
    if schema.get("anyOf"):
        schema["allOf"] = [{"anyOf": INT_OR_STRING_TYPES}, *all_of]
    else:
        schema["anyOf"] = INT_OR_STRING_TYPES


def _with_meta(schema: Obj, definitions: Mapping[str, Obj]) -> Obj:
    """The schema of objects, with what all objects have."""
    known = properties(definitions[_EXAMPLE])
    meta: Obj = {name: {"description": known[name]["description"], "type": "string"} for name in ("apiVersion", "kind")}
    meta["metadata"] = {
        "description": known["metadata"]["description"],
        "allOf": [{"$ref": f"#/$defs/{OBJECT_META}"}],
    }
    return schema | {"properties": {**properties(schema), **meta}}


def _in_version_2(schema: Obj) -> Obj:
    if "$ref" in schema:
        return schema
    made = {word: value for word, value in schema.items() if word not in ("default", "nullable", "not", *JUNCTORS)}
    if reference := _reference(schema):
        return made | {"$ref": reference}
    if takes_null(schema) or schema.get(PRESERVE):
        made.pop("items", None)
        made.pop("properties", None)
    if takes_null(schema) or (schema.get(PRESERVE) and schema.get("type") == "object") or _is_bare_array(made):
        made.pop("type", None)
    _narrow_required(made)
    if "properties" in made:
        made["properties"] = {name: _in_version_2(each) for name, each in made["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(made.get(word), dict):
            made[word] = _in_version_2(made[word])
    return made


def _reference(schema: Obj) -> Any:
    """What a description stands beside a reference to, "" where it does not."""
    all_of = schema.get("allOf") or [{}]
    return all_of[0].get("$ref", "")


def _is_bare_array(schema: Obj) -> bool:
    return schema.get("type") == "array" and "items" not in schema


def _narrow_required(schema: Obj) -> None:
    """Do not require what may be null, of which version 2 knows nothing."""
    if "required" not in schema:
        return
    of_values = values(schema)
    nulls = {name for name, each in properties(schema).items() if takes_null(each)}
    if schema.get(EMBEDDED) and schema.get(PRESERVE):  # what all objects have is not told of these
        nulls |= {"apiVersion", "kind"}
    kept = [name for name in schema["required"] if name not in nulls]
    if not kept or (of_values is not None and takes_null(of_values)):
        del schema["required"]
    else:
        schema["required"] = kept
