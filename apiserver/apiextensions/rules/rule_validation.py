"""Validation of the rules in a definition's schema, when the definition is created or updated.

Source: apiextensions-apiserver's pkg/apis/apiextensions/validation/validation.go and cel_validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, LIST_TYPE, MAP_TYPE, RULES, at, child, properties, values
from apiserver.apiextensions.rules.compilation import (
    CompiledExpression,
    ExpressionScope,
    RuleError,
    compile_message,
    compile_rule,
)
from apiserver.apiextensions.rules.field_paths import FieldPathError, normal_path
from apiserver.apiextensions.rules.schema_types import MAX_REQUEST_BYTES, Declarations, DeclType
from apiserver.apiextensions.rules.verdicts import PreexistingExpressions
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment, new_expressions_environment
from apiserver.cel.sizes import MAX_COST, times

_REASONS = frozenset(("FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"))
_MAX_RULE_COST = 10_000_000
_MAX_SCHEMA_COST = 100_000_000
_MAX_CONTRIBUTORS = 4
_NEWLINE = re.compile(r"[\n\r]").search
_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
"""The characters that Go's JSON escapes in addition to those that JSON requires."""

_SIMPLIFY = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
    " declared)"
)
_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_UNDECLARED = (
    "failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to"
    " CEL declarations"
)
_JUNCTORS = ("allOf", "oneOf", "anyOf")


def rule_errors(
    schema: Obj, path: str, *, expressions: bool, costly: bool, release: int, preexisting: PreexistingExpressions
) -> list[FieldError]:
    """Return the errors of the rules in a schema; see `rules.rule_errors`."""
    walk = _RuleChecker(_Environments(release, preexisting), costly=costly)
    walk.visit(schema, path, _Context(is_root=True, expressions=expressions))
    return [*walk.forms, *walk.errors, *walk.total_errors(path)]


def form_errors(schema: Obj) -> Iterator[FieldError]:
    """Yield the errors in how the rules of one node are written, with paths relative to the node."""
    for index, rule in enumerate(schema.get(RULES) or ()):
        yield from _form_errors(schema, rule, at(RULES, index))


def _form_errors(schema: Obj, rule: Obj, path: str) -> Iterator[FieldError]:
    text, message, expression, target = (
        rule.get(name) or "" for name in ("rule", "message", "messageExpression", "fieldPath")
    )
    if not text.strip():
        yield field.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield field.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _NEWLINE(message.strip()):
        yield field.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _NEWLINE(text.strip()) and not message.strip():
        yield field.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield field.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield field.not_supported(f"{path}.reason", reason, _REASONS)
    if target:
        yield from _target_errors(schema, target, f"{path}.fieldPath")


def _target_errors(schema: Obj, target: str, path: str) -> Iterator[FieldError]:
    if not target.strip():
        yield field.invalid(path, target, "must be non-empty if specified")
    if _NEWLINE(target):
        yield field.invalid(path, target, "must not contain line breaks")
    try:
        normal_path(target, schema)
    except FieldPathError:
        yield field.invalid(path, target, "must be a valid path")


@dataclass(frozen=True, slots=True)
class _Context:
    """The position of a node in a schema.

    Attributes:
        is_root: True for the schema of whole objects.
        expressions: True if its rules are compiled; those below "not", "allOf" and the like are not.
        count: the most values of the node that an object can have, None if there is no limit.
        uncorrelated: the path of the node around it whose items cannot be correlated, "" if there is none.
    """

    is_root: bool = False
    expressions: bool = True
    count: int | None = 1
    uncorrelated: str = ""

    def below(self, schema: Obj, path: str, *, correlated: bool = True) -> _Context:
        """Return the context of a node right below the schema."""
        most = _greatest_count(schema)
        return replace(
            self,
            is_root=False,
            count=None if self.count is None or most is None else times(self.count, most),
            uncorrelated=self.uncorrelated or ("" if correlated else path),
        )


def _greatest_count(schema: Obj) -> int | None:
    """Return how many values a node has below it for each of its own; None if there is no limit."""
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    elif kind == "array":
        most = schema.get("maxItems")
    else:
        return 1
    return None if most is None else max(0, most)


@dataclass(frozen=True, slots=True)
class _Environments:
    """The environments of expressions: preexisting ones may use everything, new ones only what the release has.

    Attributes:
        release: the minor release, 0 for the newest.
        preexisting: the expressions that the definition had before.
    """

    release: int
    preexisting: PreexistingExpressions

    def of_rule(self, text: str) -> Environment:
        """Return the environment of a rule."""
        return STORED_EXPRESSIONS if text in self.preexisting.rules else self._new

    def of_message(self, text: str) -> Environment:
        """Return the environment of a messageExpression."""
        return STORED_EXPRESSIONS if text in self.preexisting.messages else self._new

    @property
    def _new(self) -> Environment:
        return new_expressions_environment(self.release) if self.release else STORED_EXPRESSIONS


class _RuleChecker:
    """A walk through a schema, inner nodes first.

    Attributes:
        forms: errors in how rules are written.
        errors: errors in what the rules say.
    """

    def __init__(self, environments: _Environments, *, costly: bool) -> None:
        self.forms: list[FieldError] = []
        self.errors: list[FieldError] = []
        self._declarations = Declarations()
        self._environments = environments
        self._costly = costly
        self._total = 0
        self._expensive: list[tuple[int, str]] = []

    def visit(self, schema: Any, path: str, context: _Context) -> None:
        """Validate a node and all nodes below it."""
        if not isinstance(schema, dict):
            return
        errors_before = len(self.forms)
        for inner_path, inner, inner_context in _below(schema, path, context):
            self.visit(inner, inner_path, inner_context)
        rules = schema.get(RULES) or ()
        self.forms += [replace(error, path=child(path, error.path)) for error in form_errors(schema)]
        if rules and context.expressions and len(self.forms) == errors_before:
            self._compile(schema, child(path, RULES), context)

    def total_errors(self, path: str) -> Iterator[FieldError]:
        """Yield the errors of the total cost of all rules."""
        if self._total > _MAX_SCHEMA_COST:
            for _, rule_path in self._expensive:
                yield field.forbidden(rule_path, _CONTRIBUTED)
            what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
            yield field.forbidden(path, _too_costly(what, self._total, _MAX_SCHEMA_COST))

    def _compile(self, schema: Obj, path: str, context: _Context) -> None:
        is_root = context.is_root or bool(schema.get(EMBEDDED))
        declared = self._declarations.declaration_of(schema, is_root=is_root)
        if declared is None:
            self.errors.append(FieldError("InternalError", path, f"Internal error: internal error: {_UNDECLARED}"))
            return
        for index, rule in enumerate(schema[RULES]):
            self._rule(rule, at(path, index), declared, context)

    def _rule(self, rule: Obj, path: str, declared: DeclType, context: _Context) -> None:
        scope = ExpressionScope(self._declarations, declared, optional_old=rule.get("optionalOldSelf") is True)
        compiled: CompiledExpression | None = None
        try:
            compiled = compile_rule(rule["rule"], scope, self._environments.of_rule(rule["rule"]))
            count = MAX_REQUEST_BYTES // (declared.least_bytes + 1) if context.count is None else context.count
            self._charge("estimated rule cost", times(compiled.cost, count), f"{path}.rule")
        except RuleError as error:
            self.errors.append(_invalid(f"{path}.rule", rule, str(error)))
        if compiled is not None and rule.get("messageExpression"):
            self._message(rule, path, scope)
        if compiled is not None and compiled.uses_old:
            if context.uncorrelated:
                reason = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {context.uncorrelated}"
                )
                self.errors.append(field.invalid(f"{path}.rule", rule["rule"], reason))
        elif rule.get("optionalOldSelf") is not None:
            reason = "may not be set if oldSelf is not used in rule"
            self.errors.append(field.invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], reason))

    def _message(self, rule: Obj, path: str, scope: ExpressionScope) -> None:
        message_path = f"{path}.messageExpression"
        try:
            text = rule["messageExpression"]
            compiled = compile_message(text, scope, self._environments.of_message(text))
        except RuleError as error:
            self.errors.append(_invalid(message_path, rule, str(error)))
            return
        self._charge("estimated messageExpression cost", compiled.cost, message_path)

    def _charge(self, what: str, cost: int, path: str) -> None:
        """Add a cost to the total; a cost that is too high by itself is an error."""
        if cost > _MAX_RULE_COST and not self._costly:
            self.errors.append(field.forbidden(path, _too_costly(what, cost, _MAX_RULE_COST)))
        self._total = min(self._total + cost, MAX_COST)
        if cost >= _MAX_SCHEMA_COST // 100:
            self._expensive = sorted([*self._expensive, (cost, path)], key=lambda c: -c[0])[:_MAX_CONTRIBUTORS]


def _below(schema: Obj, path: str, context: _Context) -> Iterator[tuple[str, Any, _Context]]:
    """Yield the nodes right below one: path, schema, and context."""
    without_rules = replace(context, is_root=False, expressions=False)
    if values(schema) is not None:
        yield child(path, "additionalProperties"), values(schema), context.below(schema, path)
    correlated = schema.get(MAP_TYPE) in (None, "granular", "atomic")
    inner_context = context.below(schema, path, correlated=correlated)
    for name, inner in properties(schema).items():
        yield at(child(path, "properties"), name), inner, inner_context
    yield child(path, "not"), schema.get("not"), without_rules
    for word in _JUNCTORS:
        for index, inner in enumerate(schema.get(word) or ()):
            yield at(child(path, word), index), inner, without_rules
    for name, inner in (schema.get("definitions") or {}).items():
        yield at(child(path, "definitions"), name), inner, without_rules
    yield (
        child(path, "items"),
        schema.get("items"),
        context.below(schema, path, correlated=schema.get(LIST_TYPE) == "map"),
    )


def _too_costly(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    factor_text = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {factor_text} {_SIMPLIFY}"


def _invalid(path: str, rule: Obj, detail: str) -> FieldError:
    """Return the error of a rule, which it prints in the form of upstream's internal type."""
    internal = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    shown = orjson.dumps(internal).decode().translate(_HTML)
    return FieldError("FieldValueInvalid", path, f"Invalid value: {shown}: {detail}")
