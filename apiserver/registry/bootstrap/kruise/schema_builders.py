"""Builders for structural schemas: each returns the JSON of a schema."""

from collections.abc import Sequence

from apiserver.api.meta import Obj

Schema = Obj

INT_OR_PERCENT = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
NAMES = {"type": "array", "items": {"type": "string"}}
ATOMIC = {"x-kubernetes-list-type": "atomic"}


def object_schema(text: str, /, *required: str, **fields: Schema) -> Schema:
    """Return the schema of an object; the fields named by `required` are mandatory."""
    schema: Schema = {"type": "object", "description": text, "properties": fields}
    return schema | {"required": list(required)} if required else schema


def number(text: str, *, bits: int = 32) -> Schema:
    """Return the schema of an integer."""
    return {"type": "integer", "format": f"int{bits}", "description": text}


def string(text: str, *choices: str) -> Schema:
    """Return the schema of a string, with an enum if there are choices."""
    schema: Schema = {"type": "string", "description": text}
    return schema | {"enum": list(choices)} if choices else schema


def boolean(text: str, *, default: bool | None = None) -> Schema:
    """Return the schema of a boolean."""
    schema: Schema = {"type": "boolean", "description": text}
    return schema if default is None else schema | {"default": default}


def int_or_percent(text: str) -> Schema:
    """Return the schema of an integer or a percentage."""
    return {"description": text, **INT_OR_PERCENT}


def array(text: str, items: Schema, *, atomic: bool = False) -> Schema:
    """Return the schema of a list."""
    schema: Schema = {"type": "array", "description": text, "items": items}
    return schema | ATOMIC if atomic else schema


def map_of(text: str, values: Schema) -> Schema:
    """Return the schema of a map with string keys."""
    return {"type": "object", "description": text, "additionalProperties": values}


def anything(text: str) -> Schema:
    """Return a schema that accepts anything, for parts of other kinds, such as a pod template."""
    return {"description": text, "x-kubernetes-preserve-unknown-fields": True}


def timestamp(text: str) -> Schema:
    """Return the schema of a time."""
    return {"type": "string", "format": "date-time", "description": text}


def _requirements(text: str) -> Schema:
    requirement = object_schema(
        "A key, and how it relates to a set of values.",
        "key",
        "operator",
        key=string("The label's key."),
        operator=string("In, NotIn, Exists or DoesNotExist; of nodes also Gt and Lt."),
        values=NAMES | ATOMIC | {"description": "The values; none for Exists and DoesNotExist."},
    )
    return array(text, requirement, atomic=True)


def selector(text: str) -> Schema:
    """Return the schema of a label selector."""
    fields = {
        "matchExpressions": _requirements("Requirements, all of which must hold."),
        "matchLabels": map_of("Labels, all of which must be there.", {"type": "string"}),
    }
    return object_schema(text, **fields) | {"x-kubernetes-map-type": "atomic"}


def node_term(text: str) -> Schema:
    """Return the schema of a node selector term."""
    fields = {
        "matchExpressions": _requirements("Requirements on a node's labels."),
        "matchFields": _requirements("Requirements on a node's fields."),
    }
    return object_schema(text, **fields) | {"x-kubernetes-map-type": "atomic"}


def conditions(*, updated: bool = False, needed: Sequence[str] = ("status", "type")) -> Schema:
    """Return the schema of a status's conditions.

    Args:
        updated: whether they have lastUpdateTime.
        needed: the fields that each must have.
    """
    fields = {
        "type": string("What the condition is about."),
        "status": string("True, False or Unknown."),
        "reason": string("Why, in one word."),
        "message": string("Why, for people."),
        "lastTransitionTime": timestamp("When the status changed last."),
    }
    if updated:
        fields["lastUpdateTime"] = timestamp("When the condition was written last.")
    return array("What is known of the workload's state.", object_schema("A condition.", *needed, **fields))


def column(name: str, path: str, text: str, *, type_: str = "integer") -> Obj:
    """Return an additionalPrinterColumn."""
    return {"name": name, "type": type_, "jsonPath": path, "description": text}
