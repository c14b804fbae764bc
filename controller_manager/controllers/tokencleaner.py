"""Deletes bootstrap tokens that have expired (pkg/controller/bootstrap/tokencleaner.go)."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from controller_manager.reconcile.contract import (
    Change,
    ControllerSpec,
    Delete,
    Key,
    Listers,
    Plan,
    RequeueAfter,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import SECRET
from controller_manager.reconcile.times import parse_time

SECRET_TYPE, NAMESPACE = "bootstrap.kubernetes.io/token", "kube-system"


@dataclass(frozen=True, slots=True)
class Expiring:
    """A token that has a time at which it ends.

    Attributes:
        expiration: that time as its Secret has it.
    """

    secret: Obj
    expiration: str


def _secret_changed(_: Listers, change: Change) -> Iterable[Key]:
    secret = change.new
    if secret is None or secret.get("type") != SECRET_TYPE or namespace_of(secret) != NAMESPACE:
        return ()
    return (key_of(secret),)


def observe(listers: Listers, key: Key) -> Expiring | None:
    """Return a token that ends at some time, or None if there is nothing to do."""
    secret = listers[SECRET].get(key)
    if secret is None or secret.get("type") != SECRET_TYPE:
        return None
    expiration = base64.b64decode((secret.get("data") or {}).get("expiration") or "").decode(errors="replace")
    return Expiring(secret, expiration) if expiration else None


def reconcile(expiring: Expiring, now: float) -> Plan:
    """Delete the token if it has ended, otherwise come back when it does."""
    seconds = _seconds_left(expiring.expiration, now)
    if seconds > 0:
        yield RequeueAfter(seconds)
        return
    try:
        yield Delete(SECRET, key_of(expiring.secret), uid=expiring.secret["metadata"]["uid"])
    except ApiError as error:
        if error.code not in (404, 409):  # it has gone, or is another one by now
            raise


def _seconds_left(expiration: str, now: float) -> float:
    """Return the seconds until a time; one that cannot be read is over (GetExpiration)."""
    try:
        return parse_time(expiration) - now
    except ValueError:
        return 0.0


SPEC = ControllerSpec(
    name="tokencleaner",
    account="token-cleaner",
    watches=(Watch(SECRET, _secret_changed),),
    observe=observe,
    reconcile=reconcile,
    workers=1,
    queue="token_cleaner",
)
