"""Watchers of servers that fail: nothing stops them, and nobody is asked without pause."""

import asyncio
import json
from contextlib import asynccontextmanager
from random import SystemRandom

import pytest
from aiohttp import web
from patience import SECONDS

from controller_manager.reconcile.kinds import Kind
from controller_manager.runtime import reflector
from controller_manager.runtime.cache import KindCache
from controller_manager.runtime.client import Client
from controller_manager.runtime.reflector import WatchState, follow
from controller_manager.runtime.requests import JSON

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
        await seen.state(WatchState.ABSENT)
        assert seen.cache.synced
        await patient.until_someone_sleeps(30)
        assert seen.cache.absent
        patient.go_on(30)
        await seen.revision(5)
        assert not seen.cache.absent
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
        await seen.state(WatchState.ABSENT)
        assert seen.names == {"w"}
        await patient.until_someone_sleeps(30)
        patient.go_on(30)
        await seen.revision(9)
        assert seen.names == set()
    assert asked == ["", "5", "5"]


@pytest.mark.parametrize("how", ["by its status", "in the stream"])
async def test_a_revision_that_is_too_old_has_everything_asked_for_again(
    stub, following, hasty, how, event, initial_end
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
            if how == "by its status":
                return web.json_response(status, status=410)
            return await streamed(request, json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
        return await streamed(request, event("ADDED", "new", "3"), initial_end("9"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(9)
        assert seen.names == {"new"}
        assert asked == ["", "7", ""]
        assert hasty.slept == []


async def test_a_server_for_which_every_revision_is_too_old_is_not_asked_without_pause(
    stub, following, hasty, event, initial_end
):
    asked = []

    async def handle(request):
        asked.append(request.path)
        if len(asked) <= 3:
            return web.json_response({"kind": "Status", "code": 410, "reason": "Expired"}, status=410)
        return await streamed(request, event("ADDED"), initial_end("5"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(5)
    assert len(hasty.slept) == 2  # the first time it asks at once for everything


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
        await seen.state(WatchState.BROKEN)
        await seen.state(WatchState.WATCHING)
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
async def test_a_watch_that_sends_garbage_or_ends_early_starts_again(stub, following, hasty, lots, event, initial_end):
    asked = []

    async def handle(request):
        asked.append(request.path)
        if len(asked) <= 3:
            return await streamed(request, *lots, stays=False)
        return await streamed(request, event("ADDED", "b"), initial_end("5"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(5)
        assert seen.names == {"b"}
        await seen.attached()
        assert [seen.states.get_nowait() for _ in range(seen.states.qsize())] == [
            WatchState.BROKEN,
            WatchState.WATCHING,
        ]
    assert len(hasty.slept) == 3


@pytest.mark.parametrize("chance", [0.0, 0.5])
@pytest.mark.parametrize("calm", [119.5, 120.5])
async def test_waits_grow_up_to_a_minute_and_begin_again_after_two_calm_minutes(
    stub, following, hasty, monkeypatch, chance, calm
):
    monkeypatch.setattr(SystemRandom, "random", lambda _: chance)
    enough = asyncio.Event()

    async def handle(_):
        if len(hasty.slept) == 8:
            hasty.passed += calm - hasty.slept[-1]
        if len(hasty.slept) == 10:
            enough.set()
        return web.Response(status=500)

    async with stub(handle, hasty) as client, following(client, clock=hasty), asyncio.timeout(SECONDS):
        await enough.wait()
    waits = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, *([0.8, 1.6] if calm > 120 else [30, 30])]
    assert hasty.slept[:10] == pytest.approx([wait * (1 + chance) for wait in waits])


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
        await seen.state(WatchState.WATCHING)
        await seen.revision(9)
    assert asked == ["", "5", "5", "5", "5"]
    assert len(hasty.slept) == 3


@pytest.mark.parametrize(("lasted", "pauses"), [(0.9, 1), (1.0, 0)])
async def test_a_watch_that_told_nothing_is_well_if_it_lasted_a_second(
    stub, following, hasty, initial_end, lasted, pauses
):
    asked = []

    async def handle(request):
        asked.append(request.path)
        if len(asked) == 1:
            return await streamed(request, initial_end("5"), stays=False)
        if len(asked) == 2:
            hasty.passed += lasted
            return await streamed(request, stays=False)
        return await streamed(request, initial_end("9"))

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(9)
    assert len(hasty.slept) == pauses


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


async def test_a_list_that_is_refused_is_asked_for_again_later(stub, following, hasty):
    """Also with the code by which a server says that it knows no initial events."""
    codes = [400, 422]

    async def handle(request):
        if "sendInitialEvents" in request.query:
            return web.Response(status=400)
        if "watch" in request.query:
            return await streamed(request)
        if codes:
            return web.Response(status=codes.pop())
        return web.json_response({"metadata": {"resourceVersion": "5"}, "items": []})

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(5)
    assert len(hasty.slept) == 2


@pytest.mark.parametrize("metadata_only", [True, False])
async def test_where_metadata_is_enough_it_is_all_that_is_asked_for(stub, following, hasty, metadata_only):
    asked = []

    async def handle(request):
        asked.append("PartialObjectMetadata" in request.headers["Accept"])
        if "sendInitialEvents" in request.query:
            return web.Response(status=400)
        if "watch" in request.query:
            return await streamed(request)
        return web.json_response({"metadata": {"resourceVersion": "5"}, "items": []})

    async with stub(handle, hasty) as client, following(client, clock=hasty, metadata_only=metadata_only) as seen:
        await seen.attached()
    assert asked == [metadata_only] * 3


# -- what is asked, and what is said of it


@pytest.mark.parametrize("seconds", [300, 450, 525])
async def test_a_watch_asks_for_five_to_ten_minutes_and_is_broken_off_half_a_minute_later(
    serve, following, hasty, monkeypatch, initial_end, seconds
):
    monkeypatch.setattr(SystemRandom, "random", lambda _: seconds / 300 - 1)
    asked, patience = [], []

    class ListeningClient(Client):
        async def stream(self, target, feed, *, seconds, accept=JSON):
            patience.append(seconds)
            await super().stream(target, feed, seconds=seconds, accept=accept)

    async def handle(request):
        if request.path.endswith("/namespaces"):
            assert "PartialObjectMetadataList" in request.headers["Accept"]
            return namespaces()
        asked.append(dict(request.query))
        if len(asked) == 1:
            return await streamed(request, initial_end("5"), stays=False)
        return await streamed(request, initial_end("9"))

    access = await serve(handle)
    async with ListeningClient(access, hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(9)
    common = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
    assert asked == [
        common | {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        common | {"resourceVersion": "5"},
    ]
    assert patience == [seconds + 30] * 2


async def test_a_watch_that_is_refused_again_and_again_is_warned_of_and_told_of_once(
    stub, following, hasty, initial_end, caplog
):
    asked = []

    async def handle(request):
        asked.append(request.path)
        if len(asked) == 1:
            return await streamed(request, initial_end("5"), stays=False)
        if len(asked) <= 4:
            return web.Response(status=503)
        return await streamed(request)  # which goes on, and tells nothing

    async with stub(handle, hasty) as client, following(client, clock=hasty) as seen:
        await seen.state(WatchState.WATCHING)
        await seen.state(WatchState.BROKEN)
        async with asyncio.timeout(SECONDS):
            assert await seen.states.get() is WatchState.WATCHING
        await seen.attached()
    assert len(hasty.slept) == 3
    assert [record.levelname for record in caplog.records if record.name == reflector.log.name] == ["WARNING"]


async def test_nobody_has_to_be_told_how_a_watcher_fares(stub, beside, hasty, initial_end):
    cache = KindCache(WIDGET)
    second_watch = asyncio.Event()
    cache.call_at_revision(9, second_watch.set)

    async def handle(request):
        if "sendInitialEvents" in request.query:
            return await streamed(request, initial_end("5"), stays=False)
        return await streamed(request, initial_end("9"))

    async with stub(handle, hasty) as client, beside(follow(client, WIDGET, cache, clock=hasty)):
        async with asyncio.timeout(SECONDS):
            await second_watch.wait()
