"""Authentication by client certificates and bearer tokens; bad tokens give a 401, no credentials the anonymous user."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from apiserver.api import errors
from apiserver.api.user import ANONYMOUS, AUTHENTICATED, User


class TokenAuthenticator(Protocol):
    """Finds the users of tokens."""

    def user_of(self, token: str) -> User | None:
        """Return the user of a token, None if it is unknown."""
        ...


class StaticTokens:
    """Tokens from a file of token,user,uid,"group1,group2" lines (kube-apiserver's --token-auth-file)."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = dict(users)

    @classmethod
    def load(cls, path: Path) -> "StaticTokens":
        """Return the tokens of a file.

        Raises:
            ValueError: a line has too few columns; the message names file and line, and holds no token.
            OSError: the file cannot be read.
        """
        users = {}
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if not row or row[0].startswith("#"):
                    continue
                if len(row) < 3:
                    raise ValueError(f"{path}, line {number}: a token line needs token,user,uid and perhaps groups")
                token, name, uid, *rest = (cell.strip() for cell in row)
                groups = tuple(g.strip() for g in rest[0].split(",") if g.strip()) if rest else ()
                users[token] = User(name, uid, (*groups, AUTHENTICATED))
        return cls(users)

    def user_of(self, token: str) -> User | None:
        """Return the user of a token, None if it is unknown."""
        return self._users.get(token)


class Authentication:
    """Tries all authenticators in turn: certificates first, as upstream does."""

    def __init__(self, tokens: Iterable[TokenAuthenticator]) -> None:
        self._tokens = tuple(tokens)

    def user_of(self, authorization: str | None, certificate: Mapping[str, Any] | None) -> User:
        """Return the user who sends a request.

        Args:
            authorization: the Authorization header.
            certificate: the client's verified certificate as ssl returns it.

        Raises:
            ApiError: 401, the token is invalid.
        """
        if certificate and (holder := _user_of_certificate(certificate)) is not ANONYMOUS:
            return holder
        if authorization is None:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return ANONYMOUS
        for authenticator in self._tokens:
            user = authenticator.user_of(token)
            if user is not None:
                return user
        raise errors.unauthorized()


def _user_of_certificate(certificate: Mapping[str, Any]) -> User:
    """Return the user named by the common name, in the groups of the organizations (x509.CommonNameUserConversion)."""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    name = next((value for key, value in pairs if key == "commonName"), "")
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return User(name, groups=(*groups, AUTHENTICATED)) if name else ANONYMOUS
