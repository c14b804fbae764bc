"""Validates the defaults in a schema against the schema itself (schema/defaulting/validation.go)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema import Schema, available_versions, load_definitions
from apiserver.api.schema.keywords import EMBEDDED, META, at, child, default_of, items, properties, values
from apiserver.apiextensions.structural.embedded import MalformedResourceError, coerce_resource, embedded_resources
from apiserver.apiextensions.structural.equality import in_order, same
from apiserver.apiextensions.structural.full_validation import validate_fully
from apiserver.apiextensions.structural.pruning import prune_value

CheckResource = Callable[[str, Obj], list[FieldError]]
"""Returns the errors of an object's version, kind and metadata (path, object), whose types are right."""

CheckRules = Callable[[str, Obj, Any], list[FieldError]]
"""Returns the errors of a value by the rules of its schema (path, schema, value)."""

_NEWEST = 1 << 16
_ITEM = None
_TYPE_META: Obj = {"apiVersion": "validation/v1", "kind": "Validation"}


@dataclass(frozen=True, slots=True)
class _Position:
    """The position of a schema in an object.

    Attributes:
        root: the schema of the innermost whole object.
        steps: from that object to here: names of fields, and None for items.
        in_meta: True within its apiVersion, kind or metadata.
    """

    root: Obj
    steps: tuple[str | None, ...] = ()
    in_meta: bool = False

    def object_with(self, value: Any) -> Obj:
        """Return an object of the root that has the value at this position."""
        for step in reversed(self.steps):
            value = [value] if step is _ITEM else {step: value}
        return {**_TYPE_META, **value}


def _no_rules(_path: str, _schema: Obj, _value: Any) -> list[FieldError]:
    return []


def default_errors(
    schema: Obj, path: str, check: CheckResource, *, pruned: bool = True, judge: CheckRules = _no_rules
) -> list[FieldError]:
    """Return the errors of the defaults in a schema, each checked by itself (ValidateDefaults).

    Args:
        schema: the schema of whole objects, for which `structural_errors` is empty.
        path: the path of the schema.
        check: returns the errors of objects that are defaults, or in them.
        pruned: defaults may not have unknown fields.
        judge: returns the errors of defaults that are valid otherwise.
    """
    root = schema | {EMBEDDED: True}
    return [*_errors(root, path, _Position(root), _Rules(check, judge, pruned=pruned))]


def has_unpruned_default(schema: Obj) -> bool:
    """Return True if a default in the schema, at any depth, has unknown fields."""
    default, subschemas = default_of(schema), (items(schema), values(schema), *properties(schema).values())
    return bool(prune_value(_copy(default), schema)) or any(
        has_unpruned_default(subschema) for subschema in subschemas if subschema is not None
    )


class _Rules:
    """The checks for the defaults of a schema; see `default_errors`."""

    def __init__(self, check: CheckResource, judge: CheckRules, *, pruned: bool) -> None:
        self._check = check
        self._judge = judge
        self._pruned = pruned

    @cached_property
    def _types(self) -> Schema:
        """The types of metadata, the same in all releases; loaded lazily, as few defaults are whole objects."""
        newest = available_versions()[-1]
        return Schema(load_definitions(newest), newest)

    def errors(self, schema: Obj, default: Any, path: str, position: _Position) -> list[FieldError]:
        """Return the errors of a default."""
        if position.in_meta:
            return self._errors_in_meta(schema, default, path, position)
        errors = []
        if self._pruned and not same(_pruned(default, schema), default):
            errors.append(field.invalid(path, in_order(default), "must not have unknown fields"))
        return errors + (self._of_resources(default, schema, path) or self._of_values(schema, default, path))

    def _errors_in_meta(self, schema: Obj, default: Any, path: str, position: _Position) -> list[FieldError]:
        errors = self._of_resources(position.object_with(default), position.root | {EMBEDDED: True}, "")
        if not errors:
            return self._of_values(schema, default, path)
        message = str(errors[0]) if len(errors) == 1 else f"[{', '.join(map(str, errors))}]"
        return [field.invalid(path, in_order(default), f"must result in valid metadata: {message}")]

    def _of_resources(self, value: Any, schema: Obj, path: str) -> list[FieldError]:
        """Return the errors of the whole objects in a value; of malformed objects, only the first is reported."""
        resources = [*embedded_resources(_copy(value), schema, path)]
        try:
            for resource_path, resource in resources:
                coerce_resource(resource, resource_path, self._types, drops=False)
        except MalformedResourceError as malformed:
            return [malformed.error]
        return [error for resource_path, resource in resources for error in self._check(resource_path, resource)]

    def _of_values(self, schema: Obj, default: Any, path: str) -> list[FieldError]:
        return validate_fully(schema, default, minor=_NEWEST).errors(path) or self._judge(path, schema, default)


def _errors(schema: Obj, path: str, position: _Position, rules: _Rules) -> Iterator[FieldError]:
    if schema.get(EMBEDDED):
        position = _Position(schema)
    default = default_of(schema)
    if default is not None:
        yield from rules.errors(schema, default, child(path, "default"), position)
    if (of_items := items(schema)) is not None:
        inner = replace(position, steps=(*position.steps, _ITEM))
        yield from _errors(of_items, child(path, "items"), inner, rules)
    for name, field_schema in properties(schema).items():
        in_meta = position.in_meta or (bool(schema.get(EMBEDDED)) and name in META)
        inner = replace(position, steps=(*position.steps, name), in_meta=in_meta)
        yield from _errors(field_schema, at(child(path, "properties"), name), inner, rules)


def _pruned(default: Any, schema: Obj) -> Any:
    pruned = _copy(default)
    prune_value(pruned, schema)
    return pruned


def _copy(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))
