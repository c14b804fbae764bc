"""Tokens of service accounts: signed JSON web tokens, good while their account and what they are bound to live."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.user import AUTHENTICATED, Known, User
from apiserver.auth.signing import SigningKey, bytes_of, text_of

Lookup = Callable[[str, str, str], Obj | None]
"""The core object of a plural, namespace and name as it is now, None if there is none."""

PREFIX = "system:serviceaccount:"
GROUP = "system:serviceaccounts"
REMEMBERED = 1024
"""How many tokens' signatures are remembered to be good."""
BOUND = {"pod": "pods", "secret": "secrets", "node": "nodes"}
"""What a token may be bound to, by the name of its claim → the resource."""
_EXTRA = "authentication.kubernetes.io/"


class ServiceAccountTokens:
    """Issues tokens and knows them again (pkg/serviceaccount)."""

    def __init__(self, *, issuer: str, key_file: Path | None, lookup: Lookup, now: Callable[[], float]) -> None:
        """Take the settings; nothing is read before the first token.

        Args:
            issuer: the URL in the claim "iss", which is the audience of the server too.
            key_file: the signing key; None makes one that lives as long as the server.
            lookup: finds accounts and what tokens are bound to.
            now: seconds since 1970.
        """
        self.issuer = issuer
        self.audiences = (issuer,)
        self._key_file = key_file
        self._lookup = lookup
        self._now = now
        self._verified = lru_cache(REMEMBERED)(self._verify)

    @cached_property
    def key(self) -> SigningKey:
        """The signing key, read or made on first use."""
        return SigningKey.load(self._key_file)

    def issue(self, claims: Obj) -> str:
        """Return a signed token of these claims, to which the issuer is added."""
        header = _encoded({"alg": self.key.algorithm, "kid": self.key.id})
        signed = f"{header}.{_encoded(claims | {'iss': self.issuer})}"
        return f"{signed}.{text_of(self.key.sign(signed.encode()))}"

    def user_of(self, token: str) -> User | None:
        """Whose the token is, if it is meant for this server."""
        found = self.known(token, self.audiences)
        return found.user if found else None

    def known(self, token: str, audiences: Sequence[str]) -> Known | None:
        """Whose the token is and for which of the audiences, None if it is not good."""
        claims = self._verified(token) if token.count(".") == 2 else None
        if claims is None or not claims["nbf"] <= self._now() + 60 or self._now() >= claims["exp"]:
            return None
        meant = tuple(a for a in audiences if a in claims["aud"])
        about = claims["kubernetes.io"]
        return Known(_user(claims, about), meant) if meant and self._lives(about) else None

    def _verify(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims of a token whose signature is ours."""
        signed, _, signature = token.rpartition(".")
        try:
            header, claims = (json.loads(bytes_of(part)) for part in signed.split("."))
            good = header.get("kid") == self.key.id and self.key.verifies(signed.encode(), bytes_of(signature))
        except (ValueError, AttributeError):
            return None
        return claims if good and claims.get("iss") == self.issuer else None

    def _lives(self, about: Obj) -> bool:
        namespace = about["namespace"]
        account = about["serviceaccount"]
        if not self._is(account, "serviceaccounts", namespace):
            return False
        return all(
            self._is(about[claim], plural, "" if claim == "node" else namespace)
            for claim, plural in BOUND.items()
            if claim in about and (claim != "node" or "pod" not in about)
        )

    def _is(self, named: Obj, plural: str, namespace: str) -> bool:
        found = self._lookup(plural, namespace, named["name"])
        return found is not None and found["metadata"]["uid"] == named["uid"]

    def configuration(self, address: str) -> Obj:
        """Return the page /.well-known/openid-configuration of a server at an address."""
        return {
            "issuer": self.issuer,
            "jwks_uri": f"https://{address}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self.key.algorithm],
        }

    def key_set(self) -> Obj:
        """Return the page /openid/v1/jwks."""
        return {"keys": [self.key.public()]}


def _user(claims: Mapping[str, Any], about: Obj) -> User:
    extra: dict[str, tuple[str, ...]] = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)}
    for claim in ("pod", "node"):
        if claim in about:
            extra[f"{_EXTRA}{claim}-name"] = (about[claim]["name"],)
            extra |= {f"{_EXTRA}{claim}-uid": (uid,) for uid in [about[claim].get("uid")] if uid}
    groups = (GROUP, f"{GROUP}:{about['namespace']}", AUTHENTICATED)
    return User(claims["sub"], about["serviceaccount"]["uid"], groups, extra)


def _encoded(value: Obj) -> str:
    return text_of(json.dumps(value, separators=(",", ":")).encode())
