"""Authorization: Kubernetes' library for the variable `authorizer` (k8s.io/apiserver/pkg/cel/library/authz.go)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeAlias

from apiserver.api.user import User
from apiserver.api.validation.names import dns1123_label, dns1123_subdomain
from apiserver.cel.values import EvaluationError

_ACCOUNTS = "system:serviceaccounts"


class AuthorizerDecision(Protocol):
    """The decision of an authorizer."""

    @property
    def allowed(self) -> bool:
        """Return whether the user may do it."""
        ...

    @property
    def reason(self) -> str:
        """Return why, for people."""
        ...

    @property
    def error(self) -> str:
        """Return the error of an authorizer that could not decide, "" if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class DecisionValue:
    """A decision as expressions see it."""

    decision: AuthorizerDecision

    type_name: ClassVar[str] = "kubernetes.authorization.Decision"


Authorize: TypeAlias = Callable[[User, Mapping[str, str]], AuthorizerDecision]
"""Decides whether a user may do what the attributes of a SubjectAccessReview describe."""


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """An authorizer that is asked for one user."""

    user: User
    authorize: Authorize

    type_name: ClassVar[str] = "kubernetes.authorization.Authorizer"


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """A check of the resources of an API group."""

    authorizer: AuthorizerValue
    group: str

    type_name: ClassVar[str] = "kubernetes.authorization.GroupCheck"


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a path or of a resource, but for the verb.

    Attributes:
        attributes: the attributes so far, as a SubjectAccessReview names them.
    """

    authorizer: AuthorizerValue
    attributes: Mapping[str, str] = field(hash=False)

    def with_attribute(self, name: str, value: str) -> Any:
        """Return the same check with another attribute."""
        return replace(self, attributes={**self.attributes, name: value})

    def check(self, verb: str) -> DecisionValue:
        """Return the authorizer's decision for a verb."""
        return DecisionValue(self.authorizer.authorize(self.authorizer.user, {**self.attributes, "verb": verb}))


class PathCheck(Check):
    """A check of a path that is no resource."""

    __slots__ = ()

    type_name: ClassVar[str] = "kubernetes.authorization.PathCheck"


class ResourceCheck(Check):
    """A check of a resource."""

    __slots__ = ()

    type_name: ClassVar[str] = "kubernetes.authorization.ResourceCheck"


def _path(authorizer: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(authorizer, {"path": path})


def _service_account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if dns1123_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if dns1123_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    account = User(f"system:serviceaccount:{namespace}:{name}", groups=(_ACCOUNTS, f"{_ACCOUNTS}:{namespace}"))
    return AuthorizerValue(account, authorizer.authorize)


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(check.authorizer, {"group": check.group, "resource": resource})


def _setter(name: str) -> Callable[[ResourceCheck, str], Any]:
    return lambda check, value: check.with_attribute(name, value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "authorizer_path": _path,
    "authorizer_group": GroupCheck,
    "authorizer_serviceaccount": _service_account,
    "groupcheck_resource": _resource,
    "resourcecheck_subresource": _setter("subresource"),
    "resourcecheck_namespace": _setter("namespace"),
    "resourcecheck_name": _setter("name"),
    "authorizer_fieldselector": _setter("fieldSelector"),
    "authorizer_labelselector": _setter("labelSelector"),
    "pathcheck_check": Check.check,
    "resourcecheck_check": Check.check,
    "decision_allowed": lambda value: value.decision.allowed,
    "decision_reason": lambda value: value.decision.reason,
    "decision_errored": lambda value: bool(value.decision.error),
    "decision_error": lambda value: value.decision.error,
}
