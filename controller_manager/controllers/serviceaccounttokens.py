"""Fills Secrets of type kubernetes.io/service-account-token (pkg/controller/serviceaccount/tokens_controller.go).

A Secret that names an account gets a token of that account; it is deleted with the account, and the account's reference
to it with the Secret. Without a key to sign with nothing is done.
"""

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of, namespace_of
from controller_manager.reconcile.contract import (
    Change,
    ControllerSpec,
    Delete,
    Get,
    Index,
    Key,
    Listers,
    Plan,
    Update,
    Watch,
    key_of,
    split_key,
)
from controller_manager.reconcile.kinds import SECRET, SERVICE_ACCOUNT

SECRET_TYPE = "kubernetes.io/service-account-token"  # noqa: S105 - the type of Secrets
ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"
ISSUER = "kubernetes/serviceaccount"
CLAIM_PREFIX = "kubernetes.io/serviceaccount/"


def is_token_secret(secret: Obj) -> bool:
    """Return whether a Secret holds, or is to hold, the token of a service account."""
    return secret.get("type") == SECRET_TYPE


def _account_key(secret: Obj) -> Iterable[str]:
    if is_token_secret(secret):
        yield f"{namespace_of(secret)}/{annotations_of(secret).get(ACCOUNT_NAME, '')}"


def _referenced_keys(account: Obj) -> Iterable[str]:
    return (f"{namespace_of(account)}/{each.get('name', '')}" for each in account.get("secrets") or ())


SECRETS_BY_ACCOUNT = Index(SECRET, "account", _account_key)
ACCOUNTS_BY_SECRET = Index(SERVICE_ACCOUNT, "token-secret", _referenced_keys)


@dataclass(frozen=True, slots=True)
class Unfilled:
    """A Secret that lacks its token, its namespace or the certificate.

    Attributes:
        account: the account that it names.
        data: what it should hold besides.
        sign: signs the claims of its token.
    """

    secret: Obj
    account: Obj
    data: dict[str, str]
    sign: Callable[[Obj], str]


@dataclass(frozen=True, slots=True)
class Orphan:
    """A Secret whose account is not in the cache."""

    secret: Obj


@dataclass(frozen=True, slots=True)
class Removed:
    """A Secret that has gone, and the accounts that refer to it."""

    name: str
    accounts: Sequence[Obj]


def _secret_changed(_: Listers, change: Change) -> Iterable[Key]:
    return (key_of(change.obj),) if is_token_secret(change.obj) else ()


def _account_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the Secrets of an account that has come or gone: they are filled or deleted."""
    if change.old is not None and change.new is not None and _uid(change.old) == _uid(change.new):
        return ()
    return [key_of(secret) for secret in listers[SECRET].by_index(SECRETS_BY_ACCOUNT.name, key_of(change.obj))]


def observe(listers: Listers, key: Key) -> Unfilled | Orphan | Removed | None:
    """Return the Secret's problem, or None if all is well."""
    sign = listers.settings.sign_token
    if sign is None:
        return None
    secret = listers[SECRET].get(key)
    if secret is None:
        accounts = tuple(listers[SERVICE_ACCOUNT].by_index(ACCOUNTS_BY_SECRET.name, key))
        return Removed(split_key(key)[1], accounts) if accounts else None
    if not is_token_secret(secret) or "deletionTimestamp" in secret["metadata"]:
        return None
    account = listers[SERVICE_ACCOUNT].get(f"{namespace_of(secret)}/{annotations_of(secret).get(ACCOUNT_NAME)}")
    if account is None or not _is_of(secret, account):
        return Orphan(secret)
    data = _missing_data(secret, listers.settings.root_ca)
    needs_token = not (secret.get("data") or {}).get("token")
    return Unfilled(secret, account, data, sign) if data or needs_token else None


def _is_of(secret: Obj, account: Obj) -> bool:
    """Return whether the account is the one that the Secret names, and no later one of the same name."""
    return annotations_of(secret).get(ACCOUNT_UID) in (None, "", _uid(account))


def _missing_data(secret: Obj, root_ca: str) -> dict[str, str]:
    current = secret.get("data") or {}
    data = {}
    if root_ca and current.get("ca.crt") != _encoded(root_ca):
        data["ca.crt"] = _encoded(root_ca)
    if not current.get("namespace"):
        data["namespace"] = _encoded(namespace_of(secret))
    return data


def reconcile(observed: Unfilled | Orphan | Removed, _: float) -> Plan:
    """Fill the Secret, delete it if its account has gone, or remove the references to it."""
    match observed:
        case Unfilled():
            yield Update(SECRET, _filled(observed))
        case Orphan():
            yield from _delete_orphan(observed.secret)
        case Removed():
            for account in observed.accounts:
                kept = [each for each in account["secrets"] if each.get("name") != observed.name]
                yield Update(SERVICE_ACCOUNT, account | {"secrets": kept})


def _filled(unfilled: Unfilled) -> Obj:
    secret, account = unfilled.secret, unfilled.account
    annotations = annotations_of(secret) | {ACCOUNT_NAME: name_of(account), ACCOUNT_UID: _uid(account)}
    data = (secret.get("data") or {}) | unfilled.data
    if not data.get("token"):
        data["token"] = _encoded(unfilled.sign(token_claims(secret, account)))
    return secret | {"metadata": secret["metadata"] | {"annotations": annotations}, "data": data}


def token_claims(secret: Obj, account: Obj) -> Obj:
    """Return the claims of the token in a Secret (LegacyClaims)."""
    namespace, name = namespace_of(account), name_of(account)
    return {
        "iss": ISSUER,
        f"{CLAIM_PREFIX}namespace": namespace,
        f"{CLAIM_PREFIX}secret.name": name_of(secret),
        f"{CLAIM_PREFIX}service-account.name": name,
        f"{CLAIM_PREFIX}service-account.uid": _uid(account),
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }


def _delete_orphan(secret: Obj) -> Plan:
    """Delete the Secret, if the server does not know its account either."""
    try:
        name = annotations_of(secret).get(ACCOUNT_NAME, "")
        account = yield Get(SERVICE_ACCOUNT, f"{namespace_of(secret)}/{name}")
        if _is_of(secret, account):
            return  # the cache is behind: the account's event brings this key again
    except ApiError as error:
        if error.code != 404:
            raise
    try:
        yield Delete(SECRET, key_of(secret), uid=_uid(secret))
    except ApiError as error:
        if error.code not in (404, 409):  # it has gone, or is another one by now
            raise


def _uid(obj: Obj) -> str:
    uid: str = obj["metadata"]["uid"]
    return uid


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SPEC = ControllerSpec(
    name="serviceaccount-token",
    watches=(Watch(SECRET, _secret_changed), Watch(SERVICE_ACCOUNT, _account_changed)),
    observe=observe,
    reconcile=reconcile,
    flag="serviceaccount-token",
    retries=10,
    indexes=(SECRETS_BY_ACCOUNT, ACCOUNTS_BY_SECRET),
    queue="serviceaccount_tokens_secret",
)
