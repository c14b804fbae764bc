"""The structural schema invariants, by which the server knows the type of every field of an object.

The rules are those of k8s.io/apiextensions-apiserver/pkg/apiserver/schema: convert.go, validation.go and complete.go;
the reason for them is in KEP-1111. A schema specifies its values outside of allOf, anyOf, oneOf and not; schemas in
those (its junctors) may only narrow which values are valid.
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
"""The position of a schema, in the words of error messages."""

_UNSUPPORTED = {  # keyword of JSON Schema → its name in errors
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}

_SUBSCHEMA_KEYWORDS = frozenset({*JUNCTORS, "not", "items", "additionalProperties", "properties"})
"""The keywords whose values are schemas."""

_ONLY_NAMES = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_NEEDS_PROPERTIES = (
    "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
)

_FORBIDDEN_WITHIN = {  # keyword that does not constrain values → the value that it must have in a junctor
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
    """Return why a schema is not structural, sorted as upstream sorts the errors; empty if it is (ValidateStructural).

    Args:
        schema: the schema of whole objects: spec.versions[].schema.openAPIV3Schema of a CustomResourceDefinition.
        path: its path, such as "spec.versions[0].schema.openAPIV3Schema".
    """
    if reason := unsupported(schema):
        return [field.invalid(path, "", reason)]
    errors = [*_structure(schema, _ROOT, path), *_completeness(schema, schema, path, path)]
    return sorted(errors, key=str)


def unsupported(schema: Obj) -> str:
    """Return why a schema cannot be converted to a structural one, "" if it can (NewStructural).

    Upstream reports this only if the schema has no other error; the keywords in question are refused by validation as
    well.
    """
    if not _UNSUPPORTED.keys().isdisjoint(schema):
        for word, name in _UNSUPPORTED.items():
            value = schema.get(word)
            if value is not None if word == "additionalItems" else value:
                return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.get(PRESERVE) is False:
        return f"internal error: '{PRESERVE}' must be true or undefined"
    if _SUBSCHEMA_KEYWORDS.isdisjoint(schema):  # as most are
        return ""
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, map(unsupported, _below(schema))), "")


def _below(schema: Obj) -> Iterator[Obj]:
    """Yield the schemas right below a schema."""
    for junctor in JUNCTORS:
        yield from schema.get(junctor) or ()
    yield from filter(None, (schema.get("not"), items(schema), values(schema)))
    yield from properties(schema).values()


def _structure(schema: Obj, level: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of a schema outside of junctors, and of all below it (validateStructuralInvariants)."""
    kind, of_items = schema.get("type") or "", items(schema)
    if kind == "array" and of_items is None:
        yield field.required(child(path, "items"), "must be specified")
    if of_items is not None:
        yield from _structure(of_items, _ITEM, child(path, "items"))
    for name, field_schema in properties(schema).items():
        yield from _structure(field_schema, _FIELD, at(child(path, "properties"), name))
    if has_values(schema):
        yield from _values(schema, level, child(path, "additionalProperties"))
    yield from _extensions(schema, path)
    yield from _constraints(schema, path, may_type=_has_int_or_string_types(schema))
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
        message = f"must be object if {EMBEDDED} is true"
        yield field.invalid(path, kind, message) if kind else field.required(path, message)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield field.required(path, f"must not be empty {level}")
    if level == _ROOT and kind and kind != "object":
        yield field.invalid(path, kind, "must be object at the root")


def _meta(schema: Obj, level: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of what a schema says about kind, apiVersion and metadata."""
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
    return any(word not in taken and _is_set(value) for word, value in metadata.items())


def _is_set(value: Any) -> bool:
    """Return True if the value differs from that of an absent keyword; a limit of 0 does."""
    return value is not None and value is not False and value not in ("", [], {})


def _has_int_or_string_types(schema: Obj) -> bool:
    """Return True if the schema's anyOf has exactly the types that an int-or-string needs there."""
    return schema.get("anyOf") == INT_OR_STRING_TYPES


def _constraints(schema: Obj, path: str, *, may_type: bool) -> Iterator[FieldError]:
    """Yield the errors of a schema's constraints (validateValueValidation).

    Args:
        schema: a schema at any level.
        path: its path.
        may_type: its anyOf is that of an int-or-string, which is always valid.
    """
    first_may_type = bool(schema.get("allOf")) and _has_int_or_string_types(schema["allOf"][0])
    for junctor in JUNCTORS:
        if junctor == "anyOf" and may_type:
            continue
        for index, subschema in enumerate(schema.get(junctor) or ()):
            types_allowed = junctor == "allOf" and index == 0 and first_may_type
            yield from _narrowing(subschema, at(child(path, junctor), index), may_type=types_allowed)
    if schema.get("not") is not None:
        yield from _narrowing(schema["not"], child(path, "not"))
    if pattern := schema.get("pattern"):
        try:
            compile_regexp(pattern)
        except ValueError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield field.invalid(child(path, "pattern"), pattern, detail)


def _narrowing(schema: Obj, path: str, *, may_type: bool = False) -> Iterator[FieldError]:
    """Yield the errors of a schema inside of a junctor (validateNestedValueValidation)."""
    yield from _constraints(schema, path, may_type=may_type)
    if (of_items := items(schema)) is not None:
        yield from _narrowing(of_items, child(path, "items"))
    for name, field_schema in properties(schema).items():
        yield from _narrowing(field_schema, at(child(path, "properties"), name))
    if schema.get("type"):
        yield field.forbidden(child(path, "type"), "must be empty to be structural")
    if schema.get("additionalProperties") not in (None, False):
        yield field.forbidden(child(path, "additionalProperties"), "must be undefined to be structural")
    for word, needed in _FORBIDDEN_WITHIN.items():
        if schema.get(word) is not None if word == "default" else _is_set(schema.get(word)):
            yield field.forbidden(child(path, word), f"must be {needed} to be structural")
    if "metadata" in properties(schema):
        metadata = at(child(path, "properties"), "metadata")
        yield field.forbidden(metadata, "must not be specified in a nested context")


def _completeness(schema: Obj, structure: Obj, path: str, within: str) -> Iterator[FieldError]:
    """Yield an error for each part that only junctors specify (validateValueValidationCompleteness).

    Args:
        schema: the schema with the junctors.
        structure: the schema of the same values outside of them.
        path: the path of `structure`.
        within: the path of `schema`.
    """
    if schema.get("not") is not None:
        yield from _complete(schema["not"], structure, path, child(within, "not"))
    for junctor in JUNCTORS:
        for index, subschema in enumerate(schema.get(junctor) or ()):
            yield from _complete(subschema, structure, path, at(child(within, junctor), index))


def _complete(schema: Obj, structure: Obj | None, path: str, within: str) -> Iterator[FieldError]:
    if structure is None:
        yield field.required(path, f"because it is defined in {within}")
        return
    yield from _completeness(schema, structure, path, within)
    if (of_items := items(schema)) is not None:
        yield from _complete(of_items, items(structure), child(path, "items"), child(within, "items"))
    for name, field_schema in properties(schema).items():
        counterpart, counterpart_path = properties(structure).get(name), at(child(path, "properties"), name)
        yield from _complete(field_schema, counterpart, counterpart_path, at(child(within, "properties"), name))
