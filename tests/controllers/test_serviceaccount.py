"""The objects of every namespace: the account "default", and the certificate by which pods know the server."""

import pytest
from triggers import NO_LISTERS, woken

from apiserver.api import errors
from controller_manager.controllers import rootca, serviceaccount
from controller_manager.reconcile.contract import Change, Create, Settings, Update
from controller_manager.reconcile.kinds import CONFIG_MAP, NAMESPACE, SERVICE_ACCOUNT

PEM = Settings(root_ca="-----BEGIN CERTIFICATE-----\n")


def namespace(name="ns", phase="Active"):
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def account(name="default"):
    return {"metadata": {"namespace": "ns", "name": name}}


def published(data=None, **annotations):
    meta = {"namespace": "ns", "name": "kube-root-ca.crt", "resourceVersion": "5", "annotations": annotations}
    return {"metadata": meta, "data": data or {"ca.crt": PEM.root_ca}}


def terminating():
    causes = [{"reason": "NamespaceTerminating"}]
    return errors.forbidden("", "serviceaccounts", name="x", why="it is being terminated", causes=causes)


@pytest.mark.parametrize("spec", [serviceaccount.SPEC, rootca.SPEC], ids=lambda spec: spec.name)
@pytest.mark.parametrize(
    ("error", "fails"),
    [(terminating(), False), (errors.internal("no"), True)],
    ids=["terminating", "internal"],
)
def test_a_namespace_that_goes_meanwhile_is_no_error(reconcile, spec, error, fails):
    done = reconcile(spec, "ns", {NAMESPACE: [namespace()]}, lambda _: error, settings=PEM)
    assert (done.error is not None) == fails


# -- the account


def test_every_active_namespace_gets_the_account(reconcile):
    done = reconcile(serviceaccount.SPEC, "ns", {NAMESPACE: [namespace()], SERVICE_ACCOUNT: [account("other")]})
    assert done.actions == [Create(SERVICE_ACCOUNT, {"metadata": {"name": "default", "namespace": "ns"}})]


@pytest.mark.parametrize(
    "objects",
    [
        {NAMESPACE: [namespace()], SERVICE_ACCOUNT: [account()]},
        {NAMESPACE: [namespace(phase="Terminating")]},
        {},
    ],
    ids=["there", "terminating", "gone"],
)
def test_where_the_account_is_or_the_namespace_is_not_nothing_is_made(reconcile, objects):
    assert reconcile(serviceaccount.SPEC, "ns", objects).actions == []


def test_an_account_that_somebody_else_made_is_well(reconcile):
    taken = errors.already_exists("", "serviceaccounts", "default")
    assert reconcile(serviceaccount.SPEC, "ns", {NAMESPACE: [namespace()]}, lambda _: taken).error is None


def keys(spec, kind, change):
    return woken(spec, NO_LISTERS, kind, change)


def test_accounts_that_go_are_looked_after_and_those_that_come_are_not():
    assert keys(serviceaccount.SPEC, SERVICE_ACCOUNT, Change(account(), None)) == ["ns"]
    assert keys(serviceaccount.SPEC, SERVICE_ACCOUNT, Change(None, account())) == []
    assert keys(serviceaccount.SPEC, NAMESPACE, Change(None, namespace())) == ["ns"]


# -- the certificate


def test_every_namespace_gets_the_certificate_with_a_description(reconcile):
    [made] = reconcile(rootca.SPEC, "ns", {NAMESPACE: [namespace()]}, settings=PEM).of(Create)
    assert made.obj["data"] == {"ca.crt": PEM.root_ca}
    assert made.obj["metadata"]["annotations"]["kubernetes.io/description"].startswith("Contains a CA bundle that")


def test_without_a_certificate_nothing_is_published(reconcile):
    assert reconcile(rootca.SPEC, "ns", {NAMESPACE: [namespace()]}).actions == []


@pytest.mark.parametrize(
    "current",
    [
        published({"ca.crt": "another"}, **{"kubernetes.io/description": "mine"}),
        published({"ca.crt": PEM.root_ca, "more": "x"}, **{"kubernetes.io/description": "mine"}),
        published(),
    ],
    ids=["changed", "more", "undescribed"],
)
def test_what_was_edited_is_set_right(reconcile, current):
    current["metadata"]["annotations"]["a"] = "b"
    [update] = reconcile(rootca.SPEC, "ns", {NAMESPACE: [namespace()], CONFIG_MAP: [current]}, settings=PEM).of(Update)
    assert update.obj["data"] == {"ca.crt": PEM.root_ca}
    assert update.obj["metadata"]["annotations"] == {"a": "b", "kubernetes.io/description": rootca.DESCRIPTION}
    assert update.obj["metadata"]["resourceVersion"] == "5"


def test_another_description_is_as_good(reconcile):
    config_map = published(**{"kubernetes.io/description": "mine"})
    objects = {NAMESPACE: [namespace()], CONFIG_MAP: [config_map]}
    assert reconcile(rootca.SPEC, "ns", objects, settings=PEM).actions == []


def test_only_the_certificates_own_changes_are_looked_at():
    other = {"metadata": {"namespace": "ns", "name": "other"}}
    assert keys(rootca.SPEC, CONFIG_MAP, Change(other, None)) == []
    assert keys(rootca.SPEC, CONFIG_MAP, Change(published(), None)) == ["ns"]
    assert keys(rootca.SPEC, NAMESPACE, Change(None, namespace(phase="Terminating"))) == []
