"""Advanced StatefulSets at work on a real server, with the scheduler, the kubelets and the garbage collector."""

import pytest

NAMESPACE = "/api/v1/namespaces/default"
PODS, EVENTS, CLAIMS = f"{NAMESPACE}/pods", f"{NAMESPACE}/events", f"{NAMESPACE}/persistentvolumeclaims"
SETS = "/apis/apps.kruise.io/v1beta1/namespaces/default/statefulsets"
MERGE = {"Content-Type": "application/merge-patch+json"}
DATA = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def a_template(image):
    gates = [{"conditionType": "InPlaceUpdateReady"}]
    containers = [{"name": "main", "image": image}, {"name": "side", "image": "log:1"}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"readinessGates": gates, "containers": containers}}


def a_set(*, rolling=None, **spec):
    given = {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": a_template("web:1"),
        "updateStrategy": {"rollingUpdate": rolling or {}},
    }
    kind = {"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet"}
    return kind | {"metadata": {"name": "web"}, "spec": given | spec}


def is_updated(obj):
    status = obj.get("status") or {}
    counts = ("replicas", "availableReplicas", "updatedAvailableReplicas")
    counted = all(status.get(name) == obj["spec"]["replicas"] for name in counts)
    return counted and status.get("observedGeneration") == obj["metadata"]["generation"]


@pytest.fixture
async def client(at_work):
    async with at_work(nodes=3, controllers="*") as opened:
        yield opened


async def pods_of(client):
    pods = (await client.do("GET", PODS))["items"]
    return {pod["metadata"]["name"]: pod for pod in pods}


def place_of(pod):
    return pod["metadata"]["uid"], pod["spec"]["nodeName"], pod["status"]["podIP"]


async def test_pods_are_made_in_order_updated_in_place_and_gone_with_their_set(client):
    rolling = {"podUpdatePolicy": "InPlaceIfPossible", "partition": 1}
    await client.do("POST", SETS, a_set(rolling=rolling, reserveOrdinals=[1], volumeClaimTemplates=[DATA]))
    await client.until(SETS, "web", is_updated)
    before = await pods_of(client)
    assert sorted(before) == ["web-0", "web-2", "web-3", "web-4"]
    await client.do("PATCH", f"{SETS}/web", {"spec": {"template": a_template("web:2")}}, MERGE)
    await client.until(SETS, "web", lambda obj: obj["status"].get("updatedAvailableReplicas") == 3)
    after = await pods_of(client)
    assert {name: place_of(pod) for name, pod in after.items()} == {name: place_of(pod) for name, pod in before.items()}
    for name, pod in after.items():
        statuses = {each["name"]: each for each in pod["status"]["containerStatuses"]}
        expected = ("docker.io/library/web:1", 0) if name == "web-0" else ("docker.io/library/web:2", 1)
        assert (statuses["main"]["image"], statuses["main"]["restartCount"]) == expected
        assert statuses["side"]["restartCount"] == 0
    for reason in ("SuccessfulCreate", "SuccessfulUpdatePodInPlace"):
        await client.until(EVENTS, "", lambda event, reason=reason: event["reason"] == reason)
    await client.do("DELETE", f"{SETS}/web")
    for name in after:
        await client.until_gone(PODS, name)
    assert len((await client.do("GET", CLAIMS))["items"]) == 4


async def test_pods_are_replaced_scaled_and_given_up_and_an_ordinal_is_reserved(client):
    keeps = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    fields = {"podManagementPolicy": "Parallel", "volumeClaimTemplates": [DATA], "ordinals": {"start": 2}}
    await client.do(
        "POST", SETS, a_set(rolling={"maxUnavailable": 2}, persistentVolumeClaimRetentionPolicy=keeps, **fields)
    )
    await client.until(SETS, "web", is_updated)
    before = await pods_of(client)
    assert sorted(before) == ["web-2", "web-3", "web-4", "web-5"]
    await client.do("PATCH", f"{SETS}/web", {"spec": {"template": a_template("web:2")}}, MERGE)
    await client.until(SETS, "web", is_updated)
    replaced = await pods_of(client)
    assert all(pod["metadata"]["uid"] != before[name]["metadata"]["uid"] for name, pod in replaced.items())
    label = {"metadata": {"labels": {"apps.kruise.io/specified-delete": "true"}}}
    await client.do("PATCH", f"{PODS}/web-4", label, MERGE)
    former = replaced["web-4"]["metadata"]["uid"]
    await client.until(PODS, "web-4", lambda pod: pod["metadata"]["uid"] != former)
    await client.do("PATCH", f"{SETS}/web", {"spec": {"reserveOrdinals": ["3-4"], "replicas": 2}}, MERGE)
    for name in ("web-3", "web-4"):
        await client.until_gone(PODS, name)
        await client.until_gone(CLAIMS, f"data-{name}")
    await client.until(SETS, "web", is_updated)
    assert sorted(await pods_of(client)) == ["web-2", "web-5"]
    await client.do("DELETE", f"{SETS}/web")
    for name in ("web-2", "web-5"):
        await client.until_gone(CLAIMS, f"data-{name}")
