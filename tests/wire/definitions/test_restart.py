"""Custom kinds over a restart of their server: served from the start, with what selectors see of their objects."""

import asyncio

from patience import SECONDS

from apiserver.config import Config

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"


def widget(name, **spec):
    meta = {"name": name, "labels": {"shade": spec["colour"]}}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": spec}


async def names(api, query):
    return [each["metadata"]["name"] for each in (await api.get(f"{HERE}?{query}")).json["items"]]


async def test_objects_are_found_again_by_labels_and_fields(opened, definition, tmp_path):
    config = Config(store=f"sqlite://{tmp_path / 'store'}")
    async with opened(config) as api:
        await api.post(CRDS, definition(version={"selectableFields": [{"jsonPath": ".spec.colour"}]}))
        async with asyncio.timeout(SECONDS):
            while (await api.post(HERE, widget("a", colour="red"))).code != 201:
                pass
        await api.post(HERE, widget("b", colour="blue"))
    async with opened(config) as api:
        assert await names(api, "labelSelector=shade=red") == ["a"]
        assert await names(api, "fieldSelector=spec.colour=blue") == ["b"]
        assert await names(api, "fieldSelector=metadata.name=a") == ["a"]


async def test_what_was_being_deleted_is_finished(opened, definition, tmp_path):
    config = Config(store=f"sqlite://{tmp_path / 'store'}")
    async with opened(config) as api:
        await api.post(CRDS, definition())
        held = widget("a", colour="red")
        held["metadata"]["finalizers"] = ["example.com/held"]
        async with asyncio.timeout(SECONDS):
            while (await api.post(HERE, held)).code != 201:
                pass
        await api.delete(f"{CRDS}/widgets.example.com")
    async with opened(config) as api:
        going = (await api.get(f"{CRDS}/widgets.example.com")).json
        assert going["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert (await api.post(HERE, widget("b", colour="blue"))).code == 403, "none is made any more"
        held = await api.get(f"{HERE}/a")
        assert held.code == 200, "nor is any lost"
        assert (await api.patch(f"{HERE}/a", {"metadata": {"finalizers": None}})).code == 200
        async with asyncio.timeout(SECONDS):
            while (await api.get(f"{CRDS}/widgets.example.com")).code != 404:
                pass
        assert (await api.get(HERE)).code == 404
        assert api.running.registry.storage.store.count("/registry/example.com/widgets/") == 0


async def test_fields_that_become_selectable_select_what_was_there(api, definition, customs):
    made = await customs.define()
    await api.post(HERE, widget("a", colour="red"))
    refused = await api.get(f"{HERE}?fieldSelector=spec.colour=red")
    assert refused.code == 400
    version = made["spec"]["versions"][0] | {"selectableFields": [{"jsonPath": ".spec.colour"}]}
    await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": [version]}})
    async with asyncio.timeout(SECONDS):
        while (await api.get(f"{HERE}?fieldSelector=spec.colour=red")).code == 400:
            pass
    assert await names(api, "fieldSelector=spec.colour=red") == ["a"]
    assert await names(api, "fieldSelector=spec.colour=blue") == []


async def test_fields_that_become_selectable_after_a_restart_select_what_was_there(opened, definition, tmp_path):
    config = Config(store=f"sqlite://{tmp_path / 'store'}")
    async with opened(config) as api:
        made = definition(version={"selectableFields": [{"jsonPath": ".spec.colour"}]})
        await api.post(CRDS, made)
        async with asyncio.timeout(SECONDS):
            while (await api.post(HERE, widget("a", colour="red", size=3))).code != 201:
                pass
        await api.post(HERE, widget("b", colour="blue", size=3))
    async with opened(config) as api:
        assert [kv.index_attrs.is_read for kv in _widgets(api)] == [False, False]
        assert _widgets(api)[0].index_attrs.fields["spec.colour"] == "red"
        assert [kv.index_attrs.is_read for kv in _widgets(api)] == [True, False]
        version = made["spec"]["versions"][0] | {
            "selectableFields": [{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}]
        }
        await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": [version]}})
        async with asyncio.timeout(SECONDS):
            while (await api.get(f"{HERE}?fieldSelector=spec.size=3")).code == 400:
                pass
        assert await names(api, "fieldSelector=spec.size=3") == ["a", "b"]
        assert await names(api, "fieldSelector=spec.colour=blue") == ["b"]


def _widgets(api):
    return api.running.registry.storage.store.range("/registry/example.com/widgets/").items
