"""Validation of a version's schema: its root, its structure, its defaults, its keywords and its rules."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, META, PRESERVE, RULES
from apiserver.api.validation import checks
from apiserver.api.validation.embedded import validate_embedded
from apiserver.apiextensions.rules import default_rule_errors, rule_errors
from apiserver.apiextensions.structural.default_values import default_errors
from apiserver.apiextensions.structural.invariants import structural_errors, unsupported
from apiserver.apiextensions.validation.internal import SCHEMA_FIELDS, printed_schema
from apiserver.apiextensions.validation.lists import merge_errors
from apiserver.apiextensions.validation.strictness import TYPES, Strictness
from apiserver.apiextensions.validation.traversal import each_schema, schemas_of

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


_ROOT_FIELDS = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
"""The fields of a root schema if the status is a subresource: those that also make sense for the status alone."""

_NO_OBJECT = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
_ROOT_ONLY = (
    f"only [{' '.join(_ROOT_FIELDS)}] fields are allowed at the root of the schema if the status subresource is enabled"
)


def validation(
    path: str, given: Obj | None, strict: Strictness, *, status: bool, version: str = ""
) -> list[FieldError]:
    """Return the errors of a schema; empty if there is none.

    Args:
        path: the path of `given`.
        given: the object that has the schema, as spec.versions[].schema is.
        strict: the rules that apply.
        status: True if the status is a subresource.
        version: the name of its version, the first one's for a schema shared by all.
    """
    schema = (given or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    path = f"{path}.openAPIV3Schema"
    errors = [*checks.prefix_errors(path, _root(schema, status=status))]
    unsupported_reason = unsupported(schema) if strict.structural else ""
    is_structural = strict.structural and not unsupported_reason
    structural: list[FieldError] = []
    if is_structural:
        structural = structural_errors(schema, path) or default_errors(
            schema, path, validate_embedded, pruned=strict.pruned_defaults, judge=default_rule_errors
        )
    keyword_errors = [*checks.prefix_errors(path, schema_errors(schema, strict))]
    rules = _rules(
        schema,
        path,
        keyword_errors,
        strict,
        compiled=is_structural and not structural,
        costly=version in strict.unchanged,
    )
    errors += [*structural, *keyword_errors, *rules]
    return errors or ([field.invalid(path, "", unsupported_reason)] if unsupported_reason else [])


def _rules(
    schema: Obj, path: str, wrong: list[FieldError], strict: Strictness, *, compiled: bool, costly: bool
) -> list[FieldError]:
    """Return the errors of the rules in a schema; those of expressions only for subschemas without other errors.

    Args:
        schema: the schema of whole objects.
        path: its path.
        wrong: the other errors.
        strict: decides which expressions may use what.
        compiled: True if expressions are compiled.
        costly: True if a single rule may cost any amount.
    """
    errors = rule_errors(
        schema,
        path,
        expressions=compiled,
        costly=costly,
        release=strict.release,
        preexisting=strict.preexisting,
    )
    if not wrong or not errors:
        return errors
    form_error_count = len(rule_errors(schema, path, expressions=False))
    return errors[:form_error_count] + [
        error for error in errors[form_error_count:] if not _has_mistake(_node_of(error), wrong)
    ]


def _node_of(error: FieldError) -> str:
    """Return the path of the schema whose rule an error is about."""
    return error.path.rpartition(f".{RULES}")[0] or error.path


def _has_mistake(path: str, errors: list[FieldError]) -> bool:
    return any(error.path == path or error.path.startswith((f"{path}.", f"{path}[")) for error in errors)


def has_defaults(spec: Obj) -> bool:
    """Return True if a schema of a definition, internal or not, has a default."""
    shared = (spec.get("validation") or {}).get("openAPIV3Schema")
    return any("default" in part for schema in (shared, *schemas_of(spec)) for part in each_schema(schema))


def _root(schema: Obj, *, status: bool) -> Iterator[FieldError]:
    """Yield the errors of the root of a schema; of fields that a status subresource forbids, only the first."""
    for go, wire in SCHEMA_FIELDS if status else ():
        if not _is_set(schema.get(wire)):
            continue
        if wire == "type" and schema["type"] != "object":
            yield field.invalid("type", schema["type"], _NO_OBJECT)
            break
        if go not in _ROOT_FIELDS:
            yield field.invalid("", printed_schema(schema), _ROOT_ONLY)
            break
    if schema.get("nullable"):
        yield field.forbidden("nullable", "nullable cannot be true at the root")


def _is_set(value: object) -> bool:
    """Return True if the value differs from the zero value of its Go type; for a pointer, any value does."""
    return value is not None and value not in ("", [])
