"""Compilation of a policy's expressions when the policy is written.

Whoever validates no policy should not import this module: expressions take 50 ms.

Source: validateValidatingAdmissionPolicySpec of pkg/apis/admissionregistration/validation/validation.go.
"""

from collections.abc import Collection

from apiserver.api.meta import Obj
from apiserver.cel.environments import STORED_EXPRESSIONS, Environment, new_expressions_environment
from apiserver.cel.types import BOOL, NULL, STRING
from apiserver.groups.admissionregistration.policy_expressions import PolicyCompiler


class ExpressionChecks:
    """Compiles the expressions of one policy in their order; each method returns why one cannot be used, "" if it can.

    Args:
        spec: the policy's spec.
        release: the minor number of the release, 0 for the newest.
        preexisting: the expressions that an update keeps: they may use functions of later releases.

    Attributes:
        has_new_conditions: False if an update leaves the match conditions as they are: then they are not compiled.
    """

    def __init__(self, spec: Obj, release: int, preexisting: Collection[str | None]) -> None:
        has_params = spec.get("paramKind") is not None
        self.has_new_conditions = True
        self._release = release
        self._preexisting = preexisting
        # match conditions may not use variables when they are written, although the evaluation knows them
        self._conditions = PolicyCompiler(has_params=has_params, fields=None)
        self._compiler = PolicyCompiler(has_params=has_params, fields={} if spec.get("variables") else None)

    def _environment(self, text: str) -> Environment:
        is_new = self._release and text not in self._preexisting
        return new_expressions_environment(self._release) if is_new else STORED_EXPRESSIONS

    def condition(self, text: str) -> str:
        """Check a match condition."""
        return self._conditions.compile(text, (BOOL,), environment=self._environment(text)).error

    def variable(self, name: str, text: str) -> str:
        """Check a variable, which the expressions after it may use."""
        return self._compiler.add_variable(name, text, self._environment(text)).error

    def validation(self, text: str) -> str:
        """Check a validation."""
        return self._compiler.compile(text, (BOOL,), environment=self._environment(text)).error

    def message(self, text: str) -> str:
        """Check a message expression, which may not ask the authorizer."""
        return self._compiler.compile(text, (STRING,), authorizer=False, environment=self._environment(text)).error

    def annotation(self, text: str) -> str:
        """Check the expression of an audit annotation's value."""
        return self._compiler.compile(text, (STRING, NULL), environment=self._environment(text)).error
