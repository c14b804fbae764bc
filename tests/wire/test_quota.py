"""ResourceQuotas over HTTP, with a status as the controller would write it."""

import asyncio

QUOTA = "/api/v1/namespaces/default/resourcequotas"
PODS = "/api/v1/namespaces/default/pods"


def pod(name, cpu=None, **spec):
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"} | resources]} | spec}


async def count(api, hard, used=None, name="q", **spec):
    """Create a quota whose usage is counted, as far as `used` says."""
    made = await api.post(QUOTA, {"metadata": {"name": name}, "spec": {"hard": hard} | spec})
    assert made.code == 201, made.text
    used = dict.fromkeys(hard, "0") if used is None else used
    assert (await api.patch(f"{QUOTA}/{name}/status", {"status": {"hard": hard, "used": used}})).code == 200


async def used(api, name="q"):
    return (await api.get(f"{QUOTA}/{name}")).json["status"]["used"]


async def test_many_writes_at_a_time_do_not_exceed_a_quota(api):
    await count(api, {"pods": "5", "requests.cpu": "10"})
    answers = await asyncio.gather(*(api.post(PODS, pod(f"p{number}", "1")) for number in range(12)))
    assert sorted(answer.code for answer in answers) == [201] * 5 + [403] * 7
    assert await used(api) == {"pods": "5", "requests.cpu": "5"}


async def test_a_write_that_exceeds_one_quota_charges_no_other(api):
    await count(api, {"pods": "5"}, name="a")
    await count(api, {"requests.cpu": "1"}, name="b")
    refused = await api.post(PODS, pod("p", "1500m"))
    assert refused.message == (
        'pods "p" is forbidden: exceeded quota: b, requested: requests.cpu=1500m, used: requests.cpu=0, '
        "limited: requests.cpu=1"
    )
    assert await used(api, "a") == {"pods": "0"}
    assert (await api.post(f"{PODS}?dryRun=All", pod("p", "1"))).code == 201
    assert await used(api, "a") == {"pods": "0"}


async def test_a_quota_of_a_scope_counts_what_is_in_it(api):
    await count(api, {"pods": "1"}, name="best", scopes=["BestEffort"])
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    await count(api, {"pods": "0"}, name="high", scopeSelector=selector)
    await api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 5})
    assert (await api.post(PODS, pod("a", "1"))).code == 201
    assert (await api.post(PODS, pod("b"))).code == 201
    assert "exceeded quota: best" in (await api.post(PODS, pod("c"))).message
    assert "exceeded quota: high" in (await api.post(PODS, pod("d", "1", priorityClassName="high"))).message


async def test_objects_claims_by_class_and_services_are_counted(api):
    hard = {
        "count/deployments.apps": "1",
        "configmaps": "1",
        "fast.storageclass.storage.k8s.io/requests.storage": "3Gi",
        "services.nodeports": "1",
    }
    await count(api, hard)
    await api.make("m")
    assert (
        "requested: configmaps=1, used: configmaps=1, limited: configmaps=1"
        in (await api.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "n"}})).message
    )

    def claim(name, storage):
        resources = {"requests": {"storage": storage}}
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": resources}
        return {"metadata": {"name": name}, "spec": spec}

    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    assert (await api.post(claims, claim("a", "2Gi"))).code == 201
    name = "fast.storageclass.storage.k8s.io/requests.storage"
    assert (
        f"requested: {name}=2Gi, used: {name}=2Gi, limited: {name}=3Gi"
        in (await api.post(claims, claim("b", "2Gi"))).message
    )
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    service = {"metadata": {"name": "s"}, "spec": {"ports": ports}}
    assert (await api.post("/api/v1/namespaces/default/services", service)).code == 201
    grown = await api.patch("/api/v1/namespaces/default/services/s", {"spec": {"type": "NodePort"}})
    assert "requested: services.nodeports=2, used: services.nodeports=0" in grown.message


async def test_a_quota_that_nobody_has_counted_refuses_and_one_that_is_new_does_not(api):
    await api.post(QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    assert (await api.post(PODS, pod("a"))).code == 201
    await api.patch(f"{QUOTA}/q/status", {"status": {"hard": {"pods": "1", "requests.cpu": "1"}}})
    assert (await api.post(PODS, pod("b"))).message == (
        'pods "b" is forbidden: failed quota: q: must specify requests.cpu for: c'
    )
    assert (await api.post(PODS, pod("b", "1"))).message == (
        'pods "b" is forbidden: status unknown for quota: q, resources: pods,requests.cpu'
    )
