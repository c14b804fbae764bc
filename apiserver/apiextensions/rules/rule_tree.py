"""The compiled rules of a schema, in a tree of nodes like that of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, RULES, items, properties, values
from apiserver.apiextensions.rules.compilation import (
    CompiledExpression,
    ExpressionScope,
    RuleError,
    compile_message,
    compile_rule,
)
from apiserver.apiextensions.rules.escaping import escape
from apiserver.apiextensions.rules.field_paths import FieldPathError, normal_path
from apiserver.apiextensions.rules.scalars import Read
from apiserver.apiextensions.rules.schema_types import Declarations, DeclType
from apiserver.apiextensions.rules.unstructured import Readers
from apiserver.apiextensions.rules.verdicts import has_rules_within


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule.

    source: the rule in the schema.
        compiled: its program, None if it is empty or cannot be compiled.
        error: why it cannot be compiled, "" if it can.
        message: the program of its messageExpression, None without one that compiles.
        message: the program of its messageExpression, if it has one that compiles.
        path: the field that its errors name, relative to the node; "" for the node itself.
    """

    source: Obj
    compiled: CompiledExpression | None
    error: str
    message: CompiledExpression | None
    path: str

    @property
    def description(self) -> str:
        """The rule in error messages: its message, or its text."""
        return str(self.source.get("message") or self.source["rule"]).strip()

    @property
    def has_optional_old(self) -> bool:
        """True if it also applies to values that did not exist before: its oldSelf is optional."""
        return self.source.get("optionalOldSelf") is True

    @property
    def default_message(self) -> str:
        """The error if the rule is not met and has no messageExpression that gives one."""
        own = self.source.get("message")
        return str(own).strip() if own else f"failed rule: {self.description}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a schema that has rules itself or below it."""

    schema: Obj
    rules: tuple[Rule, ...]
    read: Read
    items: Node | None
    values: Node | None
    fields: Mapping[str, Node]
    all_of: tuple[Node, ...]

    def read_old(self, old: Any) -> Any:
        """Return the value before an update as expressions see it; None if it did not exist, or no rule uses it."""
        uses_old = any(rule.compiled is not None and rule.compiled.uses_old for rule in self.rules)
        return self.read(old) if uses_old and old is not None else None

    @property
    def kind(self) -> str:
        """The type of its values."""
        return str(self.schema.get("type") or "")


class Compiler:
    """Compiles the rules of a schema to nodes."""

    def __init__(self) -> None:
        self._declarations = Declarations()
        self._readers = Readers()

    def node(self, rules: Obj, schema: Obj, *, is_root: bool) -> Node | None:
        """Return the node of a schema; None if neither it nor anything below it has rules.

        Args:
            rules: the schema with the rules: the schema itself, or one of its allOf.
            schema: the schema with the types.
            is_root: True if its values are whole resources.
        """
        if not has_rules_within(rules):
            return None
        declared = self._declarations.declaration_of(schema, is_root=is_root)
        return Node(
            schema,
            rules=tuple(self._rule(rule, schema, declared) for rule in rules.get(RULES) or ()),
            read=self._readers.root_reader(schema) if is_root else self._readers.reader_of(schema),
            items=self._inner(items(rules), items(schema)),
            values=self._inner(values(rules), values(schema)),
            fields=self._fields(rules, schema, declared),
            all_of=tuple(
                node
                for subschema in rules.get("allOf") or ()
                if (node := self.node(subschema, schema, is_root=is_root))
            ),
        )

    def _inner(self, rules: Obj | None, schema: Obj | None) -> Node | None:
        if rules is None or schema is None:
            return None
        return self.node(rules, schema, is_root=bool(schema.get(EMBEDDED)))

    def _fields(self, rules: Obj, schema: Obj, declared: DeclType | None) -> dict[str, Node]:
        nodes = {}
        for name, field_rules in properties(rules).items():
            field_schema = properties(schema).get(name)
            identifier = escape(name)
            if field_schema is None or (identifier is not None and (not declared or identifier not in declared.fields)):
                continue
            node = self._inner(field_rules, field_schema)
            if node is not None:
                nodes[name] = node
        return nodes

    def _rule(self, rule: Obj, schema: Obj, declared: DeclType | None) -> Rule:
        text = rule.get("rule") or ""
        path = _path(rule, schema)
        if declared is None:
            return Rule(rule, None, "failed to convert to declType for CEL validation rules", None, path)
        scope = ExpressionScope(self._declarations, declared, optional_old=rule.get("optionalOldSelf") is True)
        if not text.strip():
            return Rule(rule, None, "", None, path)
        try:
            compiled = compile_rule(text, scope)
        except RuleError as error:
            return Rule(rule, None, f"rule compile error: {error}", None, path)
        return Rule(rule, compiled, "", _message(rule, scope), path)


def _path(rule: Obj, schema: Obj) -> str:
    try:
        return normal_path(rule.get("fieldPath") or "", schema)
    except FieldPathError:  # refused when the definition was created
        return ""


def _message(rule: Obj, scope: ExpressionScope) -> CompiledExpression | None:
    text = rule.get("messageExpression")
    try:
        return compile_message(text, scope) if text else None
    except RuleError:
        return None
