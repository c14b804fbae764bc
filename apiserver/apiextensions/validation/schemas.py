"""What is wrong with the schema of a version: its root, its structure, its defaults, its words and its rules."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import RULES
from apiserver.api.validation import checks
from apiserver.api.validation.embedded import validate_embedded
from apiserver.apiextensions.rules import default_rule_errors, rule_errors
from apiserver.apiextensions.structural.default_values import default_errors
from apiserver.apiextensions.structural.invariants import structural_errors, unsupported
from apiserver.apiextensions.validation.internal import SCHEMA_FIELDS, printed_schema
from apiserver.apiextensions.validation.strictness import Strictness
from apiserver.apiextensions.validation.traversal import each_schema, schemas_of
from apiserver.apiextensions.validation.walk import schema_errors

_ROOT_FIELDS = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
"""What a root schema may say where the status is a subresource: what stays true of the status alone."""

_NO_OBJECT = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
_ROOT_ONLY = (
    f"only [{' '.join(_ROOT_FIELDS)}] fields are allowed at the root of the schema if the status subresource is enabled"
)


def validation(
    path: str, given: Obj | None, strict: Strictness, *, status: bool, version: str = ""
) -> list[FieldError]:
    """What is wrong with a schema, nothing where there is none.

    Args:
        path: where it stands: that of `given`.
        given: what holds it, as spec.versions[].schema does.
        strict: which rules hold.
        status: the status is a subresource.
        version: whose it is, the first one's where it is that of all.
    """
    schema = (given or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    path = f"{path}.openAPIV3Schema"
    found = [*checks.within(path, _root(schema, status=status))]
    unread = unsupported(schema) if strict.structural else ""
    sound = strict.structural and not unread
    loose: list[FieldError] = []
    if sound:
        loose = structural_errors(schema, path) or default_errors(
            schema, path, validate_embedded, pruned=strict.pruned_defaults, judge=default_rule_errors
        )
    wrong = [*checks.within(path, schema_errors(schema, strict))]
    rules = _rules(schema, path, wrong, strict, compiled=sound and not loose, costly=version in strict.unchanged)
    found += [*loose, *wrong, *rules]
    return found or ([field.invalid(path, "", unread)] if unread else [])


def _rules(
    schema: Obj, path: str, wrong: list[FieldError], strict: Strictness, *, compiled: bool, costly: bool
) -> list[FieldError]:
    """What is wrong with the rules of a schema; what they say is not told of schemas with other mistakes in them.

    Args:
        schema: of whole objects.
        path: where it stands.
        wrong: the other mistakes.
        strict: which expressions may use what.
        compiled: what the rules say is looked at.
        costly: a rule may cost what it costs.
    """
    found = rule_errors(
        schema,
        path,
        expressions=compiled,
        costly=costly,
        release=strict.release,
        preexisting=strict.preexisting,
    )
    if not wrong or not found:
        return found
    written = len(rule_errors(schema, path, expressions=False))
    return found[:written] + [error for error in found[written:] if not _has_mistake(_node_of(error), wrong)]


def _node_of(error: FieldError) -> str:
    """Where the schema stands whose rule an error tells of."""
    return error.path.rpartition(f".{RULES}")[0] or error.path


def _has_mistake(path: str, wrong: list[FieldError]) -> bool:
    return any(error.path == path or error.path.startswith((f"{path}.", f"{path}[")) for error in wrong)


def has_defaults(spec: Obj) -> bool:
    """Is there a default in a schema of a definition, internal or not?"""
    shared = (spec.get("validation") or {}).get("openAPIV3Schema")
    return any("default" in part for schema in (shared, *schemas_of(spec)) for part in each_schema(schema))


def _root(schema: Obj, *, status: bool) -> Iterator[FieldError]:
    """What only the schema of whole objects may not say; of what the status forbids, the first is told."""
    for go, wire in SCHEMA_FIELDS if status else ():
        if not _is_said(schema.get(wire)):
            continue
        if wire == "type" and schema["type"] != "object":
            yield field.invalid("type", schema["type"], _NO_OBJECT)
            break
        if go not in _ROOT_FIELDS:
            yield field.invalid("", printed_schema(schema), _ROOT_ONLY)
            break
    if schema.get("nullable"):
        yield field.forbidden("nullable", "nullable cannot be true at the root")


def _is_said(value: object) -> bool:
    """Is it not the zero value of its Go type? Where that is a pointer, any value is."""
    return value is not None and value not in ("", [])
