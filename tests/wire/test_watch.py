"""wire.md, section 4: watches, over HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from patience import SECONDS

from apiserver.config import Config

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=1"


async def watches(api, count: int) -> bool:
    return bool(await api.watches() == count)


def types_and_names(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


# Where a watch starts.


@pytest.mark.parametrize("start", ["", "&resourceVersion=", "&resourceVersion=0"])
async def test_a_watch_from_anywhere_begins_with_what_there_is(api, start: str) -> None:
    await api.make("b", "a")
    async with api.watch(WATCH + start) as watched:
        assert types_and_names(await watched.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        await api.make("c")
        assert types_and_names(await watched.take(1)) == [("ADDED", "c")]


async def test_a_watch_from_a_version_tells_only_what_comes_after_it(api) -> None:
    first, second = await api.make("a", "b")
    await api.delete(f"{CONFIG_MAPS}/a")
    async with api.watch(f"{WATCH}&resourceVersion={first.version}") as watched:
        assert types_and_names(await watched.take(2)) == [("ADDED", "b"), ("DELETED", "a")]
    async with api.watch(f"{WATCH}&resourceVersion={second.version}") as watched:
        assert types_and_names(await watched.take(1)) == [("DELETED", "a")]


async def test_a_watch_from_a_version_that_is_compacted_is_one_error_event(api) -> None:
    made = await api.make("a", "b", "c")
    await api.running.registry.storage.store.compact(int(made[2].version))
    async with api.watch(f"{WATCH}&resourceVersion={made[0].version}") as watched:
        (event,) = await watched.rest()
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"] == f"too old resource version: {made[0].version} ({made[2].version})"


async def test_a_watch_from_a_version_to_come_waits_for_it(api) -> None:
    (made,) = await api.make("a")
    async with api.watch(f"{WATCH}&resourceVersion={int(made.version) + 1}") as watched:
        await api.make("b", "c")
        assert types_and_names(await watched.take(1)) == [("ADDED", "c")]


@pytest.mark.parametrize("version", ["-1", "abc", "1.5", "0x1"])
async def test_an_invalid_version_is_refused_before_the_stream_begins(api, version: str) -> None:
    reply = await api.get(f"{WATCH}&resourceVersion={version}")
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")


async def test_the_versions_of_events_are_those_of_the_writes(api) -> None:
    async with api.watch(f"{WATCH}&resourceVersion={api.now}&fieldSelector=metadata.name=a") as watched:
        (made,) = await api.make("a")
        patched = await api.patch(f"{CONFIG_MAPS}/a", {"data": {"a": "b"}})
        await api.delete(f"{CONFIG_MAPS}/a")
        after = await api.get(CONFIG_MAPS)
        events = await watched.take(3)
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[0]["object"] == made.json
    assert events[1]["object"] == patched.json
    gone = events[2]["object"]
    assert gone["metadata"]["resourceVersion"] == after.version
    assert int(after.version) > int(patched.version)
    assert gone["data"] == {"a": "b"}


# Selectors.


@pytest.mark.parametrize(
    "selector", ["labelSelector=color=red", "labelSelector=color,color!=blue", "labelSelector=color in (red,green)"]
)
async def test_who_begins_to_match_is_added_and_who_stops_is_deleted(api, selector: str) -> None:
    async with api.watch(f"{WATCH}&resourceVersion={api.now}&{selector.replace(' ', '%20')}") as watched:
        await api.make("a")
        path = f"{CONFIG_MAPS}/a"
        for color in ("red", "red", "blue", "red"):
            changed = await api.patch(path, {"metadata": {"labels": {"color": color}}, "data": {"n": color}})
        await api.patch(path, {"data": {"n": "more"}})
        removed = await api.patch(path, {"metadata": {"labels": None}})
        await api.delete(path)
        events = await watched.take(5)
    assert changed.code == 200
    assert [event["type"] for event in events] == ["ADDED", "DELETED", "ADDED", "MODIFIED", "DELETED"]
    last = events[-1]["object"]
    assert last["metadata"]["labels"] == {"color": "red"}
    assert last["data"] == {"n": "more"}
    assert last["metadata"]["resourceVersion"] == removed.version


async def test_field_selectors_hold_for_what_there_is_and_for_what_comes(api) -> None:
    pod = {"spec": {"containers": [{"name": "a", "image": "a"}]}}
    pods = "/api/v1/namespaces/default/pods"
    await api.make("here", "there", path=pods, **pod)
    async with api.watch(f"{pods}?watch=1&fieldSelector=spec.nodeName=one") as watched:
        for name, node in (("there", "two"), ("here", "one")):
            target = {"target": {"kind": "Node", "name": node}, "metadata": {"name": name}}
            assert (await api.post(f"{pods}/{name}/binding", target)).code == 201
        assert types_and_names(await watched.take(1)) == [("ADDED", "here")]
        await api.delete(f"{pods}/here?gracePeriodSeconds=0")
        assert types_and_names(await watched.take(2)) == [("MODIFIED", "here"), ("DELETED", "here")]


async def test_a_field_that_cannot_be_selected_is_refused(api) -> None:
    reply = await api.get(f"{WATCH}&fieldSelector=data.a=b")
    assert reply.code == 400
    assert "data.a" in reply.message


async def test_a_watch_of_one_namespace_sees_no_other(api) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "default2"}})
    async with api.watch(f"{WATCH}&resourceVersion={api.now}") as watched:
        await api.make("other", path="/api/v1/namespaces/default2/configmaps")
        await api.make("mine")
        assert types_and_names(await watched.take(1)) == [("ADDED", "mine")]


# Forms.


async def test_a_watch_of_tables_names_its_columns_once(api) -> None:
    await api.make("a", data={"x": "y"})
    table = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
    async with api.watch(WATCH, Accept=table) as watched:
        await api.make("b")
        first, second = (event["object"] for event in await watched.take(2))
        await api.delete(f"{CONFIG_MAPS}/a")
        (gone,) = await watched.take(1)
    assert watched.response.headers["Content-Type"] == "application/json"
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert first["rows"][0]["cells"][:2] == ["a", 1]
    assert first["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert not second["columnDefinitions"]
    assert second["rows"][0]["cells"][:2] == ["b", 0]
    assert (gone["type"], gone["object"]["kind"]) == ("DELETED", "Table")
    assert gone["object"]["rows"][0]["cells"][:2] == ["a", 1]


async def test_a_watch_of_metadata_has_nothing_else(api) -> None:
    form = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    async with api.watch(WATCH, Accept=form) as watched:
        await api.make("a", data={"x": "y"})
        (event,) = await watched.take(1)
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert event["object"]["apiVersion"] == "meta.k8s.io/v1"
    assert event["object"].keys() == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize("accept", ["application/yaml", "application/vnd.kubernetes.protobuf;stream=watch"])
async def test_a_form_that_cannot_be_streamed_is_not_acceptable(api, accept: str) -> None:
    reply = await api.get(WATCH, Accept=accept)
    assert reply.code == 406
    assert b"NotAcceptable" in reply.raw


async def test_a_watch_may_prefer_protobuf_and_take_json(api) -> None:
    await api.make("a")
    accept = "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch"
    async with api.watch(WATCH, Accept=accept) as watched:
        assert types_and_names(await watched.take(1)) == [("ADDED", "a")]


# Other ways to ask.


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/api/v1/watch/namespaces/default/configmaps", ["a", "b"]),
        ("/api/v1/watch/configmaps", ["a", "b"]),
        ("/api/v1/watch/namespaces/default/configmaps/b", ["b"]),
        ("/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Db", ["b"]),
    ],
)
async def test_older_ways_to_watch(api, path: str, names: list[str]) -> None:
    await api.make("a", "b")
    async with api.watch(path) as watched:
        assert types_and_names(await watched.take(len(names))) == [("ADDED", name) for name in names]


@pytest.mark.parametrize("version", ["", "&resourceVersion=0"])
async def test_a_watch_of_what_there_is_goes_on_from_no_list(api, version: str) -> None:
    refused = await api.get(f"{WATCH}&continue=x{version}")
    why = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
    assert (refused.code, refused.message) == (422, f'ListOptions.meta.k8s.io "" is invalid: {why}')


@pytest.mark.parametrize("selector", ["metadata.name%3Db", "metadata.name!%3Da", "metadata.namespace%3Ddefault"])
async def test_who_watches_an_object_by_its_path_selects_it_or_nothing(api, selector: str) -> None:
    await api.make("a")
    path = "/api/v1/watch/namespaces/default/configmaps/a"
    refused = await api.get(f"{path}?fieldSelector={selector}")
    assert (refused.code, refused.message) == (400, "fieldSelector metadata.name doesn't match requested name")
    async with api.watch(f"{path}?fieldSelector=metadata.name%3Da&timeoutSeconds=1") as watched:
        assert [event["object"]["metadata"]["name"] for event in await watched.rest()] == ["a"]


async def test_the_prefix_takes_get_alone(api) -> None:
    assert (await api.post("/api/v1/watch/configmaps", {})).code == 405


async def test_the_prefix_leads_to_no_subresource(api) -> None:
    assert (await api.get("/api/v1/watch/namespaces/default/pods/a/status")).code == 404


async def test_a_websocket_watch_sends_one_message_for_each_event(api, eventually) -> None:
    await api.make("a")
    async with api.session.ws_connect(f"{api.url}{WATCH}") as socket:
        assert json.loads((await socket.receive()).data)["object"]["metadata"]["name"] == "a"
        await api.make("b", "c")
        events = [json.loads((await socket.receive()).data) for _ in range(2)]
        assert types_and_names(events) == [("ADDED", "b"), ("ADDED", "c")]
    assert await api.metrics("apiserver_watch_events_total", 'resource="configmaps"') == 3
    await eventually(lambda: watches(api, 0))


async def test_a_websocket_watch_that_is_too_old_says_so_in_a_message(api) -> None:
    made = await api.make("a", "b", "c")
    await api.running.registry.storage.store.compact(int(made[2].version))
    async with api.session.ws_connect(f"{api.url}{WATCH}&resourceVersion={made[0].version}") as socket:
        event = json.loads((await socket.receive()).data)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE


async def test_a_websocket_watch_whose_client_breaks_off_ends_in_silence(api, eventually, caplog) -> None:
    socket = await api.session.ws_connect(f"{api.url}{WATCH}")
    await eventually(lambda: watches(api, 1))
    socket._response.connection.transport.abort()
    await api.make(*(f"a{n}" for n in range(5)))
    await eventually(lambda: watches(api, 0))
    assert not caplog.records


async def test_a_client_of_http_1_0_gets_lines_until_the_connection_closes(api) -> None:
    await api.make("a")
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    head = f"GET {WATCH}&timeoutSeconds=1 HTTP/1.0\r\nAuthorization: Bearer of-the-administrator\r\n\r\n"
    writer.write(head.encode())
    answer = await asyncio.wait_for(reader.read(), SECONDS)
    writer.close()
    fields, _, body = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in fields.lower()
    assert types_and_names([json.loads(line) for line in body.splitlines()]) == [("ADDED", "a")]


async def test_the_head_of_a_quiet_watch_comes_at_once_and_is_chunked(api) -> None:
    async with asyncio.timeout(SECONDS), api.watch(WATCH) as watched:
        headers = watched.response.headers
        assert headers["Transfer-Encoding"] == "chunked"
        assert headers["Content-Type"] == "application/json"
        assert headers["Cache-Control"] == "no-cache, private"
        assert headers["Audit-Id"]


async def test_what_cannot_be_watched_is_405(api) -> None:
    reply = await api.get("/api/v1/componentstatuses?watch=1")
    assert (reply.code, reply.json["reason"]) == (405, "MethodNotAllowed")


async def test_a_timeout_ends_the_stream_cleanly(api) -> None:
    await api.make("a")
    async with asyncio.timeout(SECONDS), api.watch(f"{WATCH}&timeoutSeconds=1") as watched:
        assert types_and_names(await watched.rest()) == [("ADDED", "a")]


@pytest.mark.parametrize("seconds", ["x", "1.5"])
async def test_a_timeout_that_is_no_number_is_refused(api, seconds: str) -> None:
    assert (await api.get(f"{WATCH}&timeoutSeconds={seconds}")).code == 400


# Nothing is lost, doubled or out of order.


@pytest.mark.parametrize("store", ["memory://", "sqlite://{}"])
async def test_whoever_connects_while_others_write_misses_nothing(opened, tmp_path: Path, store: str) -> None:
    """Lists and goes on from the list's version, or begins with the state: each key's story is whole."""
    config = Config(store=store.format(tmp_path))
    async with opened(config) as api, asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for key in range(KEYS):
            group.create_task(write(api, f"{CONFIG_MAPS}/k{key}"))
        followers = []
        for number in range(20):
            followers.append(group.create_task(follow(api, listing=number % 2 == 0)))
            await api.get("/version")
    whole = [f"gone{n - 1}" if n % 10 == 9 else str(n) for n in range(TURNS)]
    for follower in followers:
        story = follower.result()
        assert len(story) == KEYS
        for turns in story.values():
            assert turns == whole[len(whole) - len(turns) :]


KEYS, TURNS = 6, 29


async def write(api, path: str) -> None:
    """Make an object, change it, delete it, and make it again, twice; in the end it is there."""
    for turn in range(TURNS):
        data = {"data": {"n": str(turn)}}
        if turn % 10 == 9:
            await api.delete(path)
        elif turn % 10 == 0:
            await api.make(path.rpartition("/")[2], **data)
        else:
            await api.patch(path, data)


async def follow(api, *, listing: bool) -> dict[str, list[str]]:
    """Return the history of each key, up to the final state of all."""
    start, story, newest = "0", {}, 0
    if listing:
        page = (await api.get(CONFIG_MAPS)).json
        start = page["metadata"]["resourceVersion"]
        story = {item["metadata"]["name"]: [item["data"]["n"]] for item in page["items"]}
    async with api.watch(f"{WATCH}&resourceVersion={start}") as watched:
        while not all(story.get(f"k{key}", [""])[-1] == str(TURNS - 1) for key in range(KEYS)):
            (event,) = await watched.take(1)
            meta, turn = event["object"]["metadata"], event["object"]["data"]["n"]
            if listing or event["type"] != "ADDED":
                assert int(meta["resourceVersion"]) > newest
                newest = int(meta["resourceVersion"])
            story.setdefault(meta["name"], []).append(f"gone{turn}" if event["type"] == "DELETED" else turn)
    return story


async def test_compaction_that_overtakes_a_slow_reader_ends_its_watch_with_410(api) -> None:
    """It reads again later: a run of events without a gap, and then the error."""
    padding = "x" * 20_000
    store = api.running.registry.storage.store
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port, limit=2**16)
    head = f"GET {WATCH}&resourceVersion={api.now} HTTP/1.0\r\nAuthorization: Bearer of-the-administrator\r\n\r\n"
    writer.write(head.encode())
    await asyncio.wait_for(reader.readline(), SECONDS)
    transport = cast("asyncio.Transport", writer.transport)
    transport.pause_reading()
    made = [(await api.make(f"a{n}", data={"x": padding}))[0] for n in range(1500)]
    await store.compact(int(made[-1].version))
    transport.resume_reading()
    answer = await asyncio.wait_for(reader.read(), SECONDS)
    writer.close()
    events = [json.loads(line) for line in answer.partition(b"\r\n\r\n")[2].splitlines()]
    assert (events[-1]["type"], events[-1]["object"]["code"]) == ("ERROR", 410)
    versions = [event["object"]["metadata"]["resourceVersion"] for event in events[:-1]]
    assert versions == [each.version for each in made[: len(versions)]]
    assert len(versions) < len(made)


@pytest.mark.parametrize(
    "missing", ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Connection: Upgrade"]
)
async def test_half_a_websocket_request_has_an_answer(api, missing: str, caplog) -> None:
    lines = [
        f"GET {WATCH}&timeoutSeconds=1 HTTP/1.1",
        "Host: a",
        "Authorization: Bearer of-the-administrator",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", api.running.port)
    writer.write(("\r\n".join(line for line in lines if line != missing) + "\r\n\r\n").encode())
    code = (await asyncio.wait_for(reader.readline(), SECONDS)).split()[1]
    writer.close()
    assert code == (b"200" if missing.startswith("Connection") else b"400")
    assert not caplog.records
