import pytest

from apiserver.api.meta import Obj

POD: Obj = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
BUDGET = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
BUDGETS = "/apis/policy/v1/namespaces/n/poddisruptionbudgets"
EVICT = "/pods/p/eviction"


@pytest.fixture
async def running_pod(client, namespace: str) -> str:
    await client.do(f"POST {namespace}/pods", POD)
    await client.do(f"POST {namespace}/pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": "node"}})
    ready = [{"type": "Ready", "status": "True"}]
    await client.patch(f"{namespace}/pods/p/status", {"status": {"phase": "Running", "conditions": ready}})
    return namespace


async def budget(client, **status: int) -> None:
    await client.do(f"POST {BUDGETS}", BUDGET)
    await client.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1, **status}})


async def test_a_bound_pod_has_its_node_and_is_scheduled(client, namespace):
    await client.do(f"POST {namespace}/pods", POD)
    binding = {"metadata": {"name": "p", "annotations": {"by": "me"}}, "target": {"name": "node"}}
    done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert await client.do(f"POST {namespace}/bindings", binding) == done
    pod = await client.do(f"GET {namespace}/pods/p")
    assert (pod["spec"]["nodeName"], pod["metadata"]["annotations"]) == ("node", {"by": "me"})
    assert [(c["type"], c["status"]) for c in pod["status"]["conditions"]] == [("PodScheduled", "True")]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "target.name: Required value"),
        ({"kind": "Node"}, "target.name: Required value"),
        ({"kind": "Pod", "name": "n"}, 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'),
        (
            {"kind": "Pod"},
            '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
        ),
    ],
)
async def test_a_binding_names_a_node(client, namespace, target, message):
    await client.do(f"POST {namespace}/pods", POD)
    body = {"metadata": {"name": "p"}, "target": target}
    status, answer = await client.ask(f"POST {namespace}/pods/p/binding", body)
    assert (status, answer["message"]) == (500, message)


async def test_a_binding_is_of_the_pod_that_the_path_names_and_of_one_without_a_node(client, namespace):
    await client.do(f"POST {namespace}/pods", POD)
    body = {"metadata": {"name": "other"}, "target": {"name": "node"}}
    status, answer = await client.ask(f"POST {namespace}/pods/p/binding", body)
    assert (status, answer["message"]) == (400, "name in URL does not match name in Binding object")
    await client.do(f"POST {namespace}/pods/p/binding", body | {"metadata": {"name": "p"}})
    status, answer = await client.ask(f"POST {namespace}/pods/p/binding", body | {"metadata": {"name": "p"}})
    assert (status, answer["message"].partition("binding ")[2]) == (
        409,
        '"p": pod p is already assigned to node "node"',
    )


async def test_a_gated_pod_gets_no_node(client, namespace):
    gated = POD | {"spec": POD["spec"] | {"schedulingGates": [{"name": "wait"}]}}
    await client.do(f"POST {namespace}/pods", gated)
    binding = {"metadata": {"name": "p"}, "target": {"name": "node"}}
    status, answer = await client.ask(f"POST {namespace}/pods/p/binding", binding)
    assert (status, answer["details"]["kind"]) == (409, "pods/binding")
    assert answer["message"].endswith("pod p has non-empty .spec.schedulingGates")


async def test_an_eviction_takes_one_disruption_from_the_budget(client, running_pod):
    await budget(client, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    await client.do(f"POST {running_pod}{EVICT}", {"metadata": {"name": "p"}})
    status = (await client.do(f"GET {BUDGETS}/b"))["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["p"]
    assert [(c["type"], c["status"]) for c in status["conditions"]] == [("DisruptionAllowed", "False")]
    pod = await client.do(f"GET {running_pod}/pods/p")
    assert "DisruptionTarget" in [c["type"] for c in pod["status"]["conditions"]]


@pytest.mark.parametrize(
    ("status", "cause", "seconds"),
    [
        (
            {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1},
            "The disruption budget b needs 1 healthy pods and has 1 currently",
            None,
        ),
        (
            {"disruptionsAllowed": 1, "observedGeneration": 0},
            "The disruption budget b is still being processed by the server.",
            10,
        ),
    ],
)
async def test_a_budget_refuses_evictions(client, running_pod, status, cause, seconds):
    await budget(client, **status)
    code, answer = await client.ask(f"POST {running_pod}{EVICT}", {"metadata": {"name": "p"}})
    assert (code, answer["reason"]) == (429, "TooManyRequests")
    assert answer["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert answer["details"]["causes"] == [{"reason": "DisruptionBudget", "message": cause}]
    assert answer["details"].get("retryAfterSeconds") == seconds


async def test_two_budgets_of_a_pod_are_too_many(client, running_pod):
    for name in ("x", "y"):
        await client.do(f"POST {BUDGETS}", BUDGET | {"metadata": {"name": name}})
    code, answer = await client.ask(f"POST {running_pod}{EVICT}", {"metadata": {"name": "p"}})
    assert code == 500
    assert answer["message"].startswith("This pod has more than one PodDisruptionBudget")


async def test_a_dry_eviction_changes_nothing(client, running_pod):
    await budget(client, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    await client.do(f"POST {running_pod}{EVICT}?dryRun=All", {"metadata": {"name": "p"}})
    assert (await client.do(f"GET {BUDGETS}/b"))["status"]["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in (await client.do(f"GET {running_pod}/pods/p"))["metadata"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/pods/p/log", 404),
        ("/pods/p/log?container=c", 404),
        ("/pods/p/log?container=x", 400),
        ("/pods/p/log?tailLines=-1", 422),
        ("/pods/p/log?sinceTime=yesterday", 400),
        ("/pods/p/exec?command=ls", 404),
        ("/pods/p/portforward?ports=http", 400),
        ("/pods/p/proxy", 400),
        ("/pods/p:80/proxy/path", 400),
        ("/pods/a:b:c:d/proxy", 400),
        ("/services/none/proxy", 404),
    ],
)
async def test_what_needs_a_node_says_so(client, running_pod, path, code):
    status, answer = await client.ask(f"GET {running_pod}{path}")
    assert (status, answer["kind"]) == (code, "Status")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("sinceTime=2027-13-01T00:00:00Z", 'parsing time "2027-13-01T00:00:00Z": month out of range'),
        (
            "sinceTime=now",
            'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
        ),
        ("tailLines=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
    ],
)
async def test_parameters_of_a_log_that_cannot_be_read_are_told_in_words_of_go(client, running_pod, query, why):
    status, answer = await client.ask(f"GET {running_pod}/pods/p/log?{query}")
    assert (status, answer["message"]) == (400, why)


async def test_a_command_may_be_posted_without_a_body(client, namespace):
    await client.do(f"POST {namespace}/pods", POD)
    status, answer = await client.ask(f"POST {namespace}/pods/p/exec?command=ls")
    assert (status, answer["message"]) == (400, "pod p does not have a host assigned")


async def test_a_debugging_container_is_added_and_stays(client, running_pod):
    added = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
    pod = await client.patch(f"{running_pod}/pods/p/ephemeralcontainers", added)
    assert [c["name"] for c in pod["spec"]["ephemeralContainers"]] == ["d"]
    headers = {"Content-Type": "application/merge-patch+json"}
    request = f"PATCH {running_pod}/pods/p/ephemeralcontainers"
    status, _ = await client.ask(request, {"spec": {"ephemeralContainers": []}}, headers)
    assert status == 422


async def test_a_resize_changes_resources_within_the_quality_of_service(client, namespace):
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "c", "image": "i", "resources": resources}
    await client.do(f"POST {namespace}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    pod = await client.do(f"GET {namespace}/pods/p")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2", "memory": "1Gi"}}
    resized = await client.do(f"PUT {namespace}/pods/p/resize", pod)
    assert resized["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2"
    resized["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    status, answer = await client.ask(f"PUT {namespace}/pods/p/resize", resized)
    assert status == 422
    assert "resource requests cannot be removed" in answer["message"]


SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 80}]}}
ADDRESSES = [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "web", "port": 8080}]}]


@pytest.mark.parametrize(
    ("subsets", "name", "code", "message"),
    [
        (None, "s", 503, 'no endpoints available for service "s"'),
        ([], "s:web", 503, 'no endpoints available for service "s"'),
        (ADDRESSES, "s:81", 503, 'no service port 81 found for service "s"'),
        (ADDRESSES, "s:admin", 503, 'no endpoints available for service "s:admin"'),
        ([{"notReadyAddresses": [{"ip": "10.0.0.1"}]}], "s:web", 503, 'no endpoints available for service "s:web"'),
        (ADDRESSES, "s:80", 501, "services/proxy is not implemented by this server yet"),
        (ADDRESSES, "https:s:web", 501, "services/proxy is not implemented by this server yet"),
    ],
)
async def test_the_proxy_of_a_service_that_leads_somewhere_is_not_built(
    client, running_pod, subsets, name, code, message
):
    await client.do(f"POST {running_pod}/services", SERVICE)
    if subsets is not None:
        await client.do(f"POST {running_pod}/endpoints", {"metadata": {"name": "s"}, "subsets": subsets})
    status, answer = await client.ask(f"GET {running_pod}/services/{name}/proxy")
    assert (status, answer["message"]) == (code, message)
