"""Definitions in upstream's internal form: validation errors name and print the fields of that form.

The internal spec has fields for what all versions have in common, and the versions then lack those parts: for a
definition with one version errors name "spec.validation", not "spec.versions[0].schema"
(apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go). An error that prints a part prints the Go type,
which has no names for JSON (pkg/apis/apiextensions/types.go and types_jsonschema.go).
"""

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.api.meta import Obj

SHARED: Mapping[str, str] = {
    "subresources": "subresources",
    "schema": "validation",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Field of a version → field of the spec that has it if all versions agree."""


def internal(spec: Obj) -> Obj:
    """Return the spec with the parts that all its versions share in the fields of SHARED; `spec` is not changed."""
    versions = spec.get("versions") or []
    if not versions:
        return spec
    common = {name for name in SHARED if all(version.get(name) == versions[0].get(name) for version in versions)}
    shared = {SHARED[name]: versions[0][name] for name in common if versions[0].get(name) is not None}
    own = [{name: part for name, part in version.items() if name not in common} for version in versions]
    return spec | shared | {"version": versions[0].get("name") or "", "versions": own}


def printed_versions(versions: list[Obj] | None) -> list[Obj] | None:
    """Return the versions of an internal spec as an error prints them; an absent list is null, an empty one is not."""
    return None if versions is None else [_struct(_VERSION)(version) for version in versions]


def printed_schema(schema: Obj) -> Obj:
    """Return a schema as an error prints it."""
    return _struct(_SCHEMA)(schema)


def printed_items(items: Obj | list[Obj]) -> Obj:
    """Return a schema's items as an error prints them."""
    if isinstance(items, list):
        return {"Schema": None, "JSONSchemas": [printed_schema(schema) for schema in items]}
    return {"Schema": printed_schema(items), "JSONSchemas": None}


Printer = Callable[[Any], Any]
Row = tuple[str, str, Any, Printer]
"""A field of a Go struct: its name there, its name on the wire, its zero value, and how another value is printed."""


def _as_it_is(value: Any) -> Any:
    return value


def _struct(rows: tuple[Row, ...]) -> Callable[[Obj], Obj]:
    return lambda obj: {go: (shown(obj[wire]) if wire in obj else zero) for go, wire, zero, shown in rows}


def _json(value: Any) -> Any:
    """Return any JSON value, with the keys of objects sorted."""
    if isinstance(value, dict):
        return {key: _json(value[key]) for key in sorted(value)}
    return [_json(item) for item in value] if isinstance(value, list) else value


def _schemas(schemas: list[Obj]) -> list[Obj]:
    return [printed_schema(schema) for schema in schemas]


def _named_schemas(schemas: Mapping[str, Obj]) -> Obj:
    return {name: printed_schema(schemas[name]) for name in sorted(schemas)}


def _schema_or_bool(value: Any) -> Obj:
    if isinstance(value, dict):
        return {"Allows": True, "Schema": printed_schema(value)}
    return {"Allows": value, "Schema": None}


def _dependencies(dependencies: Mapping[str, Obj | list[str]]) -> Obj:
    return {
        name: {"Schema": None, "Property": value}
        if isinstance(value := dependencies[name], list)
        else {"Schema": printed_schema(value), "Property": None}
        for name in sorted(dependencies)
    }


def _names(*pairs: tuple[str, str], zero: Any = "") -> tuple[Row, ...]:
    """Return rows of plain values with the same zero value."""
    return tuple((go, wire, zero, _as_it_is) for go, wire in pairs)


def _docs(docs: Obj) -> Obj:
    return {"Description": docs.get("description", ""), "URL": docs.get("url", "")}


def _rules(rules: list[Obj]) -> list[Obj]:
    return [_struct(_RULE)(rule) for rule in rules]


def _columns(columns: list[Obj]) -> list[Obj]:
    return [_struct(_COLUMN)(column) for column in columns]


def _selectable(fields: list[Obj]) -> list[Obj]:
    return [{"JSONPath": field.get("jsonPath", "")} for field in fields]


def _validation(schema: Obj) -> Obj:
    openapi_schema = schema.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if openapi_schema is None else printed_schema(openapi_schema)}


def _subresources(parts: Obj) -> Obj:
    scale = parts.get("scale")
    return {"Status": parts.get("status"), "Scale": None if scale is None else _struct(_SCALE)(scale)}


_RULE = (
    *_names(("Rule", "rule"), ("Message", "message"), ("MessageExpression", "messageExpression")),
    *_names(("Reason", "reason"), zero=None),
    *_names(("FieldPath", "fieldPath")),
    *_names(("OptionalOldSelf", "optionalOldSelf"), zero=None),
)
_SCHEMA: tuple[Row, ...] = (
    *_names(("ID", "id"), ("Schema", "$schema")),
    *_names(("Ref", "$ref"), zero=None),
    *_names(("Description", "description"), ("Type", "type")),
    *_names(("Nullable", "nullable"), zero=False),
    *_names(("Format", "format"), ("Title", "title")),
    ("Default", "default", None, _json),
    *_names(("Maximum", "maximum"), zero=None),
    *_names(("ExclusiveMaximum", "exclusiveMaximum"), zero=False),
    *_names(("Minimum", "minimum"), zero=None),
    *_names(("ExclusiveMinimum", "exclusiveMinimum"), zero=False),
    *_names(("MaxLength", "maxLength"), ("MinLength", "minLength"), zero=None),
    *_names(("Pattern", "pattern")),
    *_names(("MaxItems", "maxItems"), ("MinItems", "minItems"), zero=None),
    *_names(("UniqueItems", "uniqueItems"), zero=False),
    *_names(("MultipleOf", "multipleOf"), zero=None),
    ("Enum", "enum", None, _json),
    *_names(("MaxProperties", "maxProperties"), ("MinProperties", "minProperties"), zero=None),
    *_names(("Required", "required"), zero=None),
    ("Items", "items", None, printed_items),
    ("AllOf", "allOf", None, _schemas),
    ("OneOf", "oneOf", None, _schemas),
    ("AnyOf", "anyOf", None, _schemas),
    ("Not", "not", None, printed_schema),
    ("Properties", "properties", None, _named_schemas),
    ("AdditionalProperties", "additionalProperties", None, _schema_or_bool),
    ("PatternProperties", "patternProperties", None, _named_schemas),
    ("Dependencies", "dependencies", None, _dependencies),
    ("AdditionalItems", "additionalItems", None, _schema_or_bool),
    ("Definitions", "definitions", None, _named_schemas),
    ("ExternalDocs", "externalDocs", None, _docs),
    ("Example", "example", None, _json),
    *_names(("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"), zero=None),
    *_names(
        ("XEmbeddedResource", "x-kubernetes-embedded-resource"),
        ("XIntOrString", "x-kubernetes-int-or-string"),
        zero=False,
    ),
    *_names(
        ("XListMapKeys", "x-kubernetes-list-map-keys"),
        ("XListType", "x-kubernetes-list-type"),
        ("XMapType", "x-kubernetes-map-type"),
        zero=None,
    ),
    ("XValidations", "x-kubernetes-validations", None, _rules),
)
SCHEMA_FIELDS = tuple((go, wire) for go, wire, _, _ in _SCHEMA)
"""The fields of a schema in the order of the Go struct: (Go name, wire name)."""

_COLUMN = (
    *_names(("Name", "name"), ("Type", "type"), ("Format", "format"), ("Description", "description")),
    *_names(("Priority", "priority"), zero=0),
    *_names(("JSONPath", "jsonPath")),
)
_SCALE = (
    *_names(("SpecReplicasPath", "specReplicasPath"), ("StatusReplicasPath", "statusReplicasPath")),
    *_names(("LabelSelectorPath", "labelSelectorPath"), zero=None),
)
_VERSION: tuple[Row, ...] = (
    *_names(("Name", "name")),
    *_names(("Served", "served"), ("Storage", "storage"), ("Deprecated", "deprecated"), zero=False),
    *_names(("DeprecationWarning", "deprecationWarning"), zero=None),
    ("Schema", "schema", None, _validation),
    ("Subresources", "subresources", None, _subresources),
    ("AdditionalPrinterColumns", "additionalPrinterColumns", None, _columns),
    ("SelectableFields", "selectableFields", None, _selectable),
)
