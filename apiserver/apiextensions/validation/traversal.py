"""Schemas within a schema, found wherever they may stand (validation.go's SchemaHas)."""

from collections.abc import Iterator
from typing import Any

from apiserver.api.meta import Obj

_PLACES = (
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
_ALL = frozenset(_PLACES)
_NAMED = frozenset({"properties", "patternProperties", "definitions", "dependencies"})


def each_schema(schema: Obj | None) -> Iterator[Obj]:
    """The schema and all below it, parents first; none of None."""
    waiting: list[Any] = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            if not _ALL.isdisjoint(found):
                waiting += reversed([*_below(found)])


def schemas_of(spec: Obj) -> Iterator[Obj]:
    """The schemas of a definition's versions, each as a whole."""
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema


def _below(schema: Obj) -> Iterator[Any]:
    """What stands where schemas may stand; booleans and names stand there too."""
    for place in _PLACES:
        if place not in schema:
            continue
        value = schema[place]
        if place in _NAMED:
            yield from (value or {}).values()
        elif isinstance(value, list):
            yield from value
        else:
            yield value
