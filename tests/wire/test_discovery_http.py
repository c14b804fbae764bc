"""wire.md, section 1: discovery, version and paths, over HTTP."""

from typing import Any

import pytest
import yaml

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/api/", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/", "APIGroupList"),
        ("/api/v1", "APIResourceList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
    ],
)
async def test_the_documents(api, path: str, kind: str) -> None:
    reply = await api.get(path)
    assert (reply.code, reply.headers["Content-Type"], reply.json["kind"]) == (200, "application/json", kind)
    assert yaml.safe_load((await api.get(path, Accept="application/yaml")).raw) == reply.json


@pytest.mark.parametrize("path", ["/api/v2", "/apis/nothing.example.com", "/apis/apps/v9", "/apis/nothing/v1"])
async def test_what_is_not_served_is_404(api, path: str) -> None:
    assert (await api.get(path)).code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/api", "/apis/apps/v1", "/version"])
async def test_documents_are_read_alone(api, method: str, path: str) -> None:
    assert (await api.ask(method, path)).code == 405


async def resources(api, path: str) -> dict[str, Any]:
    return {each["name"]: each for each in (await api.get(path)).json["resources"]}


async def test_a_resource_tells_what_kubectl_needs(api) -> None:
    core, apps = await resources(api, "/api/v1"), await resources(api, "/apis/apps/v1")
    pods = core["pods"]
    assert (pods["kind"], pods["singularName"], pods["shortNames"], pods["namespaced"]) == ("Pod", "pod", ["po"], True)
    assert pods["categories"] == ["all"]
    assert pods["storageVersionHash"]
    assert pods["verbs"] == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    assert core["pods/status"]["verbs"] == ["get", "patch", "update"]
    scale = apps["deployments/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


async def test_every_resource_of_every_group_answers(api) -> None:
    """Everything that discovery says can be listed can be listed, and every group and version it names is there."""
    places = ["/api/v1"]
    for group in (await api.get("/apis")).json["groups"]:
        assert group["preferredVersion"] in group["versions"]
        places += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    assert len(places) > 20
    for path in places:
        for name, resource in (await resources(api, path)).items():
            if "list" in resource["verbs"]:
                reply = await api.get(f"{path}/{name}")
                assert (reply.code, reply.json["kind"]) == (200, f"{resource['kind']}List"), f"{path}/{name}"
                assert reply.json["apiVersion"] == path.removeprefix("/apis/").removeprefix("/api/")


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_aggregated_discovery_says_the_same_as_the_documents(api, path: str, version: str) -> None:
    accept = AGGREGATED.format(version)
    reply = await api.get(path, Accept=f"{accept},application/json")
    assert reply.headers["Content-Type"].replace(" ", "") == accept
    assert (reply.json["kind"], reply.json["apiVersion"]) == ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{version}")
    for item in reply.json["items"]:
        for entry in item["versions"]:
            group = item["metadata"].get("name", "")
            prefix = f"/apis/{group}/{entry['version']}" if group else f"/api/{entry['version']}"
            plain = await resources(api, prefix)
            assert {each["resource"] for each in entry["resources"]} == {name for name in plain if "/" not in name}
            for each in entry["resources"]:
                one = plain[each["resource"]]
                assert sorted(each["verbs"]) == sorted(one["verbs"])
                assert each["responseKind"]["kind"] == one["kind"]
                assert (each["scope"] == "Namespaced") is one["namespaced"]
                assert each.get("shortNames") == one.get("shortNames")
                below = {sub["subresource"] for sub in each.get("subresources", [])}
                assert below == {n.partition("/")[2] for n in plain if n.startswith(f"{each['resource']}/")}


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_aggregated_discovery_is_not_sent_again_to_who_has_it(api, path: str) -> None:
    accept = AGGREGATED.format("v2")
    first = await api.get(path, Accept=accept)
    assert first.headers["Etag"]
    assert first.headers["Vary"] == "Accept"
    again = await api.get(path, Accept=accept, If_None_Match=first.headers["Etag"])
    assert (again.code, again.raw, again.headers["Etag"]) == (304, b"", first.headers["Etag"])
    other = await api.get(path, Accept=accept, If_None_Match='"other"')
    assert other.code == 200


async def test_who_wants_plain_documents_first_gets_them(api) -> None:
    reply = await api.get("/apis", Accept=f"application/json,{AGGREGATED.format('v2')}")
    assert reply.json["kind"] == "APIGroupList"
    unknown = await api.get("/apis", Accept=f"{AGGREGATED.format('v9')},application/json")
    assert unknown.json["kind"] == "APIGroupList"


async def test_version(api) -> None:
    reply = await api.get("/version")
    assert reply.json.keys() >= {"major", "minor", "gitVersion", "gitCommit", "platform", "goVersion", "compiler"}
    assert reply.json["gitVersion"].startswith(f"v1.{reply.json['minor']}.")


async def test_the_root_lists_the_paths(api) -> None:
    paths = (await api.get("/")).json["paths"]
    assert paths == sorted(paths)
    for path in ("/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/metrics", "/openapi/v2"):
        assert path in paths
        assert (await api.get(path)).code == 200
    assert {"/openapi/v3", "/version", "/readyz", "/livez"} <= set(paths)


async def test_tokens_can_be_checked_by_others(api) -> None:
    body = (await api.get("/.well-known/openid-configuration")).json
    assert body.keys() >= {"issuer", "jwks_uri", "response_types_supported", "subject_types_supported"}
    keys = await api.get("/openid/v1/jwks")
    assert keys.headers["Content-Type"] == "application/jwk-set+json"
    assert {"kty", "kid", "alg", "use"} <= keys.json["keys"][0].keys()
