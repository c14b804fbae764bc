"""Compacts a cluster's history periodically, on one of all the servers that use the cluster.

They agree as kube-apiservers do (apiserver/pkg/storage/etcd3/compact.go), by the version of a key that is written
before each compaction: a server that finds it unchanged since its last turn compacts, the others note the new version.
"""

import asyncio
import logging
from base64 import b64encode
from dataclasses import dataclass
from typing import Final

from etcd.cluster import Cluster, Json
from etcd.store import StoreError

log = logging.getLogger("etcd")

COMPACT_REV_KEY: Final = "compact_rev_key"
_ENCODED_KEY: Final = b64encode(COMPACT_REV_KEY.encode()).decode()


@dataclass(slots=True)
class Compactor:
    """Compacts a cluster to its revision of one interval ago.

    Attributes:
        cluster: the cluster.
        interval: seconds between two compactions.
    """

    cluster: Cluster
    interval: float
    _version: int = 0
    _revision: int = 0

    async def run(self) -> None:
        """Compact until cancelled; a failure is retried an interval later."""
        while True:
            await asyncio.sleep(self.interval)
            try:
                await self.compact_once()
            except StoreError as error:
                log.warning("etcd could not be compacted: %s", error)

    async def compact_once(self) -> None:
        """Compact to the revision of the last turn, unless another server has done so since.

        Raises:
            StoreError: the cluster refused it or does not answer.
        """
        answer = await self.cluster.write("/kv/txn", self._version_txn())
        last_revision, self._revision = self._revision, int(answer["header"]["revision"])
        if not answer.get("succeeded"):
            kvs = answer["responses"][0]["response_range"].get("kvs")
            self._version = int(kvs[0]["version"]) if kvs else 0
            return
        self._version += 1
        if last_revision:
            await self.cluster.write("/kv/compaction", {"revision": str(last_revision)})
            log.info("etcd was compacted to revision %d", last_revision)

    def _version_txn(self) -> Json:
        revision = b64encode(str(self._revision).encode()).decode()
        return {
            "compare": [{"key": _ENCODED_KEY, "target": "VERSION", "version": str(self._version)}],
            "success": [{"request_put": {"key": _ENCODED_KEY, "value": revision}}],
            "failure": [{"request_range": {"key": _ENCODED_KEY}}],
        }
