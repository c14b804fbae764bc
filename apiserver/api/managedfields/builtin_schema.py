"""The schema of managedFields for built-in kinds: OpenAPI definitions compiled to types of values."""

from collections.abc import Iterable, Mapping

from apiserver.api.managedfields.custom_schema import CustomSchema
from apiserver.api.managedfields.value_types import (
    BOOLEAN,
    DEDUCED,
    LEAF,
    NUMERIC,
    STRING,
    UNTYPED,
    AtomicList,
    AtomicMap,
    Field,
    Fields,
    Leaf,
    ListType,
    MapType,
    Struct,
)
from apiserver.api.meta import Obj
from apiserver.api.schema.go_types import GoTypes, go_field, json_type, reference
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, MAP_TYPE, PATCH_MERGE_KEY, PATCH_STRATEGY

# Fields that have no owner (apimachinery/pkg/util/managedfields/internal/stripmeta.go).
_STRIPPED = ("apiVersion", "kind")
_STRIPPED_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_GO_DEFINITIONS = "io.k8s."
"""The prefix of the definitions of Go types; custom resources have none, so their empty object has no fields."""

_OPAQUE = "io.k8s.apimachinery.pkg.runtime.RawExtension"
"""The definition of values of any kind, which are owned as a whole (schemaconv's rawExtensionResource)."""
_UNTYPED = ("io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString")
_SCALARS: Mapping[str, Leaf] = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN, "string": STRING}
_KEY_DEFAULTS: Mapping[tuple[str, str], str] = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.LocalObjectReference", "name"): "",
}
"""Definition and key → the value that an absent key of a list's item counts as; our definitions have no defaults."""
_TEXT_FORMATS = ("", "byte")
"""The formats of texts that are validated as texts; others, such as date-time, may be any scalar."""


class _Fields(Fields):
    """The fields of a definition by key, each compiled on first use."""

    def __init__(self, schema: "FieldSchema", definition: Obj, facts: Mapping[str, str] | None) -> None:
        super().__init__()
        self._schema = schema
        self._definition = definition
        self._facts = facts

    def __missing__(self, key: str) -> Field:
        properties = self._definition.get("properties") or {}
        if key not in properties:
            items = self._definition.get("additionalProperties")
            return Field(f"f:{key}", self._schema.kind(items) if isinstance(items, dict) else DEDUCED)
        kind = self._schema.kind(properties[key])
        self[key] = Field(f"f:{key}", kind, self._is_given(key, kind))
        return self[key]

    def declares(self, key: str) -> bool:
        """Return whether the definition names a field."""
        return key in (self._definition.get("properties") or ())

    def allows(self, key: str) -> bool:
        """Return whether a field may be sent; a definition without properties describes a map."""
        return self.declares(key) or "properties" not in self._definition or "additionalProperties" in self._definition

    def disown(self, keys: Iterable[str]) -> None:
        """Let some fields have no owner."""
        for key in keys:
            self[key] = Field(
                "", self._schema.kind(self._definition["properties"][key]) if self.declares(key) else LEAF
            )

    def _is_given(self, key: str, kind: Leaf) -> bool:
        if self._facts is None:
            return False
        go = go_field(self._definition, key, dict(self._facts))
        return go.always or (isinstance(kind, Struct) and not go.pointer and not go.omitzero)


class FieldSchema:
    """The types of a set of OpenAPI definitions, compiled on first use.

    Args:
        definitions: name → schema, with "$ref"s to each other.
        go_types: facts of the Go types that OpenAPI lacks: which fields an empty object already has.
    """

    def __init__(self, definitions: Mapping[str, Obj], go_types: GoTypes) -> None:
        self._definitions = definitions
        self._go_types = go_types
        self._structs: dict[str, Leaf] = {}
        self._roots: dict[str, Struct] = {}

    def root(self, definition: str) -> Struct:
        """Return the type of whole objects; some of their fields never have an owner."""
        if definition not in self._roots:
            self._roots[definition] = self._root(definition)
        return self._roots[definition]

    def _root(self, definition: str) -> Struct:
        fields = self._fields(definition)
        fields.disown(_STRIPPED)
        meta = reference(self._definitions[definition].get("properties", {}).get("metadata", {}))
        if meta:
            fields["metadata"] = self._metadata(meta)
        return Struct(fields)

    def _metadata(self, definition: str) -> Field:
        fields = self._fields(definition)
        fields.disown(_STRIPPED_METADATA)
        return Field("f:metadata", Struct(fields), always_present=True)

    def custom(self, schema: Obj) -> Struct:
        """Return the type of whole objects of a custom kind, given the schema in its definition."""
        embedded = self.kind({"$ref": OBJECT_META})
        return CustomSchema(embedded).root(schema, self._metadata(OBJECT_META))

    def _fields(self, definition: str) -> _Fields:
        facts = self._go_types.get(definition, {}) if definition.startswith(_GO_DEFINITIONS) else None
        return _Fields(self, self._definitions[definition], facts)

    def kind(self, schema: Obj) -> Leaf:
        """Return the type of the values that a schema describes (schemaconv's parseSchema)."""
        kind = self._divided(schema)
        return AtomicMap(kind) if schema.get(MAP_TYPE) == "atomic" and not kind.is_leaf else kind

    def _divided(self, schema: Obj) -> Leaf:
        """Return the type of values, whatever the schema itself says of their being atomic maps."""
        target = reference(schema)
        if target:
            if target not in self._structs:
                self._structs[target] = self._referred(target)
            return self._structs[target]
        match json_type(schema):
            case "array":
                return self._list(schema)
            case "object":
                return self._object(schema)
            case "string":
                return STRING if schema.get("format", "") in _TEXT_FORMATS else UNTYPED
            case name:
                return _SCALARS.get(name, LEAF)

    def _referred(self, definition: str) -> Leaf:
        if definition == _OPAQUE:
            return LEAF
        if definition in _UNTYPED:
            return UNTYPED
        schema = self._definitions[definition]
        if "properties" not in schema:
            return self.kind(schema)
        struct = Struct(self._fields(definition))
        return AtomicMap(struct) if schema.get(MAP_TYPE) == "atomic" else struct

    def _list(self, schema: Obj) -> Leaf:
        """Return the type of a list; releases without list types have the keys of strategic merge patches.

        The rules are those of schemaconv's getListElementRelationship.
        """
        items = schema["items"]
        list_type = schema.get(LIST_TYPE)
        if list_type is None and "merge" in schema.get(PATCH_STRATEGY, "").split(","):
            merge_key = schema.get(PATCH_MERGE_KEY)
            return self._associative(items, (merge_key,) if merge_key else ())
        if list_type in ("map", "set"):
            return self._associative(items, schema.get(LIST_KEYS, ()))
        return AtomicList(self.kind(items))

    def _associative(self, items: Obj, keys: Iterable[str]) -> ListType:
        target = reference(items)
        defaults = {key: _KEY_DEFAULTS[target, key] for key in keys if (target, key) in _KEY_DEFAULTS}
        return ListType(self.kind(items), keys, defaults)

    def _object(self, schema: Obj) -> Leaf:
        if "properties" in schema:
            return Struct(_Fields(self, schema, None))
        items = schema.get("additionalProperties")
        return MapType(self.kind(items)) if isinstance(items, dict) else DEDUCED
