"""Who asks: the identity that authentication finds, and that authorization and admission decide on (user.Info)."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class User:
    """Somebody, as far as the server knows."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """Whose a token is.

    Attributes:
        audiences: for whom it is meant, of those that were asked for.
    """

    user: User
    audiences: tuple[str, ...]


UNAUTHENTICATED = "system:unauthenticated"
AUTHENTICATED = "system:authenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
