"""The contract by which reviews and tokens use authentication and authorization."""

from collections.abc import Sequence
from typing import Protocol

from apiserver.api.meta import Obj
from apiserver.api.user import AuthenticatorResponse, User


class Security(Protocol):
    """Authentication and authorization, for API objects such as TokenReviews and SubjectAccessReviews."""

    @property
    def audiences(self) -> tuple[str, ...]:
        """The default audiences of tokens: this server."""
        ...

    def issue_token(self, claims: Obj) -> str:
        """Return a signed token of these claims, to which the issuer is added."""
        ...

    def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token and its audiences, None if it is invalid or for none of the given audiences."""
        ...

    def allows(self, user: User, attributes: Obj) -> bool:
        """Return whether the user may do what resourceAttributes or nonResourceAttributes describe."""
        ...

    def rules_for(self, user: User, namespace: str) -> Obj:
        """Return the user's permissions in a namespace, as the status of a SelfSubjectRulesReview."""
        ...
