"""Authentication and authorization behind one door, for reviews and tokens: the registry's Security contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.user import Known, User
from apiserver.auth.authentication import Authentication
from apiserver.auth.authorization import AlwaysAllow, Authorizer, Request
from apiserver.auth.tokens import ServiceAccountTokens

_EVERYTHING: Mapping[str, list[Obj]] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_NOTHING: Mapping[str, list[Obj]] = {"resourceRules": [], "nonResourceRules": []}


@dataclass(frozen=True, slots=True)
class Guard:
    """Answers for the authenticators and the authorizer of one server."""

    authentication: Authentication
    authorizer: Authorizer
    tokens: ServiceAccountTokens

    @property
    def audiences(self) -> tuple[str, ...]:
        """For whom tokens are meant when nobody says."""
        return self.tokens.audiences

    def issue(self, claims: Obj) -> str:
        """Return a signed token of these claims."""
        return self.tokens.issue(claims)

    def known(self, token: str, audiences: Sequence[str]) -> Known | None:
        """Whose the token is; tokens that name no audience are meant for this server."""
        found = self.tokens.known(token, audiences)
        if found is not None:
            return found
        meant = tuple(a for a in audiences if a in self.audiences)
        try:
            return Known(self.authentication.user_of(f"Bearer {token}", None), meant) if meant else None
        except ApiError:
            return None

    def allows(self, user: User, attributes: Obj) -> bool:
        """Whether the user may."""
        return self.authorizer.allows(
            Request(
                user,
                attributes.get("verb") or "",
                attributes.get("path") or "",
                *(attributes.get(name) or "" for name in ("group", "resource", "subresource", "namespace", "name")),
            )
        )

    def rules(self, user: User, namespace: str) -> Obj:
        """What the user may do, as far as the authorizer can list it."""
        del user, namespace
        return {**(_EVERYTHING if isinstance(self.authorizer, AlwaysAllow) else _NOTHING), "incomplete": False}
