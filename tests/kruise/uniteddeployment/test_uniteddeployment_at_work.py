"""UnitedDeployments on a real server with simulated nodes, where controllers make pods of their workloads."""

import pytest

UNITED = "/apis/apps.kruise.io/v1beta1/namespaces/default/uniteddeployments"
WEB = f"{UNITED}/web"
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
MERGE = {"Content-Type": "application/merge-patch+json"}
COLLECTIONS = {
    "statefulSetTemplate": "/apis/apps/v1/namespaces/default/statefulsets",
    "deploymentTemplate": "/apis/apps/v1/namespaces/default/deployments",
    "cloneSetTemplate": "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets",
}
PARTITIONED = ("statefulSetTemplate", "cloneSetTemplate")
SUBSET = "apps.kruise.io/subset-name"


@pytest.fixture
async def client(at_work):
    async with at_work(nodes=3, controllers="*") as opened:
        for number in (1, 2, 3):
            await opened.until(NODES, f"node-{number}", lambda node: node.get("status", {}).get("conditions"))
        yield opened


def template(image):
    pods = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"template": pods, "selector": {"matchLabels": {"app": "web"}}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": spec}


def subset(name, zone, **more):
    """A subset of one node."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"node-{zone}"]}
    return {"name": name, "nodeSelectorTerm": {"matchExpressions": [expression]}} | more


def united(field, *subsets, replicas=6, **strategy):
    topology = {"subsets": list(subsets)} | ({"scheduleStrategy": strategy} if strategy else {})
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "topology": topology}
    spec |= {"template": {field: template("nginx:1.27")}}
    return {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "UnitedDeployment",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def is_done(obj):
    """Return whether all pods are there, ready and of the newest revision."""
    status, expected = obj.get("status") or {}, obj["spec"]["replicas"]
    counts = [status.get(name, 0) for name in ("replicas", "readyReplicas", "updatedReadyReplicas")]
    seen = status.get("observedGeneration") == obj["metadata"]["generation"]
    return seen and counts == [expected] * 3 and status["currentRevision"] == status["updatedRevision"]


async def spread(client):
    """Subset → the nodes of its pods."""
    by_zone: dict[str, list[str]] = {}
    for pod in await alive(client):
        by_zone.setdefault(pod["metadata"]["labels"][SUBSET], []).append(pod["spec"].get("nodeName", ""))
    return by_zone


async def alive(client):
    """The pods that nobody deletes."""
    return [pod for pod in (await client.do("GET", PODS))["items"] if not pod["metadata"].get("deletionTimestamp")]


@pytest.mark.parametrize("field", COLLECTIONS)
async def test_pods_are_spread_rolled_and_gathered_again(client, field):
    subsets = [subset(name, zone) for zone, name in enumerate("abc", 1)]
    await client.do("POST", UNITED, united(field, *subsets))
    first = await client.until(UNITED, "web", is_done)
    assert await spread(client) == {"a": ["node-1"] * 2, "b": ["node-2"] * 2, "c": ["node-3"] * 2}

    partitions = {"manualUpdate": {"partitions": {"a": 1} if field in PARTITIONED else {}}}
    change = {"replicas": 9, "template": {field: template("nginx:1.28")}, "updateStrategy": partitions}
    await client.do("PATCH", WEB, {"spec": change}, MERGE)
    if field in PARTITIONED:
        held = await client.until(UNITED, "web", lambda obj: obj["status"].get("updatedReadyReplicas") == 8)
        assert held["status"]["currentRevision"] == first["status"]["currentRevision"]
        await client.do("PATCH", WEB, {"spec": {"updateStrategy": {"manualUpdate": {"partitions": None}}}}, MERGE)
    await client.until(UNITED, "web", is_done)
    assert {pod["spec"]["containers"][0]["image"] for pod in await alive(client)} == {"nginx:1.28"}

    await client.do("PATCH", WEB, {"spec": {"topology": {"subsets": subsets[:2]}}}, MERGE)
    await client.until(UNITED, "web", is_done)
    objects = (await client.do("GET", COLLECTIONS[field]))["items"]
    assert {each["metadata"]["labels"][SUBSET]: each["spec"]["replicas"] for each in objects} == {"a": 4, "b": 5}


async def test_another_kind_of_template_makes_other_workloads_and_the_old_ones_go(client):
    old, new, _ = COLLECTIONS
    await client.do("POST", UNITED, united(old, subset("a", 1), subset("b", 2), replicas=4))
    await client.until(UNITED, "web", is_done)
    await client.do("PATCH", WEB, {"spec": {"template": {old: None, new: template("nginx:1.27")}}}, MERGE)
    await client.until(UNITED, "web", is_done)
    assert [len((await client.do("GET", COLLECTIONS[field]))["items"]) for field in (old, new)] == [0, 2]


async def test_pods_that_find_no_node_are_stood_in_for_until_they_find_one(client):
    await client.do("PATCH", f"{NODES}/node-1", {"spec": {"unschedulable": True}}, MERGE)
    times = {"rescheduleCriticalSeconds": 1, "unschedulableDuration": 1, "reserveUnschedulablePods": True}
    subsets = (subset("a", 1, maxReplicas=2), subset("b", 2))
    body = united("deploymentTemplate", *subsets, replicas=4, type="Adaptive", adaptive=times)
    await client.do("POST", UNITED, body)
    held = await client.until(UNITED, "web", lambda obj: (obj.get("status") or {}).get("readyReplicas") == 4)
    assert held["status"]["reservedPods"] == 2
    assert await spread(client) == {"a": ["", ""], "b": ["node-2"] * 4}

    await client.do("PATCH", f"{NODES}/node-1", {"spec": {"unschedulable": None}}, MERGE)
    await client.until(UNITED, "web", lambda obj: is_done(obj) and "reservedPods" not in obj["status"])
    assert await spread(client) == {"a": ["node-1"] * 2, "b": ["node-2"] * 2}


async def test_what_cannot_work_is_refused_by_the_server_and_scaling_is_not(client):
    wrong = united("deploymentTemplate", subset("a", 1, replicas=5), subset("a", 2), replicas=4)
    async with client._session.post(UNITED, json=wrong) as answer:
        status = await answer.json()
    assert answer.status == 422
    assert [cause["field"] for cause in status["details"]["causes"]] == [
        "spec.topology.subsets",
        "spec.topology.subsets[1].name",
    ]
    await client.do("POST", UNITED, united("deploymentTemplate", subset("a", 1), subset("b", 2), replicas=2))
    await client.until(UNITED, "web", is_done)
    scale = await client.do("PATCH", f"{WEB}/scale", {"spec": {"replicas": 3}}, MERGE)
    assert scale["status"]["selector"] == "app=web"
    await client.until(UNITED, "web", is_done)
    assert sum(map(len, (await spread(client)).values())) == 3
