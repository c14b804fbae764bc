from collections.abc import Callable
from typing import Any

import pytest

from apiserver.apiextensions.rules import RuleValidator, rule_errors
from apiserver.cel.checker import check
from apiserver.cel.errors import CompileError
from apiserver.cel.evaluation.program import EvalResult, program
from apiserver.cel.literals import check_literals
from apiserver.cel.parsing import parse
from apiserver.cel.values import MISSING, EvaluationError, MapValue, Optional, is_list, items_of

Obj = dict[str, Any]


def outcome_of(text: str, limit: int = 1_000_000) -> EvalResult:
    checked = check(parse(text), {}, lambda _name, _field: None)
    check_literals(checked)
    return program(checked, ()).evaluate((), limit)


def plain(value: Any) -> Any:
    """Return a CEL value as a Python value; an optional becomes ("optional", …)."""
    if isinstance(value, Optional):
        return ("optional", *([] if value.value is MISSING else [plain(value.value)]))
    if is_list(value):
        return [plain(item) for item in items_of(value)]
    if isinstance(value, MapValue):
        return {plain(key): plain(value.find(key)) for key in value.key_list()}
    return value


@pytest.fixture(scope="session")
def value() -> Callable[[str], Any]:
    """Return a function that evaluates an expression: its value, or "error: …" if it fails."""

    def evaluated(text: str) -> Any:
        outcome = outcome_of(text)
        return f"error: {outcome.error}" if outcome.error else plain(outcome.value)

    return evaluated


@pytest.fixture(scope="session")
def cost() -> Callable[[str], int]:
    """Return a function that gives the cost of evaluating an expression."""
    return lambda text: outcome_of(text).cost


@pytest.fixture(scope="session")
def mistakes() -> Callable[[str], list[str]]:
    """Return a function that lists the errors of an expression, without the quoted source: ["1:5: …"]."""

    def check(text: str) -> list[str]:
        try:
            outcome_of(text)
        except (CompileError, EvaluationError) as error:
            first = str(error).split("ERROR: <input>:")
            return [part.partition("\n | ")[0].strip() for part in first if part]
        return []

    return check


@pytest.fixture(scope="session")
def checked() -> Callable[..., list[str]]:
    """Return a function that lists the errors of an object by the rules of a schema."""

    def check(schema: Obj, obj: Any, *old: Any) -> list[str]:
        return [str(error) for error in RuleValidator(schema).check(obj, *old)]

    return check


@pytest.fixture(scope="session")
def holds() -> Callable[..., list[str]]:
    """Return a function that lists the errors of a field "v" by a rule of the field; before an update it was `old`."""

    def check(rule: str | Obj, schema: Obj, obj: Any, *old: Any) -> list[str]:
        rules = [{"rule": rule} if isinstance(rule, str) else rule]
        root = {"type": "object", "properties": {"v": schema | {"x-kubernetes-validations": rules}}}
        return [str(error) for error in RuleValidator(root).check({"v": obj}, *({"v": each} for each in old))]

    return check


@pytest.fixture(scope="session")
def refused() -> Callable[..., list[str]]:
    """Return a function that lists the errors of the rules of a schema at the path "s"."""

    def check(schema: Obj, **options: Any) -> list[str]:
        return [str(error) for error in rule_errors(schema, "s", **options)]

    return check
