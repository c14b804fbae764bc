"""wire.md, section 1.2: OpenAPI, over HTTP."""

import re

import pytest

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


async def test_version_3_leads_from_an_index_to_documents_that_never_change(api) -> None:
    index = await api.get("/openapi/v3")
    paths = index.json["paths"]
    assert {"api/v1", "apis/apps/v1", "version"} <= paths.keys()
    for name in ("api/v1", "apis/apps/v1", "apis/events.k8s.io/v1"):
        url = paths[name]["serverRelativeURL"]
        assert re.fullmatch(rf"/openapi/v3/{re.escape(name)}\?hash=[0-9A-F]{{64,128}}", url)
        document = await api.get(url)
        assert document.json["openapi"].startswith("3.0")
        assert "immutable" in document.headers["Cache-Control"]
        assert document.headers["Etag"]
        again = await api.get(url, If_None_Match=document.headers["Etag"])
        assert (again.code, again.raw) == (304, b"")


async def test_the_index_has_a_tag(api) -> None:
    index = await api.get("/openapi/v3")
    assert (await api.get("/openapi/v3", If_None_Match=index.headers["Etag"])).code == 304


async def test_an_old_hash_leads_to_the_new_one(api) -> None:
    url = (await api.get("/openapi/v3")).json["paths"]["api/v1"]["serverRelativeURL"]
    async with api.session.get(f"{api.url}/openapi/v3/api/v1?hash=OLD", allow_redirects=False) as reply:
        assert reply.status == 301
        assert reply.headers["Location"] == url


async def test_what_is_not_served_has_no_schema(api) -> None:
    assert (await api.get("/openapi/v3/apis/nothing/v1")).code == 404


async def test_a_kind_is_described_for_kubectl(api) -> None:
    document = (await api.get("/openapi/v3/apis/apps/v1")).json
    schema = document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "apps", "version": "v1", "kind": "Deployment"}]
    path = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    named = {parameter["name"] for parameter in path["patch"]["parameters"]}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= named
    assert "application/strategic-merge-patch+json" in path["patch"]["requestBody"]["content"]
    containers = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-type"] == "map"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        (PROTOBUF, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
        (
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        ),
    ],
)
async def test_version_2_as_json_and_as_protobuf(api, accept: str, media: str) -> None:
    reply = await api.get("/openapi/v2", Accept=accept)
    assert (reply.code, reply.headers["Content-Type"]) == (200, media)
    if media == "application/json":
        assert reply.json["swagger"] == "2.0"
    else:
        assert reply.raw[:5] == b"\x0a\x032.0"
    again = await api.get("/openapi/v2", Accept=accept, If_None_Match=reply.headers["Etag"])
    assert (again.code, again.raw) == (304, b"")
