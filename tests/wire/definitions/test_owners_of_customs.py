"""Owners of the fields of custom objects after writes that managedFields cannot follow, and of scales."""

import pytest

from apiserver.api.meta import Obj

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = f"{CRDS}/widgets.example.com"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
ONE = f"{HERE}/a"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
REPLICAS: Obj = {"f:spec": {"f:replicas": {}}}


def widget(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


def fields(reply):
    return [(each["manager"], each["fieldsV1"]) for each in reply.json["metadata"].get("managedFields", [])]


@pytest.fixture
async def scalable(api, customs):
    """A kind that can be scaled, and one object."""
    schema = {"type": "object", "properties": {"spec": FREE, "status": FREE}}
    version = {"schema": {"openAPIV3Schema": schema}, "subresources": {"scale": SCALE}}
    await customs.define(version=version)
    assert (await api.post(f"{HERE}?fieldManager=maker", widget(replicas=1, size=1))).code == 201
    return api


@pytest.mark.parametrize("replicas", [3, 1, 0])
async def test_nobody_owns_the_replicas_of_a_custom_object_once_its_scale_is_written(scalable, replicas):
    await scalable.patch(f"{ONE}/scale?fieldManager=scaler", {"spec": {"replicas": replicas}})
    assert fields(await scalable.get(ONE)) == [("maker", {"f:spec": {".": {}, "f:size": {}}})]


@pytest.mark.parametrize("sent", [{"apiVersion": "example.com/v1", "kind": "Widget"}, {"apiVersion": "apps/v1"}])
async def test_what_is_no_scale_is_refused_in_words_of_the_server_of_custom_resources(scalable, sent):
    refused = await scalable.put(f"{ONE}/scale", sent | {"metadata": {"name": "a"}})
    assert refused.code == 400
    assert refused.json["message"] == (
        'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/'
        'customresource_handler.go:781"'
    )


async def test_a_patch_that_breaks_a_scale_shows_it(scalable):
    refused = await scalable.patch(f"{ONE}/scale?fieldValidation=Strict", {"spec": {"size": 1}})
    assert refused.code == 422
    assert refused.json["message"].endswith(': strict decoding error: unknown field "spec.size"')


@pytest.mark.parametrize("verb", ["put", "patch"])
async def test_unknown_fields_of_a_scale_are_warned_of(scalable, verb):
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 2, "x": 1},
    }
    reply = await getattr(scalable, verb)(f"{ONE}/scale", scale)
    assert (reply.code, reply.json["spec"]) == (200, {"replicas": 2})
    assert reply.headers.getall("Warning") == ['299 - "unknown field \\"spec.x\\""']


async def test_a_broken_patch_of_nothing_is_not_found(scalable):
    for path in (f"{HERE}/none", f"{HERE}/none/scale"):
        assert (await scalable.patch(path, b"{")).code == 404


async def test_a_patch_that_replaces_the_whole_object_by_a_list_is_shown(scalable):
    refused = await scalable.patch(ONE, [{"op": "replace", "path": "", "value": [1.0]}], "json-patch")
    assert refused.code == 422
    assert refused.json["message"].startswith(
        ' "" is invalid: patch: Invalid value: "[1]": couldn\'t get version/kind; json parse error: json: cannot '
        "unmarshal array into Go value of type struct { APIVersion"
    )


@pytest.mark.parametrize("kind", ["PartialObjectMetadataList", "SomeList"])
async def test_a_scale_is_no_list(scalable, kind):
    refused = await scalable.get(f"{ONE}/scale", accept=f"application/json;as={kind};g=meta.k8s.io;v=v1")
    assert refused.code == 406


async def test_a_scale_comes_as_its_metadata_alone(scalable):
    whole = (await scalable.get(f"{ONE}/scale")).json
    shown = await scalable.get(f"{ONE}/scale", accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    assert shown.json == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": whole["metadata"],
    }


@pytest.fixture
async def tightened(api, customs):
    """Two objects of a kind that has another schema since; one of them no longer fits it."""
    schema = {"type": "object", "properties": {"spec": FREE, "status": FREE}}
    await customs.define(version={"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}})
    await api.post(HERE, widget(size="large", keep="y"))
    await api.post(HERE, widget(size=1, keep="y") | {"metadata": {"name": "b"}})
    size = {"type": "object", "properties": {"size": {"type": "integer"}, "keep": {"type": "string"}}}
    typed = {"type": "object", "properties": {"spec": size, "status": FREE}}
    change = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": typed}]
    assert (await api.patch(PLACE, change, "json-patch")).code == 200
    while (await api.post(f"{HERE}?dryRun=All", widget(size="x") | {"metadata": {"name": "z"}})).code != 422:
        pass
    return api


@pytest.mark.parametrize(("path", "change"), [("", {"spec": {"keep": "x"}}), ("/status", {"status": {"a": 1}})])
async def test_an_object_with_values_of_wrong_types_has_no_owners_once_it_is_written(tightened, path, change):
    assert fields(await tightened.get(ONE)) != []
    written = await tightened.patch(f"{ONE}{path}", change)
    assert (written.code, fields(written)) == (200, [])
    assert fields(await tightened.get(ONE)) == []


async def test_owners_are_gone_as_well_where_the_write_makes_the_object_fit(tightened):
    assert fields(await tightened.patch(ONE, {"spec": {"size": 5}})) == []


async def test_an_object_that_fits_its_new_schema_keeps_its_owners(tightened):
    written = await tightened.patch(f"{HERE}/b?fieldManager=second", {"spec": {"keep": "x"}})
    assert [manager for manager, _ in fields(written)][1:] == ["second"]


async def test_nobody_owns_the_replicas_of_a_deployment_that_is_scaled_to_none(api):
    here = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await api.post(f"{here}?fieldManager=maker", {"metadata": {"name": "a"}, "spec": spec})

    async def owners_after(replicas):
        await api.patch(f"{here}/a/scale?fieldManager=scaler", {"spec": {"replicas": replicas}})
        reply = await api.get(f"{here}/a")
        assert reply.json["spec"]["replicas"] == replicas
        return [manager for manager, owned in fields(reply) if "f:replicas" in owned["f:spec"]]

    assert await owners_after(2) == ["maker"]
    assert await owners_after(3) == ["scaler"]
    assert await owners_after(0) == []
    assert await owners_after(1) == ["scaler"]
