"""Many watchers in one process: each reads its stream as fast as it comes and counts the lines of it.

    python bench/watchers.py URL TOKEN WATCHERS EVENTS [--check | --record FILE]

wrk cannot do it: it waits for the end of an answer. This process parses nothing, so that it is no brake: a stream's
events are its line feeds without those that HTTP puts between chunks (they follow a carriage return, which JSON in one
line has not). With --check each watcher's lines are kept, and looked at when all is over: each event of each watcher,
its name and order. --record writes the frames that the first watcher got.

It prints "watching" once all streams have begun, and at the end when the last event came, on the clock that all
processes share, and its own processor seconds.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson
import uvloop
from creators import unverified


class WatchEvent(NamedTuple):
    """The parts of an event that are checked."""

    type: str
    name: str
    version: int


class Stream:
    """The lines of a chunked HTTP response; lines that other streams have too are stored once."""

    def __init__(self, shared: dict[bytes, bytes]) -> None:
        """Create a stream whose lines are stored in a set shared by all streams."""
        self.lines: list[bytes] = []
        self._shared = shared
        self._raw = b""
        self._line = b""
        self._in_body = False

    def feed(self, data: bytes) -> None:
        """Process the next bytes of the connection."""
        self._raw += data
        if not self._in_body:
            _, separator, rest = self._raw.partition(b"\r\n\r\n")
            if not separator:
                return
            self._in_body, self._raw = True, rest
        *whole, self._line = (self._line + b"".join(self._chunks())).split(b"\n")
        self.lines += [self._shared.setdefault(line, line) for line in whole]

    def _chunks(self) -> Iterator[bytes]:
        """Yield the complete chunks; the rest stays for the next call."""
        begin = 0
        while (end := self._raw.find(b"\r\n", begin)) > 0:
            size = int(self._raw[begin:end], 16)
            if len(self._raw) < end + size + 4:
                break
            yield self._raw[end + 2 : end + 2 + size]
            begin = end + size + 4
        self._raw = self._raw[begin:]


class Watcher(asyncio.Protocol):
    """A watch on one connection."""

    def __init__(self, request: bytes, *, events: int, stream: Stream | None) -> None:
        """Create a watcher that sends this request and expects this many events; a stream keeps checked ones."""
        loop = asyncio.get_running_loop()
        self.began: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[float] = loop.create_future()
        self.stream = stream
        self._head = b""
        self._request = request
        self._missing = events

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Count events, and store them only if they are checked."""
        self._missing -= data.count(b"\n") - data.count(b"\r")
        if self.stream is not None:
            self.stream.feed(data)
        if not self.began.done():
            self._begin(data)
        if self._missing <= 0 and not self.done.done():
            self.done.set_result(time.monotonic())

    def _begin(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" in self._head:
            if b" 200 " not in self._head.split(b"\r\n", 1)[0]:
                raise RuntimeError(self._head.decode())
            self.began.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the waiting coroutine that the connection has ended."""
        for waited in (self.began, self.done):
            if not waited.done():
                waited.set_exception(exc or ConnectionError(f"a stream ended {self._missing} events early"))


async def watch(given: argparse.Namespace) -> None:
    """Watch until every watcher has every event."""
    url_parts = urlsplit(given.url)
    loop = asyncio.get_running_loop()
    request = (
        f"GET {url_parts.path}?{url_parts.query} HTTP/1.1\r\nHost: {url_parts.netloc}\r\n"
        f"Authorization: Bearer {given.token}\r\nAccept: application/json\r\n\r\n"
    ).encode()
    keep = given.check or given.record is not None
    shared: dict[bytes, bytes] = {}
    streams = [Stream(shared) if keep else None for _ in range(given.watchers)]
    watchers = [Watcher(request, events=given.events, stream=stream) for stream in streams]
    for watcher in watchers:
        address = url_parts.hostname, url_parts.port
        await loop.create_connection(lambda watcher=watcher: watcher, *address, ssl=unverified())  # type: ignore[misc]
        await watcher.began
    print("watching", flush=True)
    before = time.process_time()
    ends = [await watcher.done for watcher in watchers]
    print(json.dumps({"last": max(ends), "processor": time.process_time() - before}), flush=True)
    lines = [stream.lines for stream in streams if stream is not None]
    if given.record is not None:
        given.record.write_bytes(b"".join(line + b"\n" for line in lines[0]))
    if given.check:
        known = {line: _seen(line) for line in shared}
        sys.exit(next(filter(None, (_complaint([known[line] for line in each], given.events) for each in lines)), 0))


def _complaint(seen: list[WatchEvent], events: int) -> str:
    """Return the error in a stream, or "": each pod is added once, and later events have later resourceVersions."""
    versions = [each.version for each in seen]
    names = {each.name for each in seen if each.type == "ADDED"}
    if len(seen) != events or len(names) != events:
        return f"{len(seen)} events of {len(names)} pods came, and not {events}"
    return "" if versions == sorted(set(versions)) else "events came out of order"


def _seen(line: bytes) -> WatchEvent:
    event = orjson.loads(line)
    meta = event["object"]["metadata"]
    return WatchEvent(event["type"], meta["name"], int(meta["resourceVersion"]))


def main() -> None:
    """Read the command line and watch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("token")
    parser.add_argument("watchers", type=int)
    parser.add_argument("events", type=int)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", type=Path)
    uvloop.run(watch(parser.parse_args()))


if __name__ == "__main__":
    main()
