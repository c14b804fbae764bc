"""What reviews and tokens ask of authentication and authorization, which the registry knows by this contract alone."""

from collections.abc import Sequence
from typing import Protocol

from apiserver.api.meta import Obj
from apiserver.api.user import Known, User


class Security(Protocol):
    """Who is it and may it, for those who ask by an API object."""

    @property
    def audiences(self) -> tuple[str, ...]:
        """For whom tokens are meant when nobody says: this server."""
        ...

    def issue(self, claims: Obj) -> str:
        """Return a signed token of these claims, to which the issuer is added."""
        ...

    def known(self, token: str, audiences: Sequence[str]) -> Known | None:
        """Whose the token is, None if it is nobody's or not meant for any of the audiences."""
        ...

    def allows(self, user: User, attributes: Obj) -> bool:
        """Return whether the user may do what resourceAttributes or nonResourceAttributes describe."""
        ...

    def rules(self, user: User, namespace: str) -> Obj:
        """What the user may do in a namespace, as the status of a SelfSubjectRulesReview."""
        ...
