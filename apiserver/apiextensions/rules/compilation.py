"""Compilation: one expression of a rule, checked against what its schema declares, costed, and made a program.

Source: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go.
"""

from dataclasses import dataclass
from functools import partial

from apiserver.apiextensions.rules.schema_types import Declarations, Declared
from apiserver.cel.checker import Checked, check
from apiserver.cel.cost_estimate import Path, greatest_cost
from apiserver.cel.environments import STORED, Environment
from apiserver.cel.errors import CompileError
from apiserver.cel.evaluation.program import Program, program
from apiserver.cel.literals import check_literals
from apiserver.cel.parsing import parse
from apiserver.cel.sizes import Size
from apiserver.cel.types import BOOL, STRING, optional_of
from apiserver.cel.values import EvaluationError

SELF, OLD_SELF = "self", "oldSelf"


class RuleError(ValueError):
    """An expression that is no rule; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression that can be evaluated.

    Attributes:
        uses_old: whether it speaks of the value before an update.
        cost: the most that it can cost.
    """

    program: Program
    uses_old: bool
    cost: int


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands.

    Attributes:
        declarations: those of the whole schema.
        declared: that of the node.
        optional_old: whether the value before an update may be missing.
    """

    declarations: Declarations
    declared: Declared
    optional_old: bool

    def size_of(self, path: Path) -> Size | None:
        """How large what stands at a path can be."""
        found = self.declared.at(path[1:])
        return None if found is None else Size(0, found.most)


def compile_rule(text: str, scope: Scope, environment: Environment = STORED) -> Compiled:
    """The program of a rule.

    Args:
        text: the rule.
        scope: where it stands.
        environment: what it may use.

    Raises:
        RuleError: the text is no expression, or one that gives no bool.
    """
    checked = _checked(text, scope, environment, "")
    if checked.result != BOOL:
        raise RuleError("cel expression must evaluate to a bool")
    return _compiled(checked, scope, "program instantiation failed")


def compile_message(text: str, scope: Scope, environment: Environment = STORED) -> Compiled:
    """The program of a messageExpression; see `compile_rule`.

    Raises:
        RuleError: the text is no expression, or one that gives no string.
    """
    checked = _checked(text, scope, environment, "messageExpression ")
    if checked.result != STRING:
        raise RuleError("messageExpression must evaluate to a string")
    return _compiled(checked, scope, "messageExpression instantiation failed")


def _checked(text: str, scope: Scope, environment: Environment, what: str) -> Checked:
    kind = scope.declared.type
    variables = {SELF: kind, OLD_SELF: optional_of(kind) if scope.optional_old else kind}
    try:
        fields = partial(scope.declarations.field_type, keywords=environment.keywords_as_fields)
        checked = check(parse(text, environment), variables, fields, environment)
        check_literals(checked, all_kinds=environment.checks_literals)
    except CompileError as error:
        raise RuleError(f"{what}compilation failed: {error}") from None
    except RecursionError:
        raise _too_deep(what) from None
    return checked


def _compiled(checked: Checked, scope: Scope, failed: str) -> Compiled:
    try:
        made = program(checked, (SELF, OLD_SELF))
        cost = greatest_cost(checked, scope.size_of)
    except EvaluationError as error:
        raise RuleError(f"{failed}: {error}") from None
    except RecursionError:
        raise _too_deep("") from None
    return Compiled(made, OLD_SELF in checked.variables, cost)


def _too_deep(what: str) -> RuleError:
    """The error of an expression that we cannot follow; upstream can, up to 250 levels."""
    return RuleError(f"{what}compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded")
