"""The Python client `kr8s`."""

from collections.abc import AsyncIterator
from typing import Any

import kr8s
import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import ConfigMap, Deployment, Pod, Secret
from patience import SECONDS

from mockube import Cluster


@pytest.fixture
async def api(cluster: Cluster, namespace: str) -> AsyncIterator[Any]:
    api = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig), namespace=namespace)
    yield api
    if api._session is not None:
        await api._session.aclose()


async def made(kind: Any, body: dict[str, Any], api: Any) -> Any:
    obj = await kind(body, api=api)
    await obj.create()
    return obj


def config_map(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": {"a": "b"}}


async def test_objects_are_made_read_changed_and_deleted(api: Any) -> None:
    obj = await made(ConfigMap, config_map("a"), api)
    assert await obj.exists()
    await obj.label({"c": "d"})
    await obj.annotate({"e": "f"})
    await obj.patch({"data": {"a": "c"}})
    stored = await ConfigMap.get("a", api=api)
    assert (stored.raw["data"], dict(stored.labels), dict(stored.annotations)) == ({"a": "c"}, {"c": "d"}, {"e": "f"})
    await obj.remove_label("c")
    assert dict(obj.labels) == {}
    await obj.delete()
    assert not await obj.exists()


async def test_a_json_patch(api: Any) -> None:
    obj = await made(ConfigMap, config_map("a"), api)
    await obj.patch([{"op": "add", "path": "/data/c", "value": "d"}], type="json")
    assert obj.raw["data"] == {"a": "b", "c": "d"}


async def test_scale(api: Any, deployment: dict[str, Any]) -> None:
    obj = await made(Deployment, deployment, api)
    await obj.patch({"spec": {"replicas": 7}}, subresource="scale")
    await obj.refresh()
    assert obj.replicas == 7


async def test_lists_by_selectors(api: Any) -> None:
    for number in range(5):
        await made(Secret, {"metadata": {"name": f"s{number}", "labels": {"odd": str(number % 2)}}}, api)
    assert [each.name async for each in api.get("secrets", label_selector={"odd": "1"})] == ["s1", "s3"]
    assert [each.name async for each in api.get("secrets", field_selector="metadata.name=s2")] == ["s2"]
    everywhere = [each async for each in Secret.list(api=api, namespace=kr8s.ALL) if isinstance(each, Secret)]
    assert [each.name for each in everywhere if each.namespace == api.namespace]


async def test_errors_tell_what_is_wrong(api: Any, pod: dict[str, Any]) -> None:
    with pytest.raises(kr8s.NotFoundError):
        await ConfigMap.get("none", api=api)
    with pytest.raises(kr8s.ServerError, match=r"spec\.containers: Required value") as caught:
        await made(Pod, pod | {"spec": {"containers": []}}, api)
    assert caught.value.response is not None
    assert caught.value.response.status_code == 422
    await made(Pod, pod, api)
    with pytest.raises(kr8s.ServerError, match='pods "web" already exists') as caught:
        await made(Pod, pod, api)
    assert caught.value.response is not None
    assert caught.value.response.json()["reason"] == "AlreadyExists"


async def test_a_watch_sees_what_happens_while_it_lasts(api: Any) -> None:
    obj = await made(ConfigMap, config_map("a", watched="yes"), api)
    seen = []
    async for kind, item in api.watch("configmaps", label_selector="watched=yes"):
        seen.append((kind, item.raw["data"]))
        if kind == "ADDED":
            await obj.patch({"data": {"a": "c"}})
        elif kind == "MODIFIED":
            await obj.delete()
        else:
            break
    assert seen == [("ADDED", {"a": "b"}), ("MODIFIED", {"a": "c"}), ("DELETED", {"a": "c"})]


async def test_waiting_for_a_condition(api: Any, deployment: dict[str, Any]) -> None:
    obj = await made(Deployment, deployment, api)
    condition = {"type": "Available", "status": "True", "reason": "a", "message": "b"}
    await obj.patch({"status": {"conditions": [condition]}}, subresource="status")
    await obj.wait("condition=Available", timeout=SECONDS)


async def test_version_identity_and_resources(api: Any) -> None:
    assert (await api.version())["gitVersion"] == "v1.34.0"
    assert await api.whoami() == "kubernetes-admin"
    resources = {(each["name"], each["version"]): each for each in await api.api_resources()}
    assert resources["deployments", "apps/v1"]["shortNames"] == ["deploy"]
    kind, plural, namespaced = await api.lookup_kind("deploy")
    assert (kind, plural, namespaced) == ("deployment.apps/v1", "deployments", True)
