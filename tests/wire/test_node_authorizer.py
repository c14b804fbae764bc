"""The requests of kubelets: they read what their pods need, and write their own objects (authorizer/node)."""

import pytest

from apiserver.config import Config

NODE = {"user": "system:node:a", "groups": ["system:nodes", "system:authenticated"]}
UNRELATED = "no relationship found between node 'a' and this object"


def pod(name: str, node: str, **spec):
    container = {"name": "c", "image": "i", **spec.pop("container", {})}
    return {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [container], **spec}}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
MINE = pod(
    "mine",
    "a",
    serviceAccountName="robot",
    imagePullSecrets=[{"name": "pull"}],
    container={
        "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}}],
        "envFrom": [{"configMapRef": {"name": "env-from"}}],
    },
    volumes=[
        {"name": "s", "secret": {"secretName": "mounted"}},
        {"name": "p", "projected": {"sources": [{"configMap": {"name": "projected"}}]}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
    ],
)


@pytest.fixture
async def api(opened):
    """A server with a pod on each of two nodes."""
    async with opened(Config(authorization_modes=("Node",))) as running_api:
        other = pod("other", "b", volumes=[{"name": "s", "secret": {"secretName": "theirs"}}])
        await running_api.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
        for each in (MINE, other):
            reply = await running_api.post("/api/v1/namespaces/default/pods", each)
            assert reply.code == 201, reply.text
        claim = {**CLAIM, "volumeName": "disk"}
        await running_api.post(
            "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "claim"}, "spec": claim}
        )
        volume = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": "claim"},
            "csi": {
                "driver": "d",
                "volumeHandle": "h",
                "nodeStageSecretRef": {"namespace": "default", "name": "stage"},
            },
        }
        made = await running_api.post("/api/v1/persistentvolumes", {"metadata": {"name": "disk"}, "spec": volume})
        assert made.code == 201, made.text
        yield running_api


async def decision(api, verb: str, resource: str, name: str = "", *, namespace: str = "default", **more):
    group, _, plural = resource.rpartition(".k8s.io/")
    plural, _, subresource = plural.partition("/")
    attributes = {"verb": verb, "resource": plural, "subresource": subresource, "name": name, "namespace": namespace}
    attributes["group"] = f"{group}.k8s.io" if group else ""
    spec = {**NODE, "resourceAttributes": attributes | more}
    reply = await api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    return reply.json["status"]


ALLOWED = {"allowed": True}


async def test_a_node_reads_what_its_pods_need(api) -> None:
    for name in ("pull", "env", "mounted", "stage"):
        assert await decision(api, "get", "secrets", name) == ALLOWED, name
    for name in ("env-from", "projected"):
        assert await decision(api, "watch", "configmaps", name) == ALLOWED, name
    for name in ("claim", "mine-e"):
        assert await decision(api, "get", "persistentvolumeclaims", name) == ALLOWED, name
    assert await decision(api, "update", "persistentvolumeclaims/status", "claim") == ALLOWED
    assert await decision(api, "get", "persistentvolumes", "disk", namespace="") == ALLOWED
    assert await decision(api, "create", "serviceaccounts/token", "robot") == ALLOWED
    assert await decision(api, "get", "pods", "mine") == ALLOWED


@pytest.mark.parametrize(
    ("verb", "resource", "name", "reason"),
    [
        ("get", "secrets", "theirs", UNRELATED),
        ("get", "secrets", "none", UNRELATED),
        ("get", "pods", "other", UNRELATED),
        ("create", "serviceaccounts/token", "default", UNRELATED),
        ("list", "secrets", "", "No Object name found"),
        ("update", "secrets", "mounted", "can only read resources of this type"),
        ("list", "persistentvolumeclaims", "", "can only get individual resources of this type"),
        ("list", "pods", "", "can only list/watch pods with spec.nodeName field selector"),
        ("get", "nodes", "b", "node 'a' cannot read 'b', only its own Node object"),
        ("list", "nodes", "", "node 'a' cannot read all nodes, only its own Node object"),
        ("get", "coordination.k8s.io/leases", "a", 'can only access leases in the "kube-node-lease" system namespace'),
        ("list", "storage.k8s.io/csinodes", "", "can only get, create, update, patch, or delete a CSINode"),
        ("delete", "nodes", "a", None),
        ("get", "apps.k8s.io/deployments", "d", None),
    ],
)
async def test_a_node_gets_nothing_else(api, verb: str, resource: str, name: str, reason: str | None) -> None:
    expected = {"allowed": False} | ({"reason": reason} if reason else {})
    assert await decision(api, verb, resource, name) == expected


async def test_a_node_writes_its_own_objects(api) -> None:
    assert await decision(api, "create", "nodes", namespace="") == ALLOWED
    assert await decision(api, "patch", "nodes/status", "a", namespace="") == ALLOWED
    assert await decision(api, "get", "nodes", "a", namespace="") == ALLOWED
    assert await decision(api, "update", "coordination.k8s.io/leases", "a", namespace="kube-node-lease") == ALLOWED
    other = await decision(api, "update", "coordination.k8s.io/leases", "b", namespace="kube-node-lease")
    assert other["reason"] == "can only access node lease with the same name as the requesting node"
    assert await decision(api, "patch", "storage.k8s.io/csinodes", "a", namespace="") == ALLOWED
    assert await decision(api, "create", "events") == ALLOWED
    assert await decision(api, "list", "services", namespace="") == ALLOWED


async def test_a_node_lists_its_own_pods(api) -> None:
    headers = {"Impersonate_User": "system:node:a", "Impersonate_Group": "system:nodes"}
    path = "/api/v1/pods?fieldSelector=spec.nodeName%3D"
    assert [item["metadata"]["name"] for item in (await api.get(f"{path}a", **headers)).json["items"]] == ["mine"]
    refused = await api.get(f"{path}b", **headers)
    assert (refused.code, refused.message) == (
        403,
        (
            'pods is forbidden: User "system:node:a" cannot list resource "pods" in API group "" at the cluster scope: '
            "can only list/watch pods with spec.nodeName field selector"
        ),
    )


async def test_others_are_no_nodes(api) -> None:
    review = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    for user, groups in (("system:node:a", []), ("a", ["system:nodes"])):
        spec = {"user": user, "groups": groups, "resourceAttributes": {"verb": "create", "resource": "nodes"}}
        assert (await api.post(review, {"spec": spec})).json["status"] == {"allowed": False}, user
    rules = await api.post(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        {"spec": {"namespace": "default"}},
        Impersonate_User="system:node:a",
        Impersonate_Group="system:nodes",
    )
    assert rules.code == 403  # the Node authorizer alone lets nodes ask nothing about themselves
