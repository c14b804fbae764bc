"""wire.md, section 4: bookmarks and how long a watch lasts; the loop's time is made, so that an hour takes no time."""

import asyncio
from typing import Any

import pytest

from apiserver.endpoints.watch_stream import default_seconds

WATCH = "/api/v1/namespaces/default/configmaps?watch=1"
HOURS = 9000.0

pytestmark = pytest.mark.looptime


async def timed(watched: Any) -> list[tuple[str, str, int]]:
    """Type, version and second of all events until the end."""
    begin, item = asyncio.get_running_loop().time(), []
    while (event := await watched.next(HOURS)) is not None:
        after = asyncio.get_running_loop().time() - begin
        item.append((event["type"], event["object"]["metadata"]["resourceVersion"], round(after)))
    return item


async def test_bookmarks_come_every_minute_and_two_seconds_before_the_end(api) -> None:
    (made,) = await api.make("a")
    async with api.watch(f"{WATCH}&allowWatchBookmarks=true&timeoutSeconds=150") as watched:
        assert await timed(watched) == [
            ("ADDED", made.version, 0),
            *(("BOOKMARK", made.version, after) for after in (60, 120, 148)),
        ]


async def test_a_bookmark_has_kind_and_version_alone_and_is_as_new_as_the_store(api) -> None:
    async with api.watch(f"{WATCH}&allowWatchBookmarks=true&timeoutSeconds=10") as watched:
        (elsewhere,) = await api.make("a", path="/api/v1/namespaces/kube-system/configmaps")
        assert await watched.rest(HOURS) == [
            {
                "type": "BOOKMARK",
                "object": {
                    "kind": "ConfigMap",
                    "apiVersion": "v1",
                    "metadata": {"resourceVersion": elsewhere.version},
                },
            }
        ]


@pytest.mark.parametrize("options", ["", "&allowWatchBookmarks=false", "&allowWatchBookmarks=0"])
async def test_who_asks_for_no_bookmarks_gets_none(api, options: str) -> None:
    async with api.watch(f"{WATCH}&timeoutSeconds=200{options}") as watched:
        assert await timed(watched) == []


async def test_a_watch_shorter_than_two_seconds_has_no_bookmark(api) -> None:
    async with api.watch(f"{WATCH}&allowWatchBookmarks=1&timeoutSeconds=2") as watched:
        assert await timed(watched) == []


@pytest.mark.parametrize("options", ["", "&timeoutSeconds=0"])
async def test_a_watch_that_says_nothing_lasts_half_an_hour_to_an_hour(api, options: str) -> None:
    loop = asyncio.get_running_loop()
    begin = loop.time()
    async with api.watch(f"{WATCH}{options}") as watched:
        assert await watched.rest(HOURS) == []
    assert 1800 <= loop.time() - begin <= 3600


def test_watches_that_say_nothing_do_not_end_together() -> None:
    lasting = {round(default_seconds()) for _ in range(100)}
    assert len(lasting) > 50
    assert min(lasting) >= 1800
    assert max(lasting) <= 3600


async def test_a_watch_of_tables_has_bookmarks_too(api) -> None:
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with api.watch(f"{WATCH}&allowWatchBookmarks=1&timeoutSeconds=10", Accept=table) as watched:
        (event,) = await watched.rest(HOURS)
    assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "Table")
    (row,) = event["object"]["rows"]
    assert row["object"]["metadata"] == {"resourceVersion": str(api.now)}
