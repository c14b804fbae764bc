"""Validation of an object by the rules of its schema.

Source: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from apiserver.api import field as field_errors
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, at, child
from apiserver.apiextensions.rules.correlation import Correlation, OldItems, Ratchet
from apiserver.apiextensions.rules.rule_tree import Compiler, Node, Rule
from apiserver.apiextensions.rules.verdicts import RuleResult
from apiserver.cel.evaluation.program import EvalResult
from apiserver.cel.values import NONE, CostExceededError, EvaluationError, Optional

MAX_CALL_COST = 1_000_000
"""The highest cost of one evaluation."""

MAX_OBJECT_COST = 10_000_000
"""The highest total cost of all evaluations for an object."""

_MAX_APPLICATIONS = 1_000_000
"""The most evaluations for an object, whatever their cost; a constant rule costs nothing."""

_MAX_MESSAGE_LENGTH = 5 * 1024
_OUT_OF_BUDGET = "running out of cost budget, no further validation rules will be run"
_EXCEEDED = str(CostExceededError())
_NO_MORE = "no further validation rules will be run due to call cost exceeds limit for"


def compiled(schema: Obj) -> Node | None:
    """Return the compiled rules of a schema; None if it has none."""
    return Compiler().node(schema, schema, is_root=True)


def validate(root: Node, obj: Obj, old: Obj | None) -> RuleResult:
    """Return the errors and warnings of an object.

    Args:
        root: the rules of its schema.
        obj: the object.
        old: the object before an update, None when it is created.
    """
    correlation = None if old is None else Correlation(obj, old, root.schema)
    validation = _Validation(RuleResult())
    validation.visit(root, _ValueAtPath(obj, old, "", Ratchet(correlation, None)))
    return validation.verdict


def validate_default(path: str, schema: Obj, default: Any) -> list[FieldError]:
    """Return the errors of a default, validated both as an unchanged and as a new value (ValidateDefaults)."""
    root = Compiler().node(schema, schema, is_root=bool(schema.get(EMBEDDED)))
    if root is None:
        return []
    for old in (default, None):
        validation = _Validation(RuleResult())
        validation.visit(root, _ValueAtPath(default, old, path, Ratchet(None, None)))
        if validation.verdict.errors:
            return validation.verdict.errors
    return []


@dataclass(frozen=True, slots=True)
class _ValueAtPath:
    """A part of an object.

    Attributes:
        value: its value.
        old: its old value, None if it did not exist, or is not known.
        path: its path, "" for the object itself.
        ratchet: whether its errors are ignored.
    """

    value: Any
    old: Any
    path: str
    ratchet: Ratchet

    @property
    def shown_path(self) -> str:
        """The path in errors."""
        return self.path or "<nil>"


class _BudgetExceededError(Exception):
    """The cost budget is spent: no further rules are evaluated."""


class _Validation:
    """The validation of one object.

    Attributes:
        verdict: the errors and warnings so far.
    """

    def __init__(self, verdict: RuleResult) -> None:
        self.verdict = verdict
        self._budget = MAX_OBJECT_COST
        self._applications = 0

    def visit(self, node: Node, part: _ValueAtPath) -> None:
        """Evaluate the rules of a node, and of all nodes below it, until the budget is spent."""
        try:
            self._visit(node, part)
        except _BudgetExceededError:
            return

    def _visit(self, node: Node, part: _ValueAtPath) -> None:
        value = part.value
        if value is None:
            return
        if node.rules:
            self._apply(node, part)
        for alternative in node.all_of:
            self._visit(alternative, _ValueAtPath(value, part.old, part.path, part.ratchet.of_alternative))
        if isinstance(value, list) and node.items is not None:
            self._visit_items(node, node.items, part)
        elif isinstance(value, dict):
            self._visit_fields(node, part)

    def _visit_items(self, node: Node, inner: Node, part: _ValueAtPath) -> None:
        olds = OldItems(node.schema, part.old)
        for index, item in enumerate(part.value):
            self._visit(inner, _ValueAtPath(item, olds.get(item), at(part.path, index), part.ratchet.index(index)))

    def _visit_fields(self, node: Node, part: _ValueAtPath) -> None:
        old = part.old if isinstance(part.old, dict) else {}
        if node.values is not None:
            for key, value in part.value.items():
                self._visit(node.values, _ValueAtPath(value, old.get(key), at(part.path, key), part.ratchet.key(key)))
        for key, value in part.value.items() if node.fields else ():
            inner = node.fields.get(key)
            if inner is not None:
                self._visit(inner, _ValueAtPath(value, old.get(key), child(part.path, key), part.ratchet.key(key)))

    def _apply(self, node: Node, part: _ValueAtPath) -> None:
        """Evaluate the rules of the node itself."""
        if self._budget <= 0:
            self._stop_evaluation(node, part, f"validation failed due to {_OUT_OF_BUDGET}")
        variables: tuple[Any, Any] | None = None
        for rule in node.rules:
            if rule.error:
                self._add(node, part, rule.error)
            if rule.compiled is None or (rule.compiled.uses_old and part.old is None and not rule.has_optional_old):
                continue
            try:
                variables = variables or (node.read(part.value), node.read_old(part.old))
            except EvaluationError as error:
                self._add(node, part, f"{error} evaluating rule: {rule.description}")
                continue
            self._evaluate_rule(node, rule, part, variables)

    def _evaluate_rule(self, node: Node, rule: Rule, part: _ValueAtPath, variables: tuple[Any, Any]) -> None:
        assert rule.compiled is not None
        rule_variables = variables
        if rule.has_optional_old:
            rule_variables = variables[0], NONE if variables[1] is None else Optional(variables[1])
        outcome = rule.compiled.program.evaluate(rule_variables, MAX_CALL_COST)
        self._applications += 1
        if outcome.cost > self._budget or self._applications > _MAX_APPLICATIONS:
            self._stop_evaluation(node, part, f"validation failed due to {_OUT_OF_BUDGET}")
        self._budget -= outcome.cost
        if outcome.error:
            self._report_failure(node, rule, part, outcome)
        elif outcome.value is not True:
            detail = self._detail(node, rule, part, variables)
            self._report(_broken(node, rule, part, detail), rule, part)

    def _report_failure(self, node: Node, rule: Rule, part: _ValueAtPath, outcome: EvalResult) -> None:
        """Add the error of an evaluation that failed."""
        if outcome.error.startswith("no such overload"):
            explanation = "call arguments did not match a supported operator, function or macro signature for rule"
            self._add(node, part, f"'{outcome.error}': {explanation}: {rule.description}")
        elif outcome.error == _EXCEEDED:
            self._stop_evaluation(node, part, f"'{outcome.error}': {_NO_MORE} rule: {rule.description}")
        else:
            self._add(node, part, f"{outcome.error} evaluating rule: {rule.description}")

    def _detail(self, node: Node, rule: Rule, part: _ValueAtPath, variables: tuple[Any, Any]) -> str:
        """Return the message for a rule that is not met: the result of its messageExpression, or its own message."""
        if rule.message is None or (rule.message.uses_old and variables[1] is None):
            return rule.default_message
        outcome = rule.message.program.evaluate(variables, MAX_CALL_COST)
        reason = ""
        if outcome.cost > self._budget:
            reason = f"messageExpression evaluation failed due to {_OUT_OF_BUDGET}"
        elif outcome.error == _EXCEEDED:
            reason = f"{_NO_MORE} messageExpression: {field_errors.show(rule.source['messageExpression'])}"
        if reason:
            target = _ValueAtPath(part.value, part.old, _target(rule, part), part.ratchet)
            self._report(_of_kind(node, target, reason), rule, part)
            raise _BudgetExceededError
        self._budget -= outcome.cost
        message = outcome.value.strip() if isinstance(outcome.value, str) else ""
        if outcome.error or not message or "\n" in message or len(message.encode()) > _MAX_MESSAGE_LENGTH:
            return rule.default_message
        return message

    def _report(self, error: FieldError, rule: Rule, part: _ValueAtPath) -> None:
        """Add an error, or a warning if the update has not changed the part."""
        assert rule.compiled is not None
        if not rule.compiled.uses_old and part.ratchet.is_unchanged_part:
            self.verdict.warnings.append(str(error))
        else:
            self.verdict.errors.append(error)

    def _add(self, node: Node, part: _ValueAtPath, detail: str) -> None:
        self.verdict.errors.append(_of_kind(node, part, detail))

    def _stop_evaluation(self, node: Node, part: _ValueAtPath, detail: str) -> NoReturn:
        self._add(node, part, detail)
        raise _BudgetExceededError


def _of_kind(node: Node, part: _ValueAtPath, detail: str) -> FieldError:
    """Return an error that shows the type of the value instead of the value."""
    return field_errors.invalid(part.shown_path, node.kind, detail)


def _target(rule: Rule, part: _ValueAtPath) -> str:
    return child(part.path, rule.path) if rule.path else part.shown_path


def _broken(node: Node, rule: Rule, part: _ValueAtPath, detail: str) -> FieldError:
    """Return the error of a rule that is not met; it shows no value of objects and lists."""
    path = _target(rule, part)
    reason = rule.source.get("reason")
    if reason == "FieldValueForbidden":
        return field_errors.forbidden(path, detail)
    if reason == "FieldValueRequired":
        return field_errors.required(path, detail)
    shown = "" if node.kind in ("object", "array") else f": {field_errors.show(part.value)}"
    if reason == "FieldValueDuplicate":
        return FieldError(reason, path, f"Duplicate value{shown}")
    return FieldError("FieldValueInvalid", path, f"Invalid value{shown}: {detail}")
