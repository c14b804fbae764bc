"""Metrics name custom kinds by their own group, version and resource, as long as they are served."""

from prometheus_client.parser import text_string_to_metric_families

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
PLACE = {"group": "example.com", "version": "v1", "resource": "widgets"}


def widget(name):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}}


async def samples(api, name, **labels):
    """The samples of a name that have these labels, by the values of their other labels."""
    by_labels = {}
    for family in text_string_to_metric_families((await api.get("/metrics")).text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                by_labels[tuple(v for k, v in sorted(sample.labels.items()) if k not in labels)] = sample.value
    return by_labels


async def test_requests_are_counted_by_group_version_and_resource(api, customs):
    await api.get(HERE)  # a path that no definition serves yet
    await customs.define(version={"subresources": {"status": {}}})
    await api.post(HERE, widget("a"))
    await api.post(HERE, widget("a"))
    await api.patch(f"{HERE}/a", {"spec": {"size": "x"}})
    await api.patch(f"{HERE}/a/status", {"status": {"size": 1}})
    await api.get("/apis/example.com/v1/widgets")
    await api.delete(HERE)
    counts = await samples(api, "apiserver_request_total", component="apiserver", dry_run="", **PLACE)
    # by code, scope, subresource and verb
    assert counts == {
        ("201", "resource", "", "POST"): 1,
        ("409", "resource", "", "POST"): 1,
        ("422", "resource", "", "PATCH"): 1,
        ("200", "resource", "status", "PATCH"): 1,
        ("200", "cluster", "", "LIST"): 1,
        ("200", "namespace", "", "DELETECOLLECTION"): 1,
    }


async def test_stored_objects_and_watch_events_are_counted(api, customs):
    await customs.define()
    async with api.watch(f"{HERE}?watch=1") as watched:
        for name in "abc":
            await api.post(HERE, widget(name))
        await watched.take(3)
        assert await samples(api, "apiserver_longrunning_requests", verb="WATCH", resource="widgets") != {}
    assert await samples(api, "apiserver_storage_objects", resource="widgets.example.com") == {(): 3}
    assert await samples(api, "apiserver_resource_objects", resource="widgets", group="example.com") == {(): 3}
    assert await samples(api, "apiserver_storage_objects", resource="customresourcedefinitions.apiextensions.k8s.io")
    assert await samples(api, "apiserver_watch_events_total", **PLACE) == {(): 3}


async def test_objects_of_two_versions_are_counted_once(api, customs, definition):
    first = definition()["spec"]["versions"][0]
    await customs.define(versions=[first, first | {"name": "v2", "storage": False}])
    await api.post(HERE, widget("a"))
    await api.post(HERE.replace("v1", "v2"), widget("b") | {"apiVersion": "example.com/v2"})
    assert await samples(api, "apiserver_storage_objects", resource="widgets.example.com") == {(): 2}


async def test_a_version_that_is_stored_and_not_served_is_counted(api, customs, definition):
    first = definition()["spec"]["versions"][0]
    made = await customs.define(versions=[first, first | {"name": "v2", "storage": False}])
    await api.post(HERE, widget("a"))
    versions = [made["spec"]["versions"][0] | {"served": False}, made["spec"]["versions"][1]]
    await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": versions}})
    while (await api.get(HERE)).code != 404:
        pass
    assert (await api.get(f"{HERE.replace('v1', 'v2')}/a")).json["apiVersion"] == "example.com/v2"
    assert await samples(api, "apiserver_storage_objects", resource="widgets.example.com") == {(): 1}


async def test_a_kind_that_is_gone_is_not_counted(api, customs):
    await customs.define()
    await api.post(HERE, widget("a"))
    await api.delete(f"{CRDS}/widgets.example.com")
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)
    while (await api.get(HERE)).code != 404:
        pass
    assert await samples(api, "apiserver_storage_objects", resource="widgets.example.com") == {}
