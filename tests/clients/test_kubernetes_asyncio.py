"""The Python client `kubernetes_asyncio`."""

import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
from kubernetes_asyncio import client, dynamic, watch
from kubernetes_asyncio.client.exceptions import ApiException

from mockube import Cluster


@pytest.fixture
async def api_client(cluster: Cluster) -> AsyncIterator[client.ApiClient]:
    async with client.ApiClient(client.Configuration(**cluster.client_settings)) as api_client:
        yield api_client


@pytest.fixture
def core(api_client: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api_client)


async def refused(call: Awaitable[Any]) -> tuple[int, dict[str, Any]]:
    with pytest.raises(ApiException) as caught:
        await call
    assert caught.value.body is not None
    status = json.loads(caught.value.body)
    assert (status["kind"], status["code"]) == ("Status", caught.value.status)
    return caught.value.status, status


async def test_objects_are_made_read_patched_replaced_and_deleted(
    core: client.CoreV1Api, namespace: str, pod: dict[str, Any]
) -> None:
    made = await core.create_namespaced_pod(namespace, pod)
    assert made.spec.containers[0].image_pull_policy == "IfNotPresent"
    patched = await core.patch_namespaced_pod("web", namespace, {"metadata": {"labels": {"a": "b"}}})
    assert patched.metadata.labels == {"app": "web", "a": "b"}
    made.metadata.labels = {"c": "d"}
    code, status = await refused(core.replace_namespaced_pod("web", namespace, made))
    assert (code, status["reason"]) == (409, "Conflict")
    patched.metadata.labels = {"c": "d"}
    assert (await core.replace_namespaced_pod("web", namespace, patched)).metadata.labels == {"c": "d"}
    await core.delete_namespaced_pod("web", namespace, grace_period_seconds=0)
    assert (await refused(core.read_namespaced_pod("web", namespace)))[0] == 404


@pytest.mark.parametrize(
    ("media", "patch", "replicas"),
    [
        ("application/merge-patch+json", {"spec": {"replicas": 3}}, 3),
        ("application/strategic-merge-patch+json", {"spec": {"replicas": 4}}, 4),
        ("application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 5}], 5),
    ],
)
async def test_patches_of_three_types(
    api_client: client.ApiClient, namespace: str, deployment: dict[str, Any], media: str, patch: Any, replicas: int
) -> None:
    apps = client.AppsV1Api(api_client)
    await apps.create_namespaced_deployment(namespace, deployment)
    patched = await apps.patch_namespaced_deployment("web", namespace, patch, _content_type=media)
    assert patched.spec.replicas == replicas


async def test_lists_by_selectors_and_in_pages(core: client.CoreV1Api, namespace: str) -> None:
    for number in range(5):
        labels = {"odd": str(number % 2)}
        await core.create_namespaced_secret(namespace, {"metadata": {"name": f"s{number}", "labels": labels}})
    odd = await core.list_namespaced_secret(namespace, label_selector="odd=1", field_selector="type=Opaque")
    assert [each.metadata.name for each in odd.items] == ["s1", "s3"]
    names: list[str] = []
    token: str | None = ""
    while token is not None:
        page = await core.list_namespaced_secret(namespace, limit=2, _continue=token or None)
        names += [each.metadata.name for each in page.items]
        token = page.metadata._continue or None
    assert names == [f"s{number}" for number in range(5)]


async def test_errors_tell_what_is_wrong(core: client.CoreV1Api, namespace: str) -> None:
    code, status = await refused(core.create_namespaced_pod(namespace, {"metadata": {"name": "a"}, "spec": {}}))
    assert (code, status["reason"], status["details"]["causes"][0]["field"]) == (422, "Invalid", "spec.containers")
    code, status = await refused(core.create_namespaced_config_map("none", {"metadata": {"name": "a"}}))
    assert (code, status["message"]) == (404, 'namespaces "none" not found')
    assert (await refused(core.list_namespaced_pod(namespace, field_selector="spec.none=a")))[0] == 400


async def test_a_wrong_token_is_unauthorized(cluster: Cluster) -> None:
    wrong = {"api_key": {"BearerToken": "Bearer wrong", "authorization": "Bearer wrong"}}
    async with client.ApiClient(client.Configuration(**cluster.client_settings | wrong)) as nobody:
        code, status = await refused(client.CoreV1Api(nobody).list_node())
    assert (code, status["reason"]) == (401, "Unauthorized")


async def test_a_watch_from_a_version_to_its_timeout(core: client.CoreV1Api, namespace: str) -> None:
    made = await core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}})
    await core.patch_namespaced_config_map("a", namespace, {"data": {"a": "b"}})
    await core.delete_namespaced_config_map("a", namespace)
    options = {"resource_version": made.metadata.resource_version, "field_selector": "metadata.name=a"}
    async with watch.Watch().stream(core.list_namespaced_config_map, namespace, timeout_seconds=1, **options) as stream:
        seen = [(event["type"], event["object"].data) async for event in stream]
    assert seen == [("MODIFIED", {"a": "b"}), ("DELETED", {"a": "b"})]


async def test_a_watch_sees_what_happens_while_it_lasts(core: client.CoreV1Api, namespace: str) -> None:
    seen = []
    async with watch.Watch().stream(core.list_namespaced_config_map, namespace, label_selector="a") as stream:
        await core.create_namespaced_config_map(namespace, {"metadata": {"name": "a", "labels": {"a": "1"}}})
        async for event in stream:
            seen.append(event["type"])
            if seen[-1] == "ADDED":
                await core.patch_namespaced_config_map("a", namespace, {"metadata": {"labels": {"a": None}}})
            else:
                break
    assert seen == ["ADDED", "DELETED"]


async def test_a_watch_from_a_version_that_is_forgotten_is_gone(forgetful: Any) -> None:
    token = {"BearerToken": "Bearer secret", "authorization": "Bearer secret"}
    async with client.ApiClient(client.Configuration(host=forgetful.url, api_key=token)) as api_client:
        core = client.CoreV1Api(api_client)
        await core.create_namespaced_config_map("default", {"metadata": {"name": "a"}})
        forgetful.forget()
        with pytest.raises(ApiException) as caught:
            async with watch.Watch().stream(
                core.list_namespaced_config_map, "default", resource_version="1", timeout_seconds=1
            ) as stream:
                [event async for event in stream]
    assert caught.value.status == 410


async def test_the_dynamic_client_discovers_and_does_the_same(
    api_client: client.ApiClient, namespace: str, deployment: dict[str, Any]
) -> None:
    discovered = await dynamic.DynamicClient(api_client)
    deployments = await discovered.resources.get(api_version="apps/v1", kind="Deployment")
    made = await deployments.create(body=deployment, namespace=namespace)
    assert made.spec.strategy.type == "RollingUpdate"
    listed = await deployments.get(namespace=namespace)
    assert [each.metadata.name for each in listed.items] == ["web"]
    version = await client.VersionApi(api_client).get_code()
    assert version.git_version == "v1.34.0"
