"""Watchers over real connections: nothing is missed, and nothing stops them."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError
from apiserver.app import serving
from apiserver.config import Config, check
from controller_manager.runtime import client as client_module
from controller_manager.runtime import watcher
from controller_manager.runtime.cache import KindCache
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.contract import Create, Delete, Patch
from controller_manager.runtime.kinds import CONFIG_MAP, Kind
from controller_manager.runtime.kubeconfig import Access, load
from controller_manager.runtime.watcher import State, follow

SECONDS = 20
WIDGET = Kind("example.com", "v1", "Widget", "widgets")


def a_map(name, **data):
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


def event(word, name="a", revision="1", **meta):
    obj = {"metadata": {"name": name, "namespace": "d", "uid": name, "resourceVersion": revision} | meta}
    return json.dumps({"type": word, "object": obj}).encode() + b"\n"


def initial_end(revision):
    return event("BOOKMARK", "", revision, annotations={"k8s.io/initial-events-end": "true"})


def namespaces(revision="100", uid="the-cluster"):
    items = [{"metadata": {"name": "kube-system", "uid": uid}}]
    return web.json_response({"metadata": {"resourceVersion": revision}, "items": items})


class Watched:
    """A cache that is followed, and what its watcher tells of itself."""

    def __init__(self, kind=CONFIG_MAP):
        self.cache = KindCache(kind)
        self.states = asyncio.Queue()
        self.changes = []
        self.cache.listen(self.changes.append)

    async def state(self, wanted):
        async with asyncio.timeout(SECONDS):
            while await self.states.get() is not wanted:
                pass

    async def revision(self, wanted):
        """Return when the cache is that far."""
        if self.cache.revision < int(wanted):
            come = asyncio.get_running_loop().create_future()
            self.cache.when(int(wanted), lambda: come.set_result(None))
            async with asyncio.timeout(SECONDS):
                await come

    async def attached(self):
        """Return when the cache hears of changes as they happen."""
        if self.cache.attached is None:
            come = asyncio.get_running_loop().create_future()
            self.cache.when_attached(lambda: come.set_result(None))
            async with asyncio.timeout(SECONDS):
                await come

    @property
    def names(self):
        return {obj["metadata"]["name"] for obj in self.cache}


@pytest.fixture
def following(beside):
    """following(client): a followed cache, for as long as the context lasts."""

    @asynccontextmanager
    async def run(client, *, kind=CONFIG_MAP, clock=None, **how):
        watched = Watched(kind)
        work = follow(
            client,
            kind,
            watched.cache,
            clock=clock or Clock(),
            on_state=lambda _, state: watched.states.put_nowait(state),
            **how,
        )
        async with beside(work):
            yield watched

    return run


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


# -- the real server


class ListingClient(Client):
    """A client of the real server as if that were too old to tell within a watch what there is."""

    async def stream(self, target, feed, *, seconds, accept="application/json"):
        if "sendInitialEvents" in target:
            raise ApiError(422, "Invalid", "sendInitialEvents is forbidden for watch")
        await super().stream(target, feed, seconds=seconds, accept=accept)


@pytest.mark.parametrize("kind_of_client", [Client, ListingClient], ids=["WatchList", "lists in pages"])
async def test_a_cache_has_what_there_was_and_what_comes(cluster, following, monkeypatch, kind_of_client):
    monkeypatch.setattr(client_module, "PAGE", 2)
    async with kind_of_client(load(cluster.kubeconfig), Clock()) as client:
        await has_what_there_was_and_what_comes(client, following)


async def has_what_there_was_and_what_comes(client, following):
    for number in range(5):
        await client.perform(Create(CONFIG_MAP, a_map(f"m{number}")))
    async with following(client) as seen:
        await seen.state(State.WATCHING)
        assert seen.cache.synced
        assert {f"m{number}" for number in range(5)} <= seen.names
        made = await client.perform(Create(CONFIG_MAP, a_map("late")))
        await seen.revision(made["metadata"]["resourceVersion"])
        assert "data" not in seen.cache.get("default/late")
        changed = await client.perform(Patch(CONFIG_MAP, "default/late", {"data": {"k": "v"}}))
        await seen.revision(changed["metadata"]["resourceVersion"])
        assert seen.cache.get("default/late")["data"] == {"k": "v"}
        await client.perform(Delete(CONFIG_MAP, "default/late"))
        last = await client.perform(Create(CONFIG_MAP, a_map("last")))
        await seen.revision(last["metadata"]["resourceVersion"])
        assert "late" not in seen.names


async def test_metadata_alone_can_be_followed(client, following):
    await client.perform(Create(CONFIG_MAP, a_map("a", k="v")))
    async with following(client, metadata_only=True) as seen:
        await seen.state(State.WATCHING)
        found = seen.cache.get("default/a")
        assert "data" not in found
        assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")


async def test_a_kind_that_the_server_does_not_know_is_empty(client, following, patient):
    async with following(client, kind=WIDGET, clock=patient) as seen:
        await seen.state(State.ABSENT)
        assert seen.cache.synced
        await patient.until_someone_sleeps(30)


@pytest.mark.parametrize("code", [404, 405])
async def test_a_kind_that_is_served_later_is_found_after_half_a_minute(stub, following, patient, code):
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


# -- restarts


@pytest.fixture
def restarted(tmp_path, unused_tcp_port):
    """restarted(store): a server at always the same port."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t,admin,1,"system:masters"\n')
    access = Access(f"http://127.0.0.1:{unused_tcp_port}", token="t")

    @asynccontextmanager
    async def run(store):
        config = check(Config(store=store, secure_port=unused_tcp_port, token_auth_file=tokens))
        async with serving(config):
            yield access

    run.access = access
    return run


async def test_nothing_is_lost_or_told_twice_when_the_server_restarts(restarted, following, tmp_path, hasty):
    store = f"sqlite://{tmp_path}/data"
    async with Client(restarted.access, Clock()) as client:
        async with restarted(store):
            made = await client.perform(Create(CONFIG_MAP, a_map("before")))
        async with following(client, clock=hasty) as seen:
            await seen.state(State.BROKEN)
            for number in range(3):
                async with restarted(store):
                    await seen.state(State.WATCHING)
                    made = await client.perform(Create(CONFIG_MAP, a_map(f"m{number}")))
                    if number:  # the first time the server stops before this is told
                        await seen.revision(made["metadata"]["resourceVersion"])
                await seen.state(State.BROKEN)
            async with restarted(store):
                await seen.state(State.WATCHING)
                await seen.revision(made["metadata"]["resourceVersion"])
                assert {"before", "m0", "m1", "m2"} <= seen.names
                come = [change.new["metadata"]["name"] for change in seen.changes if change.old is None]
                assert len(come) == len(set(come))
                assert all(change.new is not None for change in seen.changes)


async def test_a_cache_tells_whether_it_hears_of_changes_as_they_happen(restarted, following, tmp_path, hasty):
    store = f"sqlite://{tmp_path}/data"
    async with Client(restarted.access, Clock()) as client, following(client, clock=hasty) as seen:
        for _ in range(2):
            async with restarted(store):
                await seen.attached()
            await seen.state(State.BROKEN)
            assert seen.cache.attached is None


async def test_a_server_that_comes_back_with_other_data_is_believed(restarted, following, hasty):
    async with Client(restarted.access, Clock()) as client, following(client, clock=hasty) as seen:
        async with restarted("memory://"):
            await seen.state(State.WATCHING)
            made = await client.perform(Create(CONFIG_MAP, a_map("mine")))
            await seen.revision(made["metadata"]["resourceVersion"])
        await seen.state(State.BROKEN)
        async with restarted("memory://"):
            for number in range(10):  # its revisions overtake those of before
                await client.perform(Create(CONFIG_MAP, a_map(f"m{number}")))
            await seen.state(State.WATCHING)
            made = await client.perform(Create(CONFIG_MAP, a_map("new")))
            await seen.revision(made["metadata"]["resourceVersion"])
            assert "mine" not in seen.names
            assert {"new"} | {f"m{number}" for number in range(10)} <= seen.names


# -- servers that fail


@pytest.mark.parametrize("told", ["by its status", "in the stream"])
async def test_a_revision_that_is_too_old_has_everything_asked_for_again(stub, following, hasty, told):
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


async def test_a_server_that_knows_no_initial_events_is_listed(stub, following, hasty):
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
async def test_a_refused_watch_is_tried_again_later(stub, following, hasty, said, pauses):
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
        (event("ADDED"), b'{"type": "ADDED"}\n'),
        (event("ADDED"),),
        (),
    ],
)
async def test_a_watch_that_tells_garbage_or_ends_early_begins_anew(stub, following, hasty, lots):
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
    monkeypatch.setattr(watcher.random, "random", lambda: 0.0)
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


async def test_a_watch_that_ends_at_once_and_tells_nothing_is_not_asked_for_without_pause(stub, following, hasty):
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
