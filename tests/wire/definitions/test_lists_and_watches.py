"""Custom objects are listed and watched like any others: selectors, pages, forms, bookmarks, and lists by a watch."""

import asyncio

import pytest

HERE = "/apis/example.com/v1/namespaces/default/widgets"
EVERYWHERE = "/apis/example.com/v1/widgets"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
END = {"k8s.io/initial-events-end": "true"}


def widget(name, **labels):
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": {"size": len(name)}}


@pytest.fixture
async def widgets(api, customs):
    """Three objects in one namespace, and one in another."""
    await customs.define(version={"selectableFields": [{"jsonPath": ".spec.size"}], "subresources": {"status": {}}})
    for name, shade in (("a", "dark"), ("b", "light"), ("ccc", "dark")):
        assert (await api.post(HERE, widget(name, shade=shade))).code == 201
    await api.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
    assert (await api.post(HERE.replace("default", "other"), widget("d", shade="dark"))).code == 201
    return api


def names(listed):
    return [each["metadata"]["name"] for each in listed["items"]]


def types_and_names(events):
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def test_a_list_has_its_own_kind_and_so_has_each_item(widgets):
    listed = (await widgets.get(EVERYWHERE)).json
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", "example.com/v1")
    assert {(each["kind"], each["apiVersion"]) for each in listed["items"]} == {("Widget", "example.com/v1")}
    assert names(listed) == ["a", "b", "ccc", "d"]
    assert listed["metadata"]["resourceVersion"] == str(widgets.now)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("labelSelector=shade=dark", ["a", "ccc", "d"]),
        ("labelSelector=shade notin (dark)", ["b"]),
        ("labelSelector=!shade", []),
        ("fieldSelector=metadata.namespace=other", ["d"]),
        ("fieldSelector=metadata.name!=a", ["b", "ccc", "d"]),
        ("fieldSelector=spec.size=1", ["a", "b", "d"]),
        ("fieldSelector=spec.size=1&labelSelector=shade=dark", ["a", "d"]),
    ],
)
async def test_selectors_select_lists_and_what_a_collection_loses(widgets, query, expected):
    assert names((await widgets.get(f"{EVERYWHERE}?{query}")).json) == expected
    here = [name for name in expected if name != "d"]
    deleted = await widgets.delete(f"{HERE}?{query}")
    assert (deleted.json["kind"], names(deleted.json)) == ("WidgetList", here)
    assert names((await widgets.get(EVERYWHERE)).json) == [n for n in ("a", "b", "ccc", "d") if n not in here]


async def test_pages_are_of_one_snapshot(widgets):
    first = (await widgets.get(f"{EVERYWHERE}?limit=2")).json
    await widgets.delete(f"{HERE}/ccc")
    await widgets.post(HERE, widget("cc"))
    rest = (await widgets.get(f"{EVERYWHERE}?limit=2&continue={first['metadata']['continue']}")).json
    assert names(first) + names(rest) == ["a", "b", "ccc", "d"]
    assert (first["metadata"]["remainingItemCount"], rest["metadata"]["continue"]) == (2, ""), "lists say so of customs"
    old = (await widgets.get(f"{EVERYWHERE}?resourceVersionMatch=Exact&resourceVersion={widgets.now - 2}")).json
    assert names(old) == ["a", "b", "ccc", "d"]


async def test_metadata_alone_is_to_be_had_of_one_of_all_and_of_what_comes(widgets):
    one = (await widgets.get(f"{HERE}/a", Accept=METADATA)).json
    assert one.keys() == {"kind", "apiVersion", "metadata"}
    assert (one["kind"], one["metadata"]["labels"]) == ("PartialObjectMetadata", {"shade": "dark"})
    listed = (await widgets.get(HERE, Accept=METADATA_LIST)).json
    assert listed["kind"] == "PartialObjectMetadataList"
    assert all(each.keys() == {"kind", "apiVersion", "metadata"} for each in listed["items"])
    async with widgets.watch(f"{HERE}?watch=1&resourceVersion={widgets.now}", Accept=METADATA) as watched:
        await widgets.post(HERE, widget("e"))
        (event,) = await watched.take(1)
    assert (event["type"], event["object"]["kind"]) == ("ADDED", "PartialObjectMetadata")


async def test_as_yaml_it_is_the_same(widgets):
    reply = await widgets.get(f"{HERE}/a", Accept="application/yaml")
    assert reply.headers["Content-Type"] == "application/yaml"
    assert reply.text.startswith("apiVersion: example.com/v1\nkind: Widget\nmetadata:\n")


async def test_protobuf_is_not_to_be_had(widgets):
    refused = await widgets.get(f"{HERE}/a", Accept="application/vnd.kubernetes.protobuf")
    assert refused.code == 406
    both = await widgets.get(f"{HERE}/a", Accept="application/vnd.kubernetes.protobuf,application/json")
    assert both.json["kind"] == "Widget"


async def test_a_list_by_way_of_a_watch_ends_with_a_bookmark_of_the_kind(widgets):
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with widgets.watch(f"{HERE}?{query}&labelSelector=shade=dark") as watched:
        *added, end = await watched.take(3)
        assert types_and_names(added) == [("ADDED", "a"), ("ADDED", "ccc")]
        meta = {"resourceVersion": str(widgets.now), "annotations": END}
        bookmark = {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": meta}
        assert end == {"type": "BOOKMARK", "object": bookmark}
        await widgets.patch(f"{HERE}/a", {"metadata": {"labels": {"shade": "light"}}})
        await widgets.patch(f"{HERE}/b", {"metadata": {"labels": {"shade": "dark"}}})
        await widgets.patch(f"{HERE}/b/status", {"status": {"size": 1}})
        assert types_and_names(await watched.take(3)) == [("DELETED", "a"), ("ADDED", "b"), ("MODIFIED", "b")]


@pytest.mark.looptime
async def test_bookmarks_tell_how_far_a_quiet_watch_has_come(widgets):
    path = f"{HERE}?watch=1&resourceVersion={widgets.now}&allowWatchBookmarks=true&timeoutSeconds=61"
    async with widgets.watch(path) as watched:
        (elsewhere,) = await widgets.make("a")
        (bookmark,) = await watched.rest(9000.0)
    meta = {"resourceVersion": elsewhere.version}
    assert bookmark["object"] == {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": meta}


async def test_a_watch_from_a_version_that_is_compacted_is_told_so(widgets):
    before = widgets.now
    await widgets.post(HERE, widget("e"))
    await widgets.running.registry.storage.store.compact(widgets.now)
    async with widgets.watch(f"{HERE}?watch=1&resourceVersion={before - 3}") as watched:
        (event,) = await watched.rest()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_every_watcher_of_every_version_sees_every_change_once(api, customs, definition):
    versions = [definition()["spec"]["versions"][0] | {"name": name, "storage": name == "v1"} for name in ("v1", "v2")]
    await customs.define(versions=versions)

    async def watch(served):
        async with api.watch(f"{EVERYWHERE.replace('v1', served)}?watch=1") as watched:
            events = await watched.take(90)
        assert {event["object"]["apiVersion"] for event in events} == {f"example.com/{served}"}
        revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
        return [(*each, revision) for each, revision in zip(types_and_names(events), revisions, strict=True)]

    async def write(number):
        path = HERE if number % 2 else HERE.replace("v1", "v2")
        made = widget(f"w{number}") | {"apiVersion": f"example.com/{'v1' if number % 2 else 'v2'}"}
        await api.post(path, made)
        await api.patch(f"{path}/w{number}", {"spec": {"size": 0}})
        await api.delete(f"{path}/w{number}")

    async with asyncio.TaskGroup() as group:
        watches = [group.create_task(watch(served)) for served in ("v1", "v1", "v2")]
        while await api.watches() < 3:
            pass
        writes = [group.create_task(write(number)) for number in range(30)]
    assert all(write.done() for write in writes)
    first, *others = [task.result() for task in watches]
    assert all(other == first for other in others)
    assert [revision for *_, revision in first] == sorted({revision for *_, revision in first})
    for number in range(30):
        of_writer = [word for word, name, _ in first if name == f"w{number}"]
        assert of_writer == ["ADDED", "MODIFIED", "DELETED"]
