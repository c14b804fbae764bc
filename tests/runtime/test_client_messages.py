"""The requests that a client sends, to the byte, and its reading of each answer, over a pool that only keeps them."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import orjson
import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create, Delete, Get, ListAll
from controller_manager.reconcile.kinds import CONFIG_MAP
from controller_manager.runtime import client as module
from controller_manager.runtime.client import Client
from controller_manager.runtime.connection import LostError, Reply, ServerAddress
from controller_manager.runtime.kubeconfig import ClientConfig

ACCESS = ClientConfig("http://h.example:8080", token="t")
GET = Get(CONFIG_MAP, "d/a")
A_MAP = {"metadata": {"name": "a", "namespace": "d"}}
PATH = "/api/v1/namespaces/d/configmaps"


class NotingPool:
    """Takes the place of a Pool: answers with what the test puts into `outcomes`, "{}" otherwise.

    Attributes:
        messages: what was sent.
        seconds: the time each request was given.
        under_way: what the pool says of itself.
    """

    def __init__(self, address, *, limit, permit):
        self.server_address, self.limit, self.permit = address, limit, permit
        self.messages, self.seconds, self.outcomes, self.replies = [], [], [], []
        self.under_way = 0
        self.closed = False

    def exchange(self, message, *, seconds):
        self.messages.append(message)
        self.seconds.append(seconds)
        outcome = self.outcomes.pop(0) if self.outcomes else Reply(200, b"{}", "")
        reply = asyncio.get_running_loop().create_future()
        self.replies.append(reply)
        if isinstance(outcome, Exception):
            reply.set_exception(outcome)
        elif outcome is not None:
            reply.set_result(outcome)
        return reply

    async def stream(self, message, feed, *, seconds):
        feed(b"")
        return await self.exchange(message, seconds=seconds)

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def _pool(monkeypatch):
    monkeypatch.setattr(module, "Pool", NotingPool)


@pytest.fixture
async def sent(hasty):
    """The pool of a client, with that client."""
    seen = []
    observe = lambda method, code, seconds: seen.append((method, code, seconds))  # noqa: E731 - one line says it
    async with Client(ACCESS, hasty, user_agent="me/1", observe=observe) as client:
        pool: Any = client._connections
        pool.client, pool.seen = client, seen
        yield pool


def head(line, *more):
    """Return the head of a request of the client, up to the empty line."""
    common = ("Host: h.example:8080", "User-Agent: me/1", "Accept: application/json", "Authorization: Bearer t")
    return "\r\n".join((f"{line} HTTP/1.1", *common, *more)).encode() + b"\r\n\r\n"


async def test_each_message_is_a_head_and_a_body_with_its_length_and_type(sent):
    await sent.client.perform(GET)
    await sent.client.perform(Delete(CONFIG_MAP, "d/a"))
    await sent.client.perform(Create(CONFIG_MAP, A_MAP))
    body = orjson.dumps(A_MAP)
    assert sent.messages == [
        head(f"GET {PATH}/a"),
        head(f"DELETE {PATH}/a", "Content-Length: 0"),
        head(f"POST {PATH}", "Content-Type: application/json", f"Content-Length: {len(body)}") + body,
    ]
    assert sent.seconds == [70.0] * 3


async def test_without_a_token_nobody_is_named(hasty):
    async with Client(replace(ACCESS, token=""), hasty) as client:
        await client.perform(GET)
        pool: Any = client._connections
        [message] = pool.messages
    assert b"Authorization" not in message
    release = ".".join(version("mockube").split(".")[:2])
    assert f"User-Agent: kube-controller-manager/{release} (mockube)\r\n".encode() in message


@pytest.mark.parametrize(
    ("server", "host", "port"),
    [
        ("http://h.example", "h.example", 80),
        ("http://h.example:81/base", "h.example", 81),
        ("https://h.example", "h.example", 443),
        ("https://[fd00::1]:6443", "fd00::1", 6443),
    ],
)
async def test_a_port_that_the_url_does_not_name_is_that_of_its_scheme(hasty, server, host, port):
    async with Client(ClientConfig(server, server_name="other"), hasty) as client:
        pool: Any = client._connections
    address = pool.server_address
    assert address == ServerAddress(host, port, address.tls, "other")
    assert (address.tls is not None) == server.startswith("https")
    assert pool.closed


async def test_a_client_that_is_not_entered_is_told_so(hasty):
    with pytest.raises(AssertionError, match="async with"):
        await Client(ACCESS, hasty).perform(GET)


@pytest.mark.parametrize(("under_way", "is_busy"), [(79, False), (80, True), (81, True)])
async def test_half_of_the_connections_are_busy(sent, under_way, is_busy):
    assert sent.limit == 160
    sent.under_way = under_way
    assert sent.client.is_busy is is_busy


async def test_a_twin_asks_on_its_own_without_a_limit_and_says_what_for(hasty):
    seen = []
    observe = lambda *call: seen.append(call)  # noqa: E731 - one line says it
    one = Client(ACCESS, hasty, qps=0.001, burst=1, user_agent="me/1", observe=observe)
    async with one.without_rate_limit("events") as twin:
        for _ in range(3):
            await twin.perform(GET)
        pool: Any = twin._connections
        assert b"User-Agent: me/1/events\r\n" in pool.messages[0]
    assert hasty.slept == []
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("qps", "burst", "waits"), [(0.0, 0, []), (-1.0, 0, []), (2.0, 0, [0.5, 0.5]), (2.0, 2, [0.5])]
)
async def test_a_rate_of_nothing_is_no_limit_and_a_burst_is_one_at_least(hasty, qps, burst, waits):
    async with Client(ACCESS, hasty, qps=qps, burst=burst) as client:
        await client.perform_all([GET] * 3)
    assert hasty.slept == waits


async def test_a_client_may_ask_at_first_and_then_while_it_is_permitted(sent):
    assert sent.permit()
    sent.client.send_only_while(lambda: False)
    assert not sent.permit()


# -- answers


@pytest.mark.parametrize(
    ("code", "retry_after", "tries"),
    [
        (429, "3", 2),
        (500, "3", 2),
        (599, "3", 2),
        (499, "3", 1),
        (428, "3", 1),
        (430, "3", 1),
        (429, "", 1),
        (503, "3.5", 1),
    ],
)
async def test_a_request_is_sent_again_where_the_server_says_when(sent, hasty, code, retry_after, tries):
    sent.outcomes += [Reply(code, b"", retry_after)]
    if tries == 1:
        with pytest.raises(ApiError) as caught:
            await sent.client.perform(GET)
        assert caught.value.code == code
    else:
        assert await sent.client.perform(GET) == {}
    assert len(sent.messages) == tries
    assert hasty.slept == [3.0] * (tries - 1)
    assert [seen[1] for seen in sent.seen] == [code, 200][:tries]


async def test_after_ten_more_tries_the_refusal_stands(sent):
    sent.outcomes += [Reply(429, b"", "1")] * 11
    with pytest.raises(ApiError):
        await sent.client.perform(GET)
    assert len(sent.messages) == 11
    sent.outcomes += [Reply(429, b"", "1")] * 10
    assert await sent.client.perform(GET) == {}


@pytest.mark.parametrize(("code", "is_refused"), [(200, False), (299, False), (300, True)])
async def test_what_begins_with_2_is_a_success(sent, code, is_refused):
    sent.outcomes += [Reply(code, b'{"n": 1}', "")] * 2
    refused = pytest.raises(ApiError) if is_refused else nullcontext()
    with refused:
        assert await sent.client.perform(GET) == {"n": 1}
    with refused:
        await sent.client.stream("/x", lambda _: None, seconds=9, accept="a/b")
    assert b"GET /x HTTP/1.1\r\n" in sent.messages[1]
    assert b"Accept: a/b\r\n" in sent.messages[1]
    assert sent.seconds[1] == 9


async def test_a_refusal_tells_when_to_come_back(sent):
    sent.outcomes += [Reply(410, b"", "7")] * 2
    for asking in (sent.client.perform(GET), sent.client.stream("/x", lambda _: None, seconds=9)):
        with pytest.raises(ApiError) as caught:
            await asking
        assert caught.value.details is not None
        assert caught.value.details["retryAfterSeconds"] == 7


@pytest.mark.parametrize(
    ("request_", "unheard", "tries"), [(GET, True, 2), (GET, False, 1), (Delete(CONFIG_MAP, "d/a"), True, 1)]
)
async def test_only_a_read_that_nobody_heard_is_sent_once_more(sent, request_, unheard, tries):
    sent.outcomes += [LostError("gone", unheard=unheard)] * 3
    with pytest.raises(ApiError) as caught:
        await sent.client.perform(request_)
    method = "GET" if request_ is GET else "DELETE"
    assert (caught.value.code, caught.value.message) == (0, f"{method} {PATH}/a: gone")
    assert len(sent.messages) == tries
    assert sent.seen == [(method, 0, 0.0)]


async def test_an_exchange_is_measured_from_its_beginning_to_its_answer(sent, hasty):
    sent.outcomes += [None]
    asking = asyncio.ensure_future(sent.client.perform(GET))
    await asyncio.sleep(0)
    hasty.passed += 2.5
    sent.replies[0].set_result(Reply(200, b"{}", ""))
    await asking
    assert sent.seen == [("GET", 200, 2.5)]


async def test_two_hundred_bytes_of_what_is_no_json_are_quoted(sent):
    sent.outcomes += [Reply(200, b"q" * 300, "")]
    with pytest.raises(ApiError, match=f"the answer is no JSON: '{'q' * 200}'$") as caught:
        await sent.client.perform(GET)
    assert (caught.value.code, caught.value.reason) == (500, "InternalError")


async def test_answers_that_nobody_waits_for_any_more_are_cancelled(sent):
    sent.outcomes += [None, None]
    asking = asyncio.ensure_future(sent.client.perform_all([GET, GET]))
    await asyncio.sleep(0)
    assert len(sent.replies) == 2
    asking.cancel()
    await asyncio.wait([asking])
    assert [reply.cancelled() for reply in sent.replies] == [True, True]


# -- lists


def listed(*names, token=""):
    items = [{"metadata": {"name": name}} for name in names]
    return Reply(200, orjson.dumps({"metadata": {"resourceVersion": "7", "continue": token}, "items": items}), "")


async def test_a_list_goes_from_page_to_page(sent):
    sent.outcomes += [listed("a", "b", token="n/x"), listed("c")]
    items = await sent.client.perform(ListAll(CONFIG_MAP, "d"))
    assert [item["metadata"]["name"] for item in items] == ["a", "b", "c"]
    targets = [message.split()[1].decode() for message in sent.messages]
    assert targets == [f"{PATH}?limit=500", f"{PATH}?limit=500&continue=n%2Fx"]
    assert all(b"as=PartialObjectMetadataList" in message for message in sent.messages)


async def test_a_page_is_of_a_revision_and_may_be_selected(sent):
    sent.outcomes += [listed("a", token="t")]
    page = await sent.client.page("/x", field_selector="a=b")
    assert (page.revision, page.token, len(page.items)) == ("7", "t", 1)
    assert sent.messages[0].split()[1] == b"/x?limit=500&fieldSelector=a%3Db"


@pytest.mark.parametrize(
    "body",
    [b'{"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {}}]}', b'{"metadata": {"a": "b"}, "items": []}'],
)
async def test_a_list_of_what_has_no_name_or_revision_is_none(sent, body):
    sent.outcomes += [Reply(200, body, "")]
    with pytest.raises(ApiError, match="the answer is no list") as caught:
        await sent.client.page("/x")
    assert (caught.value.code, caught.value.reason) == (500, "InternalError")


async def test_a_list_of_nothing_may_leave_its_items_out(sent):
    sent.outcomes += [Reply(200, b'{"metadata": {"resourceVersion": "1"}, "items": null}', "")]
    assert (await sent.client.page("/x")).items == []


@pytest.mark.parametrize("qps", [0.5, 1.0])
async def test_a_rate_below_one_a_second_is_a_limit(hasty, qps):
    async with Client(ACCESS, hasty, qps=qps) as client:
        await client.perform_all([GET] * 2)
    assert hasty.slept == [1 / qps]


async def test_a_later_exchange_is_measured_from_its_own_beginning(sent, hasty):
    hasty.passed = 100.0
    await sent.client.perform(GET)
    assert sent.seen == [("GET", 200, 0.0)]


async def test_what_is_no_text_is_quoted_as_far_as_it_can_be_read(sent):
    sent.outcomes += [Reply(200, b"a\xffb", "")]
    with pytest.raises(ApiError, match="no JSON: 'a\ufffdb'"):
        await sent.client.perform(GET)
