"""Expressions of admission in CEL: their variables, their compilation and their evaluation.

Match conditions of webhooks use them; so may those of policies, with variables of their own. Whoever needs no
expression should not import this module, as it takes 50 ms.

Source: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go and activation.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from apiserver.api.meta import Obj
from apiserver.cel.checker import CheckedExpr, Fields, check
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment
from apiserver.cel.errors import CompileError
from apiserver.cel.evaluation.program import EvalResult, Program, program
from apiserver.cel.functions.authorization import AuthorizerValue, ResourceCheck
from apiserver.cel.json_values import json_value
from apiserver.cel.literals import check_literals
from apiserver.cel.parsing import parse
from apiserver.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, CelType, list_of, map_of, struct
from apiserver.cel.values import EvaluationError

MAX_CALL_COST = 1_000_000
"""The highest cost of one evaluation (PerCallLimit of k8s.io/apiserver/pkg/apis/cel)."""
MAX_CONDITIONS_COST = 2_500_000
"""The highest cost of all match conditions for an object (RuntimeCELCostBudgetMatchConditions)."""
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"

_STRINGS = list_of(STRING)
_GVK, _GVR, _USER = (struct(f"kubernetes.{name}") for name in ("GroupVersionKind", "GroupVersionResource", "UserInfo"))
_NAMESPACE, _META, _SPEC, _STATUS, _CONDITION = (
    struct(f"kubernetes.Namespace{name}") for name in ("", "Metadata", "Spec", "Status", "Condition")
)
_REQUEST = struct("kubernetes.AdmissionRequest")
_FIELDS: Mapping[str, Mapping[str, CelType]] = {
    _GVK.name: dict.fromkeys(("group", "version", "kind"), STRING),
    _GVR.name: dict.fromkeys(("group", "version", "resource"), STRING),
    _USER.name: {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": map_of(STRING, _STRINGS)},
    _REQUEST.name: {
        **dict.fromkeys(("kind", "requestKind"), _GVK),
        **dict.fromkeys(("resource", "requestResource"), _GVR),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), STRING),
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _NAMESPACE.name: {"metadata": _META, "spec": _SPEC, "status": _STATUS},
    _META.name: {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), map_of(STRING, STRING)),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _STRINGS,
    },
    _SPEC.name: {"finalizers": _STRINGS},
    _STATUS.name: {"conditions": list_of(_CONDITION), "phase": STRING},
    _CONDITION.name: {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    },
}
"""Struct → its fields (BuildRequestType, BuildNamespaceType)."""

AUTHORIZER, RESOURCE_CHECK = "authorizer", "authorizer.requestResource"
VARIABLES: Mapping[str, CelType] = {
    "object": DYN,
    "oldObject": DYN,
    "namespaceObject": _NAMESPACE,
    "request": _REQUEST,
    AUTHORIZER: struct(AuthorizerValue.type_name),
    RESOURCE_CHECK: struct(ResourceCheck.type_name),
}
"""The variables of match conditions, in the order in which programs take their values."""


class ExpressionError(ValueError):
    """An expression that cannot be used; the message is upstream's."""


def compile_expression(
    text: str,
    results: Sequence[CelType] = (BOOL,),
    variables: Mapping[str, CelType] = VARIABLES,
    environment: Environment = STORED_EXPRESSIONS,
    fields: Fields | None = None,
) -> Program:
    """Return the program of an expression (CompileCELExpression).

    Args:
        text: the expression.
        results: the types that it may evaluate to, none for any type.
        variables: its variables; the program takes their values in this order.
        environment: the functions that it may use.
        fields: the fields of structs beyond those of admission.

    Raises:
        ExpressionError: the text is not such an expression.
    """
    return program_of(check_expression(text, results, variables, environment, fields), tuple(variables))


def program_of(checked: CheckedExpr, variables: Sequence[str]) -> Program:
    """Return the program of a checked expression, which takes the values of its variables in this order.

    Raises:
        ExpressionError: a constant in it has no value, such as int('x').
    """
    try:
        return program(checked, variables)
    except EvaluationError as error:
        raise ExpressionError(f"program instantiation failed: {error}") from None


def check_expression(
    text: str,
    results: Sequence[CelType],
    variables: Mapping[str, CelType],
    environment: Environment = STORED_EXPRESSIONS,
    fields: Fields | None = None,
) -> CheckedExpr:
    """Return an expression with its types; the arguments are those of compile_expression.

    Raises:
        ExpressionError: the text is not such an expression.
    """

    def field_type(name: str, field: str) -> CelType | None:
        own = _FIELDS.get(name)
        if own is not None:
            return own.get(field)
        return fields(name, field) if fields is not None else None

    try:
        checked = check(parse(text, environment), variables, field_type, environment)
        check_literals(checked, all_kinds=environment.checks_literals)
    except CompileError as error:
        raise ExpressionError(f"compilation failed: {error}") from None
    except RecursionError:
        raise ExpressionError("compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded") from None
    if results and checked.result not in results:
        names = [_type_name(each) for each in results]
        expected = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        raise ExpressionError(f"must evaluate to {expected} but got {_type_name(checked.result)}")
    return checked


def _type_name(kind: CelType) -> str:
    """Return a type as these errors name it (cel.Type.String); others say null for null_type."""
    return kind.kind if kind == NULL else str(kind)


@dataclass(frozen=True, slots=True)
class Condition:
    """A match condition, compiled.

    Attributes:
        error: why it could not be compiled, "" if it could.
    """

    name: str
    text: str
    program: Program | None
    error: str = ""

    def evaluate(self, values: Sequence[Any]) -> EvalResult:
        """Evaluate the condition; the error is upstream's (evaluationActivation.Evaluate)."""
        if self.program is None:
            return EvalResult(None, f"compilation error: {self.error}", 0)
        result = self.program.evaluate(values, MAX_CALL_COST)
        if not result.error:
            return result
        return EvalResult(None, f"expression '{self.text}' resulted in error: {result.error}", result.cost)


def compile_conditions(
    conditions: Sequence[Obj], variables: Mapping[str, CelType] = VARIABLES
) -> tuple[Condition, ...]:
    """Return stored match conditions, compiled; one that cannot be compiled fails when it is evaluated."""
    return tuple(_condition(each, variables) for each in conditions)


def _condition(condition: Obj, variables: Mapping[str, CelType]) -> Condition:
    name, text = condition.get("name") or "", condition.get("expression") or ""
    try:
        return Condition(name, text, compile_expression(text, variables=variables))
    except ExpressionError as error:
        return Condition(name, text, None, str(error))


class MatchConditionsError(Exception):
    """Match conditions that could not be evaluated; the message is upstream's."""


class Evaluable(Protocol):
    """A compiled expression whose errors are upstream's."""

    def evaluate(self, values: Any, /) -> EvalResult:
        """Evaluate the expression with the values of its variables."""
        ...


def all_match(conditions: Sequence[Evaluable], values: Any) -> bool:
    """Return whether all conditions are true; one that is false outweighs the errors of others (matcher.Match).

    Args:
        conditions: the conditions.
        values: the values of their variables.

    Raises:
        MatchConditionsError: no condition is false, but some cannot be evaluated, or they cost too much.
    """
    budget, errors, is_false = MAX_CONDITIONS_COST, [], False
    for condition in conditions:
        result = condition.evaluate(values)
        budget -= result.cost
        if budget < 0:
            raise MatchConditionsError(OUT_OF_BUDGET)
        if result.error:
            errors.append(result.error)
        is_false = is_false or result.value is False
    if errors and not is_false:
        unique = list(dict.fromkeys(errors))
        raise MatchConditionsError(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")
    return not is_false


def values_of(
    obj: Obj | None, old: Obj | None, request: Obj, authorizer: AuthorizerValue | None = None
) -> tuple[Any, ...]:
    """Return the values of VARIABLES for a request; match conditions of webhooks see no namespace.

    Args:
        obj: the object, None for a deletion.
        old: the object before, None for a creation.
        request: the AdmissionRequest without uid, object and oldObject.
        authorizer: answers what the user of the request may do.
    """
    check_of_request = None if authorizer is None else check_of(request, authorizer)
    return json_value(obj), json_value(old), None, json_value(request), authorizer, check_of_request


def check_of(request: Obj, authorizer: AuthorizerValue) -> ResourceCheck:
    """Return the value of authorizer.requestResource for an AdmissionRequest (NewResourceAuthorizerVal)."""
    resource = request["resource"]
    attributes = {"group": resource["group"], "resource": resource["resource"]} | {
        name: request[key]
        for name, key in (("subresource", "subResource"), ("namespace", "namespace"), ("name", "name"))
        if key in request
    }
    return ResourceCheck(authorizer, attributes)
