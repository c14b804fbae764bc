"""A request as policies see it: which policies, bindings and parameters it is evaluated with.

Source: k8s.io/apiserver/pkg/admission/plugin/policy/generic/plugin.go and ../generic/policy_matcher.go.
"""

from typing import Any

from apiserver.admission.latest import get_synced
from apiserver.admission.matching import Matcher, request_namespace
from apiserver.admission.policy.params import ConfigurationError, ParamCollector
from apiserver.admission.policy.source import Binding, Policy
from apiserver.admission.webhook.objects import ReviewObjects
from apiserver.admission.webhook.reviews import admission_request
from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry.admission import Attributes
from apiserver.registry.context import Registry
from apiserver.registry.storage import key_of

_EXEMPT = {
    "admissionregistration.k8s.io": frozenset(
        f"{prefix}admission{suffix}"
        for prefix in ("validating", "mutating")
        for suffix in ("policies", "policybindings")
    ),
    "authentication.k8s.io": frozenset(("selfsubjectreviews", "tokenreviews")),
    "authorization.k8s.io": frozenset(
        (
            *("localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
            "subjectaccessreviews",
        )
    ),
}
_NOTHING: frozenset[str] = frozenset()


def is_exempt(attributes: Attributes) -> bool:
    """Return whether no policy is for a request: one for a policy, or for a review of tokens or access."""
    resource = attributes.target.resource
    return resource.plural in _EXEMPT.get(resource.group, _NOTHING)


class PolicyRequests:
    """Matches requests with policies, and gets what their expressions see.

    Args:
        registry: has the store, the resources and their codecs.
    """

    def __init__(self, registry: Registry) -> None:
        self.objects = ReviewObjects(registry)
        self._registry = registry
        self._store = registry.storage.store
        self._matcher = Matcher(self._store, registry.table)
        self._params = ParamCollector(registry)

    async def resource_of(self, policy: Policy[Any], attributes: Attributes) -> Resource | None:
        """Return the resource in whose version a policy sees the object, None if it is not for the request.

        Raises:
            ConfigurationError: that cannot be found out.
        """
        try:
            return await self._matcher.match(policy.criteria, attributes)
        except ApiError as error:
            raise ConfigurationError(error.message) from error

    async def shown(self, attributes: Attributes, resource: Resource) -> tuple[Obj | None, Obj | None, Obj]:
        """Return the object, the one before and the AdmissionRequest, in the version of a resource.

        Raises:
            ConfigurationError: they cannot be converted.
        """
        requested = attributes.target.resource
        try:
            obj = await self.objects.converted(attributes.obj, requested, resource)
            old = await self.objects.converted(attributes.old, requested, resource)
        except ApiError as error:
            raise ConfigurationError(f"failed to convert object version: {error.message}") from error
        return obj, old, admission_request(attributes, resource)

    def param_resource(self, policy: Policy[Any]) -> Resource | None:
        """Return the resource of a policy's parameters, None if it has none.

        Raises:
            ConfigurationError: nothing of that kind is served.
        """
        return self._params.resource_of(policy.param_kind)

    async def params(self, binding: Binding, resource: Resource | None, attributes: Attributes) -> list[Obj | None]:
        """Return the parameters with which a request is evaluated, none if the binding is not for it.

        Raises:
            ConfigurationError: that, or the parameters, cannot be found out.
        """
        try:
            if binding.criteria is not None and await self._matcher.match(binding.criteria, attributes) is None:
                return []
        except ApiError as error:
            raise ConfigurationError(error.message) from error
        return list(await self._params.collect(resource, binding.param_ref, request_namespace(attributes)))

    async def namespace(self, attributes: Attributes) -> Obj | None:
        """Return the Namespace of a request as expressions see it, None for Namespaces and what lies in none.

        Raises:
            ApiError: 404, it does not exist.
        """
        name, target = attributes.target.namespace, attributes.target.resource
        if not name or (target.group, target.version, target.kind) == ("", "v1", "Namespace"):
            return None
        resource = self._registry.table.find("", "v1", "namespaces")
        assert resource is not None
        kv = await get_synced(self._store, key_of(resource, "", name))
        if kv is None:
            raise errors.not_found("", "namespaces", name)
        namespace = self._registry.codecs.codec_of(resource).decode(kv)
        hidden = ("managedFields", "ownerReferences", "selfLink")
        metadata = {key: value for key, value in namespace["metadata"].items() if key not in hidden}
        return {"metadata": metadata} | {key: namespace[key] for key in ("spec", "status") if key in namespace}
