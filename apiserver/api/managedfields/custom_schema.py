"""The schema of managedFields for custom kinds: which fields, items and entries are owned separately, which as a whole.

The rules are those of k8s.io/kube-openapi/pkg/schemaconv/openapi.go. Ownership is computed before values are
validated, so a value may have another type than its schema says; it is then owned as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from apiserver.api.managedfields.field_sets import MEMBER, FieldSet
from apiserver.api.managedfields.value_types import (
    BOOLEAN,
    DEDUCED,
    LEAF,
    NUMERIC,
    STRING,
    UNTYPED,
    AtomicList,
    AtomicMap,
    Changes,
    Container,
    Field,
    Fields,
    Leaf,
    ListType,
    MapType,
    Struct,
    compare_containers,
)
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    default_of,
    has_values,
    items,
    properties,
    values,
)

_SCALARS: Mapping[str, Leaf] = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}
_TEXT_FORMATS = ("", "byte")
"""The formats of texts that are validated as texts; others, such as date-time, may be any scalar."""


class _Fields(Fields):
    """The fields of an object by key; fields without a schema are deduced from their values."""

    def __init__(self, fields: Mapping[str, Field], others: Leaf | None) -> None:
        super().__init__(fields)
        self._named = frozenset(fields)
        self._others = others

    def __missing__(self, key: str) -> Field:
        return Field(f"f:{key}", self._others or DEDUCED)

    def declares(self, key: str) -> bool:
        """Return whether the schema names a field."""
        return key in self._named

    def allows(self, key: str) -> bool:
        """Return whether a field may be sent."""
        return self._others is not None or key in self._named


class _CustomStruct(Struct):
    """An object of a custom kind or a part of it, where null is a value like others."""

    def changes(self, old: Obj, new: Obj) -> Changes:
        """Return the differences between two objects."""
        changes = Changes()
        for key, value in new.items():
            if key in old and old[key] == value:
                continue
            field = self.field(key)
            if not field.label:
                continue
            if key in old:
                field.kind.compare(field.label, old[key], value, changes)
            else:
                changes.changed[field.label] = _added(field, value)
        for key, value in old.items():
            if key not in new and (field := self.field(key)).label:
                changes.removed[field.label] = _added(field, value)
        return changes


def _added(field: Field, value: Any) -> FieldSet:
    if field.always_present:
        return field.created_field_set(value) or MEMBER
    return MEMBER if value is None else field.kind.field_set(value)


@dataclass(frozen=True, slots=True)
class _TypeOrLeaf(Leaf):
    """A value that is owned as a whole unless it has the expected Python type.

    Attributes:
        type: the expected Python type: dict or list.
        kind: the type of such values.
    """

    is_leaf: ClassVar[bool] = False

    type: type
    kind: Struct | MapType | ListType

    def container(self, value: Any) -> Container | None:
        """Return the type that divides a value of the expected type, or null; None for others."""
        return self.kind.container(value)

    def fits(self, value: Any) -> bool:
        """Return whether a value is of the expected type and fits it, or is null."""
        return self.kind.fits(value)

    def applied_set(self, value: Any) -> FieldSet | None:
        """Return what of a value belongs to its applier."""
        return self.kind.applied_set(value)

    def field_set(self, value: Any) -> FieldSet:
        """Return the set of a new value."""
        return (self.kind if value.__class__ is self.type else LEAF).field_set(value)

    def compare(self, label: str, old: Any, new: Any, changes: Changes) -> None:
        """Add the differences to the changes, part by part if both values have the expected type."""
        compare_containers(self, label, old, new, changes)


class CustomSchema:
    """Compiles the structural schemas of a release's custom kinds.

    Args:
        embedded_metadata: the type of the metadata of embedded resources.
    """

    def __init__(self, embedded_metadata: Leaf) -> None:
        self._embedded: Mapping[str, Field] = {
            "apiVersion": Field("f:apiVersion", STRING),
            "kind": Field("f:kind", STRING),
            "metadata": Field("f:metadata", embedded_metadata),
        }

    def root(self, schema: Obj, metadata: Field) -> Struct:
        """Return the type of whole objects.

        Args:
            schema: a structural schema.
            metadata: the field of every object's metadata.
        """
        unowned = Field("", STRING)
        own = {"apiVersion": unowned, "kind": unowned, "metadata": metadata}
        return self._struct(schema, own, preserves=_preserves(schema))

    def _struct(self, schema: Obj, own: Mapping[str, Field], *, preserves: bool) -> Struct:
        named = {
            name: Field(f"f:{name}", self._kind(field_schema, preserves=preserves))
            for name, field_schema in properties(schema).items()
        }
        return _CustomStruct(_Fields({**named, **own}, self._others(schema, preserves=preserves or not (named or own))))

    def _others(self, schema: Obj, *, preserves: bool) -> Leaf | None:
        """Return the type of fields without a name in the schema, None if there may be none."""
        if (of_values := values(schema)) is not None:
            return self._kind(of_values, preserves=preserves)
        return DEDUCED if preserves or (has_values(schema) and schema["additionalProperties"]) else None

    def _kind(self, schema: Obj, *, preserves: bool) -> Leaf:
        """Return the type of values; `preserves` is inherited from the schemas that this one is part of."""
        preserves = preserves or _preserves(schema)
        if schema.get(INT_OR_STRING):
            return DEDUCED
        match schema.get("type") or "object":
            case "array":
                return self._list(schema, preserves=preserves)
            case "object":
                return self._object(schema, preserves=preserves)
            case "string":
                return STRING if schema.get("format", "") in _TEXT_FORMATS else UNTYPED
            case name:
                return _SCALARS.get(name, LEAF)

    def _list(self, schema: Obj, *, preserves: bool) -> Leaf:
        item_schema, keys = items(schema), schema.get(LIST_KEYS) or ()
        item = LEAF if item_schema is None else self._kind(item_schema, preserves=preserves)
        if schema.get(LIST_TYPE, "atomic") == "atomic":
            return AtomicList(item)
        fields = properties(item_schema or {})
        defaults = {key: value for key in keys if key in fields and (value := default_of(fields[key])) is not None}
        return _TypeOrLeaf(list, ListType(item, keys, defaults))

    def _object(self, schema: Obj, *, preserves: bool) -> Leaf:
        """Return the type of an object; a schema without fields may also describe any other value."""
        own = self._embedded if schema.get(EMBEDDED) else {}
        of_values = values(schema)
        kind: Leaf
        if properties(schema) or own:
            kind = _TypeOrLeaf(dict, self._struct(schema, own, preserves=preserves))
        elif of_values is not None:
            kind = _TypeOrLeaf(dict, MapType(self._kind(of_values, preserves=preserves)))
        else:
            kind = DEDUCED
        return AtomicMap(kind) if schema.get(MAP_TYPE) == "atomic" else kind


def _preserves(schema: Obj) -> bool:
    return schema.get(PRESERVE) is True
