"""The Python client `lightkube`."""

from collections.abc import Iterator
from typing import Any

import lightkube
import pytest
from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod, Secret
from lightkube.types import PatchType

from mockube import Cluster


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> Iterator[lightkube.Client]:
    client = lightkube.Client(lightkube.KubeConfig.from_file(cluster.kubeconfig), namespace=namespace)
    yield client
    client.close()


def test_objects_are_made_read_replaced_and_deleted(client: lightkube.Client) -> None:
    made = client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"a": "b"}))
    assert made.metadata.uid
    assert client.get(ConfigMap, "a").data == {"a": "b"}
    made.data = {"a": "c"}
    assert client.replace(made).data == {"a": "c"}
    with pytest.raises(ApiError) as caught:
        client.replace(made)
    assert (caught.value.status.code, caught.value.status.reason) == (409, "Conflict")
    client.delete(ConfigMap, "a")
    with pytest.raises(ApiError) as caught:
        client.get(ConfigMap, "a")
    assert (caught.value.status.code, caught.value.status.message) == (404, 'configmaps "a" not found')


@pytest.mark.parametrize(
    ("kind", "patch", "replicas"),
    [
        (PatchType.STRATEGIC, {"spec": {"replicas": 3}}, 3),
        (PatchType.MERGE, {"spec": {"replicas": 4}}, 4),
        (PatchType.JSON, [{"op": "replace", "path": "/spec/replicas", "value": 5}], 5),
    ],
)
def test_patches_of_three_types(
    client: lightkube.Client, deployment: dict[str, Any], kind: PatchType, patch: Any, replicas: int
) -> None:
    client.create(Deployment.from_dict(deployment))
    assert client.patch(Deployment, "web", patch, patch_type=kind).spec.replicas == replicas


def test_scale_and_status(client: lightkube.Client, deployment: dict[str, Any]) -> None:
    made = client.create(Deployment.from_dict(deployment))
    scale = Deployment.Scale(
        metadata=ObjectMeta(name="web", namespace=made.metadata.namespace), spec=ScaleSpec(replicas=3)
    )
    assert client.replace(scale).spec.replicas == 3
    changed = client.patch(Deployment.Status, "web", {"status": {"replicas": 3}})
    assert changed.status.replicas == 3


def test_lists_by_selectors_and_in_chunks(client: lightkube.Client) -> None:
    for number in range(5):
        client.create(Secret(metadata=ObjectMeta(name=f"s{number}", labels={"odd": str(number % 2)}), type="a/b"))
    assert [each.metadata.name for each in client.list(Secret, chunk_size=2)] == [f"s{number}" for number in range(5)]
    assert [each.metadata.name for each in client.list(Secret, labels={"odd": "1"}, fields={"type": "a/b"})] == [
        "s1",
        "s3",
    ]
    assert "default" in [each.metadata.name for each in client.list(Namespace)]
    client.deletecollection(Secret)
    assert [*client.list(Secret)] == []


def test_errors_tell_what_is_wrong(client: lightkube.Client, cluster: Cluster, pod: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        client.create(Pod.from_dict(pod | {"spec": {"containers": []}}))
    assert (caught.value.status.code, caught.value.status.reason) == (422, "Invalid")
    assert [cause.field for cause in caught.value.status.details.causes] == ["spec.containers"]
    client.create(Pod.from_dict(pod))
    with pytest.raises(ApiError, match="container none is not valid for pod web"):
        [*client.log("web", container="none")]
    config = lightkube.KubeConfig.from_file(cluster.kubeconfig)
    config.users = {name: type(user)(token="wrong") for name, user in config.users.items()}
    nobody = lightkube.Client(config)
    with pytest.raises(ApiError) as caught:
        [*nobody.list(Namespace)]
    assert (caught.value.status.code, caught.value.status.reason) == (401, "Unauthorized")
    nobody.close()


def test_a_watch_from_a_version(client: lightkube.Client) -> None:
    made = client.create(ConfigMap(metadata=ObjectMeta(name="a")))
    client.patch(ConfigMap, "a", {"data": {"a": "b"}})
    client.delete(ConfigMap, "a")
    seen = []
    for kind, obj in client.watch(ConfigMap, resource_version=made.metadata.resourceVersion, server_timeout=30):
        seen.append((kind, obj.data))
        if kind == "DELETED":
            break
    assert seen == [("MODIFIED", {"a": "b"}), ("DELETED", {"a": "b"})]


def test_a_watch_that_ends_is_taken_up_again(client: lightkube.Client) -> None:
    """It asks again from the last version after every timeout."""
    client.create(ConfigMap(metadata=ObjectMeta(name="a")))
    versions = []
    for _, obj in client.watch(ConfigMap, server_timeout=1, fields={"metadata.name": "a"}):
        versions.append(obj.metadata.resourceVersion)
        client.patch(ConfigMap, "a", {"metadata": {"labels": {"n": str(len(versions))}}})
        if len(versions) == 4:
            break
    assert versions == sorted(set(versions), key=int)


def test_a_watch_from_a_version_that_is_forgotten_is_gone(forgetful: Any) -> None:
    config = lightkube.KubeConfig.from_server(forgetful.url)
    config.users = {"a": lightkube.config.models.User(token="secret")}
    config.contexts = {"a": lightkube.config.models.Context(cluster=next(iter(config.clusters)), user="a")}
    config.current_context = "a"
    client = lightkube.Client(config, namespace="default")
    client.create(ConfigMap(metadata=ObjectMeta(name="a")))
    forgetful.forget()
    with pytest.raises(ApiError) as caught:
        next(iter(client.watch(ConfigMap, resource_version="1")))
    assert (caught.value.status.code, caught.value.status.reason) == (410, "Expired")
    client.close()


def test_resources_that_it_has_no_model_of(client: lightkube.Client) -> None:
    lease = create_namespaced_resource("coordination.k8s.io", "v1", "Lease", "leases")
    made = client.create(lease(metadata={"name": "a"}, spec={"holderIdentity": "me"}))
    assert client.get(lease, "a") == made
    assert made.spec["holderIdentity"] == "me"
