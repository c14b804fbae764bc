"""What schemas are written in: the words of Kubernetes in them, and readers of parts that may be absent."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj

EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_KEYS = "x-kubernetes-list-map-keys"
LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
RULES = "x-kubernetes-validations"

INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]
"""The one anyOf in which types may stand: what an int-or-string is."""

META = frozenset({"apiVersion", "kind", "metadata"})
"""The fields that every object has, whatever its schema says."""

JUNCTORS = ("anyOf", "allOf", "oneOf")
"""Words that join schemas into one."""

_NONE: Mapping[str, Obj] = {}


def properties(schema: Obj) -> Mapping[str, Obj]:
    """The fields that a schema names."""
    return schema.get("properties") or _NONE


def items(schema: Obj) -> Obj | None:
    """The schema of a list's items, None where nothing is said of them."""
    found = schema.get("items")
    return found if isinstance(found, dict) else None


def has_values(schema: Obj) -> bool:
    """Does it say something of fields that it does not name?"""
    return schema.get("additionalProperties") is not None


def values(schema: Obj) -> Obj | None:
    """The schema of a map's values, None where nothing is said of them, or only whether there may be any."""
    found = schema.get("additionalProperties")
    return found if isinstance(found, dict) else None


def at_key(schema: Obj, key: str) -> Obj | None:
    """The schema of a field or of a map's value, None where nothing is said of it."""
    named = properties(schema)
    return named[key] if key in named else values(schema)


def default_of(schema: Obj) -> Any:
    """The default; None, which is none, where there is none."""
    return schema.get("default")


def takes_null(schema: Obj) -> bool:
    """May the value be null?"""
    return bool(schema.get("nullable"))


def child(path: str, name: str) -> str:
    """The path of a field: "spec.size"."""
    return f"{path}.{name}" if path else name


def at(path: str, key: str | int) -> str:
    """The path of a list's item or a map's value: "spec.tags[0]"."""
    return f"{path}[{key}]"
