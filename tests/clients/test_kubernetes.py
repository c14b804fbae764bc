"""The Python client `kubernetes`: typed and dynamic."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes import client, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError

from mockube import Cluster


@contextmanager
def connected(**settings: Any) -> Iterator[client.ApiClient]:
    with client.ApiClient(client.Configuration(**settings)) as api_client:
        yield api_client
        api_client.rest_client.pool_manager.clear()  # it leaves its connections to the collector


@pytest.fixture(scope="module")
def api_client(cluster: Cluster) -> Iterator[client.ApiClient]:
    with connected(**cluster.client_settings) as api_client:
        yield api_client


@pytest.fixture(scope="module")
def core(api_client: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api_client)


def refused(call: Callable[..., Any], *arguments: Any, **more: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(ApiException) as caught:
        call(*arguments, **more)
    status = json.loads(caught.value.body)
    assert (status["kind"], status["code"]) == ("Status", caught.value.status)
    return caught.value.status, status


def test_objects_have_their_types(core: client.CoreV1Api, namespace: str, pod: dict[str, Any]) -> None:
    made = core.create_namespaced_pod(namespace, pod)
    assert isinstance(made, client.V1Pod)
    assert made.metadata.creation_timestamp.tzinfo is not None
    assert made.spec.containers[0].image_pull_policy == "IfNotPresent"
    assert core.read_namespaced_pod("web", namespace) == made
    assert made.status.phase == "Pending"


def test_a_typed_object_goes_there_and_back(core: client.CoreV1Api, namespace: str) -> None:
    config_map = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"a": "b"}, binary_data={"c": "AAH/"})
    core.create_namespaced_config_map(namespace, config_map)
    stored = core.read_namespaced_config_map("a", namespace)
    assert (stored.data, stored.binary_data) == (config_map.data, config_map.binary_data)


def test_lists_by_selectors_and_in_pages(core: client.CoreV1Api, namespace: str) -> None:
    for number in range(7):
        labels = {"odd": str(number % 2), "number": str(number)}
        core.create_namespaced_secret(namespace, {"metadata": {"name": f"s{number}", "labels": labels}, "type": "a/b"})

    def names(**options: Any) -> list[str]:
        return [each.metadata.name for each in core.list_namespaced_secret(namespace, **options).items]

    assert names(label_selector="odd=1") == ["s1", "s3", "s5"]
    assert names(label_selector="number in (1,2),odd!=1") == ["s2"]
    assert names(field_selector="metadata.name=s3,type=a/b") == ["s3"]
    page = core.list_namespaced_secret(namespace, limit=3)
    assert page.metadata.remaining_item_count == 4
    listed = [each.metadata.name for each in page.items]
    while page.metadata._continue:
        page = core.list_namespaced_secret(namespace, limit=3, _continue=page.metadata._continue)
        listed += [each.metadata.name for each in page.items]
    assert listed == [f"s{number}" for number in range(7)]
    everywhere = core.list_secret_for_all_namespaces(
        label_selector="odd=0", field_selector=f"metadata.namespace={namespace}"
    )
    assert len(everywhere.items) == 4


def test_the_patch_that_it_sends_is_strategic_for_objects_and_a_json_patch_for_lists(
    api_client: client.ApiClient, namespace: str, deployment: dict[str, Any]
) -> None:
    apps = client.AppsV1Api(api_client)
    apps.create_namespaced_deployment(namespace, deployment)
    more = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "b"}]}}}}
    merged = apps.patch_namespaced_deployment("web", namespace, more)
    assert [each.name for each in merged.spec.template.spec.containers] == ["side", "web"]
    assert merged.metadata.generation == 2
    steps = [{"op": "replace", "path": "/spec/replicas", "value": 5}]
    assert apps.patch_namespaced_deployment("web", namespace, steps).spec.replicas == 5


def test_scale_and_status(api_client: client.ApiClient, namespace: str, deployment: dict[str, Any]) -> None:
    apps = client.AppsV1Api(api_client)
    apps.create_namespaced_deployment(namespace, deployment)
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    assert (scale.spec.replicas, scale.status.selector) == (2, "app=web")
    scale.spec.replicas = 3
    assert apps.replace_namespaced_deployment_scale("web", namespace, scale).spec.replicas == 3
    changed = apps.patch_namespaced_deployment_status("web", namespace, {"status": {"replicas": 3}})
    assert (changed.status.replicas, changed.spec.replicas) == (3, 3)


def test_a_stale_replacement_is_a_conflict(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}, "data": {"a": "1"}})
    made.data = {"a": "2"}
    core.replace_namespaced_config_map("a", namespace, made)
    code, status = refused(core.replace_namespaced_config_map, "a", namespace, made)
    assert (code, status["reason"]) == (409, "Conflict")
    assert "the object has been modified" in status["message"]


def test_errors_tell_what_is_wrong(core: client.CoreV1Api, namespace: str, pod: dict[str, Any]) -> None:
    code, status = refused(core.read_namespaced_pod, "none", namespace)
    assert (code, status["reason"], status["message"]) == (404, "NotFound", 'pods "none" not found')
    core.create_namespaced_pod(namespace, pod)
    assert refused(core.create_namespaced_pod, namespace, pod)[1]["reason"] == "AlreadyExists"
    code, status = refused(
        core.create_namespaced_pod, namespace, {"metadata": {"name": "X"}, "spec": {"containers": []}}
    )
    assert (code, status["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.name", "spec.containers"]
    assert refused(core.list_namespaced_pod, namespace, label_selector="((")[0] == 400
    assert not core.read_namespaced_pod_log("web", namespace)
    code, status = refused(core.read_namespaced_pod_log, "web", namespace, container="none")
    assert (code, status["reason"]) == (400, "BadRequest")
    assert status["message"] == "container none is not valid for pod web"


def test_a_wrong_token_is_unauthorized(cluster: Cluster) -> None:
    wrong = {"api_key": {"BearerToken": "Bearer wrong", "authorization": "Bearer wrong"}}
    with connected(**cluster.client_settings | wrong) as nobody:
        code, status = refused(client.CoreV1Api(nobody).list_node)
    assert (code, status["reason"], status["message"]) == (401, "Unauthorized", "Unauthorized")


def test_deletions(core: client.CoreV1Api, namespace: str, pod: dict[str, Any]) -> None:
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "a", "labels": {"a": "b"}}})
    answer = core.delete_namespaced_config_map(
        "a", namespace, body=client.V1DeleteOptions(propagation_policy="Background")
    )
    answer = core.api_client.sanitize_for_serialization(answer)  # some of its versions give a V1Status, some a dict
    assert (answer["kind"], answer["status"], answer["details"]["name"]) == ("Status", "Success", "a")
    core.create_namespaced_pod(namespace, pod)
    assert core.delete_namespaced_pod("web", namespace, grace_period_seconds=0).metadata.name == "web"
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "b", "labels": {"a": "b"}}})
    core.delete_collection_namespaced_config_map(namespace, label_selector="a=b")
    assert "b" not in [each.metadata.name for each in core.list_namespaced_config_map(namespace).items]


def test_a_watch_from_a_version_to_its_timeout(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}})
    core.patch_namespaced_config_map("a", namespace, {"data": {"a": "b"}})
    core.delete_namespaced_config_map("a", namespace)
    options = {
        "resource_version": made.metadata.resource_version,
        "timeout_seconds": 1,
        "field_selector": "metadata.name=a",
    }
    seen = [*watch.Watch().stream(core.list_namespaced_config_map, namespace, **options)]
    assert [event["type"] for event in seen] == ["MODIFIED", "DELETED"]
    assert isinstance(seen[0]["object"], client.V1ConfigMap)


def test_a_watch_that_goes_on_where_it_was_stopped(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}})
    stream = watch.Watch()
    seen = []
    for event in stream.stream(core.list_namespaced_config_map, namespace, label_selector="!x", timeout_seconds=30):
        seen.append((event["type"], event["object"].metadata.name, event["object"].data))
        if event["object"].metadata.name == "a" and len(seen) < 5:
            core.patch_namespaced_config_map("a", namespace, {"data": {"a": str(len(seen))}})
        elif len(seen) >= 5:
            stream.stop()
    changes = [data["a"] for kind, name, data in seen if kind == "MODIFIED" and name == "a"]
    assert changes == sorted(changes)
    assert len(changes) >= 3


def test_a_watch_from_a_version_that_is_forgotten_is_gone(forgetful: Any) -> None:
    with connected(
        host=forgetful.url, api_key={"BearerToken": "Bearer secret", "authorization": "Bearer secret"}
    ) as api:
        core = client.CoreV1Api(api)
        for number in range(3):
            made = core.create_namespaced_config_map("default", {"metadata": {"name": f"a{number}"}})
        page = core.list_namespaced_config_map("default", limit=1)
        core.delete_namespaced_config_map("a0", "default")
        forgetful.forget()
        with pytest.raises(ApiException) as caught:
            [*watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version="1", timeout_seconds=1)]
        assert (caught.value.status, caught.value.reason.split(":")[0]) == (410, "Expired")
        code, status = refused(core.list_namespaced_config_map, "default", limit=1, _continue=page.metadata._continue)
        assert (code, status["reason"]) == (410, "Expired")
        rest = core.list_namespaced_config_map("default", _continue=status["metadata"]["continue"])
        assert rest.items[-1].metadata.uid == made.metadata.uid


def test_version_and_api_groups(api_client: client.ApiClient) -> None:
    version = client.VersionApi(api_client).get_code()
    assert (version.major, version.minor, version.git_version) == ("1", "34", "v1.34.0")
    assert "apps" in [group.name for group in client.ApisApi(api_client).get_api_versions().groups]
    resources = {each.name: each for each in client.AppsV1Api(api_client).get_api_resources().resources}
    assert resources["deployments"].short_names == ["deploy"]


def test_the_dynamic_client_discovers_and_does_the_same(
    api_client: client.ApiClient, namespace: str, deployment: dict[str, Any], tmp_path: Any
) -> None:
    discovered = dynamic.DynamicClient(api_client, cache_file=str(tmp_path / "discovered"))
    deployments = discovered.resources.get(api_version="apps/v1", kind="Deployment")
    assert (deployments.name, deployments.namespaced, deployments.short_names) == ("deployments", True, ["deploy"])
    made = deployments.create(body=deployment, namespace=namespace)
    assert made.spec.strategy.type == "RollingUpdate"
    merge = "application/merge-patch+json"
    patched = deployments.patch(body={"spec": {"replicas": 7}}, name="web", namespace=namespace, content_type=merge)
    assert patched.spec.replicas == 7
    assert deployments.scale.get(name="web", namespace=namespace).spec.replicas == 7
    with pytest.raises(ConflictError) as conflict:
        deployments.replace(body=made.to_dict() | {"metadata": made.metadata.to_dict() | {"labels": {"a": "b"}}})
    assert json.loads(conflict.value.body)["reason"] == "Conflict"
    with pytest.raises(NotFoundError):
        deployments.get(name="none", namespace=namespace)
    with pytest.raises(ResourceNotFoundError):
        discovered.resources.get(api_version="apps/v1", kind="None")
    events = deployments.watch(namespace=namespace, timeout=1)
    assert [event["type"] for event in events] == ["ADDED"]
    deployments.delete(name="web", namespace=namespace)
    assert deployments.get(namespace=namespace).items == []
