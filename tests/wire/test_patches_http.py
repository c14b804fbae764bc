"""wire.md, section 5.3: PATCH, over HTTP."""

import asyncio
from typing import Any

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
A = f"{CONFIG_MAPS}/a"
JSON, MERGE, STRATEGIC = "json-patch", "merge-patch", "strategic-merge-patch"


def pod(*names: str) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": name, "image": name} for name in names]}}


@pytest.mark.parametrize(
    ("kind", "patch", "data"),
    [
        (MERGE, {"data": {"x": "2"}}, {"x": "2", "y": "1"}),
        (MERGE, {"data": {"x": None, "z": "3"}}, {"y": "1", "z": "3"}),
        (MERGE, {"data": None}, None),
        (STRATEGIC, {"data": {"x": None}}, {"y": "1"}),
        (STRATEGIC, {"data": {"$patch": "replace", "z": "3"}}, {"z": "3"}),
        (JSON, [{"op": "replace", "path": "/data/x", "value": "2"}], {"x": "2", "y": "1"}),
        (JSON, [{"op": "remove", "path": "/data/x"}], {"y": "1"}),
        (JSON, [{"op": "move", "from": "/data/x", "path": "/data/z"}], {"y": "1", "z": "1"}),
        (JSON, [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/z", "value": ""}],
         {"x": "1", "y": "1", "z": ""}),
    ],
)  # fmt: skip
async def test_what_a_patch_does(api, kind: str, patch: Any, data: Any) -> None:
    (made,) = await api.make("a", data={"x": "1", "y": "1"})
    reply = await api.patch(A, patch, kind)
    assert (reply.code, reply.json.get("data")) == (200, data)
    assert int(reply.version) > int(made.version)
    assert (await api.get(A)).json == reply.json


@pytest.mark.parametrize(
    ("patch", "images"),
    [
        ({"containers": [{"name": "b", "image": "new"}]}, {"a": "a", "b": "new"}),
        ({"containers": [{"name": "a", "image": "new"}, {"name": "b", "image": "newer"}]}, {"a": "new", "b": "newer"}),
        (
            {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "a", "image": "n"}],
            },
            None,
        ),
    ],
)
async def test_a_strategic_merge_knows_items_by_their_keys(api, patch: Any, images: Any) -> None:
    await api.post(PODS, pod("a", "b"))
    reply = await api.patch(f"{PODS}/a", {"spec": patch}, STRATEGIC)
    if images is None:  # the order of a pod's containers is part of its spec, which may not change
        assert reply.code == 422
        return
    assert {each["name"]: each["image"] for each in reply.json["spec"]["containers"]} == images


async def test_a_merge_patch_replaces_lists_whole(api) -> None:
    await api.make("a", metadata={"name": "a", "finalizers": ["example.com/a", "example.com/b"]})
    reply = await api.patch(A, {"metadata": {"finalizers": ["example.com/c"]}}, MERGE)
    assert reply.json["metadata"]["finalizers"] == ["example.com/c"]
    removed = await api.patch(A, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/c"]}}, STRATEGIC)
    assert "finalizers" not in removed.json["metadata"]


@pytest.mark.parametrize(
    ("kind", "patch", "code", "reason"),
    [
        (JSON, [{"op": "test", "path": "/data/x", "value": "2"}], 422, "Invalid"),
        (JSON, [{"op": "remove", "path": "/data/none"}], 422, "Invalid"),
        (JSON, {"op": "remove"}, 400, "BadRequest"),
        (JSON, [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001, 413, "RequestEntityTooLarge"),
        (JSON, b"{", 400, "BadRequest"),
        (MERGE, b"nonsense", 400, "BadRequest"),
        (MERGE, {"metadata": {"name": "b"}}, 400, "BadRequest"),
        (MERGE, {"metadata": {"labels": {"x": "y y"}}}, 422, "Invalid"),
        (MERGE, {"data": {"x": 1}}, 422, "Invalid"),
    ],
)
async def test_a_patch_that_cannot_be(api, kind: str, patch: Any, code: int, reason: str) -> None:
    (made,) = await api.make("a", data={"x": "1"})
    reply = await api.patch(A, patch, kind)
    assert (reply.code, reply.json["reason"]) == (code, reason), reply.text
    assert (await api.get(A)).json == made.json


async def test_what_is_not_there_cannot_be_patched(api) -> None:
    for kind in (MERGE, STRATEGIC):
        reply = await api.patch(f"{CONFIG_MAPS}/none", {"data": {}}, kind)
        assert (reply.code, reply.message) == (404, 'configmaps "none" not found')


async def test_patches_that_race_all_count(api) -> None:
    await api.make("a")
    patches = [api.patch(A, {"data": {f"k{n}": "x"}}, (MERGE, STRATEGIC)[n % 2]) for n in range(40)]
    assert {reply.code for reply in await asyncio.gather(*patches)} == {200}
    assert len((await api.get(A)).json["data"]) == 40


async def test_a_patch_that_names_a_version_is_refused_when_it_is_stale(api) -> None:
    (made,) = await api.make("a")
    fresh = await api.patch(A, {"metadata": {"resourceVersion": made.version}, "data": {"x": "1"}})
    assert fresh.code == 200
    stale = await api.patch(A, {"metadata": {"resourceVersion": made.version}, "data": {"x": "2"}})
    assert (stale.code, stale.json["reason"]) == (409, "Conflict")
    assert "please apply your changes to the latest version and try again" in stale.message


async def test_a_patch_of_another_uid_is_409(api) -> None:
    await api.make("a")
    reply = await api.patch(A, {"metadata": {"uid": "other"}})
    assert reply.code in (409, 422)


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
async def test_unknown_fields_of_a_patch(api, kind: str) -> None:
    await api.make("a")
    strict = await api.patch(f"{A}?fieldValidation=Strict", {"color": "red"}, kind)
    assert strict.code in (400, 422)
    assert 'unknown field "color"' in strict.message
    warned = await api.patch(A, {"color": "red"}, kind)
    assert (warned.code, warned.headers["Warning"]) == (200, '299 - "unknown field \\"color\\""')


async def test_a_patch_of_the_status_leaves_the_rest(api) -> None:
    await api.post(PODS, pod("a"))
    patch = {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}, "metadata": {"labels": {"x": "y"}}}
    reply = await api.patch(f"{PODS}/a/status", patch, STRATEGIC)
    assert reply.json["status"]["phase"] == "Running"
    assert "nodeName" not in reply.json["spec"]
