"""A definition changes while requests and watches of its kind are under way, and while objects of it are stored."""

import asyncio
import json
from urllib.parse import urlsplit

import pytest
from patience import SECONDS

from apiserver.config import Config

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = f"{CRDS}/widgets.example.com"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
LONG = "v1alpha1"
THERE = f"/apis/example.com/{LONG}/namespaces/default/widgets"
FIELDS = {"size": {"type": "integer"}, "colour": {"type": "string"}}


def version(name, *, storage, **fields):
    spec = {"type": "object", "properties": fields or FIELDS}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def widget(name, served="v1"):
    spec = {"size": 1, "colour": "red"}
    return {"apiVersion": f"example.com/{served}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def versions(stored):
    return [version(name, storage=name == stored) for name in ("v1", LONG)]


async def stores(api, stored):
    """Have objects stored in a version from now on."""
    reply = await api.patch(PLACE, {"spec": {"versions": versions(stored)}})
    assert reply.code == 200, reply.text


@pytest.fixture
async def durable(opened, tmp_path):
    """A client of a server whose writes take the time of a file, so that others come in between."""
    async with opened(Config(store=f"sqlite://{tmp_path / 'store'}")) as api:
        yield api


@pytest.fixture
def define(definition):
    async def defined(api, **spec):
        assert (await api.post(CRDS, definition(**spec))).code == 201
        async with asyncio.timeout(SECONDS):
            while (await api.get(HERE)).code != 200:
                pass

    return defined


async def test_what_is_written_while_the_stored_version_changes_stays_whole(durable, define):
    await define(durable, versions=versions("v1"))
    names = [f"w{number}" for number in range(150)]

    async def create(number, name):
        await asyncio.sleep(number / 1000)
        served = ("v1", LONG)[number % 2]
        made = await durable.post(THERE if number % 2 else HERE, widget(name, served))
        assert made.code == 201, made.text
        assert made.json["spec"] == {"size": 1, "colour": "red"}

    async def change():
        for number in range(20):
            await stores(durable, (LONG, "v1")[number % 2])
            await asyncio.sleep(0.005)

    async with asyncio.TaskGroup() as group:
        for number, name in enumerate(names):
            group.create_task(create(number, name))
        group.create_task(change())
    for path, served in ((HERE, "v1"), (THERE, LONG)):
        listed = (await durable.get(path)).json
        assert {each["metadata"]["name"] for each in listed["items"]} == {*names}
        for name in names:
            body = (await durable.get(f"{path}/{name}")).json
            assert (body["apiVersion"], body["spec"]) == (f"example.com/{served}", {"size": 1, "colour": "red"})


async def begun(api, path, body):
    """A request whose body is still to come, once the server has bound its path; gives what sends the body."""
    url = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    token = api.session.headers["Authorization"]
    head = [f"POST {path} HTTP/1.1", "Host: a", f"Authorization: {token}", "Content-Type: application/json"]
    writer.write("\r\n".join([*head, f"Content-Length: {len(body)}", "Connection: close", "", ""]).encode())
    async with asyncio.timeout(SECONDS):
        while not api.running.registry.storage or await api.metrics("apiserver_current_inflight_requests", "mut") < 1:
            pass

    async def finish():
        writer.write(body)
        answer = await reader.read()
        writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(rest)

    return finish


async def test_a_request_whose_body_comes_after_the_stored_version_has_changed_is_stored_in_the_new_one(
    api, customs, define
):
    await define(api, versions=versions("v1"))
    finish = await begun(api, HERE, json.dumps(widget("slow")).encode())
    await stores(api, LONG)
    code, made = await finish()
    assert (code, made["metadata"]["name"]) == (201, "slow")
    assert (await api.post(THERE, widget("quick", LONG))).code == 201
    for path in (HERE, THERE):
        for name in ("slow", "quick"):
            assert (await api.get(f"{path}/{name}")).json["spec"] == {"size": 1, "colour": "red"}
    assert [each["spec"] for each in (await api.get(HERE)).json["items"]] == [{"size": 1, "colour": "red"}] * 2


async def test_a_request_whose_body_comes_after_its_definition_has_gone_finds_nothing(api, customs, define, caplog):
    await define(api)
    finish = await begun(api, HERE, json.dumps(widget("slow")).encode())
    await api.delete(PLACE)
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)
    code, answer = await finish()
    assert (code, answer["kind"], answer["reason"]) == (404, "Status", "NotFound")
    assert not caplog.records
    await define(api)
    assert (await api.get(HERE)).json["items"] == []


async def test_a_watch_ends_with_its_definition_after_it_has_told_that_all_is_gone(api, customs, define):
    await define(api)
    await api.post(HERE, widget("a"))
    async with api.watch(f"{HERE}?watch=1") as watched:
        await watched.take(1)
        await api.delete(PLACE)
        assert [event["type"] for event in await watched.rest()] == ["DELETED"]


@pytest.mark.parametrize("form", ["application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"])
async def test_a_watch_ends_when_its_kind_changes_so_that_the_next_one_sees_the_change(api, customs, define, form):
    await define(api, versions=versions("v1"))
    made = await api.post(HERE, widget("a"))
    async with api.watch(f"{HERE}?watch=1&resourceVersion={made.version}", Accept=form) as watched:
        await stores(api, LONG)
        assert await watched.rest() == []
    async with api.watch(f"{HERE}?watch=1&resourceVersion={made.version}", Accept=form) as watched:
        await api.post(THERE, widget("b", LONG))
        (event,) = await watched.take(1)
    assert event["type"] == "ADDED"


async def test_watches_of_other_kinds_and_of_what_stays_as_it_is_go_on(api, customs, define):
    await define(api)
    await customs.define(plural="wodgets", kind="Wodget", names={"shortNames": []})
    async with api.watch(f"{HERE}?watch=1") as watched, api.watch("/api/v1/configmaps?watch=1") as built_in:
        await api.patch(f"{CRDS}/wodgets.example.com", {"spec": {"names": {"shortNames": ["wo"]}}})
        await api.patch(PLACE, {"metadata": {"labels": {"a": "b"}}})
        await customs.until(
            "wodgets.example.com", lambda reply: reply.json["status"]["acceptedNames"].get("shortNames") == ["wo"]
        )
        await api.post(HERE, widget("a"))
        await api.make("b")
        assert [event["object"]["metadata"]["name"] for event in await watched.take(1)] == ["a"]
        assert (await built_in.take(1))[0]["type"] == "ADDED"


async def test_objects_that_a_new_schema_would_refuse_stay_and_are_read(api, customs, define):
    await define(api)
    await api.post(HERE, widget("a"))
    narrower = {"size": {"type": "integer", "minimum": 5}, "weight": {"type": "integer", "default": 7}}
    await api.patch(PLACE, {"spec": {"versions": [version("v1", storage=True, **narrower)]}})
    async with asyncio.timeout(SECONDS):
        while (body := (await api.get(f"{HERE}/a")).json)["spec"] == {"size": 1, "colour": "red"}:
            pass
    assert body["spec"] == {"size": 1, "weight": 7}, "pruned, and with the new default"
    assert (await api.patch(f"{HERE}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200, "ratcheting"
    refused = await api.patch(f"{HERE}/a", {"spec": {"size": 2}})
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "spec.size")
