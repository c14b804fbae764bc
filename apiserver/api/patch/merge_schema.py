"""What a strategic merge must know of a kind: each field's patch strategy, and the key that its items are merged by."""

from collections.abc import Mapping
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.schema.go_types import json_type, reference

_STRATEGY, _MERGE_KEY = "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"


def failed(message: str) -> ApiError:
    """500: the patch cannot be merged; upstream gives these errors no reason, so they are no 400."""
    return ApiError(500, "", message)


@dataclass(frozen=True, slots=True)
class MergeField:
    """How a field is merged.

    Attributes:
        kind: what the field holds; of a list, what its items are.
        strategy: "merge", "replace", or "" where nothing is said: objects merge, lists are replaced.
        merge_key: the field by which items are the same, "" for lists of scalars.
    """

    kind: "MergeKind"
    strategy: str = ""
    merge_key: str = ""


class MergeKind:
    """A struct, a map or a scalar; its fields are looked at when they are first asked for."""

    def __init__(self, schema: "MergeSchema", definition: Obj, name: str) -> None:
        self._schema = schema
        self._properties = definition.get("properties")
        self._name = name
        self._fields: dict[str, MergeField] = {}

    def field(self, key: str) -> MergeField:
        """How a field is merged.

        Raises:
            ApiError: 500 where there is no such field.
        """
        if key not in self._fields:
            if self._properties is None:
                raise failed("merging an object in json but data type is not struct, instead is: map")
            if key not in self._properties:
                raise failed(f'unable to find api field in struct {self._name} for the json field "{key}"')
            self._fields[key] = self._schema.field(self._properties[key])
        return self._fields[key]


class MergeSchema:
    """The kinds of a set of OpenAPI definitions, looked at when they are first asked for.

    Args:
        definitions: name → schema, with "$ref"s to each other.
    """

    def __init__(self, definitions: Mapping[str, Obj]) -> None:
        self._definitions = definitions
        self._kinds: dict[str, MergeKind] = {}

    def kind(self, definition: str) -> MergeKind:
        """The kind that a definition describes."""
        if definition not in self._kinds:
            name = definition.rpartition(".")[2]
            self._kinds[definition] = MergeKind(self, self._definitions[definition], name)
        return self._kinds[definition]

    def field(self, schema: Obj) -> MergeField:
        """How a field with this schema is merged."""
        strategies = [
            s for s in schema.get(_STRATEGY, "").split(",") if s != "retainKeys"
        ]  # which clients obey, not we
        held = schema["items"] if json_type(schema) == "array" else schema
        target = reference(held)
        kind = self.kind(target) if target else MergeKind(self, held, "")
        return MergeField(kind, "".join(strategies), schema.get(_MERGE_KEY, ""))
