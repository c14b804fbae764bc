"""Which schemas have rules, and the verdict of rules on an object; nothing here compiles an expression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apiserver.api.field import FieldError
from apiserver.api.schema.keywords import RULES, items, properties, values


@dataclass(slots=True)
class RuleResult:
    """The errors of an object by the rules.

    Attributes:
        errors: the errors that refuse it.
        warnings: the errors in parts that the update leaves unchanged.
    """

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PreexistingExpressions:
    """The expressions that a definition had before an update; they may use features that new ones may not use yet.

    Attributes:
        rules: the rules.
        messages: the messageExpressions.
    """

    rules: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()


def has_rules(schema: Any) -> bool:
    """Return True if the schema's rules apply to objects.

    Rules within allOf count only if there are others: without others, upstream creates no validator
    (schema/cel/validation.go's hasXValidations).
    """
    if not isinstance(schema, dict):
        return False
    return bool(schema.get(RULES)) or any(map(has_rules, (*properties(schema).values(), items(schema), values(schema))))


def has_rules_within(schema: Any) -> bool:
    """Return True if a schema, or anything within it that applies to objects, has rules."""
    if not isinstance(schema, dict):
        return False
    subschemas = (*properties(schema).values(), items(schema), values(schema), *(schema.get("allOf") or ()))
    return bool(schema.get(RULES)) or any(map(has_rules_within, subschemas))
