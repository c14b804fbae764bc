"""Trials: the rules of a schema applied to an object.

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
from apiserver.apiextensions.rules.verdicts import Verdict
from apiserver.cel.evaluation.program import Outcome
from apiserver.cel.values import NONE, CostExceededError, EvaluationError, Optional

MOST_OF_CALL = 1_000_000
"""What one evaluation may cost."""

MOST_OF_OBJECT = 10_000_000
"""What all evaluations for an object may cost together."""

_MOST_APPLICATIONS = 1_000_000
"""How often rules are applied to an object, whatever that costs; a rule that is a constant costs nothing."""

_LONGEST_MESSAGE = 5 * 1024
_OUT_OF_BUDGET = "running out of cost budget, no further validation rules will be run"
_EXCEEDED = str(CostExceededError())
_NO_MORE = "no further validation rules will be run due to call cost exceeds limit for"


def compiled(schema: Obj) -> Node | None:
    """The rules of a schema, None where it turns out to have none."""
    return Compiler().node(schema, schema, is_root=True)


def judge(root: Node, obj: Obj, old: Obj | None) -> Verdict:
    """What is wrong with an object.

    Args:
        root: the rules of its schema.
        obj: the object.
        old: what it was before an update.
    """
    correlation = None if old is None else Correlation(obj, old, root.schema)
    trial = _Trial(Verdict())
    trial.visit(root, _Part(obj, old, "", Ratchet(correlation, None)))
    return trial.verdict


def judge_default(path: str, schema: Obj, default: Any) -> list[FieldError]:
    """What is wrong with a default, as a value that was there before, and as one that was not (ValidateDefaults)."""
    root = Compiler().node(schema, schema, is_root=bool(schema.get(EMBEDDED)))
    if root is None:
        return []
    for old in (default, None):
        trial = _Trial(Verdict())
        trial.visit(root, _Part(default, old, path, Ratchet(None, None)))
        if trial.verdict.errors:
            return trial.verdict.errors
    return []


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an object.

    Attributes:
        value: what it is.
        old: what it was, None where it was not, or that is not known.
        path: where it stands, "" for the object itself.
        ratchet: whether its errors are let pass.
    """

    value: Any
    old: Any
    path: str
    ratchet: Ratchet

    @property
    def told_path(self) -> str:
        """The path as errors have it."""
        return self.path or "<nil>"


class _OverError(Exception):
    """The budget is spent: no further rules are applied."""


class _Trial:
    """The check of one object.

    Attributes:
        verdict: what was found so far.
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self._budget = MOST_OF_OBJECT
        self._applications = 0

    def visit(self, node: Node, part: _Part) -> None:
        """Applies the rules of a node, and of all below it, as long as the budget lasts."""
        try:
            self._visit(node, part)
        except _OverError:
            return

    def _visit(self, node: Node, part: _Part) -> None:
        value = part.value
        if value is None:
            return
        if node.rules:
            self._apply(node, part)
        for alternative in node.all_of:
            self._visit(alternative, _Part(value, part.old, part.path, part.ratchet.of_alternative))
        if isinstance(value, list) and node.items is not None:
            self._visit_items(node, node.items, part)
        elif isinstance(value, dict):
            self._visit_fields(node, part)

    def _visit_items(self, node: Node, inner: Node, part: _Part) -> None:
        olds = OldItems(node.schema, part.old)
        for place, item in enumerate(part.value):
            self._visit(inner, _Part(item, olds.get(item), at(part.path, place), part.ratchet.index(place)))

    def _visit_fields(self, node: Node, part: _Part) -> None:
        old = part.old if isinstance(part.old, dict) else {}
        if node.values is not None:
            for key, value in part.value.items():
                self._visit(node.values, _Part(value, old.get(key), at(part.path, key), part.ratchet.key(key)))
        for key, value in part.value.items() if node.fields else ():
            inner = node.fields.get(key)
            if inner is not None:
                self._visit(inner, _Part(value, old.get(key), child(part.path, key), part.ratchet.key(key)))

    def _apply(self, node: Node, part: _Part) -> None:
        """Applies the rules of a node itself."""
        if self._budget <= 0:
            self._end(node, part, f"validation failed due to {_OUT_OF_BUDGET}")
        variables: tuple[Any, Any] | None = None
        for rule in node.rules:
            if rule.error:
                self._add(node, part, rule.error)
            if rule.compiled is None or (rule.compiled.uses_old and part.old is None and not rule.takes_no_old):
                continue
            try:
                variables = variables or (node.read(part.value), node.read_old(part.old))
            except EvaluationError as error:
                self._add(node, part, f"{error} evaluating rule: {rule.told}")
                continue
            self._judge(node, rule, part, variables)

    def _judge(self, node: Node, rule: Rule, part: _Part, variables: tuple[Any, Any]) -> None:
        assert rule.compiled is not None
        of_rule = variables
        if rule.takes_no_old:
            of_rule = variables[0], NONE if variables[1] is None else Optional(variables[1])
        outcome = rule.compiled.program.evaluate(of_rule, MOST_OF_CALL)
        self._applications += 1
        if outcome.cost > self._budget or self._applications > _MOST_APPLICATIONS:
            self._end(node, part, f"validation failed due to {_OUT_OF_BUDGET}")
        self._budget -= outcome.cost
        if outcome.error:
            self._failed(node, rule, part, outcome)
        elif outcome.value is not True:
            detail = self._detail(node, rule, part, variables)
            self._tell(_broken(node, rule, part, detail), rule, part)

    def _failed(self, node: Node, rule: Rule, part: _Part, outcome: Outcome) -> None:
        """Tells of an evaluation that came to nothing."""
        if outcome.error.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            self._add(node, part, f"'{outcome.error}': {why}: {rule.told}")
        elif outcome.error == _EXCEEDED:
            self._end(node, part, f"'{outcome.error}': {_NO_MORE} rule: {rule.told}")
        else:
            self._add(node, part, f"{outcome.error} evaluating rule: {rule.told}")

    def _detail(self, node: Node, rule: Rule, part: _Part, variables: tuple[Any, Any]) -> str:
        """What is told of a rule that does not hold: what its expression says, or its message."""
        if rule.message is None or (rule.message.uses_old and variables[1] is None):
            return rule.default_message
        outcome = rule.message.program.evaluate(variables, MOST_OF_CALL)
        why = ""
        if outcome.cost > self._budget:
            why = f"messageExpression evaluation failed due to {_OUT_OF_BUDGET}"
        elif outcome.error == _EXCEEDED:
            why = f"{_NO_MORE} messageExpression: {field_errors.show(rule.source['messageExpression'])}"
        if why:
            target = _Part(part.value, part.old, _target(rule, part), part.ratchet)
            self._tell(_of_kind(node, target, why), rule, part)
            raise _OverError
        self._budget -= outcome.cost
        message = outcome.value.strip() if isinstance(outcome.value, str) else ""
        if outcome.error or not message or "\n" in message or len(message.encode()) > _LONGEST_MESSAGE:
            return rule.default_message
        return message

    def _tell(self, error: FieldError, rule: Rule, part: _Part) -> None:
        """Tells an error, or warns of it where the update did not bring it."""
        assert rule.compiled is not None
        if not rule.compiled.uses_old and part.ratchet.lets_pass:
            self.verdict.warnings.append(str(error))
        else:
            self.verdict.errors.append(error)

    def _add(self, node: Node, part: _Part, detail: str) -> None:
        self.verdict.errors.append(_of_kind(node, part, detail))

    def _end(self, node: Node, part: _Part, detail: str) -> NoReturn:
        self._add(node, part, detail)
        raise _OverError


def _of_kind(node: Node, part: _Part, detail: str) -> FieldError:
    """An error that tells the type of the value instead of the value."""
    return field_errors.invalid(part.told_path, node.kind, detail)


def _target(rule: Rule, part: _Part) -> str:
    return child(part.path, rule.path) if rule.path else part.told_path


def _broken(node: Node, rule: Rule, part: _Part, detail: str) -> FieldError:
    """The error of a rule that does not hold; of objects and lists the value is not told."""
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
