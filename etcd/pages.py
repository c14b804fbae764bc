"""Reads keys from the cluster itself, page by page: the whole state, or a range of a snapshot."""

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
"""Keys of the first page."""
SMALLEST_PAGE: Final = 10
"""The least keys of a page, if larger pages do not arrive in time."""
LARGEST_PAGE: Final = 2000
"""The most keys of a page."""
GROWTH: Final = 4
"""The factor by which the next page may have more keys."""
PAGE_BYTES: Final = 8 << 20
"""The bytes that a page may have, if its largest value is like the largest one before; counted as base64."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Reads the keys of a store from a cluster.

    Attributes:
        cluster: the cluster that has the keys.
        key_prefix: the prefix of the keys.
        key_value: converts a key of an answer.
    """

    cluster: Cluster
    key_prefix: KeyPrefix
    key_value: Callable[[str, Json], KeyValue]

    async def state(self) -> tuple[dict[str, KeyValue], int]:
        """Return all keys at one revision, and that revision; start over if it is compacted before the last page.

        Raises:
            StoreError: they cannot be read.
        """
        while True:
            try:
                return await self._state()
            except Compacted:
                log.warning("etcd was compacted while it was read: it is read again")

    async def _state(self) -> tuple[dict[str, KeyValue], int]:
        state: dict[str, KeyValue] = {}
        begin, revision = self.key_prefix.encoded(self.key_prefix.inside) or ALL, 0
        async for answer in answers(self.cluster, begin, self.key_prefix.end()):
            revision = revision or _revision(answer)
            state |= self._key_values(answer)
        return state, revision

    async def page(self, prefix: str, start: str, limit: int, revision: int) -> Page:
        """Return keys of a snapshot; see the contract's `range_at`.

        Raises:
            StoreError: they cannot be read.
        """
        items: list[KeyValue] = []
        remaining = 0
        begin = self.key_prefix.encoded(max(prefix, start))
        async for answer in answers(self.cluster, begin, self.key_prefix.end(prefix), limit=limit, revision=revision):
            items += self._key_values(answer).values()
            remaining = int(answer.get("count", 0)) - len(answer.get("kvs", ()))
        return Page(items, Revision(revision), more=remaining > 0, remaining=remaining)

    def _key_values(self, answer: Json) -> dict[str, KeyValue]:
        entries = ((self.key_prefix.decoded(entry["key"]), entry) for entry in answer.get("kvs", ()))
        return {key: self.key_value(key, entry) for key, entry in entries if key is not None}


async def answers(cluster: Cluster, begin: str, end: str, *, limit: int = 0, revision: int = 0) -> AsyncIterator[Json]:
    """Yield the cluster's answers for a range of keys, page by page, all at the same revision.

    The size of a page follows from the pages before, so that it has at most a few megabytes at either end.

    Args:
        cluster: the cluster to read.
        begin: the first key, as requests have it.
        end: the end of the range, as requests have it.
        limit: the most keys to return; 0 = all.
        revision: the snapshot's revision; 0 = the newest, which the first answer names.

    Raises:
        Compacted: the snapshot is gone.
        StoreError: the cluster does not answer, or refuses.
    """
    size, max_size, missing = FIRST_PAGE, LARGEST_PAGE, limit
    while True:
        request: Json = {"key": begin, "range_end": end, "limit": min(size, missing) if limit else size}
        try:
            answer = await cluster.read("/kv/range", request | ({"revision": str(revision)} if revision else {}))
        except Unreachable:
            if size <= SMALLEST_PAGE:
                raise
            size = max_size = max(size // 4, SMALLEST_PAGE)  # the values may be large: fewer of them may come in time
            continue
        yield answer
        kvs = answer.get("kvs", ())
        missing -= len(kvs)
        if not answer.get("more") or (limit and missing <= 0):
            return
        revision = revision or _revision(answer)
        begin = b64encode(b64decode(kvs[-1]["key"]) + b"\0").decode()
        size = min(_next_size(kvs), max_size)
        await asyncio.sleep(0)


def _next_size(kvs: Sequence[Json]) -> int:
    """Return the number of keys to request after this page."""
    largest = max(len(entry.get("value", "")) for entry in kvs)
    return min(max(PAGE_BYTES // (largest + 1), SMALLEST_PAGE), len(kvs) * GROWTH)


def _revision(answer: Json) -> int:
    return int(answer["header"]["revision"])
