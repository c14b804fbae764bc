import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPSConnection
from typing import Any

import aiohttp
import kr8s.asyncio
import kubernetes
import kubernetes_asyncio
import lightkube
import lightkube.resources.core_v1
import pytest
from patience import SECONDS

import mockube
from apiserver.api.schema import available_versions
from apiserver.config import ConfigError
from apiserver.release import load_release
from mockube import Cluster

NAMESPACES = {"default", "kube-node-lease", "kube-public", "kube-system"}


def ask(cluster: Cluster, path: str, *, token: str = "") -> tuple[int, Any]:
    trust = ssl.create_default_context(cafile=cluster.ca_file)
    connection = HTTPSConnection(cluster.url.removeprefix("https://"), context=trust, timeout=SECONDS)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token or cluster.token}"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def names(cluster: Cluster) -> set[str]:
    _, answer = ask(cluster, "/api/v1/namespaces")
    return {each["metadata"]["name"] for each in answer["items"]}


@contextmanager
def core(configuration: kubernetes.client.Configuration) -> Iterator[kubernetes.client.CoreV1Api]:
    with kubernetes.client.ApiClient(configuration) as client:
        yield kubernetes.client.CoreV1Api(client)
        client.rest_client.pool_manager.clear()


def make_namespace(cluster: Cluster, name: str) -> None:
    with core(kubernetes.client.Configuration(**cluster.client_settings)) as api:
        api.create_namespace({"metadata": {"name": name}})


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_with_a_with_statement_it_runs_beside_the_caller() -> None:
    with Cluster() as cluster:
        assert names(cluster) == NAMESPACES


async def test_with_an_async_with_statement_it_runs_on_the_callers_loop() -> None:
    threads = threading.active_count()
    async with Cluster() as cluster:
        assert threading.active_count() == threads
        trust = ssl.create_default_context(cafile=cluster.ca_file)
        headers = {"Authorization": f"Bearer {cluster.token}"}
        async with (
            aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=trust)) as session,
            session.get(f"{cluster.url}/api/v1/namespaces") as response,
        ):
            answer = await response.json()
    assert {each["metadata"]["name"] for each in answer["items"]} == NAMESPACES


def test_two_clusters_at_once_share_nothing() -> None:
    with Cluster() as one, Cluster() as other:
        make_namespace(one, "mine")
        assert names(one) - names(other) == {"mine"}
        assert one.url != other.url
        assert one.token != other.token
        assert one.ca_file.read_bytes() != other.ca_file.read_bytes()
        assert ask(one, "/api/v1/namespaces", token=other.token)[0] == 401


def test_clusters_that_start_at_once_in_a_new_process_all_understand_the_same() -> None:
    """They compile the schema of pods together."""
    load_release.cache_clear()

    def image_pull_policy(_: int) -> str:
        with Cluster() as cluster, core(kubernetes.client.Configuration(**cluster.client_settings)) as api:
            pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "nginx:1"}]}}
            policy: str = api.create_namespaced_pod("default", pod).spec.containers[0].image_pull_policy
            return policy

    with ThreadPoolExecutor(8) as threads:
        assert [*threads.map(image_pull_policy, range(8))] == ["IfNotPresent"] * 8


def test_nothing_is_left_behind() -> None:
    before = set(threading.enumerate())  # among them those of clusters that other tests share
    with Cluster() as cluster:
        directory, url = cluster.kubeconfig.parent, cluster.url
        assert directory.stat().st_mode & 0o777 == 0o700
        assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert not directory.exists()
    host, port = url.removeprefix("https://").split(":")
    with pytest.raises(ConnectionRefusedError):
        HTTPSConnection(host, int(port), timeout=SECONDS).connect()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "mockube"]


def test_a_cluster_that_does_not_run_says_so() -> None:
    cluster = Cluster()
    with pytest.raises(RuntimeError, match="within `with Cluster"):
        _ = cluster.url


def test_a_cluster_can_be_used_again_and_is_fresh_then() -> None:
    cluster = Cluster()
    for _ in range(2):
        with cluster:
            make_namespace(cluster, "mine")
            assert "mine" in names(cluster)


@pytest.mark.parametrize("version", ["1.30", "v1.30"])
def test_another_release(version: str) -> None:
    with Cluster(kubernetes_version=version) as cluster:
        assert cluster.kubernetes_version == "1.30"
        assert ask(cluster, "/version")[1]["gitVersion"] == "v1.30.0"


@pytest.mark.parametrize("version", available_versions())
def test_every_release_serves_its_kinds(version: str) -> None:
    with Cluster(kubernetes_version=version) as cluster:
        for group in ask(cluster, "/apis")[1]["groups"]:
            for each in group["versions"]:
                code, resources = ask(cluster, f"/apis/{each['groupVersion']}")
                assert (code, resources["kind"]) == (200, "APIResourceList")
        with core(kubernetes.client.Configuration(**cluster.client_settings)) as api:
            pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "nginx"}]}}
            assert api.create_namespaced_pod("default", pod).status.phase == "Pending"


def test_an_unknown_release_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"Kubernetes 1\.2 is not known here: choose one of"):
        Cluster(kubernetes_version="1.2")


def test_an_error_within_comes_out_and_the_cluster_ends() -> None:
    cluster = Cluster()
    with pytest.raises(FileNotFoundError, match="no-such"), cluster:
        (cluster.kubeconfig.parent / "no-such").read_text()
    with pytest.raises(RuntimeError):
        _ = cluster.url


def test_a_watch_ends_with_the_cluster() -> None:
    with Cluster() as cluster:
        trust = ssl.create_default_context(cafile=cluster.ca_file)
        connection = HTTPSConnection(cluster.url.removeprefix("https://"), context=trust, timeout=SECONDS)
        connection.request("GET", "/api/v1/pods?watch=1", headers={"Authorization": f"Bearer {cluster.token}"})
        watch = connection.getresponse()
    assert watch.read() == b""
    connection.close()


def test_the_package_itself_has_nothing_else() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Clusters'"):
        _ = mockube.Clusters


# Clients, as their manuals say to set them up.


def test_the_client_kubernetes() -> None:
    by_file = kubernetes.client.Configuration()
    with Cluster() as cluster:
        kubernetes.config.load_kube_config(str(cluster.kubeconfig), client_configuration=by_file)
        with core(kubernetes.client.Configuration(**cluster.client_settings)) as api:
            api.create_namespaced_config_map("default", config_map("made"))
        with core(by_file) as api:
            listed = api.list_namespaced_config_map("default")
    assert "made" in [each.metadata.name for each in listed.items]


async def test_the_client_kubernetes_asyncio() -> None:
    async with Cluster() as cluster:
        configuration = kubernetes_asyncio.client.Configuration(**cluster.client_settings)
        async with kubernetes_asyncio.client.ApiClient(configuration) as client:
            core_v1 = kubernetes_asyncio.client.CoreV1Api(client)
            await core_v1.create_namespaced_config_map("default", config_map("made"))
            listed = await core_v1.list_namespaced_config_map("default")
    assert "made" in [each.metadata.name for each in listed.items]


async def test_the_client_kr8s() -> None:
    async with Cluster(kubernetes_version="1.34") as cluster:  # it warns of releases that it does not know yet
        api = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig))
        made = await kr8s.asyncio.objects.ConfigMap(config_map("made"), api=api)
        await made.create()
        names = [each.name async for each in api.get("configmaps") if isinstance(each, kr8s.asyncio.objects.ConfigMap)]
        assert api._session is not None
        await api._session.aclose()  # kr8s has no public way to close its connections
    assert "made" in names


async def test_the_client_lightkube() -> None:
    async with Cluster() as cluster:
        client = lightkube.AsyncClient(lightkube.KubeConfig.from_file(cluster.kubeconfig))
        await client.create(lightkube.resources.core_v1.ConfigMap.from_dict(config_map("made")), namespace="default")
        names = [each.metadata.name async for each in client.list(lightkube.resources.core_v1.ConfigMap)]
        await client.close()
    assert "made" in names


@pytest.mark.kubectl
def test_the_client_kubectl(kubectl_path: str) -> None:
    with Cluster() as cluster:
        said = subprocess.run(
            [kubectl_path, "--kubeconfig", cluster.kubeconfig, "get", "namespaces", "-o", "name"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    assert {line.removeprefix("namespace/") for line in said.split()} == NAMESPACES


KRUISE = {"CloneSet", "StatefulSet", "UnitedDeployment"}


@pytest.mark.parametrize(
    ("expected", "resources"),
    [({"nodes": 1}, KRUISE), ({"nodes": 1, "kruise": False}, set()), ({}, set()), ({"kruise": True}, KRUISE)],
)
def test_openkruises_workloads_are_there_where_controllers_run_or_as_asked(
    expected: dict[str, Any], resources: set[str]
) -> None:
    with Cluster(**expected) as cluster:
        _, answer = ask(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert {each["spec"]["names"]["kind"] for each in answer["items"]} == resources
