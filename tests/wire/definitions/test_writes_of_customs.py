"""Custom objects and definitions are written like any others: dry runs, versions, generations, status, managers."""

import pytest

from apiserver.api.meta import Obj

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = f"{CRDS}/widgets.example.com"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
ONE = f"{HERE}/a"


def widget(name="a", **more):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}} | more


@pytest.fixture
async def widgets(api, customs):
    """A kind with a status apart, and one object."""
    await customs.define(version={"subresources": {"status": {}}})
    assert (await api.post(HERE, widget())).code == 201
    return api


# -- dry runs


async def test_a_definition_that_is_tried_is_judged_and_not_there(api, definition):
    tried = await api.post(f"{CRDS}?dryRun=All", definition())
    assert (tried.code, tried.json["metadata"]["name"]) == (201, "widgets.example.com")
    assert tried.json["spec"]["names"]["listKind"] == "WidgetList"
    assert "resourceVersion" not in tried.json["metadata"]
    assert (await api.get(PLACE)).code == 404
    assert (await api.get(HERE)).code == 404
    refused = await api.post(f"{CRDS}?dryRun=All", definition(scope="World"))
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "spec.scope")


async def test_changes_and_the_end_of_a_definition_can_be_tried(widgets):
    before = (await widgets.get(PLACE)).json
    change = {"spec": {"versions": before["spec"]["versions"] + [before["spec"]["versions"][0] | {"name": "v2"}]}}
    change["spec"]["versions"][1]["storage"] = False
    tried = await widgets.patch(f"{PLACE}?dryRun=All", change)
    assert [each["name"] for each in tried.json["spec"]["versions"]] == ["v1", "v2"]
    gone = await widgets.delete(f"{PLACE}?dryRun=All")
    assert gone.code == 200
    assert (await widgets.get(PLACE)).json == before
    assert (await widgets.get(HERE)).json["items"][0]["metadata"]["name"] == "a"
    assert (await widgets.get(HERE.replace("v1", "v2"))).code == 404


@pytest.mark.parametrize("query", ["dryRun=All", "dryRun=All&fieldValidation=Strict"])
async def test_every_write_of_an_object_can_be_tried(widgets, query):
    before, at = (await widgets.get(ONE)).json, widgets.now
    made = await widgets.post(f"{HERE}?{query}", widget("b"))
    assert (made.code, "uid" in made.json["metadata"]) == (201, True)
    put = await widgets.put(f"{ONE}?{query}", before | {"spec": {"size": 5}})
    assert (put.json["spec"], put.json["metadata"]["generation"]) == ({"size": 5}, 2)
    patched = await widgets.patch(f"{ONE}/status?{query}", {"status": {"size": 5}})
    assert patched.json["status"] == {"size": 5}
    assert (await widgets.patch(f"{ONE}?{query}", {"spec": {"size": "x"}})).code == 422
    assert (await widgets.delete(f"{ONE}?{query}")).code == 200
    assert [each["metadata"]["name"] for each in (await widgets.delete(f"{HERE}?{query}")).json["items"]] == ["a"]
    assert (await widgets.get(ONE)).json == before
    assert widgets.now == at


# -- versions, generations, status


async def test_a_stale_version_is_in_conflict_and_none_is_refused(widgets):
    old = (await widgets.get(ONE)).json
    assert (await widgets.put(ONE, old | {"spec": {"size": 2}})).code == 200
    stale = await widgets.put(ONE, old | {"spec": {"size": 3}})
    assert (stale.code, stale.json["reason"]) == (409, "Conflict")
    assert stale.message == (
        'Operation cannot be fulfilled on widgets.example.com "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    named = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}}
    assert (await widgets.patch(ONE, named | {"spec": {"size": 3}})).code == 409
    assert (await widgets.patch(f"{ONE}/status", named | {"status": {"size": 3}})).code == 409
    bare = await widgets.put(ONE, widget())
    assert bare.message.endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    assert (await widgets.delete(ONE, {"preconditions": {"resourceVersion": "1"}})).code == 409
    assert (await widgets.delete(ONE, {"preconditions": {"uid": old["metadata"]["uid"]}})).code == 200


async def test_what_changes_nothing_is_not_written(widgets):
    before = (await widgets.get(ONE)).json
    assert (await widgets.put(ONE, before)).json == before
    assert (await widgets.patch(ONE, {"spec": {"size": 1}})).json == before
    assert (await widgets.patch(ONE, {"spec": {"nobody": "knows"}})).json == before
    assert (await widgets.get(ONE)).json == before


async def test_the_generation_moves_with_all_but_metadata_and_status(widgets):
    async def generation(change, part=""):
        reply = await widgets.patch(f"{ONE}{part}", change)
        assert reply.code == 200, reply.text
        return reply.json["metadata"]["generation"]

    assert await generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert await generation({"spec": {"size": 2}}) == 2
    assert await generation({"status": {"size": 2}}, "/status") == 2
    assert await generation({"status": {"size": 9}}) == 2
    assert (await widgets.get(ONE)).json["status"] == {"size": 2}
    assert await generation({"spec": {"size": 9}}, "/status") == 2
    assert (await widgets.get(ONE)).json["spec"] == {"size": 2}


async def test_without_a_status_apart_all_is_one_and_moves_the_generation(api, customs):
    await customs.define()
    made = await api.post(HERE, widget(status={"size": 4}))
    assert made.json["status"] == {"size": 4}
    changed = await api.patch(ONE, {"status": {"size": 5}})
    assert (changed.json["status"], changed.json["metadata"]["generation"]) == ({"size": 5}, 2)
    assert (await api.get(f"{ONE}/status")).code == 404


async def test_managers_own_what_they_wrote_where_they_wrote_it(widgets):
    await widgets.patch(f"{ONE}?fieldManager=sizer", {"spec": {"size": 2}, "metadata": {"labels": {"a": "b"}}})
    await widgets.patch(f"{ONE}/status?fieldManager=teller", {"status": {"size": 2}})
    fields = (await widgets.get(ONE)).json["metadata"]["managedFields"]
    assert {each["apiVersion"] for each in fields} == {"example.com/v1"}
    owned = {(each["manager"], each.get("subresource", "")): each["fieldsV1"] for each in fields}
    assert owned["sizer", ""] == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {"f:size": {}},
    }
    assert owned["teller", "status"] == {"f:status": {".": {}, "f:size": {}}}
    assert {key for key in owned if key not in (("sizer", ""), ("teller", "status"))} == {("Python", "")}


# -- patches


async def test_a_strategic_patch_is_of_no_use(widgets):
    refused = await widgets.patch(ONE, {"spec": {"size": 2}}, "strategic-merge-patch")
    assert (refused.code, refused.json["reason"]) == (415, "UnsupportedMediaType")
    assert "application/json-patch+json" in refused.message


async def test_a_merge_patch_takes_fields_away_with_null_and_a_json_patch_tests(widgets):
    steps: list[Obj] = [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "add", "path": "/spec/colour", "value": "red"},
    ]
    assert (await widgets.patch(ONE, steps, "json-patch")).json["spec"] == {"size": 1, "colour": "red"}
    steps[0]["value"] = 7
    assert (await widgets.patch(ONE, steps, "json-patch")).code == 422
    assert (await widgets.patch(ONE, {"spec": {"colour": None}})).json["spec"] == {"size": 1}
    odd = await widgets.patch(ONE, [{"op": "replace", "path": "/spec", "value": [1]}], "json-patch")
    assert (odd.code, odd.json["details"]["causes"][0]["field"]) == (422, "spec")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"metadata": {"name": "b"}}, 400),
        ({"metadata": {"namespace": "other"}}, 400),
        ({"metadata": {"uid": "x"}}, 422),
        ({"kind": 7}, 422),
        ({"metadata": {"labels": {"a b": "c"}}}, 422),
        ({"metadata": {"finalizers": ["no slash at all"]}}, 422),
        ({"metadata": {"ownerReferences": [{"kind": "X", "name": "x", "apiVersion": "v1"}]}}, 422),
        ({"metadata": "none"}, 422),
        ({"metadata": {"annotations": {"a": 1}}}, 422),
    ],
)
async def test_what_all_objects_have_follows_the_rules_of_all_objects(widgets, change, code):
    before = (await widgets.get(ONE)).json
    refused = await widgets.patch(ONE, change)
    assert (refused.code, refused.json["kind"]) == (code, "Status"), refused.text
    assert (await widgets.get(ONE)).json == before


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"apiVersion": None}, 400, "the API version in the data () does not match the expected API version ({here})"),
        ({"apiVersion": "v1", "kind": "Pod"}, 400, "the API version in the data (v1) does not match the expected "),
        ({"apiVersion": "example.com/v2"}, 400, "the API version in the data (example.com/v2) does not match the "),
        ({"kind": "Gadget"}, 422, 'Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget'),
        (
            {"kind": None},
            400,
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in ",
        ),
        ({"kind": 7}, 400, "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; "),
    ],
)
async def test_what_is_of_another_kind_is_refused(widgets, given, code, words):
    body = {key: value for key, value in (widget() | given).items() if value is not None}
    for refused in (
        await widgets.post(HERE, body),
        await widgets.put(ONE, body),
        await widgets.put(f"{ONE}/status", body),
    ):
        assert refused.code == code
        assert refused.message.startswith(words.format(here="example.com/v1")), refused.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "Gadget"}, 'Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must be Widget'),
        (
            {"apiVersion": "example.com/v2"},
            'Widget.example.com "a" is invalid: apiVersion: Invalid value: "example.com/v2": must be example.com/v1',
        ),
        (
            {"apiVersion": "v1", "kind": "Pod"},
            'Pod "a" is invalid: [kind: Invalid value: "Pod": must be Widget, apiVersion: Invalid value: "v1": must ',
        ),
        ({"kind": None}, ' "" is invalid: patch: Invalid value: "{'),
    ],
)
async def test_a_patch_makes_no_other_kind_of_it(widgets, change, words):
    refused = await widgets.patch(ONE, change)
    assert (refused.code, refused.json["reason"]) == (422, "Invalid")
    assert refused.message.startswith(words), refused.text


async def test_a_generated_name_is_made(widgets):
    made = await widgets.post(HERE, widget() | {"metadata": {"generateName": "w-"}})
    assert made.json["metadata"]["name"].startswith("w-")
    assert (await widgets.get(f"{HERE}/{made.json['metadata']['name']}")).json == made.json


async def test_finalizers_keep_an_object_and_its_deletion_is_told(widgets):
    await widgets.patch(ONE, {"metadata": {"finalizers": ["example.com/held"]}})
    marked = (await widgets.delete(ONE)).json
    assert "deletionTimestamp" in marked["metadata"]
    assert marked["metadata"]["generation"] == 2
    again = await widgets.post(HERE, widget())
    assert (again.code, again.message) == (409, 'object is being deleted: widgets.example.com "a" already exists')
    await widgets.patch(ONE, {"metadata": {"finalizers": None}})
    assert (await widgets.get(ONE)).code == 404


# -- namespaces


async def test_nothing_is_made_where_there_is_no_namespace_or_where_it_ends(widgets):
    missing = await widgets.post(HERE.replace("default", "none"), widget())
    assert (missing.code, missing.message) == (404, 'namespaces "none" not found')
    held = {"metadata": {"name": "one"}, "spec": {"finalizers": ["kubernetes", "example.com/held"]}}
    await widgets.post("/api/v1/namespaces", held)
    await widgets.post(HERE.replace("default", "one"), widget("x"))
    await widgets.delete("/api/v1/namespaces/one")
    refused = await widgets.post(HERE.replace("default", "one"), widget("y"))
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert refused.message == (
        'widgets.example.com "y" is forbidden: unable to create new content in namespace one '
        "because it is being terminated"
    )


async def test_a_namespace_goes_with_the_custom_objects_in_it(widgets):
    await widgets.post("/api/v1/namespaces", {"metadata": {"name": "one"}})
    path = HERE.replace("default", "one")
    for name in ("a", "b"):
        await widgets.post(path, widget(name))
    async with widgets.watch("/apis/example.com/v1/widgets?watch=1") as watched:
        await watched.take(3)
        await widgets.delete("/api/v1/namespaces/one")
        assert [event["type"] for event in await watched.take(2)] == ["DELETED", "DELETED"]
    assert [each["metadata"]["namespace"] for each in (await widgets.get("/apis/example.com/v1/widgets")).json["items"]]
