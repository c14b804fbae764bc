"""A schema as managedFields sees it: which fields, items and entries are owned one by one, and which as a whole.

The rules are those of k8s.io/kube-openapi/pkg/schemaconv/openapi.go. Who owns what is noted before values are looked
at, so a value may be none of the type that its schema wants; it is then owned as a whole.
"""

from dataclasses import dataclass
from typing import Any

from apiserver.api.managedfields.field_sets import FieldSet
from apiserver.api.managedfields.value_types import DEDUCED, LEAF, Changes, Field, Items, Leaf, Mapped, Struct
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, MAP_TYPE, items, properties, values

_NOBODYS = Field("")


def custom_fields(schema: Obj, metadata: Field) -> Struct:
    """The kind of whole objects.

    Args:
        schema: a structural schema.
        metadata: the field in which every object has its metadata.
    """
    fields = _fields(schema)
    fields |= {"apiVersion": _NOBODYS, "kind": _NOBODYS, "metadata": metadata}
    return Struct(fields)


class _Fields(dict[str, Field]):
    """The fields of an object by key; those of which nothing is said are what their values are."""

    def __missing__(self, key: str) -> Field:
        return Field(f"f:{key}", DEDUCED)


@dataclass(frozen=True, slots=True)
class _If(Leaf):
    """What a value is if it has a type, and is owned as a whole if not.

    Attributes:
        type: dict or list.
        kind: what such a value is.
    """

    type: type
    kind: Leaf

    def added(self, value: Any) -> FieldSet:
        """The set of a value that was not there before."""
        return (self.kind if value.__class__ is self.type else LEAF).added(value)

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Note what differs, part by part where both values have the type."""
        both = old.__class__ is self.type and new.__class__ is self.type
        (self.kind if both else LEAF).compare(label, old, new, changes)


def _fields(schema: Obj) -> _Fields:
    return _Fields({name: Field(f"f:{name}", _kind(each)) for name, each in properties(schema).items()})


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
    return _If(list, Items(_kind(items(schema)), schema.get(LIST_KEYS) or ()))


def _object(schema: Obj) -> Leaf:
    """An object, or a value of any type, which is one if it is one."""
    if schema.get(MAP_TYPE) == "atomic":
        return LEAF
    if properties(schema):
        return _If(dict, Struct(_fields(schema)))
    of_values = values(schema)
    return DEDUCED if of_values is None else _If(dict, Mapped(_kind(of_values)))
