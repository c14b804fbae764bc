"""The scheduler at work on a real server, with simulated nodes."""

from collections import Counter

import pytest

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
async def client(at_work):
    async with at_work(nodes=3, controllers="node,scheduler,kubelet") as opened:
        for name in ("node-1", "node-2", "node-3"):
            await opened.until(NODES, name, lambda node: (node.get("status") or {}).get("allocatable"))
        yield opened


async def node_of(client, name):
    """The node that a pod gets."""
    pod = await client.until(PODS, name, lambda pod: pod["spec"].get("nodeName"))
    return pod["spec"]["nodeName"]


async def test_pods_get_nodes_and_it_is_told(client):
    spread = {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    for i in range(6):
        await client.run(f"web-{i}", labels={"app": "web"}, topologySpreadConstraints=[spread])
    nodes = [await node_of(client, f"web-{i}") for i in range(6)]
    assert Counter(nodes) == {"node-1": 2, "node-2": 2, "node-3": 2}
    event = await client.until(EVENTS, "", lambda event: event["reason"] == "Scheduled")
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
    pod = await client.until(PODS, "web", lambda pod: pod["status"].get("conditions"))
    [condition] = pod["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["message"] == why
    event = await client.until(EVENTS, "", lambda event: event["reason"] == "FailedScheduling")
    assert (event["type"], event["note"], event["action"]) == ("Warning", why, "Scheduling")
    await client.do("PATCH", f"{NODES}/node-2", {"spec": {"unschedulable": None}}, MERGE)
    assert await node_of(client, "web") == "node-2"


async def test_a_more_important_pod_takes_the_place_of_another(client):
    await client.do(
        "POST",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "high"}, "value": 1000},
    )
    for i in range(3):
        await client.run(f"low-{i}", cpu="30")
    for i in range(3):
        await node_of(client, f"low-{i}")
    await client.run("high", cpu="30", priorityClassName="high")
    node = await node_of(client, "high")
    left = await client.do("GET", PODS)
    gone = {"low-0", "low-1", "low-2"} - {pod["metadata"]["name"] for pod in left["items"]}
    event = await client.until(EVENTS, "", lambda event: event["reason"] == "Preempted")
    assert {event["regarding"]["name"]} == gone
    assert event["note"].endswith(f"on node {node}")
