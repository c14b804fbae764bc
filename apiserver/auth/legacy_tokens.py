"""Tokens in Secrets of type kubernetes.io/service-account-token, which do not end (pkg/serviceaccount/legacy.go)."""

import base64
import hmac
from collections.abc import Callable, Sequence

from apiserver.api.meta import Obj, labels_of
from apiserver.api.user import AuthenticationError, AuthenticatorResponse
from apiserver.auth.tokens import (
    INVALIDATED,
    PREFIX,
    Claims,
    Lookup,
    TokenKeys,
    account_user,
    check_account_uid,
    existing_account,
    token_audiences,
)

ISSUER = "kubernetes/serviceaccount"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
GENERATED = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated "
    "secret-based tokens."
)
"""The warning for who uses a token whose Secret the account names, as those that controllers once made."""

_NAMESPACE = "kubernetes.io/serviceaccount/namespace"
_SECRET = "kubernetes.io/serviceaccount/secret.name"  # noqa: S105 - the name of a claim
_ACCOUNT = "kubernetes.io/serviceaccount/service-account.name"
_UID = "kubernetes.io/serviceaccount/service-account.uid"
_REQUIRED = {
    "sub": "sub",
    _NAMESPACE: "namespace",
    _SECRET: "secretName",
    _ACCOUNT: "serviceAccountName",
    _UID: "serviceAccountUID",
}
"""Claim → its name in errors."""


class LegacyTokens:
    """Verifies the tokens in Secrets, and reports which of them are used."""

    def __init__(
        self, keys: TokenKeys, *, lookup: Lookup, audiences: Sequence[str], used: Callable[[Obj], None]
    ) -> None:
        """Store the settings.

        Args:
            keys: the key that has signed the tokens.
            lookup: finds accounts and Secrets.
            audiences: the audiences of this server, which these tokens are for.
            used: is called with the Secret of each token that is used.
        """
        self._keys = keys
        self._lookup = lookup
        self._audiences = tuple(audiences)
        self._used = used

    def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token and its audiences among the given ones, None if it is of another issuer.

        Raises:
            AuthenticationError: the token is invalid or is for others.
        """
        claims = self._keys.verify(token, ISSUER)
        if claims is None:
            return None
        own = token_audiences(claims, audiences, self._audiences)
        _check_claims(claims)
        namespace, name = claims[_NAMESPACE], claims[_ACCOUNT]
        secret = self._secret_of(token, claims)
        account = existing_account(self._lookup, namespace, name)
        if "deletionTimestamp" in account["metadata"]:
            raise AuthenticationError(f"service account {namespace}/{name} has been deleted")
        check_account_uid(account, claims[_UID])
        self._used(secret)
        if labels_of(secret).get(INVALID_SINCE):
            raise AuthenticationError(_marked_invalid(claims))
        is_generated = any(each.get("name") == claims[_SECRET] for each in account.get("secrets") or ())
        user = account_user(namespace, name, claims[_UID], {})
        return AuthenticatorResponse(user, own, (GENERATED,) if is_generated else ())

    def _secret_of(self, token: str, claims: Claims) -> Obj:
        """Return the Secret that holds the token."""
        secret = self._lookup("secrets", claims[_NAMESPACE], claims[_SECRET])
        if secret is None or "deletionTimestamp" in secret["metadata"]:
            raise AuthenticationError(INVALIDATED)
        stored = base64.b64decode((secret.get("data") or {}).get("token") or "")
        if not hmac.compare_digest(stored, token.encode()):
            raise AuthenticationError("service account token does not match server's copy")
        return secret


def _check_claims(claims: Claims) -> None:
    for claim, name in _REQUIRED.items():
        if not claims.get(claim):
            raise AuthenticationError(f"{name} claim is missing")
    if claims["sub"] != f"{PREFIX}{claims[_NAMESPACE]}:{claims[_ACCOUNT]}":
        raise AuthenticationError("sub claim is invalid")


def _marked_invalid(claims: Claims) -> str:
    secret, account = (f"{claims[_NAMESPACE]}/{claims[name]}" for name in (_SECRET, _ACCOUNT))
    return (
        f"the token in secret {secret} for service account {account} has been marked invalid. Use tokens from the "
        "TokenRequest API or manually created secret-based tokens, or remove the "
        f"'{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
    )
