"""The simple authorizers, and the union that asks those of --authorization-mode in turn."""

from collections.abc import Sequence

from apiserver.api.user import UNAUTHENTICATED, User
from apiserver.registry.authorizer import ALLOW, AuthorizationRequest, Authorizer, Decision, SubjectRules, aggregate

PRIVILEGED_GROUP = "system:masters"
"""The group whose members may do everything in every mode (user.SystemPrivilegedGroup)."""
MODES = ("AlwaysAllow", "AlwaysDeny", "Node", "RBAC")
"""The modes of --authorization-mode."""
ANONYMOUS_PATHS = frozenset(("/healthz", "/livez", "/readyz", "/version", "/version/"))
"""Paths for which a client may be anonymous; whether it may read them is up to the authorizers."""


class AlwaysAllow:
    """Everybody may do everything."""

    async def authorize(self, request: AuthorizationRequest) -> Decision:  # noqa: ARG002 - it depends on nothing
        """Return that the request is allowed."""
        return ALLOW

    def rules_for(self, user: User, namespace: str) -> SubjectRules:  # noqa: ARG002 - as above
        """Return the rules that allow everything."""
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        return SubjectRules([everything], [{"verbs": ["*"], "nonResourceURLs": ["*"]}])


class AlwaysDeny:
    """Nobody may do anything."""

    async def authorize(self, request: AuthorizationRequest) -> Decision:  # noqa: ARG002 - it depends on nothing
        """Return no opinion, and why."""
        return Decision(explain=lambda: "Everything is forbidden.")

    def rules_for(self, user: User, namespace: str) -> SubjectRules:  # noqa: ARG002 - as above
        """Return no rules."""
        return SubjectRules()


class AuthorizerUnion:
    """Members of system:masters may do everything; for others each mode is asked until one decides (union.go)."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    async def authorize(self, request: AuthorizationRequest) -> Decision:
        """Return the first decision that is an opinion; else no opinion, with all reasons and errors."""
        if PRIVILEGED_GROUP in request.user.groups:
            return ALLOW
        undecided = []
        for authorizer in self._authorizers:
            decision = await authorizer.authorize(request)
            if decision.allowed or decision.denied:
                return decision
            undecided.append(decision)
        reasons = "\n".join(decision.reason for decision in undecided if decision.reason)
        problems = [decision.error for decision in undecided if decision.error]
        return Decision(explain=lambda: reasons, error=aggregate(problems))

    def rules_for(self, user: User, namespace: str) -> SubjectRules:
        """Return the rules of all modes together."""
        parts = [authorizer.rules_for(user, namespace) for authorizer in self._authorizers]
        return SubjectRules(
            [rule for part in parts for rule in part.resource_rules],
            [rule for part in parts for rule in part.path_rules],
            any(part.incomplete for part in parts),
            aggregate([part.error for part in parts if part.error]),
        )


def is_anonymous(user: User) -> bool:
    """Return whether the user is not authenticated."""
    return UNAUTHENTICATED in user.groups


def allows_anonymous(path: str) -> bool:
    """Return whether a client may be anonymous for a path."""
    return path in ANONYMOUS_PATHS or path.startswith(("/healthz/", "/livez/", "/readyz/"))
