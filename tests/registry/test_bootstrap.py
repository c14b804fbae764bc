from pathlib import Path

import aiohttp

from apiserver.app import serving
from apiserver.config import Config

RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def test_clients_find_what_they_rely_on(client):
    service = await client.do("GET /api/v1/namespaces/default/services/kubernetes")
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert service["spec"]["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        await client.do(f"GET /api/v1/namespaces/{name}/serviceaccounts/default")
    levels = await client.do("GET /apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations")
    assert {"exempt", "catch-all"} <= {level["metadata"]["name"] for level in levels["items"]}
    ranges = await client.do("GET /apis/networking.k8s.io/v1/servicecidrs/kubernetes")
    assert ranges["spec"]["cidrs"] == ["10.96.0.0/12"]
    assert ranges["metadata"]["finalizers"] == ["networking.k8s.io/service-cidr-finalizer"]
    (ready,) = ranges["status"]["conditions"]
    assert ready.pop("lastTransitionTime") == ranges["metadata"]["creationTimestamp"]
    assert ready == {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    node = await client.do("GET /apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")
    assert node["value"] == 2000001000


async def test_every_version_that_is_served_is_registered(client):
    services = await client.do("GET /apis/apiregistration.k8s.io/v1/apiservices")
    names = {item["metadata"]["name"] for item in services["items"]}
    groups = await client.do("GET /apis")
    served = {v["groupVersion"] for group in groups["groups"] for v in group["versions"]}
    assert names == {"v1."} | {
        ".".join(reversed(version.split("/"))) for version in served if not version.startswith("apiregistration")
    }


async def test_roles_are_marked_and_made_of_one_another(client):
    admin = await client.do(f"GET {RBAC}/clusterroles/admin")
    assert admin["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}
    assert admin["metadata"]["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    view = await client.do(f"GET {RBAC}/clusterroles/view")
    assert all(rule in admin["rules"] for rule in view["rules"])
    binding = await client.do(f"GET {RBAC}/clusterrolebindings/cluster-admin")
    assert [subject["name"] for subject in binding["subjects"]] == ["system:masters"]


async def test_every_binding_gives_a_role_that_is_there(client):
    for kind in ("clusterrole", "role"):
        bindings = (await client.do(f"GET {RBAC}/{kind}bindings"))["items"]
        roles = {
            (role["metadata"].get("namespace"), role["metadata"]["name"])
            for role in (await client.do(f"GET {RBAC}/{kind}s"))["items"]
        }
        assert {(b["metadata"].get("namespace"), b["roleRef"]["name"]) for b in bindings} <= roles


async def test_history_begins_after_the_start(client):
    async with client.session.get("/api/v1/configmaps?watch=1&resourceVersion=1") as answer:
        assert b'"code":410' in await answer.content.readline()


async def test_a_second_start_writes_nothing(tmp_path: Path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t,admin,1,"system:masters"\n')
    config = Config(store=f"sqlite:///{tmp_path}/db", secure_port=0, token_auth_file=tokens)
    async with serving(config) as first:
        before = first.registry.storage.store.revision
    async with serving(config) as second:
        assert second.registry.storage.store.revision == before
        async with aiohttp.ClientSession(second.url, headers={"Authorization": "Bearer t"}) as session:
            body = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.96.0.1", "ports": [{"port": 80}]}}
            async with session.post("/api/v1/namespaces/default/services", json=body) as answer:
                assert answer.status == 422  # the address of default/kubernetes is taken after a restart too
