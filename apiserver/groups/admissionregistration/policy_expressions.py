"""Expressions of admission policies, which may use the policy's own variables (spec.variables).

A variable is evaluated when an expression first asks for it, and then has its value, or its error, for all expressions
of one group, such as the validations:

    variables: [{name: images, expression: "object.spec.containers.map(c, c.image)"}]
    validations: [{expression: "variables.images.all(i, i.startsWith('ours/'))"}]

Source: k8s.io/apiserver/pkg/admission/plugin/cel/composition.go and activation.go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.api.meta import Obj
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment
from apiserver.cel.evaluation.program import EvalResult, Program
from apiserver.cel.functions.authorization import AuthorizerValue
from apiserver.cel.functions.times import parse_timestamp
from apiserver.cel.json_values import JsonMap, json_value
from apiserver.cel.types import DYN, CelType, list_of, map_of, struct
from apiserver.cel.values import MISSING, EvaluationError, Mapper
from apiserver.groups.admissionregistration.expressions import (
    AUTHORIZER,
    MAX_CALL_COST,
    RESOURCE_CHECK,
    VARIABLES,
    ExpressionError,
    check_expression,
    check_of,
    program_of,
)

_OF_POLICY = struct("kubernetes.variables")
_PLAIN = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "null_type", "string", "timestamp", "uint"),
)
_TIMES = frozenset(("creationTimestamp", "deletionTimestamp", "lastTransitionTime"))


@dataclass(slots=True)
class Activation:
    """The values of the variables for one group of expressions (evaluationActivation).

    Attributes:
        values: name → value; authorizer is absent where expressions may not use it.
        variables: the variables of the policy.
    """

    values: dict[str, Any]
    variables: "LazyVariables"


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """One compiled expression of a policy.

    Attributes:
        names: the variables that the program takes, in this order.
        kind: its type, DYN if it could not be compiled.
        error: why it could not be compiled, "" if it could.
    """

    text: str
    names: tuple[str, ...]
    program: Program | None
    kind: CelType = DYN
    error: str = ""

    def run(self, activation: Activation) -> EvalResult:
        """Evaluate the expression; its own cost, without that of variables."""
        assert self.program is not None
        return self.program.evaluate([activation.values.get(name) for name in self.names], MAX_CALL_COST)

    def evaluate(self, activation: Activation) -> EvalResult:
        """Evaluate the expression; the cost has that of variables, the error is upstream's (Evaluate)."""
        if self.program is None:
            return EvalResult(None, f"compilation error: {self.error}", 0)
        before = activation.variables.cost
        result = self.run(activation)
        cost = result.cost + activation.variables.cost - before
        error = f"expression '{self.text}' resulted in error: {result.error}" if result.error else ""
        return EvalResult(result.value, error, cost)


class LazyVariables(Mapper):
    """The value of `variables` (compositionContext.Variables).

    Attributes:
        cost: the cost of all variables that have been evaluated.
    """

    __slots__ = ("_activation", "_expressions", "_outcomes", "cost")

    def __init__(self, expressions: Mapping[str, PolicyExpression]) -> None:
        self.cost = 0
        self._expressions = expressions
        self._outcomes: dict[str, Any] = {}
        self._activation: Activation | None = None

    def bind(self, activation: Activation) -> None:
        """Set the values that the variables' own expressions see."""
        self._activation = activation

    def __len__(self) -> int:
        return len(self._expressions)

    def key_list(self) -> list[Any]:
        """Return the names."""
        return list(self._expressions)

    def find(self, key: Any) -> Any:
        """Return the value of a variable.

        Raises:
            EvaluationError: it has none.
        """
        expression = self._expressions.get(key)
        if expression is None:
            return MISSING
        if key not in self._outcomes:
            self._outcomes[key] = self._outcome(key, expression)
        outcome = self._outcomes[key]
        if isinstance(outcome, EvaluationError):
            raise outcome
        return outcome

    def _outcome(self, name: str, expression: PolicyExpression) -> Any:
        """Return a variable's value, or its error, which the next expression gets as well."""
        if expression.program is None:
            return EvaluationError(f'composited variable "{name}" fails to compile: {expression.error}')
        assert self._activation is not None
        result = expression.run(self._activation)
        self.cost += result.cost
        if result.error:
            return EvaluationError(f'composited variable "{name}" fails to evaluate: {result.error}')
        return result.value


@dataclass(slots=True)
class PolicyCompiler:
    """Compiles the expressions of one policy (CompositedCompiler).

    Attributes:
        has_params: whether the policy has a paramKind.
        variables: name → variable, of those compiled so far.
        fields: name → type of a variable; None while there is no variable `variables` at all.
    """

    has_params: bool
    variables: dict[str, PolicyExpression] = field(default_factory=dict)
    fields: dict[str, CelType] | None = field(default_factory=dict)

    def add_variable(self, name: str, text: str, environment: Environment = STORED_EXPRESSIONS) -> PolicyExpression:
        """Compile a variable, which later expressions may use."""
        expression = self.compile(text, (), environment=environment)
        self.variables[name] = expression
        self.fields = (self.fields or {}) | {name: _field_type(expression.kind)}
        return expression

    def compile(
        self,
        text: str,
        results: Sequence[CelType],
        *,
        authorizer: bool = True,
        environment: Environment = STORED_EXPRESSIONS,
    ) -> PolicyExpression:
        """Compile an expression; one that cannot be compiled has an error.

        Args:
            text: the expression.
            results: the types that it may evaluate to, none for any type.
            authorizer: whether it may ask the authorizer.
            environment: the functions that it may use.
        """
        declared = self._declared(authorizer=authorizer)
        names = tuple(declared)
        try:
            checked = check_expression(text, results, declared, environment, self._field)
            return PolicyExpression(text, names, program_of(checked, names), checked.result)
        except ExpressionError as error:
            return PolicyExpression(text, names, None, error=str(error))

    def _declared(self, *, authorizer: bool) -> dict[str, CelType]:
        hidden = () if authorizer else (AUTHORIZER, RESOURCE_CHECK)
        declared = {name: kind for name, kind in VARIABLES.items() if name not in hidden}
        if self.has_params:
            declared["params"] = DYN
        if self.fields is not None:
            declared["variables"] = _OF_POLICY
        return declared

    def _field(self, name: str, field_name: str) -> CelType | None:
        return (self.fields or {}).get(field_name) if name == _OF_POLICY.name else None


def _field_type(kind: CelType) -> CelType:
    """Return the type that a variable is declared with: objects and the like become dyn (convertCelTypeToDeclType)."""
    match kind.kind:
        case "list":
            return list_of(_field_type(kind.params[0]))
        case "map":
            return map_of(_field_type(kind.params[0]), _field_type(kind.params[1]))
        case plain:
            return kind if plain in _PLAIN else DYN


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """The values that the expressions of a policy see of one request.

    Attributes:
        request: the AdmissionRequest without uid, object and oldObject.
        params: the parameters, None for none.
        namespace: the Namespace of the request, None for what lies in none.
    """

    obj: Obj | None
    old: Obj | None
    request: Obj
    params: Obj | None
    namespace: Obj | None

    def activation(
        self, variables: Mapping[str, PolicyExpression], authorizer: AuthorizerValue | None = None
    ) -> Activation:
        """Return the values for one group of expressions, whose variables have not been evaluated yet."""
        lazy = LazyVariables(variables)
        values = {
            "object": json_value(self.obj),
            "oldObject": json_value(self.old),
            "namespaceObject": _namespace_value(self.namespace),
            "request": json_value(self.request),
            "params": json_value(self.params),
            "variables": lazy,
        }
        if authorizer is not None:
            values[AUTHORIZER] = authorizer
            values[RESOURCE_CHECK] = check_of(self.request, authorizer)
        activation = Activation(values, lazy)
        lazy.bind(activation)
        return activation


class _NamespaceMap(JsonMap):
    """A part of a Namespace, in which times are timestamps: upstream shows expressions a typed object."""

    __slots__ = ()

    def find(self, key: Any) -> Any:
        """Return the value of a key, MISSING if there is none."""
        value = self.data.get(key, MISSING) if type(key) is str else MISSING
        if key in _TIMES and type(value) is str:
            return parse_timestamp(value)
        return value if value is MISSING else _namespace_value(value)


def _namespace_value(data: Any) -> Any:
    if type(data) is dict:
        return _NamespaceMap(data)
    return [_namespace_value(item) for item in data] if type(data) is list else data
