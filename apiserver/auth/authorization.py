"""Authorization: the modes of --authorization-mode, so far AlwaysAllow and AlwaysDeny, and the public paths."""

from typing import NamedTuple, Protocol

from apiserver.api.user import UNAUTHENTICATED, User

PUBLIC_PATHS = frozenset(("/healthz", "/livez", "/readyz", "/version", "/version/"))
"""Paths that anybody may read (the bootstrap role system:public-info-viewer)."""


class AuthorizationRequest(NamedTuple):
    """A request to authorize (authorizer.Attributes)."""

    user: User
    verb: str
    path: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Authorizer(Protocol):
    """Decides whether requests are allowed."""

    def allows(self, request: AuthorizationRequest) -> bool:
        """Return whether the request is allowed."""
        ...


class AlwaysAllow:
    """Every known user may do everything."""

    def allows(self, request: AuthorizationRequest) -> bool:  # noqa: ARG002 - the answer depends on nothing
        """Return True."""
        return True


class AlwaysDeny:
    """Nobody may do anything."""

    def allows(self, request: AuthorizationRequest) -> bool:  # noqa: ARG002 - the answer depends on nothing
        """Return False."""
        return False


MODES: dict[str, type[Authorizer]] = {"AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}


def is_anonymous(user: User) -> bool:
    """Return whether the user is not authenticated."""
    return UNAUTHENTICATED in user.groups


def is_public(path: str) -> bool:
    """Return whether anybody may read the path."""
    return path in PUBLIC_PATHS or path.startswith(("/healthz/", "/livez/", "/readyz/"))
