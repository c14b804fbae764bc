"""wire.md, section 4.5: a list by way of a watch (KEP-3157), as client-go 0.35 and newer begin."""

import asyncio
from typing import Any

import pytest
from patience import SECONDS

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=1"
LIST = f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
END = {"k8s.io/initial-events-end": "true"}


def types_and_names(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


@pytest.mark.parametrize("start", ["", "&resourceVersion=", "&resourceVersion=0", "&resourceVersion=1"])
async def test_the_state_comes_as_added_events_and_then_the_bookmark_that_ends_them(api, start: str) -> None:
    await api.make("b", "a")
    async with api.watch(LIST + start) as watched:
        *added, end = await watched.take(3)
        assert types_and_names(added) == [("ADDED", "a"), ("ADDED", "b")]
        assert end == {
            "type": "BOOKMARK",
            "object": {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": str(api.now), "annotations": END},
            },
        }
        await api.make("c")
        await api.delete(f"{CONFIG_MAPS}/a")
        assert types_and_names(await watched.take(2)) == [("ADDED", "c"), ("DELETED", "a")]


async def test_an_empty_state_has_its_end_too(api) -> None:
    async with api.watch(LIST) as watched:
        (end,) = await watched.take(1)
    assert (end["type"], end["object"]["metadata"]["annotations"]) == ("BOOKMARK", END)


async def test_selectors_hold_and_the_end_comes_though_nothing_matches(api) -> None:
    await api.make("a")
    await api.post(CONFIG_MAPS, {"metadata": {"name": "b", "labels": {"x": "y"}}})
    async with api.watch(f"{LIST}&labelSelector=x%3Dy") as watched:
        assert types_and_names(await watched.take(2)) == [("ADDED", "b"), ("BOOKMARK", "")]
    async with api.watch(f"{LIST}&fieldSelector=metadata.name%3Dzzz") as watched:
        assert types_and_names(await watched.take(1)) == [("BOOKMARK", "")]


async def test_of_metadata_alone(api) -> None:
    await api.make("a", data={"x": "y"})
    async with api.watch(LIST, Accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1") as watched:
        added, end = await watched.take(2)
    assert added["object"].keys() == {"kind", "apiVersion", "metadata"}
    assert end["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(api.now), "annotations": END},
    }


async def test_as_tables(api) -> None:
    await api.make("a")
    async with api.watch(LIST, Accept="application/json;as=Table;g=meta.k8s.io;v=v1") as watched:
        added, end = await watched.take(2)
    assert added["object"]["rows"][0]["cells"][0] == "a"
    assert end["object"]["kind"] == "Table"
    assert end["object"]["rows"][0]["object"]["metadata"]["annotations"] == END


async def test_without_bookmarks_the_state_comes_and_nobody_says_where_it_ends(api) -> None:
    await api.make("a")
    asked = f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    async with api.watch(asked) as watched:
        assert types_and_names(await watched.rest()) == [("ADDED", "a")]


async def test_without_initial_events_a_watch_begins_now(api) -> None:
    await api.make("a")
    async with api.watch(LIST.replace("=true&res", "=false&res")) as watched:
        await api.make("b")
        assert types_and_names(await watched.take(1)) == [("ADDED", "b")]


async def test_a_version_to_come_is_waited_for(api, eventually) -> None:
    (made,) = await api.make("a")

    async def listed() -> list[Any]:
        async with api.watch(f"{LIST}&resourceVersion={int(made.version) + 1}") as watched:
            events: list[Any] = await watched.take(3)
            return events

    async def is_asked() -> bool:
        return bool(await api.watches() == 1)

    async with asyncio.TaskGroup() as group, asyncio.timeout(SECONDS):
        events = group.create_task(listed())
        await eventually(is_asked)
        await api.make("b")
    assert types_and_names(events.result()) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]


@pytest.mark.looptime
async def test_a_version_that_does_not_come_is_an_error_event(api) -> None:
    async with api.watch(f"{LIST}&resourceVersion=1000000") as watched:
        (event,) = await watched.rest(1000)
    status = event["object"]
    assert (event["type"], status["code"], status["reason"]) == ("ERROR", 504, "Timeout")
    assert status["message"] == f"Timeout: Too large resource version: 1000000, current: {api.now}"
    assert status["details"] == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }


REQUIRES = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
UNLESS = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("watch=1&sendInitialEvents=true", [REQUIRES]),
        ("watch=1&sendInitialEvents=false", [REQUIRES]),
        ("watch=1&resourceVersionMatch=NotOlderThan", [UNLESS]),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
            [REQUIRES, 'Unsupported value: "Exact": supported values: "NotOlderThan"'],
        ),
        (
            "watch=1&resourceVersionMatch=Exact",
            [UNLESS, 'Unsupported value: "Exact": supported values: "NotOlderThan"'],
        ),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
            ["Forbidden: resourceVersionMatch is forbidden when continue is provided"],
        ),
    ],
)
async def test_pairs_that_mean_nothing_are_422(api, query: str, wrong: list[str]) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?{query}")
    assert (reply.code, reply.json["reason"]) == (422, "Invalid")
    causes = [f"resourceVersionMatch: {each}" for each in wrong]
    expected = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    assert reply.message == f'ListOptions.meta.k8s.io "" is invalid: {expected}'


async def test_initial_events_of_a_list_are_422(api) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?sendInitialEvents=true")
    assert reply.code == 422
    assert "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list" in reply.message
