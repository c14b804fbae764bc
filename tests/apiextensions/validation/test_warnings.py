"""The warnings that the writer of a definition gets."""

from typing import Any

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.warnings import definition_warnings

SET = {"type": "array", "x-kubernetes-list-type": "set"}
NO_SET = (
    'x-kubernetes-list-type: set for items of type "{}" is not supported by server-side apply or CEL validation rules'
)


def definition(*schemas: Obj) -> Obj:
    made = [{"openAPIV3Schema": {"type": "object", "properties": schema}} for schema in schemas]
    return {"spec": {"versions": [{"name": f"v{index}", "schema": schema} for index, schema in enumerate(made)]}}


def warned(*schemas: Any, old: Obj | None = None, minor: int = 37) -> list[str]:
    return [*definition_warnings(definition(*schemas), old, minor)]


def test_formats_that_no_value_is_held_to_are_told():
    fields = {
        "a": {"type": "string", "format": "date-time"},
        "b": {"type": "string", "format": "strange"},
        "c": {"type": "integer", "format": "double"},
        "d": {"type": "number", "format": "double"},
        "e": {"type": "boolean", "format": "date"},
    }
    assert warned(fields) == [f'unrecognized format "{name}"' for name in ("strange", "double", "date")]


def test_releases_warn_of_formats_since_34_and_of_sets_since_37():
    fields = {"a": {"type": "string", "format": "strange"}, "b": SET | {"items": {"type": "array"}}}
    assert warned(fields, minor=33) == []
    assert warned(fields, minor=36) == ['unrecognized format "strange"']
    assert warned(fields, minor=37) == ['unrecognized format "strange"', NO_SET.format("array")]


def test_what_stands_in_several_versions_is_told_once():
    fields = {"a": {"type": "string", "format": "strange"}}
    other = {"b": {"type": "string", "format": "strange"}}
    assert warned(fields, fields | other) == ['unrecognized format "strange"']


def test_sets_of_what_is_no_scalar_are_told():
    fields = {
        "a": SET | {"items": {"type": "object"}},
        "b": SET | {"items": {"type": "array"}},
        "c": SET | {"items": {"type": "object"}},
        "d": SET | {"items": {"type": "string"}},
    }
    assert warned(fields) == [NO_SET.format("array"), NO_SET.format("object")]


def test_an_update_is_warned_of_what_is_new():
    before = {"a": {"type": "string", "format": "strange"}, "b": SET | {"items": {"type": "object"}}}
    later = before | {"c": {"type": "string", "format": "odd"}, "d": SET | {"items": {"type": "array"}}}
    assert warned(before, old=definition(before)) == []
    assert warned(later, old=definition(before)) == ['unrecognized format "odd"', NO_SET.format("array")]
