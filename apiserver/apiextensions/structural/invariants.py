"""What makes a schema structural, so that the server knows of every field of an object what it is.

The rules are those of k8s.io/apiextensions-apiserver/pkg/apiserver/schema: convert.go, validation.go and complete.go;
the reason for them is in KEP-1111. A schema says what its values are, outside of allOf, anyOf, oneOf and not; what
stands in those may only narrow what values are good.
"""

from collections.abc import Iterator
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.golang.regexp import compile_regexp
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import (
    EMBEDDED,
    INT_OR_STRING,
    INT_OR_STRING_TYPES,
    JUNCTORS,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    RULES,
    at,
    child,
    has_values,
    items,
    properties,
    values,
)

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
"""Where a schema stands, as errors tell it."""

_UNSUPPORTED = {  # word of JSON Schema → its name in errors
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}

_PLACES = frozenset({*JUNCTORS, "not", "items", "additionalProperties", "properties"})
"""Where schemas stand within one."""

_ONLY_NAMES = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_NEEDS_PROPERTIES = (
    "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
)

_FORBIDDEN_WITHIN = {  # what is no constraint on values → what it has to be there
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    PRESERVE: "false",
    EMBEDDED: "false",
    INT_OR_STRING: "false",
    LIST_KEYS: "empty",
    LIST_TYPE: "undefined",
    MAP_TYPE: "undefined",
    RULES: "empty",
}


def structural_errors(schema: Obj, path: str) -> list[FieldError]:
    """Why a schema is not structural, sorted as upstream sorts it; nothing of one that is (ValidateStructural).

    Args:
        schema: of whole objects: spec.versions[].schema.openAPIV3Schema of a CustomResourceDefinition.
        path: where it stands, such as "spec.versions[0].schema.openAPIV3Schema".
    """
    if why := unsupported(schema):
        return [field.invalid(path, "", why)]
    found = [*_structure(schema, _ROOT, path), *_completeness(schema, schema, path, path)]
    return sorted(found, key=str)


def unsupported(schema: Obj) -> str:
    """What keeps a schema from being looked at as a structural one, "" if nothing does (NewStructural).

    Upstream tells this only where it has nothing else to tell of the schema; the words that it is about are refused for
    themselves too.
    """
    if not _UNSUPPORTED.keys().isdisjoint(schema):
        for word, name in _UNSUPPORTED.items():
            value = schema.get(word)
            if value is not None if word == "additionalItems" else value:
                return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.get(PRESERVE) is False:
        return f"internal error: '{PRESERVE}' must be true or undefined"
    if _PLACES.isdisjoint(schema):  # as most are
        return ""
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, map(unsupported, _below(schema))), "")


def _below(schema: Obj) -> Iterator[Obj]:
    """The schemas right below one."""
    for junctor in JUNCTORS:
        yield from schema.get(junctor) or ()
    yield from filter(None, (schema.get("not"), items(schema), values(schema)))
    yield from properties(schema).values()


def _structure(schema: Obj, level: str, path: str) -> Iterator[FieldError]:
    """What is wrong with a schema outside of junctors, and with all below it (validateStructuralInvariants)."""
    kind, of_items = schema.get("type") or "", items(schema)
    if kind == "array" and of_items is None:
        yield field.required(child(path, "items"), "must be specified")
    if of_items is not None:
        yield from _structure(of_items, _ITEM, child(path, "items"))
    for name, each in properties(schema).items():
        yield from _structure(each, _FIELD, at(child(path, "properties"), name))
    if has_values(schema):
        yield from _values(schema, level, child(path, "additionalProperties"))
    yield from _extensions(schema, path)
    yield from _constraints(schema, path, may_type=_types_of_int_or_string(schema))
    yield from _type(schema, kind, level, path)
    yield from _meta(schema, level, path)
    if schema.get(EMBEDDED) and not schema.get(PRESERVE) and not properties(schema):
        yield field.required(child(path, "properties"), _NEEDS_PROPERTIES)


def _values(schema: Obj, level: str, path: str) -> Iterator[FieldError]:
    if level == _ROOT:
        yield field.forbidden(path, "must not be used at the root")
    if (of_values := values(schema)) is not None:
        yield from _structure(of_values, _FIELD, path)
    if schema.get(EMBEDDED):
        yield field.forbidden(path, f"must not be used if {EMBEDDED} is set")


def _extensions(schema: Obj, path: str) -> Iterator[FieldError]:
    if schema.get(INT_OR_STRING):
        for word in (PRESERVE, EMBEDDED):
            if schema.get(word):
                yield field.invalid(child(path, word), value=True, detail=f"must be false if {INT_OR_STRING} is true")


def _type(schema: Obj, kind: str, level: str, path: str) -> Iterator[FieldError]:
    path = child(path, "type")
    if schema.get(EMBEDDED) and kind != "object":
        words = f"must be object if {EMBEDDED} is true"
        yield field.invalid(path, kind, words) if kind else field.required(path, words)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield field.required(path, f"must not be empty {level}")
    if level == _ROOT and kind and kind != "object":
        yield field.invalid(path, kind, "must be object at the root")


def _meta(schema: Obj, level: str, path: str) -> Iterator[FieldError]:
    """What a schema may say of the fields that all objects have."""
    named, path = properties(schema), child(path, "properties")
    of_object = level == _ROOT or bool(schema.get(EMBEDDED))
    for name in ("kind", "apiVersion"):
        if of_object and name in named and named[name].get("type") != "string":
            yield field.invalid(child(at(path, name), "type"), named[name].get("type") or "", "must be string")
    metadata, path = named.get("metadata"), at(path, "metadata")
    if metadata is None:
        return
    if of_object and metadata.get("type") != "object":
        yield field.invalid(child(path, "type"), metadata.get("type") or "", "must be object")
    if level == _ROOT and _restricts_more_than_names(metadata):
        yield field.forbidden(path, _ONLY_NAMES)


def _restricts_more_than_names(metadata: Obj) -> bool:
    named = {"name", "generateName"} >= properties(metadata).keys()
    taken = {"type", "default", *(("properties",) if named else ())}
    return any(word not in taken and _is_said(value) for word, value in metadata.items())


def _is_said(value: Any) -> bool:
    """Is it another value than that of a word which is absent? A limit of 0 is."""
    return value is not None and value is not False and value not in ("", [], {})


def _types_of_int_or_string(schema: Obj) -> bool:
    """Are the types in its first junctor there as they have to be in one of an int-or-string?"""
    return schema.get("anyOf") == INT_OR_STRING_TYPES


def _constraints(schema: Obj, path: str, *, may_type: bool) -> Iterator[FieldError]:
    """What is wrong with the constraints of a schema (validateValueValidation).

    Args:
        schema: of any level.
        path: where it stands.
        may_type: its anyOf is that of an int-or-string, in which nothing is wrong.
    """
    first_may_type = bool(schema.get("allOf")) and _types_of_int_or_string(schema["allOf"][0])
    for junctor in JUNCTORS:
        if junctor == "anyOf" and may_type:
            continue
        for index, each in enumerate(schema.get(junctor) or ()):
            types = junctor == "allOf" and index == 0 and first_may_type
            yield from _narrowing(each, at(child(path, junctor), index), may_type=types)
    if schema.get("not") is not None:
        yield from _narrowing(schema["not"], child(path, "not"))
    if pattern := schema.get("pattern"):
        try:
            compile_regexp(pattern)
        except ValueError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield field.invalid(child(path, "pattern"), pattern, detail)


def _narrowing(schema: Obj, path: str, *, may_type: bool = False) -> Iterator[FieldError]:
    """What is wrong with a schema inside of a junctor (validateNestedValueValidation)."""
    yield from _constraints(schema, path, may_type=may_type)
    if (of_items := items(schema)) is not None:
        yield from _narrowing(of_items, child(path, "items"))
    for name, each in properties(schema).items():
        yield from _narrowing(each, at(child(path, "properties"), name))
    if schema.get("type"):
        yield field.forbidden(child(path, "type"), "must be empty to be structural")
    if schema.get("additionalProperties") not in (None, False):
        yield field.forbidden(child(path, "additionalProperties"), "must be undefined to be structural")
    for word, needed in _FORBIDDEN_WITHIN.items():
        if schema.get(word) is not None if word == "default" else _is_said(schema.get(word)):
            yield field.forbidden(child(path, word), f"must be {needed} to be structural")
    if "metadata" in properties(schema):
        metadata = at(child(path, "properties"), "metadata")
        yield field.forbidden(metadata, "must not be specified in a nested context")


def _completeness(schema: Obj, structure: Obj, path: str, within: str) -> Iterator[FieldError]:
    """Which parts a junctor narrows that nothing is said of outside of it (validateValueValidationCompleteness).

    Args:
        schema: with the junctors.
        structure: what is said of the same values outside of them.
        path: where `structure` stands.
        within: where `schema` stands.
    """
    if schema.get("not") is not None:
        yield from _complete(schema["not"], structure, path, child(within, "not"))
    for junctor in JUNCTORS:
        for index, each in enumerate(schema.get(junctor) or ()):
            yield from _complete(each, structure, path, at(child(within, junctor), index))


def _complete(schema: Obj, structure: Obj | None, path: str, within: str) -> Iterator[FieldError]:
    if structure is None:
        yield field.required(path, f"because it is defined in {within}")
        return
    yield from _completeness(schema, structure, path, within)
    if (of_items := items(schema)) is not None:
        yield from _complete(of_items, items(structure), child(path, "items"), child(within, "items"))
    for name, each in properties(schema).items():
        known, place = properties(structure).get(name), at(child(path, "properties"), name)
        yield from _complete(each, known, place, at(child(within, "properties"), name))
