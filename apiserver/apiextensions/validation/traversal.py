"""All schemas within a schema (validation.go's SchemaHas)."""

from collections.abc import Iterator
from typing import Any

from apiserver.api.meta import Obj

_SUBSCHEMA_KEYWORDS = (
    "items",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "properties",
    "additionalProperties",
    "patternProperties",
    "additionalItems",
    "definitions",
    "dependencies",
)
_ALL = frozenset(_SUBSCHEMA_KEYWORDS)
_NAMED = frozenset({"properties", "patternProperties", "definitions", "dependencies"})


def each_schema(schema: Obj | None) -> Iterator[Obj]:
    """Yield the schema and all schemas below it, parents first; nothing for None."""
    pending: list[Any] = [schema]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            yield current
            if not _ALL.isdisjoint(current):
                pending += reversed([*_below(current)])


def schemas_of(spec: Obj) -> Iterator[Obj]:
    """Yield the schemas of a definition's versions."""
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema


def _below(schema: Obj) -> Iterator[Any]:
    """Yield the values at which schemas may be; some are booleans or lists of names instead."""
    for keyword in _SUBSCHEMA_KEYWORDS:
        if keyword not in schema:
            continue
        value = schema[keyword]
        if keyword in _NAMED:
            yield from (value or {}).values()
        elif isinstance(value, list):
            yield from value
        else:
            yield value
