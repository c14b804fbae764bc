"""Field selectors of custom kinds: each version has its own, and all see all objects."""

import pytest

HERE = "/apis/example.com/{version}/widgets"
PATHS = {"v1": ".spec.color", "v1beta1": ".spec.hue"}


def version(name):
    spec = {
        "type": "object",
        "description": name,  # the schemas of versions with other fields have to be others too
        "properties": {
            "color": {"type": "string"},
            "hue": {"type": "string"},
            "quantity": {"type": "integer"},
            "branded": {"type": "boolean"},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "selectableFields": [{"jsonPath": PATHS[name]}, {"jsonPath": ".spec.quantity"}, {"jsonPath": ".spec.branded"}],
    }


def shirt(name, written="v1", **spec):
    kinds = {"apiVersion": f"example.com/{written}", "kind": "Widget"}
    return kinds | {"metadata": {"name": name}, "spec": spec}


SHIRTS = (
    shirt("one", color="blue", hue="dark", quantity=2, branded=True),
    shirt("two", color="blue", hue="light", quantity=3, branded=False),
    shirt("three", "v1beta1", color="green", hue="dark", quantity=2),
)


@pytest.fixture
async def shirts(api, customs):
    """A cluster-scoped kind in two versions, and three objects of it."""
    await customs.define(scope="Cluster", versions=[version("v1"), version("v1beta1")])
    for each in SHIRTS:
        reply = await api.post(f"/apis/{each['apiVersion']}/widgets", each)
        assert reply.code == 201, reply.text
    return api


@pytest.mark.parametrize(
    ("served", "selector", "names"),
    [
        ("v1", "spec.color=blue", ["one", "two"]),
        ("v1beta1", "spec.hue=dark", ["one", "three"]),
        ("v1", "spec.quantity=2", ["one", "three"]),
        ("v1beta1", "spec.quantity!=2", ["two"]),
        ("v1", "spec.branded=false", ["two"]),
        ("v1", "spec.branded=", ["three"]),
        ("v1", "spec.color=blue,spec.quantity=2", ["one"]),
        ("v1", "metadata.name=two", ["two"]),
    ],
)
async def test_a_list_has_what_the_selector_says(shirts, served, selector, names):
    listed = await shirts.get(f"{HERE.format(version=served)}?fieldSelector={selector}")
    assert [item["metadata"]["name"] for item in listed.json["items"]] == names


@pytest.mark.parametrize(
    ("served", "label"),
    [("v1", "spec.hue"), ("v1beta1", "spec.color"), ("v1", "spec.none"), ("v1", "metadata.namespace")],
)
async def test_a_field_that_the_version_does_not_declare_is_refused(shirts, served, label):
    for asked in ("", "&watch=1"):
        refused = await shirts.get(f"{HERE.format(version=served)}?fieldSelector={label}=x{asked}")
        assert (refused.code, refused.json["message"]) == (400, f"field label not supported: {label}")


async def test_a_watch_tells_what_comes_into_the_selection_and_what_leaves_it(shirts):
    path = HERE.format(version="v1")
    async with shirts.watch(f"{path}?watch=1&fieldSelector=spec.color=blue") as watched:
        assert [event["object"]["metadata"]["name"] for event in await watched.take(2)] == ["one", "two"]
        await shirts.patch(f"{path}/two", {"spec": {"color": "red"}})
        await shirts.patch(f"{path}/three", {"spec": {"color": "blue"}})
        events = await watched.take(2)
    seen = [(event["type"], event["object"]["metadata"]["name"]) for event in events]
    assert seen == [("DELETED", "two"), ("ADDED", "three")]


async def test_a_collection_is_deleted_as_far_as_it_is_selected(shirts):
    await shirts.delete(f"{HERE.format(version='v1beta1')}?fieldSelector=spec.hue=dark")
    left = await shirts.get(HERE.format(version="v1"))
    assert [item["metadata"]["name"] for item in left.json["items"]] == ["two"]
