"""Validation of a schema level by level: keywords that are not supported, and keywords that exclude each other.

The rules are those of ValidateCustomResourceDefinitionOpenAPISchema in apiextensions-apiserver's
pkg/apis/apiextensions/validation/validation.go. The structural schema invariants are validated elsewhere.
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
class _Position:
    """The position of a schema in an object.

    Attributes:
        no_default: why a default is not allowed here, "" if it is.
        in_metadata: True if it is a part of an object's metadata.
    """

    no_default: str = ""
    in_metadata: bool = False


def schema_errors(schema: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Yield the errors of an object's schema and those below it, with paths relative to it."""
    return _walk(schema, _Position(), strict, is_root=True)


def _walk(schema: Any, position: _Position, strict: Strictness, *, is_root: bool = False) -> Iterator[FieldError]:
    if not isinstance(schema, dict):
        return
    yield from _keywords(schema, position, strict)
    if schema.get("uniqueItems"):
        yield field.forbidden("uniqueItems", _QUADRATIC)
    yield from _below(schema, position, strict, is_root=is_root)
    if schema.get(PRESERVE) is False:
        yield field.invalid(PRESERVE, value=False, detail="must be true or undefined")
    yield from merge_errors(schema, atomic_sets=strict.atomic_sets, sound_keys=strict.sound_keys)


def _keywords(schema: Obj, position: _Position, strict: Strictness) -> Iterator[FieldError]:
    """Yield the errors of keywords that are not supported, or not allowed here (specStandardValidatorV3.validate)."""
    kind = schema.get("type") or ""
    if strict.types and kind and kind not in TYPES:
        yield field.not_supported("type", kind, TYPES)
    if "default" in schema and position.no_default:
        yield field.forbidden("default", f"must not be set {position.no_default}")
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
    if position.in_metadata and schema.get(EMBEDDED):
        yield field.forbidden(EMBEDDED, "must not be used inside of resource meta")


def _below(schema: Obj, position: _Position, strict: Strictness, *, is_root: bool) -> Iterator[FieldError]:
    """Yield the errors of all schemas below one."""
    properties, values = schema.get("properties") or {}, schema.get("additionalProperties")
    if values is not None:
        if properties and values is not True:
            yield field.forbidden("additionalProperties", _EXCLUSIVE)
        no_default = "inside additionalProperties applying to object metadata"
        inner = replace(position, no_default=no_default) if position.in_metadata else position
        yield from checks.prefix_errors("additionalProperties", _walk(values, inner, strict))
    for name, subschema in properties.items():
        inner = _position_of(name, schema, position, is_root=is_root)
        yield from checks.prefix_errors(f"properties[{name}]", _walk(subschema, inner, strict))
    yield from checks.prefix_errors("not", _walk(schema.get("not"), position, strict))
    for name in _LISTS:
        yield from checks.each(name, schema.get(name), lambda subschema: _walk(subschema, position, strict))
    for name, subschema in (schema.get("definitions") or {}).items():
        yield from checks.prefix_errors(f"definitions[{name}]", _walk(subschema, position, strict))
    items = schema.get("items")
    if isinstance(items, list):
        yield from checks.each("items", items, lambda subschema: _walk(subschema, position, strict))
    else:
        yield from checks.prefix_errors("items", _walk(items, position, strict))
    for name, subschema in (schema.get("dependencies") or {}).items():
        yield from checks.prefix_errors(f"dependencies[{name}]", _walk(subschema, position, strict))


def _position_of(name: str, schema: Obj, position: _Position, *, is_root: bool) -> _Position:
    if name not in META or not (is_root or schema.get(EMBEDDED)):
        return position
    return _Position(f"in top-level {name}" if is_root else position.no_default, in_metadata=True)
