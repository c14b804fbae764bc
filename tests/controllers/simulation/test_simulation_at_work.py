"""Simulated nodes and their kubelets at work on a real server."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator

import aiohttp
import pytest

from mockube import Cluster

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
CONTROLLERS = "node,kubelet,nodelifecycle,taint-eviction-controller"
MERGE = {"Content-Type": "application/merge-patch+json"}
SECONDS = 20


class Client:
    """Somebody who asks the server, and waits for what he wants to see."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def do(self, method, path, body=None, headers=None):
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            found = await answer.json()
            assert answer.status < 400, found
            return found

    async def until(self, collection, name, holds):
        """The object, as soon as something holds of it."""
        return await self._watch(collection, f"fieldSelector=metadata.name%3D{name}", lambda e: holds(e["object"]))

    async def until_gone(self, collection, name):
        """Return when there is no such object."""
        query = f"fieldSelector=metadata.name%3D{name}"
        found = await self.do("GET", f"{collection}?{query}")
        if found["items"]:
            query += f"&resourceVersion={found['metadata']['resourceVersion']}"
            await self._watch(collection, query, lambda event: event["type"] == "DELETED")

    async def _watch(self, collection, query, holds):
        path = f"{collection}?watch=1&timeoutSeconds={SECONDS}&{query}"
        async with asyncio.timeout(SECONDS), self._session.get(path) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if holds(event):
                    return event["object"]
        raise AssertionError(f"it did not come so far: {path}")

    async def run(self, name, *, node="node-1", annotations=None, **container):
        spec = {"nodeName": node, "containers": [{"name": "web", "image": "nginx:1.27"} | container]}
        meta = {"name": name, "annotations": annotations or {}}
        return await self.do("POST", PODS, {"metadata": meta, "spec": spec})


def is_ready(obj):
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Cluster(nodes=2, controllers=CONTROLLERS) as cluster:
        headers = {"Authorization": f"Bearer {cluster.token}"}
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=cluster.ca_file))
        async with aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as session:
            found = Client(session)
            for name in ("node-1", "node-2"):
                await found.until(NODES, name, is_ready)
            yield found


async def test_pods_run_where_they_are_bound_and_go_when_they_are_deleted(client):
    for name, node in (("a", "node-1"), ("b", "node-1"), ("c", "node-2")):
        await client.run(name, node=node)
    pods = [await client.until(PODS, name, is_ready) for name in "abc"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
    assert len({pod["status"]["podIP"] for pod in pods}) == 3
    assert pods[0]["status"]["hostIP"] == pods[1]["status"]["hostIP"] != pods[2]["status"]["hostIP"]
    await client.do("DELETE", f"{PODS}/a")
    await client.until_gone(PODS, "a")


async def test_a_pod_that_crashes_is_started_again(client):
    await client.run("crash", image="crash.mockube.io/app")
    pod = await client.until(PODS, "crash", lambda pod: _reason(pod) == "CrashLoopBackOff")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1


def _reason(pod):
    [status] = pod["status"].get("containerStatuses") or [{}]
    return ((status.get("state") or {}).get("waiting") or {}).get("reason")


async def test_an_image_that_cannot_be_pulled_is_waited_for_until_it_is_put_right(client):
    await client.run("typo", image="nginx:1.161")
    await client.until(PODS, "typo", lambda pod: _reason(pod) == "ImagePullBackOff")
    body = {"spec": {"containers": [{"name": "web", "image": "nginx:1.16.1"}]}}
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    await client.do("PATCH", f"{PODS}/typo", body, headers)
    assert await client.until(PODS, "typo", is_ready)


async def test_a_lost_node_does_nothing_until_it_is_back(client):
    await client.run("a")
    await client.until(PODS, "a", is_ready)
    await client.do("PATCH", f"{NODES}/node-1", {"metadata": {"annotations": {"mockube.io/lost": "true"}}}, MERGE)
    await client.do("DELETE", f"{PODS}/a")
    await client.run("b")
    await client.run("c", node="node-2")
    await client.until(PODS, "c", is_ready)  # by now node-1 would have done something
    for name in ("a", "b"):
        pod = await client.do("GET", f"{PODS}/{name}")
        assert bool(pod["metadata"].get("deletionTimestamp")) is (name == "a")
        assert is_ready(pod) is (name == "a")
    await client.do("PATCH", f"{NODES}/node-1", {"metadata": {"annotations": {"mockube.io/lost": None}}}, MERGE)
    await client.until_gone(PODS, "a")
    assert await client.until(PODS, "b", is_ready)


async def test_a_taint_throws_pods_out(client):
    await client.run("a")
    await client.until(PODS, "a", is_ready)
    taints = [{"key": "example.com/closed", "effect": "NoExecute"}]
    await client.do("PATCH", f"{NODES}/node-1", {"spec": {"taints": taints}}, MERGE)
    await client.until_gone(PODS, "a")


async def test_a_cordoned_node_is_tainted_and_an_uncordoned_one_is_not(client):
    await client.do("PATCH", f"{NODES}/node-2", {"spec": {"unschedulable": True}}, MERGE)
    node = await client.until(NODES, "node-2", lambda node: node["spec"].get("taints"))
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["node.kubernetes.io/unschedulable"]
    await client.do("PATCH", f"{NODES}/node-2", {"spec": {"unschedulable": None}}, MERGE)
    assert await client.until(NODES, "node-2", lambda node: not node["spec"].get("taints"))


async def test_a_node_of_ones_own_making_runs_pods(client):
    meta = {"name": "gpu", "labels": {"mockube.io/simulated": "true"}}
    status = {"capacity": {"cpu": "1", "pods": "10", "example.com/gpu": "8"}}
    await client.do("POST", NODES, {"metadata": meta, "status": status})
    node = await client.until(NODES, "gpu", is_ready)
    assert node["status"]["capacity"] == node["status"]["allocatable"] == status["capacity"]
    await client.run("train", node="gpu")
    assert await client.until(PODS, "train", is_ready)


async def test_a_deleted_node_stays_away(client):
    await client.do("DELETE", f"{NODES}/node-2")
    await client.until_gone(NODES, "node-2")
    await client.run("a")
    await client.until(PODS, "a", is_ready)
    found = await client.do("GET", NODES)
    assert [node["metadata"]["name"] for node in found["items"]] == ["node-1"]
