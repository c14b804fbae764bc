"""The registry's Security contract: authentication and authorization for reviews and tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.user import AuthenticatorResponse, User
from apiserver.auth.authentication import Authentication
from apiserver.auth.rbac_escalation import EscalationCheck
from apiserver.auth.tokens import ServiceAccountTokens
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.options import Target


@dataclass(frozen=True, slots=True)
class AuthorizationGuard:
    """The authenticators and the authorizer of one server behind the Security contract."""

    authentication: Authentication
    authorizer: Authorizer
    escalation: EscalationCheck
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

    async def check_escalation(self, user: User, target: Target, *, new: Obj, old: Obj | None) -> None:
        """Refuse a role or binding by which its writer would grant more than he may do."""
        await self.escalation.check(user, target, new=new, old=old)
