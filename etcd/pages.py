"""Keys that are read from a cluster itself, page by page: all that there are, or some of a snapshot."""

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from etcd.access import ALL, KeyPrefix
from etcd.cluster import Cluster, Json
from etcd.store import Compacted, KeyValue, Page, Revision, Unreachable

log = logging.getLogger("etcd")

FIRST_PAGE: Final = 100
"""Keys that are read at first."""
SMALLEST_PAGE: Final = 10
"""Keys that are read at a time at the least, where larger pages do not come in time."""
LARGEST_PAGE: Final = 2000
"""Keys that are read at a time at the most."""
GROWTH: Final = 4
"""How many times as many keys the next page may have."""
PAGE_BYTES: Final = 8 << 20
"""Bytes that a page may have, if its largest value is like the largest before it; base64 counts."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Reads a cluster.

    Attributes:
        cluster: where the keys are.
        place: under which names.
        key_value: makes a key of what an answer tells of it.
    """

    cluster: Cluster
    place: KeyPrefix
    key_value: Callable[[str, Json], KeyValue]

    async def state(self) -> tuple[dict[str, KeyValue], int]:
        """All keys as they are at one revision, and that; begins anew if it is compacted before the last page is read.

        Raises:
            StoreError: they cannot be read.
        """
        while True:
            try:
                return await self._state()
            except Compacted:
                log.warning("etcd was compacted while it was read: it is read again")

    async def _state(self) -> tuple[dict[str, KeyValue], int]:
        found: dict[str, KeyValue] = {}
        begin, revision = self.place.encoded(self.place.inside) or ALL, 0
        async for answer in answers(self.cluster, begin, self.place.end()):
            revision = revision or _revision(answer)
            found |= self._found(answer)
        return found, revision

    async def page(self, prefix: str, start: str, limit: int, revision: int) -> Page:
        """Keys of a snapshot; see the contract's `recall`.

        Raises:
            StoreError: they cannot be read.
        """
        items: list[KeyValue] = []
        remaining = 0
        begin = self.place.encoded(max(prefix, start))
        async for answer in answers(self.cluster, begin, self.place.end(prefix), limit=limit, revision=revision):
            items += self._found(answer).values()
            remaining = int(answer.get("count", 0)) - len(answer.get("kvs", ()))
        return Page(items, Revision(revision), more=remaining > 0, remaining=remaining)

    def _found(self, answer: Json) -> dict[str, KeyValue]:
        named = ((self.place.decoded(each["key"]), each) for each in answer.get("kvs", ()))
        return {key: self.key_value(key, each) for key, each in named if key is not None}


async def answers(cluster: Cluster, begin: str, end: str, *, limit: int = 0, revision: int = 0) -> AsyncIterator[Json]:
    """What a cluster tells of a range of keys, all of it as it was at one revision.

    A page has as many keys as lie in a few megabytes, going by those before it: neither end has to hold more at a time.

    Args:
        cluster: who is asked.
        begin: the first key, as requests have it.
        end: the end of the range, as requests have it.
        limit: the most keys to tell of; 0 = all.
        revision: of the snapshot; 0 = the newest, which the first answer tells.

    Raises:
        Compacted: the snapshot is gone.
        StoreError: the cluster does not tell.
    """
    size, most, wanted = FIRST_PAGE, LARGEST_PAGE, limit
    while True:
        asked: Json = {"key": begin, "range_end": end, "limit": min(size, wanted) if limit else size}
        try:
            answer = await cluster.read("/kv/range", asked | ({"revision": str(revision)} if revision else {}))
        except Unreachable:
            if size <= SMALLEST_PAGE:
                raise
            size = most = max(size // 4, SMALLEST_PAGE)  # the values may be large: fewer of them may come in time
            continue
        yield answer
        kvs = answer.get("kvs", ())
        wanted -= len(kvs)
        if not answer.get("more") or (limit and wanted <= 0):
            return
        revision = revision or _revision(answer)
        begin = b64encode(b64decode(kvs[-1]["key"]) + b"\0").decode()
        size = min(_next_size(kvs), most)
        await asyncio.sleep(0)


def _next_size(kvs: Sequence[Json]) -> int:
    """How many keys to ask for after these."""
    largest = max(len(each.get("value", "")) for each in kvs)
    return min(max(PAGE_BYTES // (largest + 1), SMALLEST_PAGE), len(kvs) * GROWTH)


def _revision(answer: Json) -> int:
    return int(answer["header"]["revision"])
