"""Users: the identity that authentication finds, and that authorization and admission decide on (user.Info)."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class User:
    """A user: a name, and the groups and further attributes that authentication found."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuthenticatorResponse:
    """The user of a credential.

    Attributes:
        audiences: the requested audiences that the token is valid for.
        warnings: the texts of the warnings for who uses it.
    """

    user: User
    audiences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class AuthenticationError(Exception):
    """A credential that cannot be used; the message says why, and holds no part of it."""


UNAUTHENTICATED = "system:unauthenticated"
AUTHENTICATED = "system:authenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
