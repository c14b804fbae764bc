"""The bare server: what aiohttp's low-level server and uvloop can do at most, with no Kubernetes in it.

    python bench/bare.py --cert FILE --key FILE --answers DIR

- GET answers prepared bytes: DIR/answers.json says which file is the answer to which path.
- POST parses its body as JSON and answers it, dumped again.
- GET ?watch=1 is a stream; POST /push?FIRST-LAST writes those lines of DIR/frames to all streams.

It prints its port when it listens.
"""

import argparse
import asyncio
import json
import ssl
from pathlib import Path

import orjson
import uvloop
from aiohttp import web

JSON = {"Content-Type": "application/json"}


class Bare:
    """One handler for all requests."""

    def __init__(self, answers: dict[str, bytes], frames: list[bytes]) -> None:
        """Take what to answer by path, and what to push to the streams."""
        self._answers = answers
        self._frames = frames
        self._streams: list[web.StreamResponse] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.method == "POST":
            return await self._post(request)
        body = self._answers.get(request.raw_path)
        if body is None:
            return await self._stream(request)
        return web.Response(body=body, headers=JSON)

    async def _post(self, request: web.BaseRequest) -> web.Response:
        if request.raw_path == "/push":
            await self._push()
        body = orjson.dumps(orjson.loads(await request.read()))
        return web.Response(body=body, status=201, headers=JSON)

    async def _push(self) -> None:
        for frame in self._frames:
            for stream in self._streams:
                await stream.write(frame)

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        stream = web.StreamResponse(headers=JSON)
        stream.enable_chunked_encoding()
        await stream.prepare(request)
        self._streams.append(stream)
        try:
            await asyncio.get_running_loop().create_future()  # until the client goes away
        finally:
            self._streams.remove(stream)
        return stream


async def serve(given: argparse.Namespace) -> None:
    """Serve until killed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(given.cert, given.key)
    paths: dict[str, str] = json.loads((given.answers / "answers.json").read_bytes())
    answers = {path: (given.answers / name).read_bytes() for path, name in paths.items()}
    frames = given.answers / "frames"
    bare = Bare(answers, frames.read_bytes().splitlines(keepends=True) if frames.exists() else [])
    runner = web.ServerRunner(web.Server(bare.handle, handler_cancellation=True, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ("--cert", "--key", "--answers"):
        parser.add_argument(flag, type=Path, required=True)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
