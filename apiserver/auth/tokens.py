"""Service account tokens: signed JSON web tokens, valid while their account and the bound object exist."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.user import AUTHENTICATED, AuthenticatorResponse, User
from apiserver.auth.signing import SigningKey

Lookup = Callable[[str, str, str], Obj | None]
"""Returns the core object for (plural, namespace, name) as it is now, None if there is none."""

PREFIX = "system:serviceaccount:"
GROUP = "system:serviceaccounts"
CACHED_TOKENS = 1024
"""The number of tokens whose verified claims are cached."""
BOUND = {"pod": "pods", "secret": "secrets", "node": "nodes"}
"""Claim of the object that a token is bound to → the object's resource."""
_EXTRA = "authentication.kubernetes.io/"


class ServiceAccountTokens:
    """Issues and verifies tokens (pkg/serviceaccount)."""

    def __init__(self, *, issuer: str, key_file: Path | None, lookup: Lookup, now: Callable[[], float]) -> None:
        """Store the settings; the key is read or created for the first token.

        Args:
            issuer: the URL in the claim "iss", also the server's audience.
            key_file: the signing key; None creates one that is not kept.
            lookup: finds accounts and the objects that tokens are bound to.
            now: returns the seconds since 1970.
        """
        self.issuer = issuer
        self.audiences = (issuer,)
        self._key_file = key_file
        self._lookup = lookup
        self._now = now
        self._verified = lru_cache(CACHED_TOKENS)(self._verify)

    @cached_property
    def key(self) -> SigningKey:
        """The signing key, read or created on first use."""
        return SigningKey.load(self._key_file)

    def issue_token(self, claims: Obj) -> str:
        """Return a signed token of these claims, to which the issuer is added."""
        return self.key.sign(claims | {"iss": self.issuer})

    def user_of(self, token: str) -> User | None:
        """Return the user of a token for this server, None if it is invalid."""
        known = self.authenticate_token(token, self.audiences)
        return known.user if known else None

    def authenticate_token(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token and its audiences among the given ones, None if it is invalid."""
        claims = self._verified(token) if token.count(".") == 2 else None
        if claims is None or not claims["nbf"] <= self._now() + 60 or self._now() >= claims["exp"]:
            return None
        own_audiences = tuple(a for a in audiences if a in claims["aud"])
        kubernetes_claim = claims["kubernetes.io"]
        return (
            AuthenticatorResponse(_user(claims, kubernetes_claim), own_audiences)
            if own_audiences and self._still_exists(kubernetes_claim)
            else None
        )

    def _verify(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims of a token, None if this server has not signed it."""
        return self.key.verify(token, self.issuer)

    def _still_exists(self, kubernetes_claim: Obj) -> bool:
        namespace = kubernetes_claim["namespace"]
        account = kubernetes_claim["serviceaccount"]
        if not self._exists(account, "serviceaccounts", namespace):
            return False
        return all(
            self._exists(kubernetes_claim[claim], plural, "" if claim == "node" else namespace)
            for claim, plural in BOUND.items()
            if claim in kubernetes_claim and (claim != "node" or "pod" not in kubernetes_claim)
        )

    def _exists(self, reference: Obj, plural: str, namespace: str) -> bool:
        current = self._lookup(plural, namespace, reference["name"])
        return current is not None and current["metadata"]["uid"] == reference["uid"]

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


def _user(claims: Mapping[str, Any], kubernetes_claim: Obj) -> User:
    extra: dict[str, tuple[str, ...]] = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)}
    for claim in ("pod", "node"):
        if claim in kubernetes_claim:
            extra[f"{_EXTRA}{claim}-name"] = (kubernetes_claim[claim]["name"],)
            extra |= {f"{_EXTRA}{claim}-uid": (uid,) for uid in [kubernetes_claim[claim].get("uid")] if uid}
    groups = (GROUP, f"{GROUP}:{kubernetes_claim['namespace']}", AUTHENTICATED)
    return User(claims["sub"], kubernetes_claim["serviceaccount"]["uid"], groups, extra)
