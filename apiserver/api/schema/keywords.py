"""Keywords of schemas: Kubernetes' extensions, and readers for parts that may be absent."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj

EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_KEYS = "x-kubernetes-list-map-keys"
LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
PATCH_MERGE_KEY = "x-kubernetes-patch-merge-key"
PATCH_STRATEGY = "x-kubernetes-patch-strategy"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
RULES = "x-kubernetes-validations"

INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]
"""The anyOf of an int-or-string, the only one that may contain types."""

META = frozenset({"apiVersion", "kind", "metadata"})
"""The fields that every object has, whatever its schema says."""

JUNCTORS = ("anyOf", "allOf", "oneOf")
"""Keywords that combine schemas."""

_NONE: Mapping[str, Obj] = {}


def properties(schema: Obj) -> Mapping[str, Obj]:
    """Return the fields that a schema names."""
    return schema.get("properties") or _NONE


def items(schema: Obj) -> Obj | None:
    """Return the schema of a list's items, or None if there is none."""
    schema_of_items = schema.get("items")
    return schema_of_items if isinstance(schema_of_items, dict) else None


def has_values(schema: Obj) -> bool:
    """Return whether a schema has additionalProperties, which apply to fields that it does not name."""
    return schema.get("additionalProperties") is not None


def values(schema: Obj) -> Obj | None:
    """Return the schema of a map's values, or None if there is none, or only a boolean."""
    schema_of_values = schema.get("additionalProperties")
    return schema_of_values if isinstance(schema_of_values, dict) else None


def at_key(schema: Obj, key: str) -> Obj | None:
    """Return the schema of a field or of a map's value, or None if there is none."""
    fields = properties(schema)
    return fields[key] if key in fields else values(schema)


def default_of(schema: Obj) -> Any:
    """Return the default value, or None if the schema declares none."""
    return schema.get("default")


def takes_null(schema: Obj) -> bool:
    """Return whether the value may be null."""
    return bool(schema.get("nullable"))


def child(path: str, name: str) -> str:
    """Return the path of a field: "spec.size"."""
    return f"{path}.{name}" if path else name


def at(path: str, key: str | int) -> str:
    """Return the path of a list's item or a map's value: "spec.tags[0]"."""
    return f"{path}[{key}]"
