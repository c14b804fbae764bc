"""Simulated nodes and their kubelets at work on a real server."""

import pytest

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
CONTROLLERS = "node,kubelet,nodelifecycle,taint-eviction-controller"
MERGE = {"Content-Type": "application/merge-patch+json"}


def is_ready(obj):
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@pytest.fixture
async def client(at_work):
    async with at_work(nodes=2, controllers=CONTROLLERS) as opened:
        for name in ("node-1", "node-2"):
            await opened.until(NODES, name, is_ready)
        yield opened


async def test_pods_run_where_they_are_bound_and_go_when_they_are_deleted(client):
    for name, node in (("a", "node-1"), ("b", "node-1"), ("c", "node-2")):
        await client.run(name, nodeName=node)
    pods = [await client.until(PODS, name, is_ready) for name in "abc"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
    assert len({pod["status"]["podIP"] for pod in pods}) == 3
    assert pods[0]["status"]["hostIP"] == pods[1]["status"]["hostIP"] != pods[2]["status"]["hostIP"]
    await client.do("DELETE", f"{PODS}/a")
    await client.until_gone(PODS, "a")


async def test_a_pod_that_crashes_is_started_again(client):
    await client.run("crash", image="crash.mockube.io/app", nodeName="node-1")
    pod = await client.until(PODS, "crash", lambda pod: _reason(pod) == "CrashLoopBackOff")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1


def _reason(pod):
    [status] = pod["status"].get("containerStatuses") or [{}]
    return ((status.get("state") or {}).get("waiting") or {}).get("reason")


async def test_an_image_that_cannot_be_pulled_is_waited_for_until_it_is_put_right(client):
    await client.run("typo", image="nginx:1.161", nodeName="node-1")
    await client.until(PODS, "typo", lambda pod: _reason(pod) == "ImagePullBackOff")
    body = {"spec": {"containers": [{"name": "web", "image": "nginx:1.16.1"}]}}
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    await client.do("PATCH", f"{PODS}/typo", body, headers)
    assert await client.until(PODS, "typo", is_ready)


async def test_a_lost_node_does_nothing_until_it_is_back(client):
    await client.run("a", nodeName="node-1")
    await client.until(PODS, "a", is_ready)
    await client.do("PATCH", f"{NODES}/node-1", {"metadata": {"annotations": {"mockube.io/lost": "true"}}}, MERGE)
    await client.do("DELETE", f"{PODS}/a")
    await client.run("b", nodeName="node-1")
    await client.run("c", nodeName="node-2")
    await client.until(PODS, "c", is_ready)  # by now node-1 would have done something
    for name in ("a", "b"):
        pod = await client.do("GET", f"{PODS}/{name}")
        assert bool(pod["metadata"].get("deletionTimestamp")) is (name == "a")
        assert is_ready(pod) is (name == "a")
    await client.do("PATCH", f"{NODES}/node-1", {"metadata": {"annotations": {"mockube.io/lost": None}}}, MERGE)
    await client.until_gone(PODS, "a")
    assert await client.until(PODS, "b", is_ready)


async def test_a_taint_throws_pods_out(client):
    await client.run("a", nodeName="node-1")
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
    await client.run("train", nodeName="gpu")
    assert await client.until(PODS, "train", is_ready)


async def test_a_deleted_node_stays_away(client):
    await client.do("DELETE", f"{NODES}/node-2")
    await client.until_gone(NODES, "node-2")
    await client.run("a", nodeName="node-1")
    await client.until(PODS, "a", is_ready)
    listed = await client.do("GET", NODES)
    assert [node["metadata"]["name"] for node in listed["items"]] == ["node-1"]
