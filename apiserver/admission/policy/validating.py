"""ValidatingAdmissionPolicy: evaluates the policies that are bound.

Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
"""

from typing import Any, NamedTuple

from apiserver.admission.metrics import AdmissionMetrics
from apiserver.admission.policy.params import ConfigurationError
from apiserver.admission.policy.requests import PolicyRequests, is_exempt
from apiserver.admission.policy.source import Binding, Policy, PolicySource
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry.admission import ALL, Attributes, Handles, forbidden
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.context import Registry

_KIND = "ValidatingAdmissionPolicy"
_PREFIXES = "/registry/validatingadmissionpolicies/", "/registry/validatingadmissionpolicybindings/"
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
"""Reason → code; all others are 422 (reasonToCode)."""
_DEFAULT_CODE = 422
_OUT_OF_BUDGET = "validation failed due to running out of cost budget"


class _Denied(NamedTuple):
    """A reason to refuse the request; the binding is None if the policy itself cannot be used."""

    policy: Policy[Any]
    binding: Binding | None
    message: str
    reason: str = ""


class ValidatingAdmissionPolicy:
    """The plug-in of that name (plugin/policy/validating).

    Args:
        registry: has the policies, their parameters and the authorizer that expressions ask.
        metrics: counts the validations that fail.
    """

    name = _KIND
    handles: tuple[Handles, ...] = (Handles(ALL, subresources=None),)

    def __init__(self, registry: Registry, metrics: AdmissionMetrics) -> None:
        self._source: PolicySource[Any] = PolicySource(registry.storage.store, _PREFIXES, _compile)
        self._requests = PolicyRequests(registry)
        self._registry = registry
        self._metrics = metrics

    async def validate(self, attributes: Attributes) -> None:
        """Evaluate the policies that the request is for.

        Raises:
            ApiError: the error of the first, by name of policy and binding, that denies or fails.
        """
        policies = self._source.get()
        if not policies or is_exempt(attributes):
            return
        evaluation = _Evaluation(self._requests, attributes, self._registry.security.authorizer, self._metrics)
        for policy in policies:
            await evaluation.add(policy)
        if evaluation.denied:
            raise _refusal(attributes, evaluation.denied[0])


def _error_type(message: str) -> str:
    """Return the kind of a validation's error (ErrorType of ../validating/errors.go)."""
    if message.startswith("compilation"):
        return "compile_error"
    return "out_of_budget" if message.startswith(_OUT_OF_BUDGET) else "invalid_error"


def _compile(spec: Obj) -> Any:
    from apiserver.admission.policy.validator import Validator  # noqa: PLC0415 - takes 50 ms, and few have policies

    return Validator(spec)


def _refusal(attributes: Attributes, denied: _Denied) -> ApiError:
    bound = "" if denied.binding is None else f" with binding '{denied.binding.name}'"
    message = f"{_KIND} '{denied.policy.name}'{bound} denied request: {denied.message}"
    error = forbidden(attributes, message, causes=[{"message": message}])
    reason = denied.reason or "Invalid"
    return ApiError(_CODES.get(reason, _DEFAULT_CODE), reason, error.message, details=error.details)


class _Evaluation:
    """The evaluation of one request.

    Attributes:
        denied: the reasons to refuse it, in the order in which they were found.
    """

    def __init__(
        self, requests: PolicyRequests, attributes: Attributes, authorizer: Authorizer, metrics: AdmissionMetrics
    ) -> None:
        from apiserver.admission.webhook.conditions import Decisions  # noqa: PLC0415 - it needs expressions as well

        self.denied: list[_Denied] = []
        self._requests = requests
        self._attributes = requests.objects.attributes_for(attributes)
        self._decisions = Decisions(authorizer)
        self._metrics = metrics

    async def add(self, policy: Policy[Any]) -> None:
        """Evaluate one policy with each of its bindings.

        Raises:
            ApiError: 404, the namespace of the request does not exist.
        """
        try:
            resource = await self._requests.resource_of(policy, self._attributes)
            if resource is None:
                return
            param_resource = self._requests.param_resource(policy)
            shown = await self._requests.shown(self._attributes, resource)
        except ConfigurationError as error:
            self._fail(policy, None, f"failed to configure policy: {error}")
            return
        for binding in policy.bindings:
            await self._add_binding(policy, binding, param_resource, shown)

    async def _add_binding(
        self,
        policy: Policy[Any],
        binding: Binding,
        param_resource: Resource | None,
        shown: tuple[Obj | None, Obj | None, Obj],
    ) -> None:
        try:
            params = await self._requests.params(binding, param_resource, self._attributes)
        except ConfigurationError as error:
            self._fail(policy, binding, f"failed to configure binding: {error}")
            return
        if not params:
            return
        namespace = await self._requests.namespace(self._attributes)
        for param in params:
            verdict = await self._verdict(policy, (*shown, param, namespace))
            for denial in verdict.denials:
                self._act(policy, binding, denial.message, denial.reason)
            for message in verdict.ignored:
                self._metrics.observe_policy(policy.name, binding.name, _error_type(message), "allow")
            for message in verdict.audit_errors:
                self._metrics.observe_policy(policy.name, binding.name, _error_type(message), "deny")
                self.denied.append(_Denied(policy, binding, message))

    async def _verdict(self, policy: Policy[Any], given: tuple[Any, ...]) -> Any:
        """Return what a policy says, once the authorizer has decided all that its expressions ask."""
        from apiserver.admission.webhook.conditions import UndecidedError  # noqa: PLC0415 - see above
        from apiserver.cel.functions.authorization import AuthorizerValue  # noqa: PLC0415
        from apiserver.groups.admissionregistration.policy_expressions import PolicyInput  # noqa: PLC0415

        authorizer = AuthorizerValue(self._attributes.user, self._decisions.decide)
        while True:
            try:
                return policy.evaluator.validate(PolicyInput(*given), authorizer)
            except UndecidedError as undecided:
                await self._decisions.make(undecided.request)

    def _act(self, policy: Policy[Any], binding: Binding, message: str, reason: str) -> None:
        """Do what the binding says of a failed validation; there is no audit log that Audit would write to."""
        error_type = "no_error" if reason else _error_type(message)
        for action in binding.actions:
            self._metrics.observe_policy(policy.name, binding.name, error_type, action.lower())
        if "Deny" in binding.actions:
            self.denied.append(_Denied(policy, binding, message, reason))
        if "Warn" in binding.actions:
            self._attributes.warnings.append(
                f"Validation failed for {_KIND} '{policy.name}' with binding '{binding.name}': {message}"
            )

    def _fail(self, policy: Policy[Any], binding: Binding | None, message: str) -> None:
        if not policy.fails_open:
            self.denied.append(_Denied(policy, binding, message))
