"""Whether a schema has rules, and what they say of an object: what is known without compiling any expression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apiserver.api.field import FieldError
from apiserver.api.schema.keywords import RULES, items, properties, values


@dataclass(slots=True)
class Verdict:
    """What rules say of an object.

    Attributes:
        errors: what is wrong.
        warnings: what is wrong, but was so before the update in the same way.
    """

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Preexisting:
    """The expressions that a definition had before an update; they may use what new ones may not yet.

    Attributes:
        rules: the rules.
        messages: the messageExpressions.
    """

    rules: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()


def has_rules(schema: Any) -> bool:
    """Whether objects are checked by rules at all.

    Rules within allOf count once there are others: where there are none, upstream makes no validator
    (schema/cel/validation.go's hasXValidations).
    """
    if not isinstance(schema, dict):
        return False
    return bool(schema.get(RULES)) or any(map(has_rules, (*properties(schema).values(), items(schema), values(schema))))


def has_rules_within(schema: Any) -> bool:
    """Whether a schema, or anything within it that objects are checked by, has rules."""
    if not isinstance(schema, dict):
        return False
    below = (*properties(schema).values(), items(schema), values(schema), *(schema.get("allOf") or ()))
    return bool(schema.get(RULES)) or any(map(has_rules_within, below))
