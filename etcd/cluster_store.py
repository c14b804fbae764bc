"""The store over an etcd cluster: writes are its transactions, and one watch of it feeds the engine that is read.

So lists and watches cost what they cost over the embedded store. A linearizable read first asks the cluster for its
revision, once for all reads that come at the same time, and waits until the watch has come that far.
"""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Coroutine
from typing import Any, Final

from etcd.access import ClusterConfig
from etcd.cluster import Cluster, Json
from etcd.coalesce import NextRun, retrieve_exception
from etcd.compactor import Compactor
from etcd.embedded import EmbeddedStore, StoreOptions
from etcd.leases import LeaseManager
from etcd.mvcc import Engine
from etcd.store import (
    MAX_VALUE_BYTES,
    MISSING,
    Compacted,
    Conflict,
    Event,
    FutureRevision,
    KeyValue,
    Page,
    StoreError,
    TooLarge,
    Unavailable,
    Unreachable,
)
from etcd.watch_cache import WatchCache

log = logging.getLogger("etcd")

CATCH_UP_TIMEOUT: Final = 5.0
"""Seconds within which the watch must have reached the cluster's revision."""
CLOSE_TIMEOUT: Final = 3.0
"""Seconds that closing waits for writes under way; whether later ones are done is unknown."""


class ClusterStore(EmbeddedStore):
    """The contract over a cluster; `open_cluster_store` makes it."""

    def __init__(self, access: ClusterConfig, options: StoreOptions) -> None:
        engine = Engine()
        super().__init__(engine, options)
        self._key_prefix = access.key_prefix
        self._cluster = Cluster(access)
        self._watch_cache = WatchCache(self._cluster, access.key_prefix, options.attach, engine, self._apply)
        self._reads = NextRun(self._catch_up)
        self._leases = LeaseManager(self._cluster, options.clock)
        self._interval = access.compaction
        self._compactor: asyncio.Task[None] | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Read the state and start to watch; raises StoreError."""
        await self._watch_cache.start()
        if self._interval:
            self._compactor = asyncio.create_task(
                Compactor(self._cluster, self._interval).run(), name="etcd compaction"
            )

    @property
    def is_shared(self) -> bool:
        """True: a cluster has other clients."""
        return True

    @property
    def health_error(self) -> str:
        """Why writes fail, as far as is known; "" while they succeed."""
        return self._closed or self._watch_cache.health_error

    async def sync_read(self) -> None:
        """Wait until reads see all that the cluster has acknowledged; raises Unavailable if no member answers."""
        self._require_open()
        await self._reads.do()

    async def range_at(self, prefix: str, *, start: str = "", limit: int = 0, revision: int) -> Page:
        """Return a page of a snapshot, from the cluster if this process never had the snapshot."""
        try:
            return self.range(prefix, start=start, limit=limit, revision=revision)
        except Compacted:
            return await self._watch_cache.range_at(prefix, start, limit, revision)

    async def _catch_up(self) -> None:
        await self._wait_visible(await self._watch_cache.cluster_revision())

    async def _wait_visible(self, revision: int) -> None:
        """Wait until reads see a revision of the cluster.

        Raises:
            Unavailable: they do not see it in time.
        """
        if revision <= self._engine.revision:
            return
        try:
            async with asyncio.timeout(CATCH_UP_TIMEOUT):
                await self._watch_cache.wait_for(revision)
        except TimeoutError as error:
            message = f"the watch of etcd stands at revision {self._engine.revision}, not yet at {revision}"
            raise Unreachable(message) from error

    # -- writes

    @property
    def supports_ttl(self) -> bool:
        """True: etcd's leases delete the keys."""
        return True

    async def put(
        self, key: str, value: bytes, *, expect: int | None = None, index_attrs: Any = MISSING, ttl: float = 0.0
    ) -> KeyValue:
        """Write a key in the cluster; returns when reads here see it, or soon after. See `Store.put`."""
        self._require_open()
        if len(value) + len(key) > MAX_VALUE_BYTES:
            raise TooLarge
        if index_attrs is MISSING:
            index_attrs = self._attach(key, value)
        cached = self._engine.get(key)
        created = cached.create_revision if cached is not None and expect == cached.mod_revision else 0
        put: Json = {"key": self._key_prefix.encode(key), "value": b64encode(value).decode()}
        needs_previous = expect != 0 and not created
        if needs_previous:
            put["prev_kv"] = True
        with self._watch_cache.own_write(key, value, index_attrs):
            answer = await self._put(key, put, expect, ttl)
            revision = int(answer["header"]["revision"])
            if needs_previous:
                prev = answer["responses"][0]["response_put"].get("prev_kv")
                created = int(prev["create_revision"]) if prev else 0
            await self._await_visible(revision)
        return KeyValue(key, value, created or revision, revision, index_attrs)

    async def _put(self, key: str, put: Json, expect: int | None, ttl: float) -> Json:
        compare = _compare_revision(put["key"], expect)
        if not ttl:
            return await self._write(key, {"request_put": put}, compare)
        try:
            return await self._write(key, {"request_put": put | {"lease": await self._leases.lease_for(ttl)}}, compare)
        except StoreError as error:
            if "requested lease not found" not in str(error):
                raise
        self._leases.discard()  # the cluster was unreachable for long, or is another one
        return await self._write(key, {"request_put": put | {"lease": await self._leases.lease_for(ttl)}}, compare)

    async def delete(self, key: str, *, expect: int | None = None) -> Event:
        """Delete a key in the cluster; returns when reads here see it, or soon after. See `Store.delete`."""
        self._require_open()
        if expect == 0:
            raise Conflict(self._engine.get(key))
        encoded = self._key_prefix.encode(key)
        request = {"request_delete_range": {"key": encoded, "prev_kv": True}}
        exists = {"key": encoded, "target": "CREATE", "result": "GREATER", "create_revision": "0"}
        answer = await self._write(key, request, _compare_revision(encoded, expect) or [exists])
        revision = int(answer["header"]["revision"])
        deleted = answer["responses"][0]["response_delete_range"]["prev_kvs"][0]
        event = Event(revision, key, None, self._watch_cache.key_value(key, deleted))
        await self._await_visible(revision)
        return event

    async def _write(self, key: str, request: Json, compare: list[Json]) -> Json:
        """Carry out one operation if all comparisons hold.

        Raises:
            Conflict: a comparison does not hold.
        """
        otherwise = {"request_range": {"key": self._key_prefix.encode(key)}}
        transaction = {"compare": compare, "success": [request], "failure": [otherwise]}
        answer = await self._complete(self._cluster.write("/kv/txn", transaction))
        if answer.get("succeeded"):
            return answer
        await self._await_visible(int(answer["header"]["revision"]))
        kvs = answer["responses"][0]["response_range"].get("kvs")
        raise Conflict(self._watch_cache.key_value(key, kvs[0]) if kvs else None)

    async def _complete(self, work: Coroutine[Any, Any, Json]) -> Json:
        """Return the answer to a write, which goes on if its caller is cancelled; closing the store waits for it."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(retrieve_exception)
        return await asyncio.shield(task)

    async def _await_visible(self, revision: int) -> None:
        """Wait until reads see a revision; returns also if that takes too long, since the write is done in any case."""
        try:
            await self._wait_visible(revision)
        except Unavailable:
            return

    async def compact(self, revision: int) -> None:
        """Forget history before a revision, here and in the cluster; raises FutureRevision."""
        if revision > self._engine.revision:
            await self.sync_read()
        if revision > self._engine.revision:
            raise FutureRevision(self._engine.revision)
        try:
            await self._cluster.write("/kv/compaction", {"revision": str(revision)})
        except Compacted:  # by another client, or an older call of this one
            log.debug("etcd has compacted what is before revision %d already", revision)
        self._compact(revision)

    async def close(self) -> None:
        """Close the store; waits for the writes under way, though not for ever."""
        if self._closed:
            return
        await super().close()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=CLOSE_TIMEOUT)
        if self._compactor is not None:
            self._compactor.cancel()
            await asyncio.wait([self._compactor])
        await self._watch_cache.stop()
        await self._cluster.close()
        await self._reads.wait_idle()  # soon, since they find no connection any more
        if self._under_way:
            await asyncio.wait(self._under_way)  # the same goes for them


def _compare_revision(key: str, expect: int | None) -> list[Json]:
    """Return the comparison that holds while a key is as expected."""
    return [] if expect is None else [{"key": key, "target": "MOD", "mod_revision": str(expect)}]


async def open_cluster_store(access: ClusterConfig, options: StoreOptions) -> ClusterStore:
    """Open the store over a cluster.

    Raises:
        StoreError: the cluster cannot be read.
    """
    store = ClusterStore(access, options)
    try:
        await store.start()
    except BaseException:
        await store.close()
        raise
    return store
