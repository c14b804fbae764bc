"""The expressions of one ValidatingAdmissionPolicy, compiled, and what they say of a request.

Whoever has no policy should not import this module: expressions take 50 ms.

Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go, and compilePolicy of plugin.go.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from apiserver.api.meta import Obj
from apiserver.cel.functions.authorization import AuthorizerValue
from apiserver.cel.types import BOOL, NULL, STRING
from apiserver.groups.admissionregistration.expressions import OUT_OF_BUDGET, MatchConditionsError, all_match
from apiserver.groups.admissionregistration.policy_expressions import (
    Activation,
    PolicyCompiler,
    PolicyExpression,
    PolicyInput,
)

MAX_COST = 10_000_000
"""The highest cost of all validations for one request and parameter (RuntimeCELCostBudget)."""
_MAX_MESSAGE = 5 * 1024
"""The longest message that an expression may compute, in bytes (MaxEvaluatedMessageExpressionSizeBytes)."""


class Denial(NamedTuple):
    """A validation that denies a request.

    Attributes:
        reason: the reason of the Status, "" if the validation failed to be evaluated.
    """

    message: str
    reason: str = ""


class Verdict(NamedTuple):
    """The result of a policy for one request and parameter (ValidateResult).

    Attributes:
        denials: the validations that deny it; the actions of the binding say what that means.
        ignored: the errors of validations that the failurePolicy ignores.
        audit_errors: why audit annotations could not be evaluated, which denies it whatever the binding says.
    """

    denials: list[Denial]
    audit_errors: Sequence[str] = ()
    ignored: Sequence[str] = ()


class _OutOfBudgetError(Exception):
    """The expressions have cost too much."""


class _Validation(NamedTuple):
    expression: PolicyExpression
    message_expression: PolicyExpression | None
    message: str
    reason: str


class Validator:
    """The expressions of a policy.

    Args:
        spec: the policy's spec; what cannot be compiled fails when it is evaluated.
    """

    def __init__(self, spec: Obj) -> None:
        self._fails_open = spec.get("failurePolicy") == "Ignore"
        compiler = PolicyCompiler(has_params=spec.get("paramKind") is not None)
        for variable in spec.get("variables") or ():
            compiler.add_variable(variable.get("name") or "", variable.get("expression") or "")
        self._variables = compiler.variables
        self._conditions = [
            compiler.compile((each.get("expression") or ""), (BOOL,)) for each in spec.get("matchConditions") or ()
        ]
        self._validations = [_validation(compiler, each) for each in spec.get("validations") or ()]
        self._annotations = [
            compiler.compile(each.get("valueExpression") or "", (STRING, NULL))
            for each in spec.get("auditAnnotations") or ()
        ]

    def validate(self, given: PolicyInput, authorizer: AuthorizerValue) -> Verdict:
        """Return what the policy says of a request.

        Raises:
            UndecidedError: the authorizer has to be asked first.
        """
        try:
            if self._conditions and not all_match(self._conditions, given.activation(self._variables, authorizer)):
                return Verdict([])
        except MatchConditionsError as error:
            return self._failed(str(error))
        try:
            results, budget = self._evaluate(
                [each.expression for each in self._validations], given.activation(self._variables, authorizer), MAX_COST
            )
        except _OutOfBudgetError:
            return self._failed(OUT_OF_BUDGET)
        messages, message_error = self._messages(given, budget)
        denials = list(self._denials(results, messages, message_error))
        ignored = [error for _, error in results if error] if self._fails_open else ()
        if not self._annotations:
            return Verdict(denials, ignored=ignored)
        try:
            annotations, _ = self._evaluate(self._annotations, given.activation(self._variables), MAX_COST)
        except _OutOfBudgetError:
            return self._failed(OUT_OF_BUDGET)
        errors = [] if self._fails_open else [error for _, error in annotations if error]
        return Verdict(denials, errors, ignored)

    def _failed(self, message: str) -> Verdict:
        return Verdict([], ignored=(message,)) if self._fails_open else Verdict([Denial(message)])

    def _evaluate(
        self, expressions: Sequence[PolicyExpression | None], activation: Activation, budget: int
    ) -> tuple[list[tuple[Any, str]], int]:
        """Return (value, error) for each expression, and what is left of the budget (ForInput).

        Raises:
            _OutOfBudgetError: it has been used up.
        """
        results: list[tuple[Any, str]] = []
        for expression in expressions:
            if expression is None:
                results.append((None, ""))
                continue
            result = expression.evaluate(activation)
            budget -= result.cost
            if budget < 0:
                raise _OutOfBudgetError
            results.append((result.value, result.error))
        return results, budget

    def _messages(self, given: PolicyInput, budget: int) -> tuple[list[tuple[Any, str]], str]:
        """Return the (value, error) of each message expression, and the error of all of them."""
        expressions = [each.message_expression for each in self._validations]
        if not any(expressions):
            return [(None, "")] * len(expressions), ""
        try:
            return self._evaluate(expressions, given.activation(self._variables), budget)[0], ""
        except _OutOfBudgetError:
            return [(None, "")] * len(expressions), f"failed messageExpression: {OUT_OF_BUDGET}"

    def _denials(
        self, results: list[tuple[Any, str]], messages: list[tuple[Any, str]], message_error: str
    ) -> Iterator[Denial]:
        for validation, (value, error), (message, _) in zip(self._validations, results, messages, strict=True):
            failure = error or message_error
            if failure:
                if not self._fails_open:
                    yield Denial(failure)
            elif value is not True:
                yield Denial(_message(validation, message), validation.reason)


def _validation(compiler: PolicyCompiler, validation: Obj) -> _Validation:
    computed = validation.get("messageExpression")
    return _Validation(
        compiler.compile(validation.get("expression") or "", (BOOL,)),
        compiler.compile(computed, (STRING,), authorizer=False) if computed else None,
        (validation.get("message") or "").strip(),
        validation.get("reason") or "Invalid",
    )


def _message(validation: _Validation, computed: Any) -> str:
    """Return the message of a denial: computed, else given, else the expression."""
    text = computed.strip() if type(computed) is str else ""
    if len(text.encode()) > _MAX_MESSAGE or "\n" in text:
        text = ""
    return text or validation.message or f"failed expression: {validation.expression.text.strip()}"
