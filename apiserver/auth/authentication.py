"""Authentication by client certificates and bearer tokens; bad ones give a 401, no credentials the anonymous user."""

import csv
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from apiserver.api import errors
from apiserver.api.user import ANONYMOUS, AUTHENTICATED, AuthenticationError, AuthenticatorResponse, User
from apiserver.auth.client_certificates import ClientCertificates
from apiserver.registry.authorizer import aggregate

INVALID_TOKEN = "invalid bearer token"  # noqa: S105 - a message
EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"
_NOBODY = AuthenticatorResponse(ANONYMOUS)


class TokenAuthenticator(Protocol):
    """Finds the users of tokens of one kind (authenticator.Token)."""

    def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token that is for one of the audiences, None if the token is not of this kind.

        Raises:
            AuthenticationError: the token is of this kind, and invalid.
        """
        ...


class StaticTokens:
    """Tokens from a file of token,user,uid,"group1,group2" lines (kube-apiserver's --token-auth-file)."""

    def __init__(self, users: Mapping[str, User], audiences: Sequence[str] = ()) -> None:
        """Store the users by token; they are for this server, whose audiences these are."""
        self._audiences = tuple(audiences)
        self._responses = {token: AuthenticatorResponse(user, self._audiences) for token, user in users.items()}

    @classmethod
    def load(cls, path: Path, audiences: Sequence[str] = ()) -> "StaticTokens":
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
        return cls(users, audiences)

    def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token, None if it is unknown or for others."""
        response = self._responses.get(token)
        if response is None or audiences == self._audiences:  # of all requests but TokenReviews for others
            return response
        own = common_audiences(self._audiences, audiences)
        return replace(response, audiences=own) if own else None


def common_audiences(own: Sequence[str], requested: Sequence[str]) -> tuple[str, ...]:
    """Return the requested audiences that are among the own ones (Audiences.Intersect)."""
    return tuple(audience for audience in requested if audience in own)


class Authentication:
    """Tries all authenticators in turn: certificates first, as upstream does (pkg/kubeapiserver/authenticator).

    Attributes:
        certificates: the users of client certificates, None if the server knows none.
    """

    def __init__(
        self,
        tokens: Iterable[TokenAuthenticator],
        *,
        audiences: Sequence[str] = (),
        certificates: ClientCertificates | None = None,
    ) -> None:
        """Store the authenticators.

        Args:
            tokens: the authenticators of tokens, in their order.
            audiences: the audiences of this server.
            certificates: the users of client certificates, None if the server knows none.
        """
        self._tokens = tuple(tokens)
        self._audiences = tuple(audiences)
        self.certificates = certificates

    def authenticate(self, authorization: str | None, connection: ssl.SSLObject | None) -> AuthenticatorResponse:
        """Return the user who sends a request.

        Args:
            authorization: the Authorization header.
            connection: the TLS connection of the request, None for plain HTTP.

        Raises:
            ApiError: 401, a credential is invalid, and none of the others is valid.
        """
        problem = None
        if connection is not None and self.certificates is not None:
            try:
                holder = self.certificates.authenticate(connection)
            except AuthenticationError as error:
                problem = error
            else:
                if holder is not None:
                    return holder
        if authorization is not None:
            scheme, _, rest = authorization.strip().partition(" ")
            if scheme.lower() == "bearer" and rest:
                return self._bearer(rest, problem)
        if problem is not None:
            raise errors.unauthorized() from problem
        return _NOBODY

    def _bearer(self, rest: str, problem: AuthenticationError | None) -> AuthenticatorResponse:
        """Return the user of the token at the beginning of the rest of a header; more after a space is ignored."""
        token = rest.partition(" ")[0]
        if token:
            try:
                return self.authenticate_token(token, self._audiences)
            except AuthenticationError as error:
                problem = error
        if problem is not None:
            raise errors.unauthorized() from problem
        return AuthenticatorResponse(ANONYMOUS, warnings=(EXTRA_SPACE,))

    def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse:
        """Return the user of a token, and those of the audiences that it is for.

        Raises:
            AuthenticationError: no authenticator takes it; the message is that of a TokenReview.
        """
        problems = []
        for authenticator in self._tokens:
            try:
                response = authenticator.authenticate(token, audiences)
            except AuthenticationError as error:
                problems.append(str(error))
            else:
                if response is not None:
                    return response
        # upstream asks first whether it is the token by which the server calls itself
        raise AuthenticationError(aggregate([INVALID_TOKEN, *problems]))
