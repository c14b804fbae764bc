"""Odd watches, hundreds at once: each ends at its time, and every line of it is an event."""

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from patience import SECONDS

from apiserver.app import serving
from apiserver.config import Config, check

SEED = int(os.environ.get("FUZZ_SEED", "2"))
WATCHES = 600
HEADERS = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
PATHS = (
    "/api/v1/configmaps", "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/a1",
    "/api/v1/watch/configmaps", "/api/v1/watch/namespaces/default/configmaps/a1", "/api/v1/namespaces",
    "/apis/apps/v1/deployments", "/api/v1/componentstatuses", "/apis/events.k8s.io/v1/events",
    "/apis/authentication.k8s.io/v1/tokenreviews", "/api/v1/watch",
)  # fmt: skip
PARAMETERS: dict[str, tuple[str, ...]] = {
    "watch": ("1", "true", "True", "", "0", "false", "x"),
    "resourceVersion": ("", "0", "1", "40", "100000", "-1", "a", str(2**63), str(2**64), "1.5"),
    "resourceVersionMatch": ("NotOlderThan", "Exact", "x", ""),
    "sendInitialEvents": ("true", "false", "", "x"),
    "allowWatchBookmarks": ("true", "false", ""),
    "labelSelector": ("a=b", "a in (b", "!a", ""),
    "fieldSelector": ("metadata.name=a1", "metadata.namespace=default", "spec.none=a", "="),
    "limit": ("1", "-1", "x"),
    "continue": ("a", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"),
    "includeObject": ("None", "Object", "x"),
}
ACCEPT = (
    "*/*", "application/json", "application/json;stream=watch", "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf;stream=watch",
)  # fmt: skip
EVENTS = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}


def request(choice: random.Random) -> tuple[str, dict[str, str], dict[str, str]]:
    names = choice.sample([*PARAMETERS], choice.randrange(1, 5))
    query = {"watch": "1"} | {name: choice.choice(PARAMETERS[name]) for name in names} | {"timeoutSeconds": "1"}
    return choice.choice(PATHS), query, {"Accept": choice.choice(ACCEPT)}


async def watched(session: aiohttp.ClientSession, path: str, query: dict[str, str], headers: dict[str, str]) -> int:
    """The status of a watch that was read to its end, and found well-formed."""
    request = (path, query, headers)
    async with session.get(path, params=query, headers=headers) as response:
        body = await response.read()
    if response.headers.get("Transfer-Encoding") == "chunked":
        for line in body.splitlines():
            event = json.loads(line)
            assert event["type"] in EVENTS, request
            assert event["object"]["kind"], request
    elif response.content_type == "application/json":
        answer = json.loads(body)
        assert response.status == 200 or (answer["kind"], answer["code"]) == ("Status", response.status), request
    return response.status


async def write(session: aiohttp.ClientSession, number: int) -> None:
    body = {"metadata": {"name": f"a{number % 10}", "labels": {"a": "b"} if number % 3 else {}}}
    async with session.post("/api/v1/namespaces/default/configmaps", json=body):
        pass
    async with session.delete(f"/api/v1/namespaces/default/configmaps/a{(number + 5) % 10}"):
        pass


@pytest.mark.slow
async def test_odd_watches(tmp_path: Path, complaints: Any) -> None:
    (tmp_path / "tokens.csv").write_text('secret,admin,1,"system:masters"\n')
    choice = random.Random(SEED)
    config = check(Config(secure_port=0, token_auth_file=tmp_path / "tokens.csv"))
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        serving(config) as running,
        aiohttp.ClientSession(running.url, headers=HEADERS, connector=connector) as session,
    ):
        watches = [watched(session, *request(choice)) for _ in range(WATCHES)]
        writes = [write(session, number) for number in range(100)]
        async with asyncio.timeout(SECONDS):
            outcomes = await asyncio.gather(*watches, *writes)
        assert {200, 400, 404, 406, 422, 504} <= {*outcomes[:WATCHES]}, f"FUZZ_SEED={SEED}"
        async with session.get("/readyz") as ready:
            assert await ready.text() == "ok"
    assert complaints.take() == [], f"FUZZ_SEED={SEED}"
