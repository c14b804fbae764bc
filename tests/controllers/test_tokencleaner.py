import base64

import pytest

from controller_manager.controllers.tokencleaner import SPEC
from controller_manager.reconcile.contract import Change, Delete, RequeueAfter, triggered_keys
from controller_manager.reconcile.kinds import SECRET

KEY = "kube-system/bootstrap-token-abcdef"


def token(expiration="", namespace="kube-system", type_="bootstrap.kubernetes.io/token"):
    meta = {"namespace": namespace, "name": "bootstrap-token-abcdef", "uid": "u"}
    data = {"expiration": base64.b64encode(expiration.encode()).decode()} if expiration else {}
    return {"metadata": meta, "type": type_, "data": data}


@pytest.mark.parametrize("expiration", ["2027-01-15T08:00:00Z", "2027-01-15T08:30:00+01:00", "soon"])
def test_a_token_that_has_expired_is_deleted(reconcile, expiration):
    (deletion,) = reconcile(SPEC, KEY, {SECRET: [token(expiration)]}).of(Delete)
    assert (deletion.key, deletion.uid) == (KEY, "u")


def test_a_token_is_looked_at_again_when_it_expires(reconcile):
    done = reconcile(SPEC, KEY, {SECRET: [token("2027-01-15T08:00:07Z")]})
    assert done.actions == [RequeueAfter(7.0)]


@pytest.mark.parametrize("secret", [token(), token("2020-01-01T00:00:00Z", type_="Opaque")])
def test_tokens_that_never_expire_and_other_secrets_stay(reconcile, secret):
    assert reconcile(SPEC, KEY, {SECRET: [secret]}).actions == []


def test_only_tokens_of_kube_system_are_looked_at(make_world):
    world, (watch,) = make_world(SPEC), SPEC.watches
    assert watch.trigger is not None
    assert list(triggered_keys(watch.trigger, world, Change(None, token()))) == [KEY]
    assert list(triggered_keys(watch.trigger, world, Change(None, token(namespace="default")))) == []
    assert list(triggered_keys(watch.trigger, world, Change(token(), None))) == []
