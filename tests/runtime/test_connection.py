"""A connection over a transport that only notes what it is given; time passes at once."""

import asyncio
import socket
from typing import Any

import pytest
from wires import Wire, turns

from controller_manager.runtime.connection import Connection, LostError, Reply, Request

pytestmark = pytest.mark.looptime

MORE = b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.fixture
async def wire():
    """The transport of a connection; `freed` has the connections that were reported as free."""
    freed: list[Connection] = []
    connection = Connection(freed.append)
    wire: Any = Wire(connection)
    wire.freed = freed
    connection.connection_made(wire)
    return wire


def begin(wire, message=b"ask", **more):
    """Send a request over a connection and return its future reply."""
    reply = asyncio.get_running_loop().create_future()
    wire.protocol.begin(Request(message, reply, **more))
    return reply


async def test_each_exchange_ends_with_its_own_answer_and_frees_the_connection(wire, answer):
    for number, body in enumerate([b"one", b"two"], start=1):
        reply = begin(wire, body.upper())
        for byte in answer(body, b"Retry-After: 7", code=429):
            wire.say(bytes([byte]))
        assert reply.result() == Reply(429, body, "7")
        assert wire.freed == [wire.protocol] * number
    assert wire.written == [b"ONE", b"TWO"]
    assert not wire.aborted


async def test_a_connection_is_usable_between_its_beginning_and_its_end(answer):
    connection = Connection(lambda _: None)
    assert not connection.usable
    connection.abort()
    wire = Wire(connection)
    connection.connection_made(wire)
    assert connection.usable
    wire.abort()
    assert not connection.usable
    await turns()
    wire.aborted = False
    assert not connection.usable


async def test_a_connection_takes_no_second_request_before_the_first_is_answered(wire):
    begin(wire)
    with pytest.raises(AssertionError, match="one exchange at a time"):
        begin(wire)


@pytest.mark.parametrize(
    ("seconds", "now", "is_late"), [(5.0, 99.9, False), (5.0, 100.0, True), (5.0, 101.0, True), (0.0, 101.0, False)]
)
async def test_a_request_is_given_up_at_its_deadline_unless_it_has_none(wire, seconds, now, is_late):
    reply = begin(wire, seconds=seconds, deadline=100.0)
    wire.protocol.expire(now)
    assert (reply.done(), wire.aborted) == (is_late, is_late)
    if is_late:
        assert str(reply.exception()) == "no answer within 5 s"


async def test_an_idle_connection_does_not_expire(wire):
    wire.protocol.expire(1e9)
    assert not wire.aborted


@pytest.mark.parametrize("extra", [b"HTTP/1.1 200 OK\r\n\r\n", b"x"])
async def test_bytes_that_belong_to_no_request_end_the_connection(wire, answer, extra):
    reply = begin(wire)
    wire.say(answer(b"{}") + extra)
    assert reply.result().body == b"{}"
    assert wire.aborted
    assert wire.freed == []
    await turns()
    assert wire.freed == [wire.protocol]


async def test_a_connection_to_which_something_comes_unasked_is_broken_off(wire):
    wire.say(b"HTTP/1.1 408 x\r\n\r\n")
    assert wire.aborted


async def test_a_connection_that_the_server_closes_after_the_answer_is_not_used_again(wire, answer):
    reply = begin(wire)
    wire.say(answer(b"{}", b"Connection: close"))
    assert reply.result().code == 200
    assert wire.aborted
    assert wire.freed == []


@pytest.mark.parametrize(
    ("exchanges", "said", "unheard"), [(0, b"", False), (1, b"", True), (1, b"H", False), (2, b"", True)]
)
async def test_a_request_may_be_unheard_only_on_an_old_connection_from_which_nothing_came(
    wire, answer, exchanges, said, unheard
):
    for _ in range(exchanges):
        begin(wire)
        wire.say(answer(b"{}"))
    reply = begin(wire)
    if said:
        wire.say(said)
    wire.protocol.connection_lost(None)
    error = reply.exception()
    assert (str(error), error.unheard) == ("the server closed the connection", unheard)
    assert wire.freed[-1] is wire.protocol


async def test_why_a_connection_broke_is_told(wire):
    reply = begin(wire)
    wire.protocol.connection_lost(ConnectionResetError("reset by peer"))
    assert str(reply.exception()) == "reset by peer"


async def test_an_error_is_by_itself_not_unheard():
    assert not LostError("why").unheard


@pytest.mark.parametrize("error", [None, ConnectionResetError("reset")])
async def test_a_body_without_length_ends_with_a_connection_that_ends_well(wire, error):
    reply = begin(wire)
    wire.say(b"HTTP/1.1 200 OK\r\n\r\nab")
    wire.say(b"c")
    assert not reply.done()
    wire.protocol.connection_lost(error)
    if error:
        assert isinstance(reply.exception(), LostError)
    else:
        assert reply.result().body == b"abc"


async def test_a_body_that_breaks_off_before_its_length_is_no_answer(wire):
    reply = begin(wire)
    wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab")
    wire.protocol.connection_lost(None)
    assert isinstance(reply.exception(), LostError)


async def test_a_head_may_be_so_long_and_no_longer(wire):
    reply = begin(wire)
    wire.say(b"HTTP/1.1 200 OK\r\nX: ")
    wire.say(b"x" * (64 * 1024 - 20))
    assert not reply.done()
    wire.say(b"x")
    assert str(reply.exception()) == "the head of the answer does not end"
    assert wire.aborted


async def test_answers_that_are_on_their_way_are_skipped(wire, answer):
    reply = begin(wire)
    wire.say(MORE + b"HTTP/1.1 199 x\r\n\r\n" + answer(b"{}")[:10])
    wire.say(answer(b"{}")[10:])
    assert reply.result() == Reply(200, b"{}", "")


@pytest.mark.parametrize(
    ("code", "fed", "body"), [(200, [b"", b"ab", b"c"], b""), (299, [b"", b"ab", b"c"], b""), (300, [], b"abc")]
)
async def test_the_body_of_a_success_alone_is_fed(wire, code, fed, body):
    pieces: list[bytes] = []
    reply = begin(wire, feed=pieces.append)
    wire.say(b"HTTP/1.1 %d x\r\nTransfer-Encoding: chunked\r\n\r\n" % code)
    for piece in (b"2\r\nab", b"\r\n", b"1\r\nc", b"\r\n0\r\n\r\n"):
        wire.say(piece)
    assert pieces == fed
    assert reply.result() == Reply(code, body, "")


async def test_what_a_feed_raises_is_raised_to_whoever_waits(wire):
    def refuse(_):
        raise ValueError("mine")

    reply = begin(wire, feed=refuse)
    wire.say(b"HTTP/1.1 200 OK\r\n\r\n")
    assert str(reply.exception()) == "mine"
    assert wire.aborted


async def test_an_answer_to_somebody_who_has_gone_frees_the_connection(wire, answer):
    begin(wire).cancel()
    wire.say(answer(b"old"))
    assert wire.freed == [wire.protocol]
    reply = begin(wire)
    wire.say(answer(b"new"))
    assert reply.result().body == b"new"


async def test_a_failure_of_what_somebody_asked_who_has_gone_breaks_the_connection_off(wire):
    begin(wire).cancel()
    wire.say(b"garbage\r\n\r\n")
    assert wire.aborted


async def test_a_connection_knows_when_something_came_last(wire):
    loop = asyncio.get_running_loop()
    begin(wire)
    wire.say(b"H")
    began = wire.protocol.heard
    assert began == pytest.approx(loop.time())
    await asyncio.sleep(7)
    assert wire.protocol.heard == began
    wire.say(b"T")
    assert wire.protocol.heard - began == pytest.approx(7)


def test_a_peer_that_is_gone_without_a_word_is_noticed_by_its_system_within_a_minute():
    async def keep_alive(sock):
        connection = Connection(lambda _: None)
        connection.connection_made(Wire(connection, sock))

    with socket.socket() as sock:
        asyncio.run(keep_alive(sock))
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            assert [sock.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [30, 10, 3]
    with socket.socket(socket.AF_INET6) as sock:
        asyncio.run(keep_alive(sock))
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    with socket.socket(socket.AF_UNIX) as sock:
        asyncio.run(keep_alive(sock))
        assert not sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
