"""Whether the defaults of a schema are what it says of its values (schema/defaulting/validation.go)."""

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
from apiserver.apiextensions.structural.full_validation import explain
from apiserver.apiextensions.structural.pruning import prune_value

CheckResource = Callable[[str, Obj], list[FieldError]]
"""What is wrong with an object's version, kind and metadata (path, object), whose types are right."""

CheckRules = Callable[[str, Obj, Any], list[FieldError]]
"""What is wrong with a value by the rules of its schema (path, schema, value)."""

_NEWEST = 1 << 16
_ITEM = None
_TYPE_META: Obj = {"apiVersion": "validation/v1", "kind": "Validation"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in an object a schema stands.

    Attributes:
        root: the schema of the innermost whole object.
        steps: from that object to here: names of fields, and None for items.
        in_meta: within its apiVersion, kind or metadata.
    """

    root: Obj
    steps: tuple[str | None, ...] = ()
    in_meta: bool = False

    def object_with(self, value: Any) -> Obj:
        """An object of the root in which the value stands here."""
        for step in reversed(self.steps):
            value = [value] if step is _ITEM else {step: value}
        return {**_TYPE_META, **value}


def _no_rules(_path: str, _schema: Obj, _value: Any) -> list[FieldError]:
    return []


def default_errors(
    schema: Obj, path: str, check: CheckResource, *, pruned: bool = True, judge: CheckRules = _no_rules
) -> list[FieldError]:
    """What is wrong with the defaults of a schema, each by itself (ValidateDefaults).

    Args:
        schema: of whole objects; `structural_errors` tells nothing of it.
        path: where it stands.
        check: what is wrong with objects that are defaults, or in them.
        pruned: defaults may not have unknown fields.
        judge: what is wrong with defaults that are good otherwise.
    """
    root = schema | {EMBEDDED: True}
    return [*_errors(root, path, _Place(root), _Rules(check, judge, pruned=pruned))]


def has_unpruned_default(schema: Obj) -> bool:
    """Has a default unknown fields, of the schema or of one below it?"""
    default, below = default_of(schema), (items(schema), values(schema), *properties(schema).values())
    return bool(prune_value(_copy(default), schema)) or any(
        has_unpruned_default(each) for each in below if each is not None
    )


class _Rules:
    """What the defaults of a schema are held to; see `default_errors`."""

    def __init__(self, check: CheckResource, judge: CheckRules, *, pruned: bool) -> None:
        self._check = check
        self._judge = judge
        self._pruned = pruned

    @cached_property
    def _types(self) -> Schema:
        """The types of metadata, the same in all releases; defaults that are whole objects are rare."""
        newest = available_versions()[-1]
        return Schema(load_definitions(newest), newest)

    def errors(self, schema: Obj, default: Any, path: str, place: _Place) -> list[FieldError]:
        """What is wrong with a default."""
        if place.in_meta:
            return self._errors_in_meta(schema, default, path, place)
        found = []
        if self._pruned and not same(_pruned(default, schema), default):
            found.append(field.invalid(path, in_order(default), "must not have unknown fields"))
        return found + (self._of_resources(default, schema, path) or self._of_values(schema, default, path))

    def _errors_in_meta(self, schema: Obj, default: Any, path: str, place: _Place) -> list[FieldError]:
        wrong = self._of_resources(place.object_with(default), place.root | {EMBEDDED: True}, "")
        if not wrong:
            return self._of_values(schema, default, path)
        told = str(wrong[0]) if len(wrong) == 1 else f"[{', '.join(map(str, wrong))}]"
        return [field.invalid(path, in_order(default), f"must result in valid metadata: {told}")]

    def _of_resources(self, value: Any, schema: Obj, path: str) -> list[FieldError]:
        """What is wrong with the whole objects in a value; of those that are malformed, the first is told."""
        resources = [*embedded_resources(_copy(value), schema, path)]
        try:
            for place, each in resources:
                coerce_resource(each, place, self._types, drops=False)
        except MalformedResourceError as malformed:
            return [malformed.error]
        return [error for place, each in resources for error in self._check(place, each)]

    def _of_values(self, schema: Obj, default: Any, path: str) -> list[FieldError]:
        return explain(schema, default, minor=_NEWEST).errors(path) or self._judge(path, schema, default)


def _errors(schema: Obj, path: str, place: _Place, rules: _Rules) -> Iterator[FieldError]:
    if schema.get(EMBEDDED):
        place = _Place(schema)
    default = default_of(schema)
    if default is not None:
        yield from rules.errors(schema, default, child(path, "default"), place)
    if (of_items := items(schema)) is not None:
        inside = replace(place, steps=(*place.steps, _ITEM))
        yield from _errors(of_items, child(path, "items"), inside, rules)
    for name, each in properties(schema).items():
        in_meta = place.in_meta or (bool(schema.get(EMBEDDED)) and name in META)
        inside = replace(place, steps=(*place.steps, name), in_meta=in_meta)
        yield from _errors(each, at(child(path, "properties"), name), inside, rules)


def _pruned(default: Any, schema: Obj) -> Any:
    made = _copy(default)
    prune_value(made, schema)
    return made


def _copy(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))
