"""The registry's Security contract: authentication and authorization for reviews and tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.user import AuthenticatorResponse, User
from apiserver.auth.authentication import Authentication
from apiserver.auth.authorization import AlwaysAllow, AuthorizationRequest, Authorizer
from apiserver.auth.tokens import ServiceAccountTokens

_EVERYTHING: Mapping[str, list[Obj]] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_NOTHING: Mapping[str, list[Obj]] = {"resourceRules": [], "nonResourceRules": []}


@dataclass(frozen=True, slots=True)
class AuthorizationGuard:
    """The authenticators and the authorizer of one server behind the Security contract."""

    authentication: Authentication
    authorizer: Authorizer
    tokens: ServiceAccountTokens

    @property
    def audiences(self) -> tuple[str, ...]:
        """The default audiences of tokens."""
        return self.tokens.audiences

    def issue_token(self, claims: Obj) -> str:
        """Return a signed token of these claims."""
        return self.tokens.issue_token(claims)

    def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user and audiences of a token, None if it is invalid; static tokens are for this server."""
        account = self.tokens.authenticate_token(token, audiences)
        if account is not None:
            return account
        own_audiences = tuple(a for a in audiences if a in self.audiences)
        try:
            return (
                AuthenticatorResponse(self.authentication.user_of(f"Bearer {token}", None), own_audiences)
                if own_audiences
                else None
            )
        except ApiError:
            return None

    def allows(self, user: User, attributes: Obj) -> bool:
        """Return whether the user may do what the attributes describe."""
        return self.authorizer.allows(
            AuthorizationRequest(
                user,
                attributes.get("verb") or "",
                attributes.get("path") or "",
                *(attributes.get(name) or "" for name in ("group", "resource", "subresource", "namespace", "name")),
            )
        )

    def rules_for(self, user: User, namespace: str) -> Obj:
        """Return the user's permissions, as far as the authorizer can list them."""
        del user, namespace
        return {**(_EVERYTHING if isinstance(self.authorizer, AlwaysAllow) else _NOTHING), "incomplete": False}
