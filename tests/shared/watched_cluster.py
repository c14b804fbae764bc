"""The part of an etcd cluster that a watch cache uses, in the test's process; the test says what its watch delivers.

Tests that use it run in looptime: nothing takes longer than the test says, and what never comes fails at once. Fixtures
know nothing of that time, so a test starts its feed itself.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from etcd.store import UNFINISHED
from etcd.watch_cache import WatchCache

PODS = "/registry/pods/"
LONG = 1000.0
"""Seconds of looptime: longer than whatever a feed waits for."""


def kv_json(name: str, value: bytes, created: int, modified: int, *, outside: str = "/here/pods/") -> dict[str, Any]:
    """Return a key as etcd's JSON has it."""
    key, data = (b64encode(each).decode() for each in ((outside + name).encode(), value))
    return {"key": key, "value": data, "create_revision": str(created), "mod_revision": str(modified)}


def deleted(name: str, revision: int) -> dict[str, Any]:
    """Return the event of a deletion as etcd's JSON has it."""
    key = b64encode(f"/here/pods/{name}".encode()).decode()
    return {"type": "DELETE", "kv": {"key": key, "mod_revision": str(revision)}}


def attach(key: str, value: bytes) -> Any:
    """Return what a store keeps beside a value; raise ValueError for foreign values."""
    if value in (b"foreign", UNFINISHED):
        raise ValueError("no object")
    return (key, value)


async def comes_to(feed: WatchCache, revision: int) -> None:
    """Wait until the engine has come to a revision."""
    async with asyncio.timeout(LONG):
        await feed.wait_for(revision)


class WatchedCluster:
    """A cluster with two keys at revision 5.

    Attributes:
        revision: what reads say.
        kvs: what reads of the state give.
        messages: what the watch delivers; an exception breaks the stream, None ends it.
        refusal: what reads raise, None for nothing.
        requests: all reads so far.
        streams: all streams so far, each with its method and request.
        began: when each stream began.
        open: how many streams are open; no feed has two at a time.
        closing: seconds that a stream takes to close.
        left: when the feed asked for another member.
    """

    def __init__(self) -> None:
        self.revision = 5
        self.kvs = [kv_json("a", b"a1", 2, 2), kv_json("b", b"b1", 3, 4)]
        self.messages: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()
        self.refusal: Exception | None = None
        self.requests: list[dict[str, Any]] = []
        self.streams: list[tuple[str, dict[str, Any]]] = []
        self.began: list[float] = []
        self.open = 0
        self.closing = 0.0
        self.left: list[float] = []
        self._begun: asyncio.Queue[int] = asyncio.Queue()

    async def read(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a read as a cluster does."""
        assert method == "/kv/range"
        self.requests.append(request)
        if self.refusal is not None:
            raise self.refusal
        kvs = [] if request.get("keys_only") else self.kvs
        return {"header": {"revision": str(self.revision)}, "kvs": kvs, "count": str(len(kvs))}

    @asynccontextmanager
    async def stream(self, method: str, request: dict[str, Any]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Open a stream as a cluster does."""
        assert not self.open, "the stream before it is still open"
        self.streams.append((method, request))
        self.began.append(asyncio.get_running_loop().time())
        self._begun.put_nowait(len(self.streams))
        self.open += 1
        try:
            yield self._delivered()
        finally:
            await asyncio.sleep(self.closing)
            self.open -= 1

    def switch_member(self) -> None:
        """Note that another member is wanted."""
        self.left.append(asyncio.get_running_loop().time())

    async def _delivered(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self.messages.get()) is not None:
            if isinstance(message, Exception):
                raise message
            yield message

    async def begins(self, number: int) -> None:
        """Wait until a stream begins, counted from 1."""
        async with asyncio.timeout(LONG):
            while await self._begun.get() < number:
                pass

    @property
    def starts(self) -> list[str]:
        """The revision from which each stream was asked for."""
        return [request["create_request"]["start_revision"] for _, request in self.streams]

    def tell(self, *events: dict[str, Any]) -> None:
        """Let the watch deliver events in one message."""
        self.revision = max(self.revision, *(int(each["kv"]["mod_revision"]) for each in events))
        self.messages.put_nowait({"events": list(events)})
