"""The schema of managedFields for custom kinds: which fields, items and entries are owned separately, which as a whole.

The rules are those of k8s.io/kube-openapi/pkg/schemaconv/openapi.go. Ownership is computed before values are
validated, so a value may have another type than its schema says; it is then owned as a whole.
"""

from dataclasses import dataclass
from typing import Any

from apiserver.api.managedfields.field_sets import FieldSet
from apiserver.api.managedfields.value_types import DEDUCED, LEAF, Changes, Field, Leaf, ListType, MapType, Struct
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, MAP_TYPE, items, properties, values

_UNOWNED = Field("")


def custom_fields(schema: Obj, metadata: Field) -> Struct:
    """Return the type of whole objects.

    Args:
        schema: a structural schema.
        metadata: the field of every object's metadata.
    """
    fields = _fields(schema)
    fields |= {"apiVersion": _UNOWNED, "kind": _UNOWNED, "metadata": metadata}
    return Struct(fields)


class _Fields(dict[str, Field]):
    """The fields of an object by key; fields without a schema are deduced from their values."""

    def __missing__(self, key: str) -> Field:
        return Field(f"f:{key}", DEDUCED)


@dataclass(frozen=True, slots=True)
class _TypeOrLeaf(Leaf):
    """A value that is owned as a whole unless it has the expected Python type.

    Attributes:
        type: the expected Python type: dict or list.
        kind: the type of such values.
    """

    type: type
    kind: Leaf

    def field_set(self, value: Any) -> FieldSet:
        """Return the set of a new value."""
        return (self.kind if value.__class__ is self.type else LEAF).field_set(value)

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Add the differences to the changes, part by part if both values have the expected type."""
        both = old.__class__ is self.type and new.__class__ is self.type
        (self.kind if both else LEAF).compare(label, old, new, changes)


def _fields(schema: Obj) -> _Fields:
    return _Fields({name: Field(f"f:{name}", _kind(field_schema)) for name, field_schema in properties(schema).items()})


def _kind(schema: Obj | None) -> Leaf:
    if schema is None:
        return DEDUCED
    kind = schema.get("type") or "object"
    if kind == "array":
        return _list(schema)
    return _object(schema) if kind == "object" else LEAF


def _list(schema: Obj) -> Leaf:
    if schema.get(LIST_TYPE, "atomic") == "atomic":
        return LEAF
    return _TypeOrLeaf(list, ListType(_kind(items(schema)), schema.get(LIST_KEYS) or ()))


def _object(schema: Obj) -> Leaf:
    """Return the type of an object; a schema without fields may also describe any other value."""
    if schema.get(MAP_TYPE) == "atomic":
        return LEAF
    if properties(schema):
        return _TypeOrLeaf(dict, Struct(_fields(schema)))
    of_values = values(schema)
    return DEDUCED if of_values is None else _TypeOrLeaf(dict, MapType(_kind(of_values)))
