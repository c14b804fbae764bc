"""Objects that were stored by other schemas than those that their definition has now, and in other versions."""

import asyncio
import json

import pytest
from patience import SECONDS

from apiserver.config import Config
from apiserver.registry.bootstrap import SYSTEM
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.create import insert

PLACE = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
THERE = "/apis/example.com/v1alpha1/namespaces/default/widgets"
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
HOOK = {"webhook": {"clientConfig": {"url": "https://localhost:9"}, "conversionReviewVersions": ["v1"]}}
NO_HOOK = (
    'conversion webhook for example.com/{}, Kind=Widget failed: Post "https://localhost:9/?timeout=30s": '
    "dial tcp 127.0.0.1:9: connect: connection refused"
)


def version(name="v1", *, storage=True, served=True, selectable=(), **fields):
    spec = {"type": "object", "properties": fields or {"size": INTEGER}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    made = {"name": name, "served": served, "storage": storage, "schema": schema}
    return made | ({"selectableFields": [{"jsonPath": path} for path in selectable]} if selectable else {})


def widget(name="a", served="v1", **spec):
    return {"apiVersion": f"example.com/{served}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def red():
    return version(size=INTEGER, colour=TEXT | {"default": "red"})


async def change(api, *versions, **spec):
    """Give the definition other versions, and wait until they are served."""
    kinds = [*api.running.registry.customs]
    reply = await api.patch(PLACE, {"spec": {"versions": [*versions], **spec}})
    assert reply.code == 200, reply.text
    async with asyncio.timeout(SECONDS):
        while any(kind in kinds for kind in api.running.registry.customs):
            await api.get("/livez")


def stored(api, name="a"):
    """Return a widget as it is stored."""
    kv = api.running.registry.storage.store.get(f"/registry/example.com/widgets/default/{name}")
    return json.loads(kv.value)


async def write_under_way(api, name="a"):
    """A write of an object that was decoded by the schema of now; gives what goes on with it."""
    registry = api.running.registry
    target = Target(registry.table.find("example.com", "v1", "widgets"), "default")
    decoded = registry.decoder.decode_new(target.resource, Body(widget(name, size=1)), validation="Strict")
    return lambda: insert(registry, target, decoded, WriteOptions(SYSTEM, manager="test"))


async def test_a_write_that_overtakes_no_change_of_the_schema_is_read_by_the_new_one(api, customs):
    await customs.define(versions=[version()])
    finish = await write_under_way(api)
    await change(api, red())
    await finish()
    assert stored(api)["spec"] == {"size": 1}, "written by the schema of before"
    assert (await api.get(f"{HERE}/a")).json["spec"] == {"size": 1, "colour": "red"}
    assert (await api.get(HERE)).json["items"][0]["spec"] == {"size": 1, "colour": "red"}


async def test_what_was_written_by_an_older_schema_is_read_by_the_new_one_after_a_restart(opened, tmp_path, definition):
    store = f"sqlite://{tmp_path / 'store'}"
    async with opened(Config(store=store)) as api:
        assert (await api.post(PLACE.rpartition("/")[0], definition(versions=[version()]))).code == 201
        async with asyncio.timeout(SECONDS):
            while (await api.get(HERE)).code != 200:
                pass
        finish = await write_under_way(api)
        await change(api, red())
        await finish()
        assert (await api.post(HERE, widget("b", size=2))).code == 201
    async with opened(Config(store=store)) as api:
        for _ in ("converted", "known to need nothing"):
            listed = (await api.get(HERE)).json["items"]
            assert [each["spec"] for each in listed] == [{"size": 1, "colour": "red"}, {"size": 2, "colour": "red"}]
        assert stored(api, "a")["spec"] == {"size": 1}


async def test_a_write_under_way_makes_nothing_of_a_kind_that_goes(api, customs):
    await customs.define(versions=[version()])
    await api.post(HERE, widget("held") | {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})
    finish, later = await write_under_way(api), await write_under_way(api)
    await api.delete(PLACE)
    await customs.until(
        "widgets.example.com",
        lambda reply: customs.condition(reply.json, "Terminating").get("reason") == "InstanceDeletionInProgress",
    )
    with pytest.raises(Exception, match="create not allowed while custom resource definition is terminating"):
        await finish()
    await api.patch(f"{HERE}/held", {"metadata": {"finalizers": None}})
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)
    with pytest.raises(Exception, match="could not find the requested resource"):
        await later()


async def test_defaults_on_read_are_those_of_the_version_that_an_object_was_stored_in(api, customs):
    alpha = version("v1alpha1", storage=False, size=INTEGER | {"default": 7}, colour=TEXT, old=TEXT | {"default": "x"})
    await customs.define(versions=[version(), version("v1alpha1", storage=False)])
    await api.post(HERE, widget())
    await change(api, version(size=INTEGER, colour=TEXT | {"default": "red"}, new=TEXT | {"default": "y"}), alpha)
    assert (await api.get(f"{HERE}/a")).json["spec"] == {"colour": "red", "new": "y"}
    assert (await api.get(f"{THERE}/a")).json["spec"] == {"colour": "red"}, "of v1, as far as v1alpha1 knows it"
    assert (await api.post(THERE, widget("b", "v1alpha1"))).json["spec"] == {"size": 7, "colour": "red"}
    assert (await api.get(f"{HERE}/b")).json["spec"] == {"size": 7, "colour": "red", "new": "y"}


async def test_a_write_that_changes_nothing_stores_an_object_again_if_it_was_stored_otherwise(api, customs):
    """Which is how clients migrate to another stored version, by an empty patch of each object."""
    await customs.define(versions=[version(), version("v1alpha1", storage=False)])
    made = await api.post(HERE, widget(size=1))
    assert (await api.patch(f"{HERE}/a", {})).version == made.version
    await change(api, version(storage=False), version("v1alpha1"))
    assert (await api.patch(f"{HERE}/a", {})).version > made.version
    assert stored(api)["apiVersion"] == "example.com/v1alpha1"
    again = (await api.patch(f"{HERE}/a", {})).version
    assert (await api.patch(f"{THERE}/a", {})).version == again, "now it is as it should be"


async def test_selectors_see_the_defaults_of_a_new_schema(api, customs):
    await customs.define(versions=[version()])
    await api.post(HERE, widget(size=1))
    await change(api, version(size=INTEGER, colour=TEXT | {"default": "red"}, selectable=[".spec.colour"]))
    assert len((await api.get(f"{HERE}?fieldSelector=spec.colour%3Dred")).json["items"]) == 1
    await change(api, version(size=INTEGER, colour=TEXT | {"default": "blue"}, selectable=[".spec.colour"]))
    assert (await api.get(f"{HERE}?fieldSelector=spec.colour%3Dred")).json["items"] == []
    assert len((await api.get(f"{HERE}?fieldSelector=spec.colour%3Dblue")).json["items"]) == 1


async def test_a_version_that_is_no_more_still_gives_its_objects(api, customs):
    await customs.define(versions=[version("v1alpha1", served=False), version(storage=False)])
    await api.post(HERE, widget(size=1))
    assert stored(api)["apiVersion"] == "example.com/v1alpha1"
    await change(api, version("v1alpha1", storage=False, served=False), version())
    assert (await api.patch(f"{PLACE}/status", {"status": {"storedVersions": ["v1"]}})).code == 200
    await change(api, version())
    assert (await api.get(f"{HERE}/a")).json["spec"] == {"size": 1}


async def test_what_a_webhook_cannot_convert_is_refused(api, customs):
    hooked = {"strategy": "Webhook", **HOOK}
    await customs.define(versions=[version(), version("v1alpha1", storage=False)], conversion=hooked)
    assert (await api.post(HERE, widget(size=1))).code == 201
    assert (await api.get(f"{HERE}/a")).code == 200, "nothing is to be converted"
    for path in (THERE, f"{THERE}/a"):
        refused = await api.get(path)
        assert (refused.code, refused.json["message"]) == (500, NO_HOOK.format("v1"))
        assert "reason" not in refused.json
    refused = await api.post(THERE, widget("b", "v1alpha1"))
    assert (refused.code, refused.json["message"]) == (500, NO_HOOK.format("v1alpha1"))
    async with api.watch(f"{THERE}?watch=1") as watched:
        (event,) = await watched.rest()
    assert (event["type"], event["object"]["code"], event["object"]["message"]) == ("ERROR", 500, NO_HOOK.format("v1"))
