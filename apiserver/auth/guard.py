"""The registry's Security contract: authentication and authorization for reviews and tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.user import AuthenticatorResponse, User
from apiserver.auth.authentication import Authentication
from apiserver.auth.rbac_escalation import EscalationCheck
from apiserver.auth.tokens import TokenKeys
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.options import Target, TokenLimits


@dataclass(frozen=True, slots=True)
class AuthorizationGuard:
    """The authenticators and the authorizer of one server behind the Security contract.

    Attributes:
        keys: the key that signs tokens.
        audiences: the audiences of this server.
        token_limits: the limits of the tokens that are issued.
    """

    authentication: Authentication
    authorizer: Authorizer
    escalation: EscalationCheck
    keys: TokenKeys
    audiences: tuple[str, ...]
    token_limits: TokenLimits

    def issue_token(self, claims: Obj) -> str:
        """Return a signed token of these claims."""
        return self.keys.sign(claims)

    def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse:
        """Return the user and audiences of a token.

        Raises:
            AuthenticationError: the token is invalid, or for none of the audiences.
        """
        return self.authentication.authenticate_token(token, audiences)

    async def check_escalation(self, user: User, target: Target, *, new: Obj, old: Obj | None) -> None:
        """Refuse a role or binding by which its writer would grant more than he may do."""
        await self.escalation.check(user, target, new=new, old=old)
