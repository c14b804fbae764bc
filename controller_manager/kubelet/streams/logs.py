"""The log of a container: the requested lines so far, and with follow those to come."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias

from multidict import MultiMapping

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.log_output import LogLine, LogSource, log_lines
from controller_manager.kubelet.container.runs import container_of, run_to_log
from controller_manager.kubelet.streams.pods import ContainerEndedError, PodStore
from controller_manager.reconcile.times import parse_time
from controller_manager.runtime.clock import Clock

Write: TypeAlias = Callable[[bytes], Awaitable[None]]

CHUNK_SIZE = 32 * 1024
"""The bytes that are sent at once."""
MAX_LINES = 200_000
"""The number of lines at the end of a log that are kept."""


class LogOptionsError(Exception):
    """The requested log options are invalid."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The requested part and format of a log (PodLogOptions).

    Attributes:
        since: lines before this time are left out.
        tail: the number of lines at the end, None for all.
        limit: the maximum number of bytes, None for no limit.
        stream: "stdout" or "stderr", "" for both.
    """

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: float = 0.0
    tail: int | None = None
    limit: int | None = None
    stream: str = ""

    @classmethod
    def of(cls, query: MultiMapping[str], now: float) -> "LogOptions":
        """Parse the parameters of a request.

        Raises:
            LogOptionsError: one is not a number, or not a time.
        """
        try:
            since = parse_time(query["sinceTime"]) if query.get("sinceTime") else 0.0
            if query.get("sinceSeconds"):
                since = now - int(query["sinceSeconds"])
            tail, limit = _number(query.get("tailLines")), _number(query.get("limitBytes"))
        except ValueError as error:
            raise LogOptionsError(str(error)) from error
        flags = {name: query.get(name, "") in ("true", "1") for name in ("follow", "previous", "timestamps")}
        stream = {"Stdout": "stdout", "Stderr": "stderr"}.get(query.get("stream", ""), "")
        return cls(**flags, since=since, tail=tail, limit=limit, stream=stream)


def _number(text: str | None) -> int | None:
    return max(int(text), 0) if text else None


class _EnoughError(Exception):
    """As many bytes as requested were sent."""


class Log:
    """The log of one run of a container, as requested."""

    def __init__(self, pods: PodStore, pod: Obj, name: str, *, options: LogOptions, clock: Clock) -> None:
        """Prepare the log of a container of a pod.

        Raises:
            NoLogError: it has none.
        """
        self._run = run_to_log(pod, name, previous=options.previous)
        self._pods, self._pod, self._name = pods, pod, name
        self._options = options
        self._clock = clock
        self._left = options.limit

    async def copy(self, write: Write) -> None:
        """Write the log, and with follow what comes until the container ends.

        Raises:
            ConnectionError: the reader is gone.
        """
        now, run = self._clock.now(), self._run
        container = container_of(self._pod, self._name)
        assert container is not None
        new_container = partial(self._pods.new_container, self._pod, self._name, run.started)
        lines = log_lines(LogSource(self._pod, container, new_container, run.started), now)
        with suppress(_EnoughError):
            later = await self._copy_past(lines, now if run.finished is None else run.finished, write)
            if self._options.follow and run.finished is None:
                with suppress(ContainerEndedError):
                    async with self._pods.while_running(self._pod, self._name, run):
                        await self._follow(later, lines, write)

    async def _copy_past(self, lines: Iterator[LogLine | None], end: float, write: Write) -> LogLine | None:
        """Write what was printed until a time; return the first line after it, None if there is none."""
        tail = self._options.tail
        kept: deque[LogLine] = deque(maxlen=MAX_LINES if tail is None else min(tail, MAX_LINES))
        later: LogLine | None = None
        for line in lines:
            if line is None:
                await self._clock.sleep(0)
            elif line.time > end:
                later = line
                break
            elif line.time >= self._options.since and self._options.stream in ("", line.stream):
                kept.append(line)
        for piece in _chunks(kept, timestamps=self._options.timestamps):
            await self._send(piece, write)
        return later

    async def _follow(self, later: LogLine | None, lines: Iterator[LogLine | None], write: Write) -> None:
        """Write lines when their time comes, forever."""
        while True:
            if later is not None:
                await self._clock.sleep(max(later.time - self._clock.now(), 0.0))
                if self._options.stream in ("", later.stream):
                    await self._send(_text(later, timestamps=self._options.timestamps), write)
            try:
                later = next(lines)
            except StopIteration:
                await asyncio.Event().wait()  # nothing more is printed, and the container runs on
            await self._clock.sleep(0)

    async def _send(self, piece: bytes, write: Write) -> None:
        if self._left is None:
            await write(piece)
            return
        await write(piece[: self._left])
        self._left -= len(piece)
        if self._left <= 0:
            raise _EnoughError


def _chunks(lines: deque[LogLine], *, timestamps: bool) -> Iterator[bytes]:
    chunk = bytearray()
    for line in lines:
        chunk += _text(line, timestamps=timestamps)
        if len(chunk) >= CHUNK_SIZE:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)


def _text(line: LogLine, *, timestamps: bool) -> bytes:
    """Format a line for the client, after its time if timestamps are requested (RFC3339Nano)."""
    return (_stamp(line.time) if timestamps else b"") + line.text + b"\n"


def _stamp(time: float) -> bytes:
    whole = datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{int(time % 1 * 1e9):09d}Z ".encode()
