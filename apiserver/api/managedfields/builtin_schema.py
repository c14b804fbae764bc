"""The schema of managedFields for built-in kinds: OpenAPI definitions compiled to types of values."""

from collections.abc import Mapping

from apiserver.api.managedfields.custom_schema import custom_fields
from apiserver.api.managedfields.value_types import DEDUCED, LEAF, Field, Leaf, ListType, MapType, Struct
from apiserver.api.meta import Obj
from apiserver.api.schema.go_types import GoTypes, go_field, json_type, reference

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

_UNOWNED = Field("")


class _Fields(dict[str, Field]):
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
        fields |= dict.fromkeys(_STRIPPED, _UNOWNED)
        meta = reference(self._definitions[definition].get("properties", {}).get("metadata", {}))
        if meta:
            fields["metadata"] = self._metadata(meta)
        return Struct(fields)

    def _metadata(self, definition: str) -> Field:
        fields = self._fields(definition)
        fields |= dict.fromkeys(_STRIPPED_METADATA, _UNOWNED)
        return Field("f:metadata", Struct(fields), always_present=True)

    def custom(self, schema: Obj) -> Struct:
        """Return the type of whole objects of a custom kind, given the schema in its definition."""
        return custom_fields(schema, self._metadata(OBJECT_META))

    def _fields(self, definition: str) -> _Fields:
        facts = self._go_types.get(definition, {}) if definition.startswith(_GO_DEFINITIONS) else None
        return _Fields(self, self._definitions[definition], facts)

    def kind(self, schema: Obj) -> Leaf:
        """Return the type of the values that a schema describes."""
        target = reference(schema)
        if schema.get("x-kubernetes-map-type") == "atomic":
            return LEAF
        if target:
            if target not in self._structs:
                self._structs[target] = self._referred(target)
            return self._structs[target]
        if json_type(schema) == "array":
            return self._list(schema)
        return self._object(schema) if json_type(schema) == "object" else LEAF

    def _referred(self, definition: str) -> Leaf:
        schema = self._definitions[definition]
        if "properties" in schema and schema.get("x-kubernetes-map-type") != "atomic":
            return Struct(self._fields(definition))
        return self.kind(schema)

    def _list(self, schema: Obj) -> Leaf:
        if schema.get("x-kubernetes-list-type", "atomic") == "atomic":
            return LEAF
        return ListType(self.kind(schema["items"]), schema.get("x-kubernetes-list-map-keys", ()))

    def _object(self, schema: Obj) -> Leaf:
        if "properties" in schema:
            return Struct(_Fields(self, schema, None))
        items = schema.get("additionalProperties")
        return MapType(self.kind(items)) if isinstance(items, dict) else DEDUCED
