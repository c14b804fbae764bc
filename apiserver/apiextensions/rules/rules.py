"""Rules: what is wrong with custom resources by the rules of their schemas, and with the rules themselves.

What knows expressions is imported when a schema has rules; most have none, and a server's start does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import RULES
from apiserver.apiextensions.rules.verdicts import Preexisting, Verdict, has_rules

if TYPE_CHECKING:
    from apiserver.apiextensions.rules.rule_tree import Node


_NOTHING = Preexisting()


class Rules:
    """The rules of a schema, compiled when the first object is checked."""

    def __init__(self, schema: Obj) -> None:
        self._schema = schema
        self._has_rules = has_rules(schema)
        self._root: Node | None = None

    def check(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """What is wrong with an object, in upstream's words, but for what an update leaves as wrong as it was.

        Args:
            obj: the object, with defaults, and valid by its schema otherwise.
            old: what it was before an update.
        """
        return self.judge(obj, old).errors

    def judge(self, obj: Obj, old: Obj | None = None) -> Verdict:
        """What is wrong with an object, and what of it an update leaves as it was; else as `check`."""
        verdict = Verdict()
        if not self._has_rules:
            return verdict
        from apiserver.apiextensions.rules import validator  # noqa: PLC0415

        if self._root is None:
            self._root = validator.compiled(self._schema)
        return verdict if self._root is None else validator.judge(self._root, obj, old)


def rule_errors(
    schema: Obj,
    path: str,
    *,
    expressions: bool = True,
    costly: bool = False,
    release: int = 0,
    preexisting: Preexisting = _NOTHING,
) -> list[FieldError]:
    """What is wrong with the rules of a schema, in upstream's order: first how they are written, then what they say.

    Args:
        schema: the schema of a version.
        path: where it stands, such as "spec.versions[0].schema.openAPIV3Schema".
        expressions: whether to compile the rules; not where the schema has other errors.
        costly: whether a rule may cost too much, since it was there before; the whole may not.
        release: the minor release of the server, 0 for the newest.
        preexisting: the expressions that were there before.
    """
    if not _mentions_rules(schema):
        return []
    from apiserver.apiextensions.rules import rule_validation  # noqa: PLC0415

    return rule_validation.rule_errors(
        schema, path, expressions=expressions, costly=costly, release=release, preexisting=preexisting
    )


def default_rule_errors(path: str, schema: Obj, default: Any) -> list[FieldError]:
    """What is wrong with a default by the rules of its schema, which is good by all else.

    Args:
        path: where the default stands.
        schema: its schema; of an embedded resource it says so.
        default: the default.
    """
    if not has_rules(schema):
        return []
    from apiserver.apiextensions.rules import validator  # noqa: PLC0415

    return validator.judge_default(path, schema, default)


def _mentions_rules(schema: Any) -> bool:
    """Whether there is a rule anywhere, even where objects are not checked by it."""
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if found.get(RULES):
                return True
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    return False
