"""After a watch that broke: whether the server is still the one that it was is asked before the watch goes on.

A server that came back with other data may have revisions beyond those of before, so that it would go on with the
watch as if nothing had happened, and the cache would keep what is gone for ever.
"""

import asyncio
import json

import pytest
from aiohttp import web

from controller_manager.runtime.client import Client
from controller_manager.runtime.reflector import WatchState

END_META = {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}
END = json.dumps({"type": "BOOKMARK", "object": {"metadata": END_META}}).encode() + b"\n"
ERROR = b'{"type": "ERROR", "object": {"kind": "Status", "code": 500, "reason": "InternalError"}}\n'


def changed(word, name, revision):
    meta = {"name": name, "namespace": "d", "uid": name, "resourceVersion": str(revision)}
    return json.dumps({"type": word, "object": {"metadata": meta}}).encode() + b"\n"


class Server:
    """A server of one kind whose store a test replaces.

    Attributes:
        origin: what it says of kube-system: its uid, None for no such namespace, or a code; and its revision.
        questions: how often that was asked for.
        watches: from which revision each watch began, "" where it told first what there is.
        ends: what becomes of each watch that goes on, one after the other; the last one stays.
        lists_only: whether it is too old to tell within a watch what there is.
        lists: how often it was asked for a list.
    """

    def __init__(self, clock, *ends):
        self.clock = clock
        self.origin: tuple[str | int | None, int] = ("one", 5)
        self.questions = 0
        self.watches = []
        self.ends = list(ends)
        self.lists_only = False
        self.lists = 0

    async def handle(self, request):
        if request.path.endswith("/namespaces"):
            return self._namespaces(request.query.get("fieldSelector"))
        if "watch" not in request.query:
            return self._list()
        if self.lists_only and "sendInitialEvents" in request.query:
            return web.Response(status=422)
        begins = request.query.get("resourceVersion", "")
        self.watches.append(begins)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        if not begins:
            await response.prepare(request)
            await response.write(changed("ADDED", f"of-{self.origin[0]}", 3) + END)
        return await self._end(request, response)

    def _namespaces(self, selector):
        self.questions += 1
        uid, revision = self.origin
        if isinstance(uid, int):
            return web.Response(status=uid)
        items = [{"metadata": {"name": "kube-system", "uid": uid}}] if uid else []
        if selector != "metadata.name=kube-system":
            items = [{"metadata": {"name": "a-namespace", "uid": "of-its-own"}}, *items]
        return web.json_response({"metadata": {"resourceVersion": str(revision)}, "items": items})

    def _list(self):
        self.lists += 1
        meta = {"name": f"of-{self.origin[0]}", "namespace": "d", "uid": "a", "resourceVersion": "3"}
        return web.json_response({"metadata": {"resourceVersion": "5"}, "items": [{"metadata": meta}]})

    async def _end(self, request, response):
        end = self.ends.pop(0) if self.ends else stay
        if not response.prepared and end is not refuse:
            await response.prepare(request)
        return await end(self, request, response)


async def stay(server, request, response):
    await response.write(changed("ADDED", "last", 99))
    await asyncio.Event().wait()


async def finish(server, request, response):
    """The server ends the watch when its time is over."""
    server.clock.passed += int(request.query["timeoutSeconds"])
    await response.write_eof()
    return response


def short_by(seconds):
    async def end(server, request, response):
        await response.write(changed("ADDED", "more", 6))
        server.clock.passed += int(request.query["timeoutSeconds"]) - seconds
        await response.write_eof()
        return response

    return end


async def stop(server, request, response):
    """The server ends the watch before its time, as one does that stops."""
    await response.write(changed("ADDED", "more", 6))
    await response.write_eof()
    return response


async def break_off(server, request, response):
    await response.write(changed("ADDED", "more", 6))
    request.transport.close()
    return response


async def fail(server, request, response):
    await response.write(ERROR)
    await response.write_eof()
    return response


async def refuse(server, request, response):
    return web.Response(status=503)


@pytest.fixture
def follow(serve, following, hasty):
    """follow(*ends, meanwhile?): follow a server whose watches end so; gives it and the cache once it is at rest."""

    async def run(*ends, origin=None, lists_only=False):
        server = Server(hasty, *ends)
        server.lists_only = lists_only
        first, *rest = ends

        async def end_first(*args):
            server.origin = origin or server.origin
            return await first(*args)

        server.ends = [end_first, *rest]
        async with Client(await serve(server.handle), hasty) as client, following(client, clock=hasty) as seen:
            await seen.revision(99)
            await seen.state(WatchState.WATCHING)
            return server, seen.names

    return run


ENDS = [stop, break_off, fail, short_by(2), short_by(100)]
IDS = ["stops", "breaks", "fails", "ends two seconds early", "ends early"]


@pytest.mark.parametrize("end", ENDS, ids=IDS)
@pytest.mark.parametrize("origin", [("two", 5), ("two", 500), ("one", 4), (None, 500)])
async def test_after_a_watch_that_broke_a_server_with_other_data_is_asked_for_everything(follow, end, origin):
    server, names = await follow(end, origin=origin)
    assert server.watches == ["", ""]
    assert names == {f"of-{origin[0]}", "last"}


@pytest.mark.parametrize("end", ENDS, ids=IDS)
@pytest.mark.parametrize("revision", [6, 7, 500])
async def test_after_a_watch_that_broke_the_server_that_it_was_goes_on(follow, end, revision):
    server, names = await follow(end, origin=("one", revision))
    assert server.watches[0] == ""
    assert server.watches[1:] in (["5"], ["6"])
    assert {"of-one", "last"} <= names
    assert server.questions == 2


async def test_a_server_that_lost_what_the_watch_had_told_is_asked_for_everything(follow):
    server, names = await follow(stop, origin=("one", 5))
    assert server.watches == ["", ""]
    assert "more" not in names


@pytest.mark.parametrize("end", [finish, short_by(1), short_by(0)], ids=["at its time", "a second early", "with news"])
async def test_a_watch_that_ends_at_its_time_raises_no_doubt(follow, end):
    server, _ = await follow(end, finish, finish)
    assert server.questions == 1
    assert "" not in server.watches[1:]


async def test_a_watch_that_was_refused_raises_doubt(follow):
    server, _ = await follow(finish, refuse, origin=("two", 5))
    assert server.watches == ["", "5", ""]


async def test_a_doubt_is_settled_once(follow):
    server, _ = await follow(stop, finish, finish, origin=("one", 6))
    assert server.questions == 2
    assert server.watches == ["", "6", "6", "6"]


async def test_a_server_that_lists_is_asked_for_its_origin_before_each_list_and_once_for_each_doubt(follow):
    server, names = await follow(stop, finish, origin=("two", 500), lists_only=True)
    assert server.lists == 2
    assert server.watches == ["5", "5", "5"]
    assert server.questions == 2 + 2  # at the start, where initial events are refused, and after the doubt
    assert names == {"of-two", "last"}


@pytest.mark.parametrize("code", [401, 403, 404])
async def test_where_the_origin_cannot_be_seen_the_watch_goes_on(serve, following, hasty, code):
    server = Server(hasty, stop)
    server.origin = (code, 0)
    async with Client(await serve(server.handle), hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(99)
    assert server.watches == ["", "6"]


async def test_as_long_as_the_origin_is_unknown_no_watch_goes_on(serve, following, hasty):
    server = Server(hasty, stop)

    async def trouble(*args):
        server.origin = (500, 0)
        return await stop(*args)

    async def over():
        await asyncio.sleep(0)
        if server.questions == 4:
            server.origin = ("two", 500)

    server.ends, hasty.meanwhile = [trouble], over
    async with Client(await serve(server.handle), hasty) as client, following(client, clock=hasty) as seen:
        await seen.revision(99)
    assert server.watches == ["", ""]
    assert server.questions >= 5
