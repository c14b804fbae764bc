"""Strictness: which rules an update must keep; errors that a stored definition already has may remain.

Some rules were added when definitions that break them were already stored (validationOptions of
apiextensions-apiserver's pkg/apis/apiextensions/validation/validation.go; upstream calls this ratcheting).
"""

from dataclasses import dataclass, field
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, PRESERVE, RULES
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.crds.conditions import is_condition_true
from apiserver.apiextensions.crds.names import ESTABLISHED
from apiserver.apiextensions.rules import PreexistingExpressions
from apiserver.apiextensions.structural.default_values import has_unpruned_default
from apiserver.apiextensions.structural.invariants import structural_errors
from apiserver.apiextensions.validation.internal import internal
from apiserver.apiextensions.validation.lists import has_loose_keys, has_loose_set
from apiserver.apiextensions.validation.traversal import each_schema, schemas_of
from apiserver.apiextensions.validation.versions import MAX_SELECTABLE_FIELDS

REVIEW_VERSIONS = frozenset({"v1", "v1beta1"})
"""The versions of ConversionReview that an API server understands."""

TYPES = ("array", "boolean", "integer", "number", "object", "string")
"""The types that a value of a custom resource can have."""

_NEEDING_STRUCTURE = frozenset({"default", EMBEDDED, PRESERVE, INT_OR_STRING, LIST_KEYS, LIST_TYPE, RULES})


@dataclass(frozen=True, slots=True)
class Strictness:
    """The rules that apply; for a new definition all of them do, except those for established definitions.

    Attributes:
        review_versions: a webhook must understand a version of ConversionReview that the server understands.
        immutable_names: the kind and the scope may not change.
        schemas: every version must have a schema.
        types: types must be among TYPES.
        structural: schemas must be structural.
        pruned_defaults: defaults may not have unknown fields.
        atomic_sets: items of sets must be atomic.
        sound_keys: items of list maps must have their keys.
        ca_bundle: a webhook's CA bundle must have a certificate.
        preserved: preserveUnknownFields may stay true.
        many_fields: versions that may keep too many selectable fields; "" stands for those that all share.
        unchanged: versions whose schema is unchanged, so that each of its rules may cost any amount.
        release: the minor release of the server, 0 for the newest; it decides what new rules may use.
        preexisting: the expressions that the definition had before, which may use more.
    """

    review_versions: bool = True
    immutable_names: bool = False
    schemas: bool = True
    types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    sound_keys: bool = True
    ca_bundle: bool = False
    preserved: bool = False
    many_fields: frozenset[str] = frozenset()
    unchanged: frozenset[str] = frozenset()
    release: int = 0
    preexisting: PreexistingExpressions = field(default_factory=PreexistingExpressions)


def strictness_of_update(new: Obj, old: Obj, release: int = 0) -> Strictness:
    """Return the rules that apply to an update of a definition, on a server of a minor release."""
    spec = old.get("spec") or {}
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    schemas = [*schemas_of(spec)]
    subschemas = [subschema for schema in schemas for subschema in each_schema(schema)]
    established = is_condition_true(old, ESTABLISHED)
    versions = webhook.get("conversionReviewVersions") or ()
    return Strictness(
        review_versions=not versions or not REVIEW_VERSIONS.isdisjoint(versions),
        immutable_names=established,
        schemas=len(schemas) == len(spec.get("versions") or ()),
        types=all((subschema.get("type") or "object") in TYPES for subschema in subschemas),
        structural=_needs_structure(new.get("spec") or {})
        or not any(structural_errors(version_schema, "") for version_schema in schemas),
        pruned_defaults=not any(map(has_unpruned_default, schemas)),
        atomic_sets=not any(map(has_loose_set, subschemas)),
        sound_keys=not any(map(has_loose_keys, subschemas)),
        ca_bundle=established and not ca_bundle_problem((webhook.get("clientConfig") or {}).get("caBundle") or ""),
        preserved=bool(spec.get("preserveUnknownFields")),
        many_fields=_many_fields(internal(new.get("spec") or {}), internal(spec)),
        unchanged=_unchanged(new.get("spec") or {}, spec),
        release=release,
        preexisting=_expressions(subschemas),
    )


def _expressions(subschemas: list[Obj]) -> PreexistingExpressions:
    """Return the expressions in schemas."""
    rules = [rule for subschema in subschemas for rule in subschema.get(RULES) or ()]
    return PreexistingExpressions(
        frozenset(rule.get("rule") or "" for rule in rules),
        frozenset(rule["messageExpression"] for rule in rules if rule.get("messageExpression")),
    )


def _needs_structure(spec: Obj) -> bool:
    """Return True if the definition uses features that require structural schemas."""
    subschemas = (subschema for schema in schemas_of(spec) for subschema in each_schema(schema))
    return not spec.get("preserveUnknownFields") or any(
        not _NEEDING_STRUCTURE.isdisjoint(subschema) for subschema in subschemas
    )


def _many_fields(new: Obj, old: Obj) -> frozenset[str]:
    """Return the versions of an internal spec that have too many selectable fields, unchanged from before."""
    old_fields = _by_version(old, "selectableFields")
    new_fields = _by_version(new, "selectableFields")
    most = MAX_SELECTABLE_FIELDS
    return frozenset(
        name for name, fields in new_fields.items() if len(fields or ()) > most and old_fields.get(name) == fields
    )


def _by_version(spec: Obj, name: str) -> dict[str, Any]:
    """Return a field of each version of an internal spec by version, and the shared one under ""."""
    return {"": spec.get(name)} | {
        version.get("name") or "": version.get(name) for version in spec.get("versions") or ()
    }


def _unchanged(new: Obj, old: Obj) -> frozenset[str]:
    """Return the versions whose schema is unchanged."""
    old_schemas = {version.get("name"): version.get("schema") for version in old.get("versions") or ()}
    return frozenset(
        version["name"]
        for version in new.get("versions") or ()
        if version.get("name") in old_schemas and old_schemas[version["name"]] == version.get("schema")
    )
