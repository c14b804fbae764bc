"""Facts of the Go types that OpenAPI lacks: pointers, fields that are written when empty, and the names of types."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from apiserver.api.meta import Obj

GoTypes = dict[str, dict[str, str]]
"""Definition → field → facts, for the fields that differ from the rule of `go_field`.

The facts are "*" for a pointer, the type's name if OpenAPI does not show it, and "!" for a field without omitempty or
"~" for one with omitzero; "^!" is a list without omitempty that the store keeps as JSON, so that an empty one does not
become null. They are those of k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator of
Kubernetes 1.37; versions that were removed before have those of the nearest remaining version.
"""

GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"


@dataclass(frozen=True, slots=True)
class GoField:
    """A field of a Go struct.

    Attributes:
        type: the type as reflect prints it, without the pointer: "[]v1.Container", "int32".
        pointer: a zero value is written; only null and absence are no value.
        always: no omitempty: the field is written even when it is empty.
        omitzero: left out when zero, although it is a struct.
        keeps_empty: an empty list stays an empty list.
    """

    type: str
    pointer: bool = False
    always: bool = False
    omitzero: bool = False
    keeps_empty: bool = False


def load_go_types() -> GoTypes:
    """Return the facts, read from the table beside this module."""
    facts: GoTypes = orjson.loads(Path(__file__).with_name("go_types.json").read_bytes())
    return facts


def go_field(definition: Obj, name: str, facts: dict[str, str]) -> GoField:
    """Return the field `name` of a definition.

    Without facts about it, a required field has no omitempty, and an optional struct is a pointer unless it is one of
    the parts that every API object has.
    """
    schema = definition["properties"][name]
    derived = go_type(schema)
    fact = facts.get(name)
    if fact is None:
        required = name in definition.get("required", ())
        return GoField(derived, pointer=_is_pointer(definition, name) and not required, always=required)
    return GoField(
        fact.strip("*!~^") or derived,
        pointer=fact.startswith("*"),
        always=fact.endswith("!"),
        omitzero=fact.endswith("~"),
        keeps_empty=fact.startswith("^"),
    )


def _is_pointer(definition: Obj, name: str) -> bool:
    of_object = ("metadata", "spec", "status") if GROUP_VERSION_KIND in definition else ("metadata",)
    return "$ref" in definition["properties"][name] and name not in of_object


def reference(schema: Obj) -> str:
    """Return the definition that a schema refers to, or "" if it is no reference."""
    target: str = schema.get("$ref", "")
    return target.rpartition("/")[2]


def json_type(schema: Obj) -> str:
    """Return the schema's type other than null, or "" if it has none."""
    types = schema.get("type") or ""
    return types if isinstance(types, str) else str(types[0])


def type_name(definition: str) -> str:
    """Return the Go type of a definition: "v1.Container" for "io.k8s.api.core.v1.Container"."""
    return ".".join(definition.rsplit(".", 2)[-2:])


_SCALARS = {"string": "string", "boolean": "bool", "number": "float64", "integer": "int64"}


def go_type(schema: Obj) -> str:
    """Return the Go type that a schema stands for, as far as it shows."""
    if target := reference(schema):
        return type_name(target)
    kind = json_type(schema)
    if kind == "array":
        return f"[]{go_type(schema['items'])}"
    if kind == "object":
        return f"map[string]{go_type(schema['additionalProperties'])}"
    if schema.get("format") == "byte":
        return "[]uint8"
    return schema["format"] if kind == "integer" and "format" in schema else _SCALARS[kind]


def item_type(container: str, item: Obj) -> str:
    """Return the Go type of a container's items: "v1.Container" for "[]v1.Container"."""
    for prefix in ("[]", "map[string]"):
        if container.startswith(prefix):
            return container.removeprefix(prefix).removeprefix("*")
    if container.startswith("map["):
        return container.partition("]")[2]
    return go_type(item)
