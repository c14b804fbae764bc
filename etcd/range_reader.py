"""Reads keys from the cluster itself, page by page: the whole state, or a range of a snapshot."""

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from etcd.access import ALL_KEYS, KeyPrefix
from etcd.cluster import Cluster, Json
from etcd.store import Compacted, KeyValue, Page, Revision, Unreachable

log = logging.getLogger("etcd")

FIRST_PAGE_SIZE: Final = 100
"""Keys of the first page."""
MIN_PAGE_SIZE: Final = 10
"""The least keys of a page, if larger pages do not arrive in time."""
MAX_PAGE_SIZE: Final = 2000
"""The most keys of a page."""
PAGE_GROWTH: Final = 4
"""The factor by which the next page may have more keys."""
MAX_PAGE_BYTES: Final = 8 << 20
"""The bytes that a page may have, if its largest value is like the largest one before; counted as base64."""


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads the keys of a store from a cluster.

    Attributes:
        cluster: the cluster that has the keys.
        key_prefix: the prefix of the keys.
        key_value: converts a key of an answer.
    """

    cluster: Cluster
    key_prefix: KeyPrefix
    key_value: Callable[[str, Json], KeyValue]

    async def read_state(self) -> tuple[dict[str, KeyValue], int]:
        """Return all keys at one revision, and that revision; start over if it is compacted before the last page.

        Raises:
            StoreError: they cannot be read.
        """
        while True:
            try:
                return await self._read_state()
            except Compacted:
                log.warning("etcd was compacted while it was read: it is read again")

    async def _read_state(self) -> tuple[dict[str, KeyValue], int]:
        state: dict[str, KeyValue] = {}
        begin, revision = self.key_prefix.encode(self.key_prefix.store_prefix) or ALL_KEYS, 0
        async for answer in range_responses(self.cluster, begin, self.key_prefix.range_end()):
            revision = revision or _revision(answer)
            state |= self._key_values(answer)
        return state, revision

    async def read_range(self, prefix: str, start: str, limit: int, revision: int) -> Page:
        """Return keys of a snapshot; see the contract's `range_at`.

        Raises:
            StoreError: they cannot be read.
        """
        items: list[KeyValue] = []
        remaining = 0
        begin = self.key_prefix.encode(max(prefix, start))
        async for answer in range_responses(
            self.cluster, begin, self.key_prefix.range_end(prefix), limit=limit, revision=revision
        ):
            items += self._key_values(answer).values()
            remaining = int(answer.get("count", 0)) - len(answer.get("kvs", ()))
        return Page(items, Revision(revision), more=remaining > 0, remaining=remaining)

    def _key_values(self, answer: Json) -> dict[str, KeyValue]:
        entries = ((self.key_prefix.decode(entry["key"]), entry) for entry in answer.get("kvs", ()))
        return {key: self.key_value(key, entry) for key, entry in entries if key is not None}


async def range_responses(
    cluster: Cluster, begin: str, end: str, *, limit: int = 0, revision: int = 0
) -> AsyncIterator[Json]:
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
    size, max_size, missing = FIRST_PAGE_SIZE, MAX_PAGE_SIZE, limit
    while True:
        request: Json = {"key": begin, "range_end": end, "limit": min(size, missing) if limit else size}
        try:
            answer = await cluster.read("/kv/range", request | ({"revision": str(revision)} if revision else {}))
        except Unreachable:
            if size <= MIN_PAGE_SIZE:
                raise
            size = max_size = max(size // 4, MIN_PAGE_SIZE)  # the values may be large: fewer of them may come in time
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
    return min(max(MAX_PAGE_BYTES // (largest + 1), MIN_PAGE_SIZE), len(kvs) * PAGE_GROWTH)


def _revision(answer: Json) -> int:
    return int(answer["header"]["revision"])
