"""Whether a definition's schemas are structural, as a condition tells it: only of those where one is not.

The rules for new definitions leave no such schema; what is stored already may have one
(apiextensions-apiserver/pkg/controller/nonstructuralschema).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.conditions import condition, found, same, with_condition, without_condition
from apiserver.apiextensions.structural.invariants import structural_errors, unsupported

CONDITION = "NonStructuralSchema"


Verdict = Callable[[Obj], Obj | None]


def verdict_on(definition: Obj) -> Obj | None:
    """The condition, without its time, that a definition deserves; None for none. Its schemas are walked."""
    return _verdict(definition["spec"])


def judge_structure(definition: Obj, now: str, verdict: Verdict = verdict_on) -> Obj | None:
    """The definition with the condition that tells why it is not structural, or without one; None: no change.

    Args:
        definition: stays as it is.
        now: the time, as objects have it.
        verdict: tells what the definition deserves, which may be known.
    """
    known, wanted = found(definition, CONDITION), verdict(definition)
    if same(known, wanted):
        return None
    return with_condition(definition, wanted, now) if wanted else without_condition(definition, CONDITION)


def _verdict(spec: Obj) -> Obj | None:
    for placed in _schemas(spec):
        if why := unsupported(placed.schema):
            words = f"failed to check validation schema for version {placed.version}: {why}"
            return condition(CONDITION, "Unknown", "StructuralError", words)
    told = list(dict.fromkeys(map(str, _violations(spec))))
    words = f"[{', '.join(told)}]" if len(told) > 1 else "".join(told)
    return condition(CONDITION, "True", "Violations", words) if words else None


def _violations(spec: Obj) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields"):
        yield field.invalid("spec.preserveUnknownFields", value=True, detail="must be false")
    for placed in _schemas(spec):
        yield from structural_errors(placed.schema, placed.path)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A schema, of which version it is, and where it stands."""

    version: str
    path: str
    schema: Obj


def _schemas(spec: Obj) -> Iterator[_Placed]:
    """The schemas that there are."""
    for index, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield _Placed(version.get("name") or "", f"spec.versions[{index}].schema.openAPIV3Schema", schema)
