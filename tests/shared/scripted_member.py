"""A member of etcd that gives a test's answers over HTTP, in the words and forms of a real etcd 3.4."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

LOOPBACK = "127.0.0.1"

Json = dict[str, Any]
Script = Callable[["Call"], Any]
"""Answers a call, now or later: an awaitable is awaited."""


@dataclass
class Call:
    """One call that came, and the ways to answer it."""

    method: str
    headers: dict[str, str]
    body: bytes
    _writer: asyncio.StreamWriter

    @property
    def request(self) -> Json:
        """The JSON that came."""
        parsed: Json = json.loads(self.body)
        return parsed

    def answer(self, message: object, status: int = 200) -> None:
        """Answer with JSON."""
        self.send(json.dumps(message).encode(), status)

    def refuse(self, message: str, code: int, status: int = 400) -> None:
        """Answer with an error as etcd 3.4 writes it."""
        self.answer({"error": message, "message": message, "code": code}, status)

    def send(self, content: bytes, status: int = 200, *, missing: int = 0) -> None:
        """Answer with any bytes; `missing` more are announced, and the connection is closed instead."""
        head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(content) + missing}\r\n\r\n".encode() + content)
        if missing:
            self._writer.close()

    def drop(self) -> None:
        """Close the connection without an answer."""
        self._writer.close()

    def begin(self) -> None:
        """Begin a stream."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._writer.write(head)

    def tell(self, content: bytes) -> None:
        """Send a piece of a stream."""
        self._writer.write(b"%x\r\n%s\r\n" % (len(content), content))

    def end(self) -> None:
        """End a stream."""
        self._writer.write(b"0\r\n\r\n")


def header(revision: int) -> Json:
    """The header of an answer."""
    return {"cluster_id": "14841639068965178418", "member_id": "10276657743932975437", "revision": str(revision)}


@dataclass
class ScriptedMember:
    """A server of HTTP whose answers are scripts; a call without one is never answered.

    Attributes:
        scripts: by method, what answers it.
        calls: all that came, in order.
        port: where it listens.
    """

    scripts: dict[str, Script] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    port: int = 0
    _server: asyncio.Server | None = None
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.sleep(0)  # connections are closed a turn of the loop later

    def on(self, method: str, *scripts: Script) -> None:
        """Answer a method by scripts in turn, and by the last one from then on."""
        remaining = list(scripts)

        def next_script(call: Call) -> Any:
            return (remaining.pop(0) if len(remaining) > 1 else remaining[0])(call)

        self.scripts[method] = next_script

    def of(self, method: str) -> list[Call]:
        """The calls of a method."""
        return [call for call in self.calls if call.method == method]

    async def called(self, method: str, number: int = 1) -> Call:
        """Wait until a method has been called so often; return that call."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.of(method)) >= number)
        return self.of(method)[number - 1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while call := await self._read(reader, writer):
                self.calls.append(call)
                async with self._came:
                    self._came.notify_all()
                if (script := self.scripts.get(call.method)) is not None and (done := script(call)) is not None:
                    await done
        except (OSError, asyncio.CancelledError):  # asyncio would complain of a handler that is cancelled
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Call | None:
        """Return the next call of a connection, None at its end."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        except asyncio.IncompleteReadError:
            return None
        headers = dict(_headers(head[1:]))
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Call(head[0].split()[1].removeprefix("/v3"), headers, body, writer)


def _headers(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, separator, value = line.partition(":")
        if separator:
            yield name.lower(), value.strip()
