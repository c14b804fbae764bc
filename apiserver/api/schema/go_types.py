"""What the Go types say beside OpenAPI: which fields are pointers or told when empty, and how their types are named."""

from dataclasses import dataclass
from pathlib import Path

import orjson

from apiserver.api.meta import Obj

GoTypes = dict[str, dict[str, str]]
"""Definition → field → facts, for the fields that differ from the rule of `go_field`.

The facts are "*" for a pointer, the type's name where OpenAPI does not tell it, and "!" for a field without omitempty
or "~" for one with omitzero; "^!" is a list without omitempty that the store keeps as JSON, where an empty one does not
become null. They are those of k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator of
Kubernetes 1.37; versions that were retired before have those of the nearest version that is left.
"""

GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"


@dataclass(frozen=True, slots=True)
class GoField:
    """A field of a Go struct.

    Attributes:
        type: as reflect prints it, without the pointer: "[]v1.Container", "int32".
        pointer: a zero value is told; only null and absence are nothing.
        always: no omitempty: the field is told even when it is empty.
        omitzero: left out when zero, though it is a struct.
        keeps_empty: an empty list stays an empty list.
    """

    type: str
    pointer: bool = False
    always: bool = False
    omitzero: bool = False
    keeps_empty: bool = False


def load_go_types() -> GoTypes:
    """The facts, read from the table beside this module."""
    facts: GoTypes = orjson.loads(Path(__file__).with_name("go_types.json").read_bytes())
    return facts


def go_field(definition: Obj, name: str, facts: dict[str, str]) -> GoField:
    """The field `name` of a definition.

    Where nothing else is known, a required field has no omitempty, and an optional struct is a pointer unless it is one
    of the parts that every API object has.
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
    """The definition that a schema refers to, "" where it says itself what it is."""
    target: str = schema.get("$ref", "")
    return target.rpartition("/")[2]


def json_type(schema: Obj) -> str:
    """The schema's type beside null, "" where it names none."""
    given = schema.get("type") or ""
    return given if isinstance(given, str) else str(given[0])


def type_name(definition: str) -> str:
    """The Go type of a definition: "v1.Container" of "io.k8s.api.core.v1.Container"."""
    return ".".join(definition.rsplit(".", 2)[-2:])


_SCALARS = {"string": "string", "boolean": "bool", "number": "float64", "integer": "int64"}


def go_type(schema: Obj) -> str:
    """The Go type that a schema stands for, as far as it can be told from it."""
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
    """The Go type of a container's items: "v1.Container" of "[]v1.Container"."""
    for prefix in ("[]", "map[string]"):
        if container.startswith(prefix):
            return container.removeprefix(prefix).removeprefix("*")
    if container.startswith("map["):
        return container.partition("]")[2]
    return go_type(item)
