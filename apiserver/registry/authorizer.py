"""The contract of authorizers: the request, the decision, and the error of a request that is not allowed."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.selectors import FieldSelector
from apiserver.api.user import User


class AuthorizationRequest(NamedTuple):
    """A request to authorize (authorizer.Attributes).

    Attributes:
        path: the path of a request that names no resource; "" for resources.
        is_resource: False if the request names a path instead of a resource.
        version: the version of the group, "*" for any.
        field_selector: that of a list, watch or deletecollection; None for none.
    """

    user: User
    verb: str
    path: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    is_resource: bool = True
    version: str = "*"
    field_selector: FieldSelector | None = None

    def selected(self, path: str) -> str | None:
        """Return the value that the field selector wants of a field, None if it does not want one."""
        return self.field_selector.exact(path) if self.field_selector is not None else None


def _no_reason() -> str:
    return ""


class Decision(NamedTuple):
    """The answer of an authorizer (authorizer.Decision): allowed, denied, or neither, which is no opinion.

    Attributes:
        explain: returns the reason in upstream's words; most callers never ask for it.
        error: an error that came up on the way, "" for none.
    """

    allowed: bool = False
    denied: bool = False
    explain: Callable[[], str] = _no_reason
    error: str = ""

    @property
    def reason(self) -> str:
        """The reason in upstream's words, "" for none."""
        return self.explain()


ALLOW = Decision(allowed=True)
NO_OPINION = Decision()


class SubjectRules(NamedTuple):
    """The rules of a user, as far as an authorizer can list them (authorizer.RuleResolver).

    Attributes:
        incomplete: True if the user may be allowed more than the rules say.
        error: why rules are missing, "" if that is not known.
    """

    resource_rules: Sequence[Obj] = ()
    path_rules: Sequence[Obj] = ()
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    """Decides whether requests are allowed, and lists the rules by which it does."""

    async def authorize(self, request: AuthorizationRequest) -> Decision:
        """Return the decision on a request."""
        ...

    def rules_for(self, user: User, namespace: str) -> SubjectRules:
        """Return the rules that apply to a user in a namespace."""
        ...


def aggregate(problems: Sequence[str]) -> str:
    """Return several messages as one, each once (errors.Aggregate); "" if there are none."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


def forbidden(request: AuthorizationRequest, decision: Decision) -> ApiError:
    """Return the error of a request that is not allowed (responsewriters.Forbidden).

    It is a 403 with the reason; an authorizer that failed makes it a 500, since nobody has decided.
    """
    if decision.error:
        return errors.internal(decision.error)
    message = _escape_markup(_cannot(request))
    if reason := decision.reason:
        message += f": {reason}"
    return errors.forbidden(request.group, request.resource, name=request.name, why=message)


def _cannot(request: AuthorizationRequest) -> str:
    subject = f"User {quoted(request.user.name)} cannot {request.verb}"
    if not request.is_resource:
        return f"{subject} path {quoted(request.path)}"
    resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    where = f"in the namespace {quoted(request.namespace)}" if request.namespace else "at the cluster scope"
    return f"{subject} resource {quoted(resource)} in API group {quoted(request.group)} {where}"


def _escape_markup(text: str) -> str:
    """Return a message that no browser takes for HTML (responsewriters' sanitizer)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
