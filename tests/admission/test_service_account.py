"""ServiceAccount: the account of a pod, its token volume, and the secrets that it may name."""

import asyncio

import pytest

from apiserver.admission.service_account import (
    ENFORCE_SECRETS,
    MIRROR,
    TOKEN_PATH,
    TOKEN_VOLUME,
    ServiceAccount,
)

ACCOUNT = "serviceaccounts/ns/default"


class Ids:
    """Ids that count."""

    def uid(self):
        return "0"

    def suffix(self):
        return "abcde"


def pod(*, annotations=None, **spec):
    meta = {"name": "x"} | ({"annotations": annotations} if annotations else {})
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]} | spec}


MOUNT = {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": TOKEN_PATH}


@pytest.fixture
def plugin(store):
    return ServiceAccount(store, Ids())


async def test_a_pod_gets_the_default_account_and_its_token_in_every_container(plugin, put, write):
    await put(ACCOUNT, {"imagePullSecrets": [{"name": "registry"}]})
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    made, _ = await write(plugin, "Pod", pod(containers=[container], initContainers=[{"name": "i"}]))
    spec = made["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["volumes"] == [{"name": MOUNT["name"], "projected": TOKEN_VOLUME}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "v", "mountPath": "/v"}, MOUNT]
    assert spec["initContainers"][0]["volumeMounts"] == [MOUNT]
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert len(container["volumeMounts"]) == 1, "what may be shared with other pods is copied first"


@pytest.mark.parametrize(
    ("account", "spec", "mounted"),
    [
        ({}, {"automountServiceAccountToken": False}, False),
        ({"automountServiceAccountToken": False}, {}, False),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, True),
        (
            {},
            {"containers": [{"name": "c", "volumeMounts": [{"name": "own", "mountPath": TOKEN_PATH}]}]},
            False,
        ),
    ],
)
async def test_the_token_is_mounted_unless_the_pod_or_its_account_says_no(plugin, put, write, account, spec, mounted):
    await put(ACCOUNT, account)
    made, _ = await write(plugin, "Pod", pod(**spec))
    assert ("volumes" in made["spec"]) is mounted


async def test_a_token_volume_that_a_client_sends_again_is_used(plugin, put, write):
    await put(ACCOUNT, {})
    volume = {"name": "kube-api-access-other", "projected": {}}
    made, _ = await write(plugin, "Pod", pod(volumes=[volume]))
    assert made["spec"]["volumes"] == [volume]
    assert made["spec"]["containers"][0]["volumeMounts"] == [MOUNT | {"name": volume["name"]}]


async def test_a_pod_of_an_account_that_does_not_exist_is_refused(plugin, refusal):
    why = 'error looking up service account ns/robot: serviceaccount "robot" not found'
    assert await refusal(plugin, "Pod", pod(serviceAccountName="robot")) == (403, why)


async def test_the_default_account_of_a_new_namespace_is_waited_for(plugin, put, write):
    waiting = asyncio.create_task(write(plugin, "Pod", pod()))
    await asyncio.sleep(0)  # it has looked, and waits
    await put(ACCOUNT, {})
    made, _ = await waiting
    assert made["spec"]["serviceAccountName"] == "default"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "a"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {}}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_a_mirror_pod_has_no_account(plugin, write, refusal, spec, why):
    annotations = {MIRROR: "x"}
    assert (await write(plugin, "Pod", pod(annotations=annotations)))[0] == pod(annotations=annotations)
    assert await refusal(plugin, "Pod", pod(annotations=annotations, **spec)) == (403, why)


NOT_LISTED = "is not allowed because service account default does not reference that"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            f'volume with secret.secretName="other" {NOT_LISTED} secret',
        ),
        (
            {"containers": [{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other"}}}]}]},
            f'container c with envVar E referencing secret.secretName="other" {NOT_LISTED} secret',
        ),
        (
            {"initContainers": [{"name": "c", "envFrom": [{"secretRef": {"name": "other"}}]}]},
            f'init container c with envFrom referencing secret.secretName="other" {NOT_LISTED} secret',
        ),
        (
            {"imagePullSecrets": [{"name": "other"}]},
            f'imagePullSecrets[0].name="other" {NOT_LISTED} imagePullSecret',
        ),
    ],
)
async def test_an_account_may_limit_the_secrets_of_its_pods(plugin, put, write, refusal, spec, why):
    secrets = {"secrets": [{"name": "mine"}], "imagePullSecrets": [{"name": "mine"}]}
    await put(ACCOUNT, {"metadata": {"annotations": {ENFORCE_SECRETS: "true"}}} | secrets)
    assert await refusal(plugin, "Pod", pod(**spec)) == (403, why)
    await write(plugin, "Pod", pod(volumes=[{"name": "v", "secret": {"secretName": "mine"}}]))
    await put(ACCOUNT, secrets)
    await write(plugin, "Pod", pod(**spec))
