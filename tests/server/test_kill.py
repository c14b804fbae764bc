"""A server that is killed while it writes has every acknowledged write when it is back, and watchers miss nothing."""

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from patience import SECONDS

KILLS = 20
WRITERS = 8
COLLECTION = "/api/v1/namespaces/default/configmaps"
HEADERS = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
GONE = (aiohttp.ClientError, ConnectionError, asyncio.TimeoutError)
"""The errors that a client gets from a server that is killed."""


@dataclass
class ClientView:
    """All that clients have learnt from the server, over all its lives.

    Attributes:
        acknowledged: name → the newest object that the server said is stored.
        attempted: name → value of the write under way when the server died: it may be stored or not.
        revisions: of all acknowledged writes.
        seen: name → the object as the watch has it.
        events, position: the revisions that the watch has told, and the one to go on from.
        enough: after so many acknowledged writes `kill` is called.
    """

    acknowledged: dict[str, Any] = field(default_factory=dict)
    attempted: dict[str, str] = field(default_factory=dict)
    revisions: list[int] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)
    position: int = 0
    enough: int = 0
    kill: Callable[[], object] = int


async def write(session: aiohttp.ClientSession, known: ClientView, writer: str) -> None:
    """Make objects and change each once, until the server is gone."""
    for number in range(1_000_000):
        name = f"{writer}-{number}"
        for method, path, value in (("POST", COLLECTION, "made"), ("PUT", f"{COLLECTION}/{name}", "changed")):
            known.attempted[name] = value
            body = {"metadata": {"name": name}, "data": {"value": value, "padding": "x" * 1500}}
            async with session.request(method, path, data=orjson.dumps(body)) as response:
                obj = orjson.loads(await response.read())
                assert response.status in (200, 201), obj
            known.acknowledged[name] = obj
            known.revisions.append(int(obj["metadata"]["resourceVersion"]))
            del known.attempted[name]
            if len(known.revisions) == known.enough:
                known.kill()


async def watch(session: aiohttp.ClientSession, known: ClientView, *, until: float = math.inf) -> None:
    """Go on from the last version that was seen, until the server is gone or this version is seen."""
    if known.position >= until:
        return
    query = {"watch": "1", "resourceVersion": str(known.position), "allowWatchBookmarks": "true"}
    async with session.get(COLLECTION, params=query) as response:
        async for line in response.content:
            event = orjson.loads(line)
            obj = event["object"]
            assert event["type"] in ("ADDED", "MODIFIED"), event
            assert (event["type"] == "MODIFIED") == (obj["metadata"]["name"] in known.seen)
            known.seen[obj["metadata"]["name"]] = obj
            known.position = int(obj["metadata"]["resourceVersion"])
            known.events.append(known.position)
            if known.position >= until:
                return


async def live(url: str, known: ClientView, *, run: int) -> None:
    """Write and watch until the server is killed under its clients."""
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with aiohttp.ClientSession(url, headers=HEADERS, timeout=timeout) as session:
        jobs = [watch(session, known), *(write(session, known, f"r{run}-w{n}") for n in range(WRITERS))]
        for end in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(end, BaseException) and not isinstance(end, GONE):
                raise end


async def check(url: str, known: ClientView) -> None:
    """All that was acknowledged is there, and nothing that nobody wrote. The watch begins where the first look ends."""
    async with aiohttp.ClientSession(url, headers=HEADERS) as session, session.get(COLLECTION) as response:
        listed = orjson.loads(await response.read())
    by_name = {item["metadata"]["name"]: item for item in listed["items"]}
    newest = int(listed["metadata"]["resourceVersion"])
    assert newest >= max(known.revisions, default=0)
    known.position = known.position or newest
    assert newest >= known.position, "the watch told of a write that is lost"
    for name, obj in known.acknowledged.items():
        if name not in known.attempted:
            assert by_name[name] == {key: obj[key] for key in ("metadata", "data")}, name
    for name in by_name.keys() - known.acknowledged.keys() - {"kube-root-ca.crt"}:
        assert by_name[name]["data"]["value"] == known.attempted[name]
    known.acknowledged |= {name: by_name[name] for name in known.attempted if name in by_name}
    known.attempted.clear()


@pytest.mark.slow
async def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path, serve: Any) -> None:
    known, choice = ClientView(), random.Random(7)
    for run in range(KILLS):
        with serve(tmp_path / "data") as (process, url):
            await check(url, known)
            known.enough, known.kill = len(known.revisions) + choice.randrange(1, 300), process.kill
            await live(url, known, run=run)
    with serve(tmp_path / "data") as (_, url):
        await check(url, known)
        await catch_up(url, known)
    assert len(set(known.revisions)) == len(known.revisions)
    assert known.events == sorted(set(known.events))
    assert set(known.revisions) <= set(known.events), "the watch missed a write"
    written = {name: obj["metadata"]["resourceVersion"] for name, obj in known.acknowledged.items()}
    assert {name: known.seen[name]["metadata"]["resourceVersion"] for name in written} == written


async def catch_up(url: str, known: ClientView) -> None:
    """Watch until the newest version of every stored object has come."""
    newest = max(int(obj["metadata"]["resourceVersion"]) for obj in known.acknowledged.values())
    async with aiohttp.ClientSession(url, headers=HEADERS) as session, asyncio.timeout(SECONDS):
        await watch(session, known, until=newest)
