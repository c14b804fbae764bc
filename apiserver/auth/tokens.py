"""Service account tokens: signed JSON web tokens, valid while their account and the bound object exist."""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from apiserver.api.golang.strings import quoted_list
from apiserver.api.meta import Obj
from apiserver.api.user import AUTHENTICATED, AuthenticationError, AuthenticatorResponse, User
from apiserver.auth.authentication import common_audiences
from apiserver.auth.client_certificates import CREDENTIAL_ID
from apiserver.component_base.signing import SigningKey

Lookup = Callable[[str, str, str], Obj | None]
"""Returns the core object for (plural, namespace, name) as it is now, None if there is none."""

Claims: TypeAlias = Mapping[str, Any]

PREFIX = "system:serviceaccount:"
GROUP = "system:serviceaccounts"
CACHED_TOKENS = 1024
"""The number of tokens whose verified claims are cached."""
LEEWAY = 60.0
"""Seconds that a token is still good after it, its account or its object has ended (jwt.DefaultLeeway)."""
INVALIDATED = "service account token has been invalidated"

_EXTRA = "authentication.kubernetes.io/"
_UNKNOWN_KEY = "invalid signature, no keys found"
_WRONG_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"


class TokenKeys:
    """The key that signs the tokens of an issuer, and verifies those of several."""

    def __init__(self, issuer: str, key_file: Path | None) -> None:
        """Store the settings; the key is read or created for the first token.

        Args:
            issuer: the URL in the claim "iss" of new tokens.
            key_file: the signing key; None creates one that is not kept.
        """
        self.issuer = issuer
        self._key_file = key_file
        self._verified = lru_cache(CACHED_TOKENS)(self._verify)

    @cached_property
    def key(self) -> SigningKey:
        """The signing key, read or created on first use."""
        return SigningKey.load(self._key_file)

    def sign(self, claims: Obj) -> str:
        """Return a signed token of these claims, to which the issuer is added."""
        return self.key.sign(claims | {"iss": self.issuer})

    def verify(self, token: str, issuer: str) -> Claims | None:
        """Return the claims of a token, None if it is not one of this issuer (AuthenticateToken, its first half).

        Raises:
            AuthenticationError: it says that it is, and the key has not signed it.
        """
        verified = self._verified(token, issuer) if token.count(".") == 2 else None
        if isinstance(verified, str):
            raise AuthenticationError(verified)
        return verified

    def _verify(self, token: str, issuer: str) -> Claims | str | None:
        """Return the claims of a token, the reason why it is refused, or None if it is not of this issuer."""
        head, payload = (_unverified(part) for part in token.split(".")[:2])
        if head is None or payload is None or payload.get("iss") != issuer:
            return None
        if head.get("kid") not in (None, "", self.key.id):
            return _UNKNOWN_KEY
        claims = self.key.verify(token, issuer)
        return _WRONG_SIGNATURE if claims is None else claims

    def configuration(self, address: str) -> Obj:
        """Return the document /.well-known/openid-configuration of a server at an address."""
        return {
            "issuer": self.issuer,
            "jwks_uri": f"https://{address}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self.key.algorithm],
        }

    def key_set(self) -> Obj:
        """Return the document /openid/v1/jwks."""
        return {"keys": [self.key.public()]}


def _unverified(part: str) -> Obj | None:
    """Return the object in a part of a token, None if there is none."""
    try:
        value = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class ServiceAccountTokens:
    """Verifies the tokens that TokenRequests give (pkg/serviceaccount/claims.go)."""

    def __init__(self, keys: TokenKeys, *, lookup: Lookup, audiences: Sequence[str], now: Callable[[], float]) -> None:
        """Store the settings.

        Args:
            keys: the key that has signed the tokens.
            lookup: finds accounts and the objects that tokens are bound to.
            audiences: the audiences of this server, which tokens that name none are for.
            now: returns the seconds since 1970.
        """
        self._keys = keys
        self._lookup = lookup
        self._audiences = tuple(audiences)
        self._now = now

    def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token and its audiences among the given ones, None if it is of another issuer.

        Raises:
            AuthenticationError: the token is invalid, has ended, or is for others.
        """
        claims = self._keys.verify(token, self._keys.issuer)
        if claims is None:
            return None
        own = token_audiences(claims, audiences, self._audiences)
        now = self._now()
        if now - LEEWAY > claims.get("exp", now):
            raise AuthenticationError("service account token has expired")
        if now + LEEWAY < claims.get("nbf", now):
            raise AuthenticationError("service account token is not valid yet")
        self._check_objects(claims["kubernetes.io"], now - LEEWAY)
        return AuthenticatorResponse(_user(claims, claims["kubernetes.io"]), own)

    def _check_objects(self, claim: Obj, deleted_before: float) -> None:
        """Check that the account and the bound object are those for which the token was given."""
        namespace, reference = claim["namespace"], claim["serviceaccount"]
        account = existing_account(self._lookup, namespace, reference["name"])
        if _was_deleted(account, deleted_before):
            raise AuthenticationError(f"service account {namespace}/{reference['name']} has been deleted")
        check_account_uid(account, reference["uid"])
        for kind, plural in (("secret", "secrets"), ("pod", "pods"), ("node", "nodes")):
            if kind not in claim or (kind == "node" and "pod" in claim):  # a pod's token may outlive its node
                continue
            bound = self._lookup(plural, "" if kind == "node" else namespace, claim[kind]["name"])
            if bound is None or _was_deleted(bound, deleted_before):
                raise AuthenticationError(INVALIDATED)
            uid, claimed = bound["metadata"]["uid"], claim[kind]["uid"]
            if uid != claimed:
                why = f"{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})"
                raise AuthenticationError(why)


def token_audiences(claims: Claims, requested: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return those of the requested audiences that a token is for.

    Args:
        claims: the claims of the token; without audiences it is for this server.
        requested: the audiences of the request.
        own: the audiences of this server.

    Raises:
        AuthenticationError: there is none.
    """
    named = claims.get("aud") or own
    audiences = [named] if isinstance(named, str) else named
    common = common_audiences(audiences, requested)
    if not common:
        why = f"token audiences {quoted_list(audiences)} is invalid for the target audiences {quoted_list(requested)}"
        raise AuthenticationError(why)
    return common


def existing_account(lookup: Lookup, namespace: str, name: str) -> Obj:
    """Return the service account.

    Raises:
        AuthenticationError: there is none.
    """
    account = lookup("serviceaccounts", namespace, name)
    if account is None:
        raise AuthenticationError(f'serviceaccounts "{name}" not found')
    return account


def check_account_uid(account: Obj, claimed: str) -> None:
    """Check that the account is the one that a token was given to.

    Raises:
        AuthenticationError: it is another one of the same name.
    """
    uid = account["metadata"]["uid"]
    if uid != claimed:
        raise AuthenticationError(f"service account UID ({uid}) does not match claim ({claimed})")


def account_user(namespace: str, name: str, uid: str, extra: dict[str, tuple[str, ...]]) -> User:
    """Return the user that a service account is (ServiceAccountInfo.UserInfo)."""
    return User(f"{PREFIX}{namespace}:{name}", uid, (GROUP, f"{GROUP}:{namespace}", AUTHENTICATED), extra)


def _was_deleted(obj: Obj, before: float) -> bool:
    deletion = obj["metadata"].get("deletionTimestamp")
    return deletion is not None and datetime.fromisoformat(deletion).timestamp() < before


def _user(claims: Claims, claim: Obj) -> User:
    extra: dict[str, tuple[str, ...]] = {CREDENTIAL_ID: (f"JTI={claims['jti']}",)} if claims.get("jti") else {}
    for kind in ("pod", "node"):
        if kind in claim:
            extra[f"{_EXTRA}{kind}-name"] = (claim[kind]["name"],)
            extra |= {f"{_EXTRA}{kind}-uid": (uid,) for uid in [claim[kind].get("uid")] if uid}
    account = claim["serviceaccount"]
    return account_user(claim["namespace"], account["name"], account["uid"], extra)
