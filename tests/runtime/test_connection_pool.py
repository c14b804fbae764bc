"""A pool of connections, and streams beside it, over transports that only note what they are given."""

import asyncio
import gc
import ssl

import pytest
from wires import Net, turns

from controller_manager.runtime.connection import Connection, LostError, Pool, Reply, ServerAddress

pytestmark = pytest.mark.looptime

PLACE = ServerAddress("h.example", 6443)


@pytest.fixture
async def net(monkeypatch):
    net = Net()
    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", net.create_connection)
    return net


@pytest.fixture
async def pooled(net):
    """pooled(limit?, place?, permit?): a pool that is closed in the end."""
    pools = []

    def make(*, limit=10, address=PLACE, **more):
        pools.append(Pool(address, limit=limit, **more))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()
    await turns()


# -- a pool


async def test_a_pool_opens_as_many_connections_as_it_may_and_serves_in_order(net, pooled, answer):
    pool = pooled(limit=2)
    replies = [pool.exchange(b"%d" % number, seconds=70) for number in range(4)]
    await turns()
    assert [wire.written for wire in net.wires] == [[b"0"], [b"1"]]
    assert pool.under_way == 4
    net.wires[1].say(answer(b"b"))
    net.wires[0].say(answer(b"a"))
    assert [wire.written for wire in net.wires] == [[b"0", b"3"], [b"1", b"2"]]
    assert pool.under_way == 2
    for wire in net.wires:
        wire.say(answer(wire.written[-1]))
    assert [reply.result().body for reply in replies] == [b"a", b"b", b"2", b"3"]
    assert pool.under_way == 0


async def test_an_idle_connection_is_used_before_another_is_opened(net, pooled, answer):
    pool = pooled()
    for number in range(3):
        reply = pool.exchange(b"%d" % number, seconds=70)
        await turns()
        net.wires[0].say(answer(b""))
        assert reply.done()
    assert len(net.calls) == 1


async def test_an_idle_connection_that_closes_is_passed_over(net, pooled, answer):
    pool = pooled()
    pool.exchange(b"0", seconds=70)
    await turns()
    net.wires[0].say(answer(b""))
    net.wires[0].abort()
    reply = pool.exchange(b"1", seconds=70)
    await turns()
    net.wires[1].say(answer(b"new"))
    assert reply.result().body == b"new"
    assert net.wires[0].written == [b"0"]


async def test_no_more_connections_are_opened_than_requests_wait(net, pooled, answer):
    net.gate.clear()
    pool = pooled()
    first = pool.exchange(b"0", seconds=70)
    first.cancel()
    pool.exchange(b"1", seconds=70)
    await turns()
    assert len(net.calls) == 2
    net.gate.set()
    await turns()
    assert sorted(wire.written for wire in net.wires) == [[], [b"1"]]
    assert pool.under_way == 1


async def test_connections_under_way_count_to_the_limit(net, pooled):
    net.gate.clear()
    pool = pooled(limit=2)
    for number in range(3):
        pool.exchange(b"%d" % number, seconds=70)
    await turns()
    assert len(net.calls) == 2


async def test_a_lost_connection_is_replaced_while_requests_wait(net, pooled):
    pool = pooled(limit=1)
    first, second = (pool.exchange(message, seconds=70) for message in (b"0", b"1"))
    await turns()
    net.wires[0].abort()
    await turns()
    assert isinstance(first.exception(), LostError)
    assert [wire.written for wire in net.wires] == [[b"0"], [b"1"]]
    assert not second.done()
    assert pool.under_way == 1


async def test_a_request_that_gets_no_answer_is_given_up_within_a_second_of_its_time_also_where_it_waits(net, pooled):
    pool = pooled(limit=1)
    replies = [pool.exchange(b"0", seconds=4.5), pool.exchange(b"1", seconds=2.5)]
    pool.exchange(b"2", seconds=2.5).cancel()
    await asyncio.sleep(2.4)
    assert not replies[1].done()
    await asyncio.sleep(0.8)
    assert str(replies[1].exception()) == "no answer within 2.5 s"
    assert not replies[0].done()
    await asyncio.sleep(2)
    assert str(replies[0].exception()) == "no answer within 4.5 s"


async def test_after_a_quiet_time_late_answers_are_noticed_again(net, pooled, answer):
    pool = pooled()
    for _ in range(2):
        reply = pool.exchange(b"0", seconds=3)
        await turns()
        net.wires[-1].say(answer(b""))
        assert reply.done()
        await asyncio.sleep(10)
        late = pool.exchange(b"1", seconds=3)
        await asyncio.sleep(4.1)
        assert str(late.exception()) == "no answer within 3 s"


async def test_a_pool_at_rest_looks_for_nothing(net, pooled, answer, monkeypatch):
    pool = pooled()
    pool.exchange(b"0", seconds=3)
    await turns()
    net.wires[0].say(answer(b""))
    await asyncio.sleep(5)
    expired = []
    monkeypatch.setattr(Connection, "expire", lambda *_: expired.append(1))
    await asyncio.sleep(5)
    assert expired == []


@pytest.fixture
def looks(monkeypatch):
    """The connections that were checked for exchanges whose time is up."""
    looks = []
    monkeypatch.setattr(Connection, "expire", lambda connection, _: looks.append(connection))
    return looks


async def test_one_look_a_second_serves_all_requests_and_none_comes_after_the_end(net, pooled, looks):
    pool = pooled(limit=1)
    replies = [pool.exchange(b"%d" % number, seconds=70) for number in range(3)]
    await asyncio.sleep(2.5)
    assert len(looks) == 2
    pool.close()
    await asyncio.sleep(5)
    assert len(looks) == 2
    assert replies[0].exception()


async def test_the_connection_that_was_used_last_is_used_again(net, pooled, answer):
    pool = pooled()
    for number in range(2):
        pool.exchange(b"%d" % number, seconds=70)
    await turns()
    for wire in net.wires:
        wire.say(answer(b""))
    pool.exchange(b"2", seconds=70)
    assert [wire.written for wire in net.wires] == [[b"0"], [b"1", b"2"]]


async def test_a_request_whose_sender_has_gone_holds_up_nobody(net, pooled, answer):
    pool = pooled(limit=1)
    replies = [pool.exchange(b"%d" % number, seconds=70) for number in range(3)]
    await turns()
    replies[1].cancel()
    net.wires[0].say(answer(b""))
    assert net.wires[0].written == [b"0", b"2"]


async def test_a_closed_pool_breaks_everything_off_and_opens_nothing(net, pooled):
    pool = pooled(limit=2)
    reply = pool.exchange(b"0", seconds=70)
    await turns()
    net.gate.clear()
    pool.exchange(b"1", seconds=70)
    pool.exchange(b"2", seconds=70)
    await turns()
    pool.close()
    net.gate.set()
    await turns()
    assert isinstance(reply.exception(), LostError)
    assert [wire.aborted for wire in net.wires] == [True]
    assert len(net.calls) == 2
    pool.exchange(b"3", seconds=70)
    await turns()
    assert len(net.calls) == 2


async def test_where_no_connection_can_be_had_everybody_who_waits_is_told_why(net, pooled):
    net.errors += [OSError("refused")]
    net.gate.clear()
    pool = pooled(limit=1)
    replies = [pool.exchange(b"%d" % number, seconds=70) for number in range(3)]
    replies.pop(1).cancel()
    net.gate.set()
    await turns()
    assert [str(reply.exception()) for reply in replies] == ["no connection to h.example:6443: refused"] * 2
    assert pool.under_way == 0


async def test_where_one_more_connection_cannot_be_had_the_others_serve_who_waits(net, pooled, answer):
    pool = pooled(limit=2)
    pool.exchange(b"0", seconds=70)
    await turns()
    net.errors += [OSError("refused")]
    second = pool.exchange(b"1", seconds=70)
    await turns()
    assert not second.done()
    net.wires[0].say(answer(b"a"))
    net.wires[0].say(answer(b"b"))
    assert second.result().body == b"b"


async def test_a_connection_that_does_not_come_is_given_up_after_half_a_minute(net, pooled):
    net.gate.clear()
    reply = pooled().exchange(b"0", seconds=70)
    await asyncio.sleep(29)
    assert not reply.done()
    await asyncio.sleep(2)
    assert str(reply.exception()) == "no connection to h.example:6443 within 30 s"


@pytest.mark.parametrize(
    ("tls", "name", "asked_for"), [(True, "", "h.example"), (True, "other", "other"), (False, "other", None)]
)
async def test_the_name_of_the_certificate_is_that_of_the_host_unless_another_is_given(
    net, pooled, tls, name, asked_for
):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if tls else None
    pooled(address=ServerAddress("h.example", 6443, context, name)).exchange(b"0", seconds=70)
    await turns()
    assert net.calls == [("h.example", 6443, tls, asked_for)]


async def test_what_may_not_be_sent_any_more_is_refused_and_the_connection_stays(net, pooled, answer):
    allowed = [True]
    pool = pooled(limit=1, permit=lambda: allowed[0])
    replies = [pool.exchange(b"%d" % number, seconds=70) for number in range(3)]
    await turns()
    allowed[0] = False
    net.wires[0].say(answer(b""))
    assert [str(reply.exception()) for reply in replies[1:]] == ["nothing may be sent any more"] * 2
    assert pool.under_way == 0
    allowed[0] = True
    pool.exchange(b"3", seconds=70)
    await turns()
    assert [wire.written for wire in net.wires] == [[b"0", b"3"]]


async def test_an_idle_connection_that_closes_is_forgotten_and_the_others_keep_their_deadlines(net, pooled, answer):
    pool = pooled()
    for number in range(2):
        pool.exchange(b"%d" % number, seconds=70)
    await turns()
    for wire in net.wires:
        wire.say(answer(b""))
    net.wires[0].abort()
    await turns()
    assert pool.under_way == 0
    reply = pool.exchange(b"2", seconds=3)
    assert pool.under_way == 1
    await asyncio.sleep(4.1)
    assert net.wires[1].written == [b"1", b"2"]
    assert str(reply.exception()) == "no answer within 3 s"


# -- streams


STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_a_stream_has_a_connection_of_its_own_which_ends_with_it_and_is_not_counted(net, pooled):
    pool = pooled(limit=1)
    fed: list[bytes] = []
    streams = [asyncio.ensure_future(pool.stream(b"watch", fed.append, seconds=300)) for _ in range(2)]
    await turns()
    pool.exchange(b"get", seconds=70)
    await turns()
    assert [wire.written for wire in net.wires] == [[b"watch"], [b"watch"], [b"get"]]
    assert pool.under_way == 1
    net.wires[0].say(STREAM + b"1\r\nx\r\n0\r\n\r\n")
    assert await streams[0] == Reply(200, b"", "")
    await turns()
    assert fed == [b"", b"x"]
    assert net.wires[0].aborted
    assert pool.under_way == 1
    pool.close()
    assert net.wires[1].aborted
    with pytest.raises(LostError, match="the server closed the connection"):
        await streams[1]


async def test_a_stream_is_given_up_ninety_seconds_after_it_said_something_last(net, pooled):
    loop = asyncio.get_running_loop()
    began = loop.time()
    stream = asyncio.ensure_future(pooled().stream(b"watch", lambda _: None, seconds=3000))
    await asyncio.sleep(80)
    net.wires[0].say(STREAM)
    await asyncio.sleep(80)
    net.wires[0].say(b"1\r\nx\r\n")
    with pytest.raises(LostError, match="nothing came for 90 s"):
        await stream
    assert loop.time() - began == pytest.approx(250)
    assert net.wires[0].aborted


async def test_the_ninety_seconds_count_from_the_last_byte_to_the_fraction(net, pooled):
    loop = asyncio.get_running_loop()
    stream = asyncio.ensure_future(pooled().stream(b"watch", lambda _: None, seconds=3000))
    await asyncio.sleep(0.5)
    began = loop.time()
    net.wires[0].say(STREAM)
    with pytest.raises(LostError, match="nothing came for 90 s"):
        await stream
    assert loop.time() - began == pytest.approx(90)


async def test_a_stream_does_not_end_with_the_time_of_requests_beside_it(net, pooled):
    pool = pooled()
    stream = asyncio.ensure_future(pool.stream(b"watch", lambda _: None, seconds=60))
    reply = pool.exchange(b"get", seconds=3)
    await asyncio.sleep(10)
    assert reply.exception()
    assert not stream.done()
    stream.cancel()
    await asyncio.wait([stream])


async def test_a_stream_is_broken_off_when_its_time_is_up(net, pooled):
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(LostError, match="no answer within 60 s"):
        await pooled().stream(b"watch", lambda _: None, seconds=60)
    assert loop.time() - began == pytest.approx(60)
    assert net.wires[0].aborted


async def test_a_stream_that_is_cancelled_leaves_no_connection_and_no_error(net, pooled):
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["message"]))
    pool = pooled()
    stream = asyncio.ensure_future(pool.stream(b"watch", lambda _: None, seconds=60))
    await turns()
    assert pool.under_way == 0
    stream.cancel()
    await asyncio.wait([stream])
    await turns()
    assert net.wires[0].aborted
    assert pool.under_way == 0
    del stream
    gc.collect()
    assert errors == []


async def test_a_stream_without_a_connection_is_lost(net, pooled):
    net.errors += [OSError("refused")]
    pool = pooled()
    with pytest.raises(LostError, match="no connection to"):
        await pool.stream(b"watch", lambda _: None, seconds=60)
    assert pool.under_way == 0


async def test_who_waits_is_told_that_no_connection_can_be_had_though_there_are_streams(net, pooled):
    pool = pooled()
    stream = asyncio.ensure_future(pool.stream(b"watch", lambda _: None, seconds=60))
    await turns()
    net.errors += [OSError("refused")]
    reply = pool.exchange(b"get", seconds=70)
    await turns()
    assert str(reply.exception()) == "no connection to h.example:6443: refused"
    stream.cancel()
    await asyncio.wait([stream])
