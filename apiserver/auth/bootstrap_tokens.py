"""Bootstrap tokens: Secrets by which nodes join (plugin/pkg/auth/authenticator/token/bootstrap)."""

import base64
import hmac
import re
from collections.abc import Callable, Sequence
from datetime import datetime

from apiserver.api.meta import Obj
from apiserver.api.user import AUTHENTICATED, AuthenticatorResponse, User
from apiserver.auth.authentication import common_audiences
from apiserver.auth.tokens import Lookup

SECRET_TYPE = "bootstrap.kubernetes.io/token"  # noqa: S105 - the type of Secrets
USER_PREFIX, GROUP = "system:bootstrap:", "system:bootstrappers"

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP_NAME = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapTokens:
    """The tokens of --enable-bootstrap-token-auth, each in a Secret bootstrap-token-ID of kube-system."""

    def __init__(self, *, lookup: Lookup, audiences: Sequence[str], now: Callable[[], float]) -> None:
        """Store the settings.

        Args:
            lookup: finds the Secrets.
            audiences: the audiences of this server, which these tokens are for.
            now: returns the seconds since 1970.
        """
        self._lookup = lookup
        self._audiences = tuple(audiences)
        self._now = now

    def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatorResponse | None:
        """Return the user of a token, None if it is no bootstrap token or cannot be used."""
        parts = _TOKEN.fullmatch(token)
        own = common_audiences(self._audiences, audiences)
        if parts is None or not own:
            return None
        secret = self._lookup("secrets", "kube-system", f"bootstrap-token-{parts[1]}")
        if secret is None or not self._is_usable(secret, parts[1], parts[2]):
            return None
        groups = extra_groups(_text(secret, "auth-extra-groups"))
        if groups is None:
            return None
        return AuthenticatorResponse(User(f"{USER_PREFIX}{parts[1]}", "", (*groups, AUTHENTICATED)), own)

    def _is_usable(self, secret: Obj, token_id: str, token_secret: str) -> bool:
        return (
            "deletionTimestamp" not in secret["metadata"]
            and secret.get("type") == SECRET_TYPE
            and hmac.compare_digest(_text(secret, "token-secret").encode(), token_secret.encode())
            and _text(secret, "token-id") == token_id
            and not has_expired(_text(secret, "expiration"), self._now())
            and _text(secret, "usage-bootstrap-authentication") == "true"
        )


def extra_groups(text: str) -> list[str] | None:
    """Return the groups of a token with these extra groups, sorted; None if one of them is invalid (GetGroups)."""
    names = text.split(",") if text else []
    if not all(_GROUP_NAME.fullmatch(name) for name in names):
        return None
    return sorted({GROUP, *names})


def has_expired(text: str, now: float) -> bool:
    """Return whether a time in RFC 3339 is over; one that cannot be read is, an empty one never (HasExpired)."""
    if not text:
        return False
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return True
    return moment.tzinfo is None or now >= moment.timestamp()


def _text(secret: Obj, key: str) -> str:
    return base64.b64decode((secret.get("data") or {}).get(key) or "").decode(errors="replace")
