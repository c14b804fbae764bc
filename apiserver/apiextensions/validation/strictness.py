"""How strict an update is: what was wrong with a definition before may stay wrong, so that it can be written at all.

Rules came when definitions were stored already that break them (validationOptions of apiextensions-apiserver's
pkg/apis/apiextensions/validation/validation.go, which calls this ratcheting).
"""

from dataclasses import dataclass, field
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, PRESERVE, RULES
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.crds.conditions import holds
from apiserver.apiextensions.crds.names import ESTABLISHED
from apiserver.apiextensions.rules import Preexisting
from apiserver.apiextensions.structural.default_values import has_unpruned_default
from apiserver.apiextensions.structural.invariants import structural_errors
from apiserver.apiextensions.validation.internal import internal
from apiserver.apiextensions.validation.lists import has_loose_keys, has_loose_set
from apiserver.apiextensions.validation.traversal import each_schema, schemas_of
from apiserver.apiextensions.validation.versions import MOST_SELECTABLE_FIELDS

REVIEW_VERSIONS = frozenset({"v1", "v1beta1"})
"""The versions of ConversionReview that an API server understands."""

TYPES = ("array", "boolean", "integer", "number", "object", "string")
"""The types that a value of a custom resource can have."""

_NEEDING_STRUCTURE = frozenset({"default", EMBEDDED, PRESERVE, INT_OR_STRING, LIST_KEYS, LIST_TYPE, RULES})


@dataclass(frozen=True, slots=True)
class Strictness:
    """Which rules hold; all of them do for a new definition, but those on what only an established one has.

    Attributes:
        review_versions: a webhook must understand a version of ConversionReview that the server does.
        immutable_names: the kind and the scope stay.
        schemas: every version has a schema.
        types: types are those of TYPES.
        structural: schemas are structural.
        pruned_defaults: defaults have no fields that their schema has not.
        atomic_sets: items of sets are one value each.
        sound_keys: items of maps have their keys.
        ca_bundle: a webhook's bundle has a certificate.
        preserved: unknown fields of all objects may be kept, as they were.
        many_fields: versions that may have too many selectable fields, as they had; "" is all of them.
        unchanged: versions whose schema is as it was, so that each of its rules may cost what it costs.
        release: the minor release of the server, 0 for the newest: what new rules may use.
        preexisting: the expressions that were there, which may use more.
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
    preexisting: Preexisting = field(default_factory=Preexisting)


def strictness_of_update(new: Obj, old: Obj, release: int = 0) -> Strictness:
    """Which rules an update of the old definition to the new one has to keep, on a server of a minor release."""
    spec = old.get("spec") or {}
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    schemas = [*schemas_of(spec)]
    parts = [part for schema in schemas for part in each_schema(schema)]
    established = holds(old, ESTABLISHED)
    versions = webhook.get("conversionReviewVersions") or ()
    return Strictness(
        review_versions=not versions or not REVIEW_VERSIONS.isdisjoint(versions),
        immutable_names=established,
        schemas=len(schemas) == len(spec.get("versions") or ()),
        types=all((part.get("type") or "object") in TYPES for part in parts),
        structural=_needs_structure(new.get("spec") or {}) or not any(structural_errors(each, "") for each in schemas),
        pruned_defaults=not any(map(has_unpruned_default, schemas)),
        atomic_sets=not any(map(has_loose_set, parts)),
        sound_keys=not any(map(has_loose_keys, parts)),
        ca_bundle=established and not ca_bundle_problem((webhook.get("clientConfig") or {}).get("caBundle") or ""),
        preserved=bool(spec.get("preserveUnknownFields")),
        many_fields=_many_fields(internal(new.get("spec") or {}), internal(spec)),
        unchanged=_unchanged(new.get("spec") or {}, spec),
        release=release,
        preexisting=_expressions(parts),
    )


def _expressions(parts: list[Obj]) -> Preexisting:
    """The expressions of schemas."""
    rules = [rule for part in parts for rule in part.get(RULES) or ()]
    return Preexisting(
        frozenset(rule.get("rule") or "" for rule in rules),
        frozenset(rule["messageExpression"] for rule in rules if rule.get("messageExpression")),
    )


def _needs_structure(spec: Obj) -> bool:
    """Does the definition use what works with structural schemas alone, whatever it said before?"""
    parts = (part for schema in schemas_of(spec) for part in each_schema(schema))
    return not spec.get("preserveUnknownFields") or any(not _NEEDING_STRUCTURE.isdisjoint(part) for part in parts)


def _many_fields(new: Obj, old: Obj) -> frozenset[str]:
    """The versions of an internal spec that had too many selectable fields and have the same now."""
    before = _by_version(old, "selectableFields")
    now = _by_version(new, "selectableFields")
    most = MOST_SELECTABLE_FIELDS
    return frozenset(name for name, fields in now.items() if len(fields or ()) > most and before.get(name) == fields)


def _by_version(spec: Obj, part: str) -> dict[str, Any]:
    """What each version of an internal spec has of its own, and under "" what they share."""
    return {"": spec.get(part)} | {each.get("name") or "": each.get(part) for each in spec.get("versions") or ()}


def _unchanged(new: Obj, old: Obj) -> frozenset[str]:
    """The versions whose schema is as it was."""
    before = {each.get("name"): each.get("schema") for each in old.get("versions") or ()}
    return frozenset(
        each["name"]
        for each in new.get("versions") or ()
        if each.get("name") in before and before[each["name"]] == each.get("schema")
    )
