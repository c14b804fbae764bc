"""The condition NonStructuralSchema, which a definition has only if one of its schemas is not structural.

Validation refuses such schemas in new definitions; stored definitions may have them
(apiextensions-apiserver/pkg/controller/nonstructuralschema).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.conditions import (
    condition,
    find_condition,
    is_equivalent,
    with_condition,
    without_condition,
)
from apiserver.apiextensions.structural.invariants import structural_errors, unsupported

CONDITION = "NonStructuralSchema"


CalculateCondition = Callable[[Obj], Obj | None]


def structural_condition(definition: Obj) -> Obj | None:
    """Return the condition, without its time, that a definition needs; None for none. It walks the schemas."""
    return _verdict(definition["spec"])


def update_structural_condition(
    definition: Obj, now: str, verdict: CalculateCondition = structural_condition
) -> Obj | None:
    """Return the definition with the condition that says why it is not structural, or without it; None: no change.

    Args:
        definition: it is not changed.
        now: the current time, in the format of objects.
        verdict: returns the condition that the definition needs; it may be cached.
    """
    current, desired = find_condition(definition, CONDITION), verdict(definition)
    if is_equivalent(current, desired):
        return None
    return with_condition(definition, desired, now) if desired else without_condition(definition, CONDITION)


def _verdict(spec: Obj) -> Obj | None:
    for versioned in _schemas(spec):
        if reason := unsupported(versioned.schema):
            message = f"failed to check validation schema for version {versioned.version}: {reason}"
            return condition(CONDITION, "Unknown", "StructuralError", message)
    violations = list(dict.fromkeys(map(str, _violations(spec))))
    message = f"[{', '.join(violations)}]" if len(violations) > 1 else "".join(violations)
    return condition(CONDITION, "True", "Violations", message) if message else None


def _violations(spec: Obj) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields"):
        yield field.invalid("spec.preserveUnknownFields", value=True, detail="must be false")
    for versioned in _schemas(spec):
        yield from structural_errors(versioned.schema, versioned.path)


@dataclass(frozen=True, slots=True)
class _VersionSchema:
    """A schema, its version, and its path in the definition."""

    version: str
    path: str
    schema: Obj


def _schemas(spec: Obj) -> Iterator[_VersionSchema]:
    """Yield the schemas of all versions that have one."""
    for index, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield _VersionSchema(version.get("name") or "", f"spec.versions[{index}].schema.openAPIV3Schema", schema)
