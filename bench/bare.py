"""The bare server: our socket, TLS, HTTP and way of answering, with no Kubernetes behind them.

    python bench/bare.py --pki DIR --answers DIR

It listens by `apiserver.listening`, reads bodies by `apiserver.endpoints.bodies` and answers by
`apiserver.endpoints.http_response`, so whatever our server needs beyond it is Kubernetes' part.

- GET answers prepared bytes: DIR/answers.json has for each path the offset and the length of its answer in DIR/bodies.
- POST parses its body as JSON and answers it, dumped again.
- GET ?watch=1 is a stream. While there are streams each POST sends the next line of DIR/frames to all of them.

It prints its port when it listens.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from apiserver.api.httpstream import Upgraded
from apiserver.component_base.process import run, spare_collector
from apiserver.config import Config
from apiserver.endpoints.bodies import read_body
from apiserver.endpoints.http_response import Reply, Response
from apiserver.listening import listening

AUDIT_ID = "00000000-0000-0000-0000-000000000000"
"""An id as long as those of our server, so that both send the same number of bytes."""
STREAM_HEAD = (
    f"HTTP/1.1 200 OK\r\nAudit-Id: {AUDIT_ID}\r\nCache-Control: no-cache, private\r\n"
    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
).encode()


class Broadcast:
    """Sends frames to all streams; frames that came while the last ones were sent go out as one chunk."""

    def __init__(self, frames: Iterator[bytes]) -> None:
        """Create a broadcast of these frames, which are sent one after the other."""
        self.streams: list[AbstractStreamWriter] = []
        self._frames = frames
        self._pending: list[bytes] = []
        self._wake = asyncio.Event()

    def send_next(self) -> None:
        """Send the next frame with the next chunk."""
        self._pending.append(next(self._frames))
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            data = b"".join(self._pending)
            self._pending.clear()
            chunk = b"%x\r\n%b\r\n" % (len(data), data)
            for stream in tuple(self.streams):
                with suppress(ConnectionError):  # the client has gone
                    await stream.write(chunk)


class BareHandler:
    """One handler for all requests."""

    def __init__(self, answers: dict[str, bytes], broadcast: Broadcast) -> None:
        """Create the handler with the answers by path, and the broadcast for streams."""
        self._answers = answers
        self._broadcast = broadcast

    async def handle(self, request: web.BaseRequest) -> Reply:
        """Answer one request."""
        if request.method == "POST":
            body = orjson.dumps(orjson.loads(await read_body(request)))
            if self._broadcast.streams:
                self._broadcast.send_next()
            return Response(body, status=201, audit_id=AUDIT_ID)
        answer = self._answers.get(request.raw_path)
        return await self._stream(request) if answer is None else Response(answer, audit_id=AUDIT_ID)

    async def _stream(self, request: web.BaseRequest) -> Reply:
        writer = request.writer
        await writer.write(STREAM_HEAD)
        self._broadcast.streams.append(writer)
        try:
            await asyncio.get_running_loop().create_future()  # until the client goes away
        finally:
            self._broadcast.streams.remove(writer)
        return Upgraded()


async def serve(arguments: argparse.Namespace) -> None:
    """Serve until killed."""
    pki, directory = arguments.pki, arguments.answers
    frames = directory / "frames"
    lines = frames.read_bytes().splitlines(keepends=True) if frames.exists() else [b"{}\n"]
    broadcast = Broadcast(cycle(lines))
    bare = BareHandler(read_answers(directory), broadcast)
    config = Config(
        secure_port=0,
        tls_cert_file=pki / "apiserver.crt",
        tls_private_key_file=pki / "apiserver.key",
        client_ca_file=pki / "ca.crt",
    )
    async with listening(config, bare.handle, stops=()) as port:
        spare_collector()
        print(port, flush=True)
        await broadcast.run()


def read_answers(directory: Path) -> dict[str, bytes]:
    """Return the answers by their paths."""
    bodies = (directory / "bodies").read_bytes()
    index: dict[str, tuple[int, int]] = json.loads((directory / "answers.json").read_bytes())
    return {path: bodies[offset : offset + length] for path, (offset, length) in index.items()}


def write_answers(directory: Path, answers: Iterator[tuple[str, bytes]]) -> None:
    """Write what `read_answers` reads."""
    index: dict[str, tuple[int, int]] = {}
    with (directory / "bodies").open("wb") as bodies:
        for path, answer in answers:
            index[path] = (bodies.tell(), len(answer))
            bodies.write(answer)
    (directory / "answers.json").write_text(json.dumps(index))


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("--pki", "--answers"):
        parser.add_argument(flag, type=Path, required=True)
    run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
