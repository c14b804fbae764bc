"""May they: the modes of --authorization-mode, AlwaysAllow and AlwaysDeny yet; nobody anonymous may but for health."""

from typing import NamedTuple, Protocol

from apiserver.api.user import UNAUTHENTICATED, User

PUBLIC = frozenset(("/healthz", "/livez", "/readyz", "/version", "/version/"))
"""What anybody may read (the bootstrap role system:public-info-viewer)."""


class Request(NamedTuple):
    """What somebody wants to do (authorizer.Attributes)."""

    user: User
    verb: str
    path: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Authorizer(Protocol):
    """Decides."""

    def allows(self, request: Request) -> bool:
        """Whether the user may."""
        ...


class AlwaysAllow:
    """Everybody who is known may do everything."""

    def allows(self, request: Request) -> bool:  # noqa: ARG002 - the answer depends on nothing
        """Yes."""
        return True


class AlwaysDeny:
    """Nobody may do anything."""

    def allows(self, request: Request) -> bool:  # noqa: ARG002 - the answer depends on nothing
        """No."""
        return False


MODES: dict[str, type[Authorizer]] = {"AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}


def is_anonymous(user: User) -> bool:
    """Return whether nobody known asks."""
    return UNAUTHENTICATED in user.groups


def is_public(path: str) -> bool:
    """Return whether anybody may read the path."""
    return path in PUBLIC or path.startswith(("/healthz/", "/livez/", "/readyz/"))
