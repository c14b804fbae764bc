"""The Scale of custom objects: read, replaced and patched at the paths that their definition gives."""

import asyncio
from typing import Any

import pytest
from patience import SECONDS

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.scale_paths import scale_paths
from apiserver.registry.subresources.custom_scale import custom_scale_functions

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/crews"
SCALE = {
    "specReplicasPath": ".spec.size.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
PRESERVING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CREWS: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "crews.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "crews", "kind": "Crew"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": PRESERVING},
                "subresources": {"scale": SCALE},
            }
        ],
    },
}
ROW = Resource("example.com", "v1", "Crew", "crews", "crew", True, "", "example.com", "v1", "example.com/crews")
PATHS = scale_paths(CREWS["spec"]["versions"][0])
assert PATHS is not None
SCALING = custom_scale_functions(ROW, PATHS)


def crew(desired: Any = 2, **status: Any) -> Obj:
    meta = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}}
    size = {} if desired is None else {"replicas": desired}
    return {"metadata": meta, "spec": {"size": size, "other": 1}, "status": status}


def scale(replicas: int | None, **meta: str) -> Obj:
    return {"metadata": {"name": "a"} | meta, "spec": {} if replicas is None else {"replicas": replicas}}


def test_a_scale_tells_what_its_object_says():
    assert SCALING.to_scale(crew(2, replicas=1, selector="a=b")) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "a=b"},
    }


def test_what_is_missing_in_a_status_is_nothing():
    scale = SCALING.to_scale(crew(0))
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 0})


def test_an_object_that_wants_no_number_has_no_scale_to_read():
    with pytest.raises(ApiError) as refused:
        SCALING.to_scale(crew(None))
    why = 'the spec replicas field ".spec.size.replicas" does not exist'
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {why}",
        "reason": "InternalError",
        "details": {"causes": [{"message": why}]},
        "code": 500,
    }


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (crew("2"), ".spec.size.replicas accessor error: 2 is of the type string, expected int64"),
        (crew(2, replicas=1.5), ".status.replicas accessor error: 1.5 is of the type float64, expected int64"),
        (crew(2, selector=5), ".status.selector accessor error: 5 is of the type int64, expected string"),
    ],
)
def test_an_odd_object_has_no_scale(obj: Obj, why: str):
    for function, code, reason in (
        (SCALING.to_scale, 500, ""),
        (SCALING.scale_before_write, 500, ""),
        (SCALING.scale_after_write, 400, "BadRequest"),
    ):
        with pytest.raises(ApiError) as refused:
            function(obj)
        assert (refused.value.code, refused.value.reason, refused.value.message) == (code, reason, why)


def test_replicas_are_put_where_the_definition_says():
    old = crew(2, replicas=1)
    new = SCALING.apply_scale(old, scale(5))
    assert new == crew(5, replicas=1)
    assert old == crew(2, replicas=1)
    assert SCALING.apply_scale(old, scale(None)) == crew(0, replicas=1)
    assert SCALING.apply_scale(crew(None), scale(3)) == crew(3)


def test_only_a_version_is_taken_from_the_metadata_of_a_scale():
    new = SCALING.apply_scale(crew(), scale(5, resourceVersion="3", uid="other"))
    assert new["metadata"] == crew()["metadata"] | {"resourceVersion": "3"}


def test_a_patch_that_leaves_open_what_was_open_is_refused():
    before = SCALING.scale_before_write(crew(None))
    assert before["spec"] == {"replicas": -(1 << 31)}
    with pytest.raises(ApiError) as refused:
        SCALING.apply_scale(crew(None), before)
    assert (refused.value.code, refused.value.message) == (
        400,
        'the spec replicas field ".spec.size.replicas" cannot be empty',
    )


def test_there_has_to_be_a_place_for_replicas():
    with pytest.raises(ApiError) as refused:
        SCALING.apply_scale(crew() | {"spec": None}, scale(1))
    assert (refused.value.code, refused.value.reason, refused.value.message) == (
        500,
        "",
        "value cannot be set because .spec is not a map[string]interface{}",
    )


# -- on a running server


@pytest.fixture
async def crews(client):
    """A client of a server that serves crews, with one crew."""
    await client.do(f"POST {CRDS}", CREWS)
    async with asyncio.timeout(SECONDS):
        while (await client.ask(f"GET {HERE}"))[0] != 200:
            pass
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Crew",
        "metadata": {"name": "a"},
        "spec": {"size": {"replicas": 2}},
    }
    await client.do(f"POST {HERE}", body)
    return client


def sent(replicas: int, **meta: str) -> Obj:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale"} | scale(replicas, **meta)


async def test_a_custom_object_is_scaled_by_put_and_by_patch(crews):
    made = await crews.do(f"GET {HERE}/a")
    read = await crews.do(f"GET {HERE}/a/scale")
    assert (read["kind"], read["spec"], read["status"]) == ("Scale", {"replicas": 2}, {"replicas": 0})
    assert read["metadata"]["uid"] == made["metadata"]["uid"]
    put = await crews.do(f"PUT {HERE}/a/scale", sent(5))
    assert (put["kind"], put["spec"]) == ("Scale", {"replicas": 5})
    assert (await crews.patch(f"{HERE}/a/scale", {"spec": {"replicas": 6}}))["spec"] == {"replicas": 6}
    after = await crews.do(f"GET {HERE}/a")
    assert after["spec"] == {"size": {"replicas": 6}}
    assert after["metadata"]["generation"] == 3


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        (
            {"resourceVersion": "1"},
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        (
            {"uid": "other"},
            "Precondition failed: UID in precondition: other, UID in object meta: {uid}",
        ),
    ],
)
async def test_a_scale_of_another_object_or_version_is_in_conflict(crews, meta, why):
    uid = (await crews.do(f"GET {HERE}/a"))["metadata"]["uid"]
    status, answer = await crews.ask(f"PUT {HERE}/a/scale", sent(5, **meta))
    assert status == 409
    assert answer["message"].startswith('Operation cannot be fulfilled on crews.example.com "a": ')
    assert answer["message"].endswith(why.format(uid=uid))


async def test_what_is_no_scale_of_the_object_is_refused(crews):
    status, answer = await crews.ask(f"PUT {HERE}/a/scale", sent(5) | {"metadata": {"name": "b"}})
    assert (status, answer["message"]) == (400, "the name of the object (b) does not match the name on the URL (a)")


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_a_custom_object_that_is_not_there_is_named_as_it_is(crews, method):
    body = sent(5) | {"metadata": {"name": "none"}} if method == "PUT" else None
    status, answer = await crews.ask(f"{method} {HERE}/none/scale", body)
    assert (status, answer["message"]) == (404, 'crews.example.com "none" not found')


async def test_an_object_without_replicas_gets_some_from_a_scale(crews):
    await crews.patch(f"{HERE}/a", {"spec": {"size": None}})
    assert (await crews.ask(f"GET {HERE}/a/scale"))[0] == 500
    named = {"metadata": {"annotations": {"a": "b"}}}
    merge = {"Content-Type": "application/merge-patch+json"}
    status, answer = await crews.ask(f"PATCH {HERE}/a/scale", named, merge)
    assert (status, answer["message"]) == (400, 'the spec replicas field ".spec.size.replicas" cannot be empty')
    assert (await crews.do(f"PUT {HERE}/a/scale", sent(4)))["spec"] == {"replicas": 4}
    assert (await crews.do(f"GET {HERE}/a"))["spec"] == {"size": {"replicas": 4}}


async def test_a_built_in_scale_of_another_object_is_in_conflict_too(client):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    made = await client.do(f"POST {path}", {"metadata": {"name": "a"}, "spec": spec})
    status, answer = await client.ask(f"PUT {path}/a/scale", sent(5, uid="other"))
    uid = made["metadata"]["uid"]
    assert (status, answer["reason"]) == (409, "Conflict")
    assert f"UID in precondition: other, UID in object meta: {uid}" in answer["message"]
    merge = {"Content-Type": "application/merge-patch+json"}
    status, answer = await client.ask(f"PATCH {path}/a/scale", {"metadata": {"uid": "other"}}, merge)
    why = f"Precondition failed: UID in precondition: other, UID in object meta: {uid}"
    message = f'Operation cannot be fulfilled on deployments/scale.apps "a": {why}'
    assert (status, answer["message"]) == (409, message)
