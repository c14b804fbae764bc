"""CloneSets at work on a real server, with the scheduler, the kubelets and the garbage collector."""

PODS, CLONES = "/api/v1/namespaces/default/pods", "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets"
EVENTS = "/api/v1/namespaces/default/events"
MERGE = {"Content-Type": "application/merge-patch+json"}


def a_template(image):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}


def a_clone_set(**rolling):
    return {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "CloneSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template("web:1"),
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        },
    }


def is_updated(obj):
    status = obj.get("status") or {}
    counted = all(status.get(name) == 4 for name in ("replicas", "availableReplicas", "updatedAvailableReplicas"))
    return counted and status.get("observedGeneration") == obj["metadata"]["generation"]


async def pods_of(client):
    pods = (await client.do("GET", PODS))["items"]
    return {pod["metadata"]["name"]: pod for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def place_of(pod):
    return pod["metadata"]["uid"], pod["spec"]["nodeName"], pod["status"]["podIP"]


async def test_pods_are_made_updated_in_place_and_gone_with_their_set(at_work):
    async with at_work(nodes=2, controllers="*") as client:
        await client.do("POST", CLONES, a_clone_set(podUpdatePolicy="InPlaceIfPossible", maxUnavailable="50%"))
        await client.until(CLONES, "web", is_updated)
        before = await pods_of(client)
        await client.do("PATCH", f"{CLONES}/web", {"spec": {"template": a_template("web:2")}}, MERGE)
        status = (await client.until(CLONES, "web", is_updated))["status"]
        after = await pods_of(client)
        assert {name: place_of(pod) for name, pod in after.items()} == {n: place_of(pod) for n, pod in before.items()}
        for pod in after.values():
            [main] = pod["status"]["containerStatuses"]
            assert (main["image"], main["restartCount"]) == ("docker.io/library/web:2", 1)
        assert status["currentRevision"] == status["updateRevision"]
        for reason in ("SuccessfulCreate", "SuccessfulUpdatePodInPlace"):
            await client.until(EVENTS, "", lambda event, reason=reason: event["reason"] == reason)
        await client.do("DELETE", f"{CLONES}/web")
        for name in after:
            await client.until_gone(PODS, name)


async def test_pods_are_replaced_where_that_is_the_policy(at_work):
    async with at_work(nodes=2, controllers="*") as client:
        await client.do("POST", CLONES, a_clone_set(maxUnavailable=2, maxSurge=1))
        await client.until(CLONES, "web", is_updated)
        before = await pods_of(client)
        await client.do("PATCH", f"{CLONES}/web", {"spec": {"template": a_template("web:2")}}, MERGE)
        await client.until(CLONES, "web", is_updated)
        after = await pods_of(client)
        assert len(after) == 4
        assert not before.keys() & after.keys()
