"""Compilation of a rule's expression: checked against the schema's declarations, costed, and made a program.

Source: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go.
"""

from dataclasses import dataclass
from functools import partial

from apiserver.apiextensions.rules.schema_types import Declarations, DeclType
from apiserver.cel.checker import CheckedExpr, check
from apiserver.cel.cost_estimate import Path, max_cost
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment
from apiserver.cel.errors import CompileError
from apiserver.cel.evaluation.program import Program, program
from apiserver.cel.literals import check_literals
from apiserver.cel.parsing import parse
from apiserver.cel.sizes import Size
from apiserver.cel.types import BOOL, STRING, optional_of
from apiserver.cel.values import EvaluationError

SELF, OLD_SELF = "self", "oldSelf"


class RuleError(ValueError):
    """An expression that is no valid rule; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """An expression that can be evaluated.

    Attributes:
        uses_old: True if it uses oldSelf, the value before an update.
        cost: the highest cost of an evaluation.
    """

    program: Program
    uses_old: bool
    cost: int


@dataclass(frozen=True, slots=True)
class ExpressionScope:
    """The node of a schema that an expression belongs to.

    Attributes:
        declarations: the declarations of the whole schema.
        declared: the declaration of the node.
        optional_old: True if oldSelf is optional.
    """

    declarations: Declarations
    declared: DeclType
    optional_old: bool

    def size_of(self, path: Path) -> Size | None:
        """Return the possible size of the value at a path; None if it is not declared."""
        declared = self.declared.type_at(path[1:])
        return None if declared is None else Size(0, declared.max_elements)


def compile_rule(
    text: str, scope: ExpressionScope, environment: Environment = STORED_EXPRESSIONS
) -> CompiledExpression:
    """Return the program of a rule.

    Args:
        text: the rule.
        scope: the node that it belongs to.
        environment: the functions and variables that it may use.

    Raises:
        RuleError: the text is not an expression, or not one of type bool.
    """
    checked = _checked(text, scope, environment, "")
    if checked.result != BOOL:
        raise RuleError("cel expression must evaluate to a bool")
    return _compiled(checked, scope, "program instantiation failed")


def compile_message(
    text: str, scope: ExpressionScope, environment: Environment = STORED_EXPRESSIONS
) -> CompiledExpression:
    """Return the program of a messageExpression; see `compile_rule`.

    Raises:
        RuleError: the text is not an expression, or not one of type string.
    """
    checked = _checked(text, scope, environment, "messageExpression ")
    if checked.result != STRING:
        raise RuleError("messageExpression must evaluate to a string")
    return _compiled(checked, scope, "messageExpression instantiation failed")


def _checked(text: str, scope: ExpressionScope, environment: Environment, prefix: str) -> CheckedExpr:
    kind = scope.declared.type
    variables = {SELF: kind, OLD_SELF: optional_of(kind) if scope.optional_old else kind}
    try:
        fields = partial(scope.declarations.field_type, keywords=environment.keywords_as_fields)
        checked = check(parse(text, environment), variables, fields, environment)
        check_literals(checked, all_kinds=environment.checks_literals)
    except CompileError as error:
        raise RuleError(f"{prefix}compilation failed: {error}") from None
    except RecursionError:
        raise _too_deep(prefix) from None
    return checked


def _compiled(checked: CheckedExpr, scope: ExpressionScope, failure: str) -> CompiledExpression:
    try:
        compiled_program = program(checked, (SELF, OLD_SELF))
        cost = max_cost(checked, scope.size_of)
    except EvaluationError as error:
        raise RuleError(f"{failure}: {error}") from None
    except RecursionError:
        raise _too_deep("") from None
    return CompiledExpression(compiled_program, OLD_SELF in checked.variables, cost)


def _too_deep(prefix: str) -> RuleError:
    """Return the error of an expression that is nested too deeply for this server; upstream takes up to 250 levels."""
    return RuleError(f"{prefix}compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded")
