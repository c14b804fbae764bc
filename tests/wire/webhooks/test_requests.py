"""The requests that webhooks are asked about, and the reviews that they get."""

import pytest
from hook_server import add, allow, deny, patch

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    },
}


async def test_a_review_has_all_that_upstream_tells(api, hook, hooks, config_map):
    hook.answers["/v"] = allow
    await hooks.validating("/v")
    await api.post(f"{MAPS}?fieldManager=me", config_map(data={"x": "1"}))
    (review,) = hook.reviews["/v"]
    request = review["request"]
    stored = (await api.get(f"{MAPS}/a")).json
    del stored["metadata"]["resourceVersion"]
    assert request.pop("object") == stored
    assert len(request.pop("uid")) == 36
    assert review == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
            "name": "a",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "admin", "uid": "1", "groups": ["system:masters", "system:authenticated"]},
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"},
        },
    }


async def test_a_namespace_is_its_own_namespace(api, hook, hooks):
    hook.answers["/v"] = allow
    await hooks.validating("/v", rules=[EVERYTHING | {"resources": ["namespaces"], "scope": "Cluster"}])
    await api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
    (request,) = hook.requests("/v")
    assert (request["name"], request["namespace"]) == ("n", "n")


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, False),
        ({"objectSelector": {"matchLabels": {"app": "x"}}}, True),
        ({"objectSelector": {"matchLabels": {"app": "y"}}}, False),
        ({"rules": [EVERYTHING | {"resources": ["configmaps"], "scope": "Cluster"}]}, False),
        ({"rules": [EVERYTHING | {"resources": ["*"], "operations": ["UPDATE"]}]}, False),
        ({"rules": [EVERYTHING | {"apiGroups": ["apps"]}]}, False),
        ({"rules": [EVERYTHING | {"resources": ["*/status"]}]}, False),
        ({"rules": [EVERYTHING]}, True),
    ],
)
async def test_selectors_and_rules_choose_the_requests(api, hook, hooks, fields, is_asked):
    hook.answers["/v"] = deny()
    await hooks.validating("/v", **fields)
    reply = await api.post(MAPS, {"metadata": {"name": "a", "labels": {"app": "x"}}})
    assert reply.code == (400 if is_asked else 201)


async def test_the_selector_of_objects_sees_the_old_labels_too(api, hook, hooks):
    await api.post(MAPS, {"metadata": {"name": "a", "labels": {"app": "x"}}})
    hook.answers["/v"] = deny()
    await hooks.validating("/v", objectSelector={"matchLabels": {"app": "x"}})
    assert (await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"app": "y"}}})).code == 400


async def test_a_rule_for_another_version_gets_the_object_in_that_version(api, hook, hooks):
    scalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    hook.answers["/v"] = allow
    hook.answers["/m"] = patch(add("/spec/targetCPUUtilizationPercentage", 50))
    hook.answers["/exact"] = deny()
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"],
    }
    await hooks.validating("/v", rules=[rule])
    await hooks.validating("/exact", rules=[rule], matchPolicy="Exact")
    await hooks.mutating("/m", rules=[rule])
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    scaler = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}
    created = (await api.post(scalers, scaler)).json
    (metric,) = created["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}
    (request,) = hook.requests("/v")
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"}
    assert request["requestKind"]["version"] == "v2"
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    assert request["object"]["spec"]["targetCPUUtilizationPercentage"] == 50


async def test_scaling_is_asked_about_with_a_scale_which_can_be_patched(api, hook, hooks):
    await api.post(DEPLOYMENTS, DEPLOYMENT)
    hook.answers["/m"] = patch({"op": "replace", "path": "/spec/replicas", "value": 5})
    await hooks.mutating("/m", rules=[EVERYTHING | {"resources": ["deployments/scale"]}])
    assert (await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}})).json["spec"] == {"replicas": 5}
    assert (await api.get(f"{DEPLOYMENTS}/d")).json["spec"]["replicas"] == 5
    (request,) = hook.requests("/m")
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (request["resource"]["resource"], request["subResource"]) == ("deployments", "scale")
    assert [request[name]["spec"] for name in ("object", "oldObject")] == [{"replicas": 3}, {"replicas": 1}]


async def test_evictions_bindings_tokens_and_connections_are_asked_about(api, hook, hooks):
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    await api.post("/api/v1/namespaces/default/pods", pod)
    hook.answers["/v"] = deny(message="no")
    await hooks.validating("/v", rules=[EVERYTHING | {"resources": ["*/*"]}])
    item = "/api/v1/namespaces/default/pods/p"
    replies = [
        await api.post(f"{item}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}),
        await api.post(f"{item}/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
        await api.get(f"{item}/exec?command=ls"),
    ]
    assert [reply.message.rpartition(": ")[2] for reply in replies] == ["no", "no", "no"]
    assert [(each["operation"], each["kind"]["kind"], each["subResource"]) for each in hook.requests("/v")] == [
        ("CREATE", "Eviction", "eviction"),
        ("CREATE", "Binding", "binding"),
        ("CONNECT", "PodExecOptions", "exec"),
    ]
    connection = hook.requests("/v")[2]
    assert connection["object"]["command"] == ["ls"]
    assert connection["options"] is None


async def test_calls_are_counted_for_prometheus(api, hook, hooks, config_map):
    hook.answers["/v"] = deny(code=418)
    hook.answers["/m"] = lambda _review: 1 / 0
    await hooks.mutating("/m", failurePolicy="Ignore")
    await hooks.validating("/v")
    await api.post(MAPS, config_map())
    prefix = "apiserver_admission_webhook"
    assert await api.metrics(f"{prefix}_request_total", 'code="418",name="v.example.com"') == 1
    rejected = 'error_type="no_error",name="v.example.com",operation="CREATE",rejection_code="418",type="validating"'
    assert await api.metrics(f"{prefix}_rejection_count", rejected) == 1
    assert await api.metrics(f"{prefix}_fail_open_count", 'name="m.example.com",type="admit"') == 1
    assert await api.metrics(f"{prefix}_admission_duration_seconds_count", 'rejected="false",type="admit"') == 1
