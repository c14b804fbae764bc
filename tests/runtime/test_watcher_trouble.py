"""Watchers of servers that fail: nothing stops them, and nobody is asked without pause."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from patience import SECONDS

from controller_manager.runtime import watcher
from controller_manager.runtime.client import Client
from controller_manager.runtime.kinds import Kind
from controller_manager.runtime.watcher import State

ADDED = b'{"type": "ADDED", "object": {"metadata": {"name": "a", "namespace": "d", "resourceVersion": "1"}}}\n'
WIDGET = Kind("example.com", "v1", "Widget", "widgets")


def namespaces(revision="100", uid="the-cluster"):
    items = [{"metadata": {"name": "kube-system", "uid": uid}}]
    return web.json_response({"metadata": {"resourceVersion": revision}, "items": items})


@pytest.fixture
def initial_end(event):
    """initial_end(revision): the bookmark after which a watch has told what there is."""
    return lambda revision: event("BOOKMARK", "", revision, annotations={"k8s.io/initial-events-end": "true"})


@pytest.fixture
def stub(serve):
    """stub(handler): a client of a server that answers watches and lists of the followed kind as the test says."""

    @asynccontextmanager
    async def start(handler, clock):
        async def handle(request):
            if request.path.endswith("/namespaces"):
                return namespaces()
            return await handler(request)

        async with Client(await serve(handle), clock) as client:
            yield client

    return start


async def streamed(request, *lots, stays=True):
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    for lot in lots:
        await response.write(lot)
    if stays:
        await asyncio.Event().wait()
    await response.write_eof()
    return response


@pytest.mark.parametrize("code", [404, 405])
async def test_a_kind_that_is_served_later_is_found_after_half_a_minute(
    stub, following, patient, code, event, initial_end
):
    asked = []

    async def handle(request):
        asked.append(request.query.get("sendInitialEvents"))
        if len(asked) == 1:
            return web.Response(status=code, text="404 page not found")
        return await streamed(request, event("ADDED", "w"), initial_end("5"))

    async with stub(handle, patient) as client, following(client, kind=WIDGET, clock=patient) as seen:
        await seen.state(State.ABSENT)
        assert seen.cache.synced
        await patient.until_someone_sleeps(30)
        patient.go_on(30)
        await seen.revision(5)
        assert seen.names == {"w"}
    assert asked == ["true", "true"]


async def test_what_is_known_of_a_kind_stays_while_it_is_not_served(stub, following, patient, event, initial_end):
    asked = []

    async def handle(request):
        asked.append(request.query.get("resourceVersion", ""))
        if len(asked) == 1:
            return await streamed(request, event("ADDED", "w"), initial_end("5"), stays=False)
        if len(asked) == 2:
            return web.Response(status=404, text="404 page not found")
        return await streamed(request, event("DELETED", "w", "9"))

    async with stub(handle, patient) as client, following(client, kind=WIDGET, clock=patient) as seen:
        await seen.state(State.ABSENT)
        assert seen.names == {"w"}
        await patient.until_someone_sleeps(30)
        patient.go_on(30)
        await seen.revision(9)
        assert seen.names == set()
    assert asked == ["", "5", "5"]


@pytest.mark.parametrize("told", ["by its status", "in the stream"])
async def test_a_revision_that_is_too_old_has_everything_asked_for_again(
    stub, following, hasty, told, event, initial_end
):
    asked = []

    async def handle(request):
        asked.append(request.query.get("resourceVersion", ""))
        if len(asked) == 1:
            return await streamed(
                request, event("ADDED", "old"), initial_end("5"), event("ADDED", "b", "7"), stays=False
            )
        if len(asked) == 2:
            status = {"kind": "Status", "code": 410, "reason": "Expired"}
            if told == "by its status":
                return web.json_response(status, status=410)
            return await streamed(request, json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
        return await streamed(request, event("ADDED", "new", "3"), initial_end("9"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(9)
        assert seen.names == {"new"}
        assert asked == ["", "7", ""]
        assert hasty.slept == []


async def test_a_server_that_knows_no_initial_events_is_listed(stub, following, hasty, event):
    asked = []

    async def handle(request):
        asked.append(dict(request.query))
        if "sendInitialEvents" in request.query:
            return web.json_response({"kind": "Status", "code": 422, "reason": "Invalid"}, status=422)
        if "watch" in request.query:
            return await streamed(request, event("ADDED", "c", "9"))
        token = request.query.get("continue", "")
        item = {"metadata": {"name": token or "a", "namespace": "d", "resourceVersion": "1"}}
        return web.json_response(
            {"metadata": {"resourceVersion": "5", "continue": "" if token else "b"}, "items": [item]}
        )

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(9)
        assert seen.names == {"a", "b", "c"}
    assert [query.get("resourceVersion", "") for query in asked] == ["", "", "", "5"]
    assert asked[1]["limit"] == "500"


@pytest.mark.parametrize(
    ("said", "pauses"),
    [
        ((500, ""), [1]),
        ((429, "7"), [7]),
        ((403, ""), [1]),
        ((401, ""), [1]),
    ],
)
async def test_a_refused_watch_is_tried_again_later(stub, following, hasty, said, pauses, initial_end):
    code, retry_after = said
    asked = []

    async def handle(request):
        asked.append(request.path)
        if len(asked) == 1:
            headers = {"Retry-After": retry_after} if retry_after else {}
            return web.Response(status=code, text="no", headers=headers)
        return await streamed(request, initial_end("5"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.state(State.BROKEN)
        await seen.state(State.WATCHING)
    assert [int(max(1, second)) for second in hasty.slept] == pauses


@pytest.mark.parametrize(
    "lots",
    [
        (b"garbage\n",),
        (ADDED, b'{"type": "ADDED"}\n'),
        (ADDED,),
        (),
    ],
)
async def test_a_watch_that_tells_garbage_or_ends_early_begins_anew(stub, following, hasty, lots, event, initial_end):
    asked = []

    async def handle(request):
        asked.append(request.path)
        if len(asked) <= 3:
            return await streamed(request, *lots, stays=False)
        return await streamed(request, event("ADDED", "b"), initial_end("5"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(5)
        assert seen.names == {"b"}
    assert len(hasty.slept) == 3


async def test_waits_grow_up_to_a_minute_and_begin_anew_after_calm(stub, following, hasty, monkeypatch):
    monkeypatch.setattr(watcher.SystemRandom, "random", lambda _: 0.0)
    enough = asyncio.Event()

    async def handle(_):
        if len(hasty.slept) == 8:
            hasty.passed += 200
        if len(hasty.slept) == 10:
            enough.set()
        return web.Response(status=500)

    async with stub(handle, hasty) as client, following(client, clock=hasty), asyncio.timeout(SECONDS):
        await enough.wait()
    assert hasty.slept[:10] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 0.8, 1.6])


async def test_a_watch_that_ends_at_once_and_tells_nothing_is_not_asked_for_without_pause(
    stub, following, hasty, event, initial_end
):
    asked = []

    async def handle(request):
        asked.append(request.query.get("resourceVersion", ""))
        if len(asked) == 1:
            return await streamed(request, event("ADDED"), initial_end("5"), stays=False)
        last = len(asked) == 5
        return await streamed(request, *([event("BOOKMARK", "", "9")] if last else []), stays=last)

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.state(State.WATCHING)
        await seen.revision(9)
    assert asked == ["", "5", "5", "5", "5"]
    assert len(hasty.slept) == 3


async def test_an_answer_that_should_be_a_list_and_is_none_is_asked_for_again(stub, following, hasty):
    odd = [[], {}, {"metadata": {}}, {"metadata": {"resourceVersion": "1"}, "items": [{}]}]

    async def handle(request):
        if "sendInitialEvents" in request.query:
            return web.Response(status=400)
        if "watch" in request.query:
            return await streamed(request)
        return web.json_response(odd.pop() if odd else {"metadata": {"resourceVersion": "5"}, "items": None})

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(5)
        assert seen.cache.synced
    assert len(hasty.slept) == 4
