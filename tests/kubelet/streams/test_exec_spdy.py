import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from patience import SECONDS

from controller_manager.kubelet.streams.spdy import Data, Framer, GoAway, Ping, RstStream, SynReply, SynStream

EXEC = "/exec/shop/web/web?input=1&output=1&error=1"


@dataclass
class Peer:
    """A client that speaks SPDY as kubectl does.

    Attributes:
        got: what came on each stream.
        finished: the streams that the server has closed or reset.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    framer: Framer = field(default_factory=Framer)
    got: dict[int, bytes] = field(default_factory=dict)
    replied: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    reset: dict[int, int] = field(default_factory=dict)
    pings: list[int] = field(default_factory=list)

    def send(self, *frames) -> None:
        self.writer.write(b"".join(map(self.framer.encode, frames)))

    async def until(self, condition) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                data = await self.reader.read(65536)
                if not data:
                    return
                for frame in self.framer.feed(data):
                    self._take(frame)

    def _take(self, frame) -> None:
        match frame:
            case SynReply(number):
                self.replied.add(number)
            case Data(number, data, final):
                self.got[number] = self.got.get(number, b"") + data
                if final:
                    self.finished.add(number)
            case RstStream(number, status):
                self.reset[number] = status
            case Ping(number):
                self.pings.append(number)


@pytest.fixture
def spdy(raw):
    """spdy(path, protocol): a connection that has become SPDY."""

    @asynccontextmanager
    async def connect(path, protocol="v4.channel.k8s.io"):
        async with raw() as (reader, writer):
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: kubelet\r\nContent-Length: 0\r\nConnection: Upgrade\r\n"
                f"Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {protocol}\r\n\r\n".encode()
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            assert head.startswith("HTTP/1.1 101 "), head
            assert f"X-Stream-Protocol-Version: {protocol}\r\n" in head
            yield Peer(reader, writer)

    return connect


def streams(*names):
    return [SynStream(2 * index + 1, {"streamtype": name}) for index, name in enumerate(names)]


ALL = streams("error", "stdin", "stdout", "stderr")


async def test_each_stream_is_replied_to_and_closed_at_the_end(stage, spdy):
    stage.pod()
    async with spdy(f"{EXEC}&command=sh&command=-c&command=cat;echo%20err%20>%262;exit%204") as peer:
        peer.send(*ALL, Data(3, b"typed"), Data(3, b"", final=True))
        await peer.until(lambda: peer.finished >= {1, 5, 7})
    assert peer.replied == {1, 3, 5, 7}
    assert (peer.got[5], peer.got[7]) == (b"typed", b"err\n")
    assert json.loads(peer.got[1])["details"] == {"causes": [{"reason": "ExitCode", "message": "4"}]}
    assert set(peer.reset) == {3}


async def test_older_protocols_tell_of_errors_as_text(stage, spdy):
    stage.pod()
    async with spdy(f"{EXEC}&command=false", "v2.channel.k8s.io") as peer:
        peer.send(*ALL)
        await peer.until(lambda: 1 in peer.finished)
    assert peer.got[1] == b"command terminated with non-zero exit code: exit status 1"


async def test_a_terminal_has_a_stream_for_its_size(stage, spdy):
    stage.pod()
    async with spdy("/exec/shop/web/web?input=1&output=1&tty=1&command=sh") as peer:
        peer.send(
            *streams("error", "stdin", "stdout", "resize"), Data(7, b'{"Width":1,"Height":2}'), Data(3, b"exit 6\r")
        )
        await peer.until(lambda: peer.finished >= {1, 5})
    assert peer.got[5] == b"/ # exit 6\r\n"
    assert b'"6"' in peer.got[1]


async def test_pings_come_back_while_something_runs(stage, spdy):
    stage.pod()
    async with spdy(f"{EXEC}&command=sleep&command=100") as peer:
        peer.send(*ALL, Ping(1), Ping(3), Ping(2))
        await peer.until(lambda: len(peer.pings) == 2)
    assert peer.pings == [1, 3]


async def test_streams_that_nobody_asked_for_are_refused(stage, spdy):
    stage.pod()
    odd = [
        SynStream(9, {"streamtype": "stdout"}),
        SynStream(11, {"streamtype": "sideband"}),
        SynStream(13),
        SynStream(2),
    ]
    async with spdy(f"{EXEC}&command=sleep&command=100") as peer:
        peer.send(*ALL, *odd)
        await peer.until(lambda: len(peer.reset) == 4)
    assert peer.reset == {9: 3, 11: 3, 13: 3, 2: 1}


@pytest.mark.parametrize(
    "farewell", [[GoAway(0, 0)], [RstStream(1, 5), RstStream(3, 5), GoAway()], []], ids=["goaway", "resets", "none"]
)
async def test_what_runs_ends_when_its_client_goes(stage, spdy, farewell):
    stage.pod()
    async with spdy(f"{EXEC}&command=sleep&command=1000") as peer:
        peer.send(*ALL)
        await stage.clock.until_sleeping()
        peer.send(*farewell)
    await stage.clock.until_sleeping(0)


async def test_large_output_waits_for_a_client_that_reads_slowly(stage, spdy):
    stage.pod()
    async with spdy(f"{EXEC}&command=sh&command=-c&command=seq%20200000") as peer:
        peer.send(*ALL)
        await peer.until(lambda: 1 in peer.finished)
    assert peer.got[5].splitlines()[-1] == b"200000"
    assert len(peer.got[5].splitlines()) == 200_000


@pytest.mark.parametrize(
    "odd", [b"GET / HTTP/1.1\r\n\r\n", b"\x80\3\0\1\0\0\0\4abcd", b"\xff" * 1000, b"\x80\2\0\1\0\0\0\0", b"\0" * 64]
)
async def test_what_is_no_spdy_ends_the_connection_and_nothing_else(stage, spdy, caplog, odd):
    stage.pod()
    async with spdy(f"{EXEC}&command=sleep&command=1000") as peer:
        peer.writer.write(odd)
        peer.writer.write_eof() if peer.writer.can_write_eof() else peer.writer.close()
        await peer.until(lambda: False)
    async with spdy(f"{EXEC}&command=true") as peer:
        peer.send(*ALL)
        await peer.until(lambda: 1 in peer.finished)
    assert json.loads(peer.got[1])["status"] == "Success"
    assert not [record for record in caplog.records if record.exc_info]
