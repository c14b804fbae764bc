"""Rules: validation of custom resources by the rules of their schemas, and of the rules themselves.

The modules for expressions are imported once a schema has rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import RULES
from apiserver.apiextensions.rules.verdicts import PreexistingExpressions, RuleResult, has_rules

if TYPE_CHECKING:
    from apiserver.apiextensions.rules.rule_tree import Node


_NOTHING = PreexistingExpressions()


class RuleValidator:
    """The rules of a schema, compiled when the first object is checked."""

    def __init__(self, schema: Obj) -> None:
        self._schema = schema
        self._has_rules = has_rules(schema)
        self._root: Node | None = None

    def check(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """Return the errors of an object, in upstream's words, except in what an update leaves unchanged.

        Args:
            obj: the object, with defaults, and otherwise valid by its schema.
            old: the object before an update, None when it is created.
        """
        return self.validate(obj, old).errors

    def validate(self, obj: Obj, old: Obj | None = None) -> RuleResult:
        """Return the errors of an object and the ones to ignore after an update; see `check`."""
        if not self._has_rules:
            return RuleResult()
        from apiserver.apiextensions.rules import validator  # noqa: PLC0415 - takes 50 ms, and most schemas have no rules

        if self._root is None:
            self._root = validator.compiled(self._schema)
        return RuleResult() if self._root is None else validator.validate(self._root, obj, old)


def rule_errors(
    schema: Obj,
    path: str,
    *,
    expressions: bool = True,
    costly: bool = False,
    release: int = 0,
    preexisting: PreexistingExpressions = _NOTHING,
) -> list[FieldError]:
    """Return the errors of the rules in a schema, in upstream's order: first how they are written, then what they say.

    Args:
        schema: the schema of a version.
        path: its path, such as "spec.versions[0].schema.openAPIV3Schema".
        expressions: whether to compile the rules; not if the schema has other errors.
        costly: whether a single rule may cost too much, since it existed before; the total may not.
        release: the minor release of the server, 0 for the newest.
        preexisting: the expressions that the definition had before.
    """
    if not _mentions_rules(schema):
        return []
    from apiserver.apiextensions.rules import rule_validation  # noqa: PLC0415 - takes 50 ms, and most schemas have no rules

    return rule_validation.rule_errors(
        schema, path, expressions=expressions, costly=costly, release=release, preexisting=preexisting
    )


def default_rule_errors(path: str, schema: Obj, default: Any) -> list[FieldError]:
    """Return the errors of a default by the rules of its schema; it is otherwise valid.

    Args:
        path: the path of the default.
        schema: its schema, with x-kubernetes-embedded-resource if it is one.
        default: the default.
    """
    if not has_rules(schema):
        return []
    from apiserver.apiextensions.rules import validator  # noqa: PLC0415 - takes 50 ms, and most schemas have no rules

    return validator.validate_default(path, schema, default)


def _mentions_rules(schema: Any) -> bool:
    """Return True if there is a rule anywhere in it, even where rules do not apply to objects."""
    pending = [schema]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            if current.get(RULES):
                return True
            pending += current.values()
        elif isinstance(current, list):
            pending += current
    return False
