"""Schemas level by level: words that custom resources' schemas may not have, and what must go together.

The rules are those of ValidateCustomResourceDefinitionOpenAPISchema in apiextensions-apiserver's
pkg/apis/apiextensions/validation/validation.go. What makes a schema structural is another matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, META, PRESERVE
from apiserver.api.validation import checks
from apiserver.apiextensions.validation.lists import merge_errors
from apiserver.apiextensions.validation.strictness import TYPES, Strictness

_LISTS = ("allOf", "oneOf", "anyOf")
_QUADRATIC = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
_EXCLUSIVE = "additionalProperties and properties are mutual exclusive"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in an object a schema stands.

    Attributes:
        no_default: why no default may stand here, "" where one may.
        in_metadata: it is a part of an object's metadata.
    """

    no_default: str = ""
    in_metadata: bool = False


def schema_errors(schema: Obj, strict: Strictness) -> Iterator[FieldError]:
    """What is wrong with an object's schema and those below it, with paths from it."""
    return _walk(schema, _Place(), strict, is_root=True)


def _walk(schema: Any, place: _Place, strict: Strictness, *, is_root: bool = False) -> Iterator[FieldError]:
    if not isinstance(schema, dict):
        return
    yield from _words(schema, place, strict)
    if schema.get("uniqueItems"):
        yield field.forbidden("uniqueItems", _QUADRATIC)
    yield from _below(schema, place, strict, is_root=is_root)
    if schema.get(PRESERVE) is False:
        yield field.invalid(PRESERVE, value=False, detail="must be true or undefined")
    yield from merge_errors(schema, atomic_sets=strict.atomic_sets, sound_keys=strict.sound_keys)


def _words(schema: Obj, place: _Place, strict: Strictness) -> Iterator[FieldError]:
    """Words that are not supported, or not here (specStandardValidatorV3.validate)."""
    kind = schema.get("type") or ""
    if strict.types and kind and kind not in TYPES:
        yield field.not_supported("type", kind, TYPES)
    if "default" in schema and place.no_default:
        yield field.forbidden("default", f"must not be set {place.no_default}")
    for word, used in (
        ("id", bool(schema.get("id"))),
        ("additionalItems", schema.get("additionalItems") is not None),
        ("patternProperties", bool(schema.get("patternProperties"))),
        ("definitions", bool(schema.get("definitions"))),
        ("dependencies", schema.get("dependencies") is not None),
        ("$ref", schema.get("$ref") is not None),
    ):
        if used:
            yield field.forbidden(word, f"{word} is not supported")
    if kind == "null":
        yield field.forbidden("type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield field.forbidden("items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get(EMBEDDED):
        yield field.forbidden(EMBEDDED, "must not be used inside of resource meta")


def _below(schema: Obj, place: _Place, strict: Strictness, *, is_root: bool) -> Iterator[FieldError]:
    """What is wrong with the schemas right below one, and with what is below them."""
    properties, values = schema.get("properties") or {}, schema.get("additionalProperties")
    if values is not None:
        if properties and values is not True:
            yield field.forbidden("additionalProperties", _EXCLUSIVE)
        unknown = "inside additionalProperties applying to object metadata"
        inside = replace(place, no_default=unknown) if place.in_metadata else place
        yield from checks.within("additionalProperties", _walk(values, inside, strict))
    for name, each in properties.items():
        inside = _place_of(name, schema, place, is_root=is_root)
        yield from checks.within(f"properties[{name}]", _walk(each, inside, strict))
    yield from checks.within("not", _walk(schema.get("not"), place, strict))
    for name in _LISTS:
        yield from checks.each(name, schema.get(name), lambda each: _walk(each, place, strict))
    for name, each in (schema.get("definitions") or {}).items():
        yield from checks.within(f"definitions[{name}]", _walk(each, place, strict))
    items = schema.get("items")
    if isinstance(items, list):
        yield from checks.each("items", items, lambda each: _walk(each, place, strict))
    else:
        yield from checks.within("items", _walk(items, place, strict))
    for name, each in (schema.get("dependencies") or {}).items():
        yield from checks.within(f"dependencies[{name}]", _walk(each, place, strict))


def _place_of(name: str, schema: Obj, place: _Place, *, is_root: bool) -> _Place:
    if name not in META or not (is_root or schema.get(EMBEDDED)):
        return place
    return _Place(f"in top-level {name}" if is_root else place.no_default, in_metadata=True)
