"""The scheduler at work on a real server, with simulated nodes."""

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp
import pytest

from mockube import Cluster

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
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

    async def until(self, collection, holds, *, name=""):
        """The object of which something holds, as soon as there is one."""
        query = f"&fieldSelector=metadata.name%3D{name}" if name else ""
        path = f"{collection}?watch=1&timeoutSeconds={SECONDS}{query}"
        async with asyncio.timeout(SECONDS), self._session.get(path) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] != "DELETED" and holds(event["object"]):
                    return event["object"]
        raise AssertionError(f"it did not come so far: {path}")

    async def bound(self, name):
        """The node that a pod gets."""
        pod = await self.until(PODS, lambda pod: pod["spec"].get("nodeName"), name=name)
        return pod["spec"]["nodeName"]

    async def run(self, name, *, cpu="", labels=None, **spec):
        requests = {"requests": {"cpu": cpu}} if cpu else {}
        container = {"name": "web", "image": "nginx:1.27", "resources": requests}
        meta = {"name": name, "labels": labels or {}}
        return await self.do("POST", PODS, {"metadata": meta, "spec": {"containers": [container], **spec}})


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Cluster(nodes=3, controllers="node,scheduler,kubelet") as cluster:
        headers = {"Authorization": f"Bearer {cluster.token}"}
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=cluster.ca_file))
        async with aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as session:
            found = Client(session)
            for name in ("node-1", "node-2", "node-3"):
                await found.until(NODES, lambda node: (node.get("status") or {}).get("allocatable"), name=name)
            yield found


async def test_pods_get_nodes_and_it_is_told(client):
    spread = {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    for i in range(6):
        await client.run(f"web-{i}", labels={"app": "web"}, topologySpreadConstraints=[spread])
    nodes = [await client.bound(f"web-{i}") for i in range(6)]
    assert Counter(nodes) == {"node-1": 2, "node-2": 2, "node-3": 2}
    event = await client.until(EVENTS, lambda event: event["reason"] == "Scheduled")
    name = event["regarding"]["name"]
    assert event["note"] == f"Successfully assigned default/{name} to {nodes[int(name[-1])]}"
    assert (event["action"], event["reportingController"]) == ("Binding", "default-scheduler")


async def test_a_pod_that_finds_no_node_is_told_why_and_placed_when_one_is_opened(client):
    for name in ("node-1", "node-2", "node-3"):
        await client.do("PATCH", f"{NODES}/{name}", {"spec": {"unschedulable": True}}, MERGE)
    await client.run("web")
    why = (
        "0/3 nodes are available: 3 node(s) were unschedulable. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    pod = await client.until(PODS, lambda pod: pod["status"].get("conditions"), name="web")
    [condition] = pod["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["message"] == why
    event = await client.until(EVENTS, lambda event: event["reason"] == "FailedScheduling")
    assert (event["type"], event["note"], event["action"]) == ("Warning", why, "Scheduling")
    await client.do("PATCH", f"{NODES}/node-2", {"spec": {"unschedulable": None}}, MERGE)
    assert await client.bound("web") == "node-2"


async def test_a_more_important_pod_takes_the_place_of_another(client):
    await client.do(
        "POST",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "high"}, "value": 1000},
    )
    for i in range(3):
        await client.run(f"low-{i}", cpu="30")
    for i in range(3):
        await client.bound(f"low-{i}")
    await client.run("high", cpu="30", priorityClassName="high")
    node = await client.bound("high")
    left = await client.do("GET", PODS)
    gone = {"low-0", "low-1", "low-2"} - {pod["metadata"]["name"] for pod in left["items"]}
    event = await client.until(EVENTS, lambda event: event["reason"] == "Preempted")
    assert {event["regarding"]["name"]} == gone
    assert event["note"].endswith(f"on node {node}")
