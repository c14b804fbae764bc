import base64

import pytest

from apiserver.api.errors import ApiError
from controller_manager.controllers.serviceaccounttokens import SPEC
from controller_manager.reconcile.contract import Change, Delete, Get, Settings, Update, triggered_keys
from controller_manager.reconcile.kinds import SECRET, SERVICE_ACCOUNT

SETTINGS = Settings(root_ca="the CA", sign_token=lambda claims: f"signed for {claims['sub']}")
KEY = "n/s"
NOT_FOUND = ApiError(404, "NotFound", "not found")


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def secret(uid=None, type_="kubernetes.io/service-account-token", **data):
    annotations = {"kubernetes.io/service-account.name": "a"}
    annotations |= {"kubernetes.io/service-account.uid": uid} if uid else {}
    meta = {"namespace": "n", "name": "s", "uid": "secret-uid", "annotations": annotations}
    return {"metadata": meta, "type": type_} | ({"data": data} if data else {})


def account(uid="account-uid", **more):
    return {"metadata": {"namespace": "n", "name": "a", "uid": uid}} | more


FILLED = {"token": encoded("t"), "namespace": encoded("n"), "ca.crt": encoded("the CA")}


@pytest.fixture
def sync(reconcile):
    def run(secrets=(), accounts=(), answers=lambda _: None, settings=SETTINGS):
        return reconcile(SPEC, KEY, {SECRET: secrets, SERVICE_ACCOUNT: accounts}, answers, settings=settings)

    return run


def test_a_secret_that_names_an_account_is_filled(sync):
    (update,) = sync([secret()], [account()]).of(Update)
    assert update.obj["data"] == {
        "token": encoded("signed for system:serviceaccount:n:a"),
        "namespace": encoded("n"),
        "ca.crt": encoded("the CA"),
    }
    assert update.obj["metadata"]["annotations"] == {
        "kubernetes.io/service-account.name": "a",
        "kubernetes.io/service-account.uid": "account-uid",
    }


def test_the_claims_are_those_of_legacy_tokens(sync):
    claims = {}
    settings = Settings(sign_token=lambda given: claims.update(given) or "t")
    sync([secret()], [account()], settings=settings)
    assert claims == {
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": "n",
        "kubernetes.io/serviceaccount/secret.name": "s",
        "kubernetes.io/serviceaccount/service-account.name": "a",
        "kubernetes.io/serviceaccount/service-account.uid": "account-uid",
        "sub": "system:serviceaccount:n:a",
    }


def test_a_filled_secret_is_left_alone_and_its_token_stays(sync):
    assert sync([secret("account-uid", **FILLED)], [account()]).actions == []
    (update,) = sync([secret("account-uid", **FILLED | {"ca.crt": encoded("old")})], [account()]).of(Update)
    assert update.obj["data"] == FILLED


@pytest.mark.parametrize("settings", [Settings(), SETTINGS])
def test_other_secrets_and_managers_without_a_key_do_nothing(sync, settings):
    type_ = "kubernetes.io/service-account-token" if settings.sign_token is None else "Opaque"
    assert sync([secret(type_=type_)], [account()], settings=settings).actions == []


@pytest.mark.parametrize("accounts", [[], [account("a-later-one")]])
def test_a_secret_goes_with_its_account(sync, accounts):
    def answers(action):
        return (accounts[0] if accounts else NOT_FOUND) if isinstance(action, Get) else None

    (deletion,) = sync([secret("account-uid")], accounts, answers).of(Delete)
    assert (deletion.key, deletion.uid) == (KEY, "secret-uid")


def test_a_secret_stays_if_only_the_cache_does_not_know_its_account(sync):
    done = sync([secret()], [], lambda action: account() if isinstance(action, Get) else None)
    assert done.of(Delete) == []


def test_a_secret_that_somebody_else_deletes_is_no_error(sync):
    assert sync([secret()], [], lambda _: NOT_FOUND).error is None


def test_the_account_forgets_a_secret_that_has_gone(sync):
    (update,) = sync([], [account(secrets=[{"name": "s"}, {"name": "other"}])]).of(Update)
    assert update.obj["secrets"] == [{"name": "other"}]


def test_an_account_that_comes_or_goes_wakes_its_secrets(make_world):
    world = make_world(SPEC, {SECRET: [secret()], SERVICE_ACCOUNT: []})
    _, watch = SPEC.watches
    assert watch.trigger is not None
    for change in (Change(None, account()), Change(account(), None), Change(account(), account("a-later-one"))):
        assert list(triggered_keys(watch.trigger, world, change)) == [KEY]
    assert list(triggered_keys(watch.trigger, world, Change(account(), account()))) == []
