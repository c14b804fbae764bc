"""The facts of a kind that a strategic merge needs: each field's patch strategy and merge key."""

from collections.abc import Mapping
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.schema.go_types import json_type, reference

_STRATEGY, _MERGE_KEY = "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"


def patch_error(message: str) -> ApiError:
    """Return 500: the patch cannot be merged; upstream gives these errors no reason, so they are no 400."""
    return ApiError(500, "", message)


@dataclass(frozen=True, slots=True)
class MergeField:
    """The way a field is merged.

    Attributes:
        kind: the type of the field's value, or of a list's items.
        strategy: "merge", "replace", or "" if unspecified: objects merge, lists are replaced.
        merge_key: the field that identifies an item, "" for lists of scalars.
    """

    kind: "MergeKind"
    strategy: str = ""
    merge_key: str = ""


class MergeKind:
    """A struct, a map or a scalar; its fields are compiled on first use."""

    def __init__(self, schema: "MergeSchema", definition: Obj, name: str) -> None:
        self._schema = schema
        self._properties = definition.get("properties")
        self._name = name
        self._fields: dict[str, MergeField] = {}

    def field(self, key: str) -> MergeField:
        """Return the way a field is merged.

        Raises:
            ApiError: 500 if there is no such field.
        """
        if key not in self._fields:
            if self._properties is None:
                raise patch_error("merging an object in json but data type is not struct, instead is: map")
            if key not in self._properties:
                raise patch_error(f'unable to find api field in struct {self._name} for the json field "{key}"')
            self._fields[key] = self._schema.field(self._properties[key])
        return self._fields[key]


class MergeSchema:
    """The kinds of a set of OpenAPI definitions, compiled on first use.

    Args:
        definitions: name → schema, with "$ref"s to each other.
    """

    def __init__(self, definitions: Mapping[str, Obj]) -> None:
        self._definitions = definitions
        self._kinds: dict[str, MergeKind] = {}

    def kind(self, definition: str) -> MergeKind:
        """Return the kind that a definition describes."""
        if definition not in self._kinds:
            name = definition.rpartition(".")[2]
            self._kinds[definition] = MergeKind(self, self._definitions[definition], name)
        return self._kinds[definition]

    def field(self, schema: Obj) -> MergeField:
        """Return the way a field with this schema is merged."""
        strategies = [
            s for s in schema.get(_STRATEGY, "").split(",") if s != "retainKeys"
        ]  # a directive for clients, not for servers
        value_schema = schema["items"] if json_type(schema) == "array" else schema
        target = reference(value_schema)
        kind = self.kind(target) if target else MergeKind(self, value_schema, "")
        return MergeField(kind, "".join(strategies), schema.get(_MERGE_KEY, ""))
